# SPDX-License-Identifier: BSD-3-Clause
"""Saving and loading: safetensors and JSON, never pickle."""

from topicfold.persistence.bundle import (
    FORMAT_VERSION,
    Bundle,
    bundle_file,
    read_bundle,
    write_bundle,
)
from topicfold.persistence.estimators import (
    SavedEstimator,
    load_estimator,
    read_estimator,
    save_estimator,
)

__all__ = [
    "FORMAT_VERSION",
    "Bundle",
    "SavedEstimator",
    "bundle_file",
    "load_estimator",
    "read_bundle",
    "read_estimator",
    "save_estimator",
    "write_bundle",
]
