# SPDX-License-Identifier: BSD-3-Clause
"""The report: one HTML file to look at topics and documents, offline."""

from topicfold.report.writing import report_html, write_report

__all__ = ["report_html", "write_report"]
