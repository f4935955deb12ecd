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
    check_saveable,
    load_estimator,
    read_estimator,
    save_estimator,
)

__all__ = [
    "FORMAT_VERSION",
    "Bundle",
    "SavedEstimator",
    "bundle_file",
    "check_saveable",
    "load_estimator",
    "read_bundle",
    "read_estimator",
    "save_estimator",
    "write_bundle",
]
