# SPDX-License-Identifier: BSD-3-Clause
"""Fixtures: small corpora with known structure."""

import os
import signal
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from scipy import sparse
from tests_support import draw_corpus

settings.register_profile(
    "topicfold",
    deadline=None,
    max_examples=25,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("topicfold")

# Files and folders that take most of the time: `make test-fast` leaves them out.
SLOW = (
    *("benchmarks", "distributed", "fuzz", "gpu", "report/test_report_browser.py"),
    *("report/test_report_firefox.py", "report/test_report_accessibility.py"),
    *("test_crash_points.py", "test_docs.py", "test_examples.py", "test_notebooks.py"),
    *("test_contract_sizes.py", "test_packaging.py", "test_readme.py"),
    *("test_stability.py", "test_kernel_bits.py", "models/test_few_labels.py"),
    *("test_imports.py", "test_platforms.py", "report/test_report_against.py"),
    *("cli/test_cli_sides.py", "cli/test_cli_classify.py", "sides/test_labels.py"),
    *("corpus/test_corpus_limits.py", "corpus/test_corpus_replacing.py"),
    *("persistence/test_bundle.py", "session/test_plotting.py"),
    *("models/test_classifier.py", "theta/test_logistic_normal.py"),
)

# Single tests that do, a second of CPU time and more each, or by the dozen.
SLOW_TESTS = (
    *("test_blocks_give_what_one_matrix_gives", "test_containers_make_no_difference"),
    *("test_commands_write_what_they_wrote", "test_every_model_can_be_compared"),
    *("test_features_and_a_response_by_names_and_by_values", "test_edits_hold"),
    *("test_labels_as_lists_matrix_and_frame_are_the_same", "test_demo"),
    *("test_new_documents_are_inferred_as_in_the_fit", "test_it_has_the_same_bits"),
    *("test_so_it_has_with_any_number_of_topics", "test_every_figure_is_drawn"),
    *("test_the_number_does_not_depend_on_the_most_topics", "test_bad_covariates"),
    *("test_other_counts_do_not_harm_a_response", "test_with_many_topics_intervals"),
    *("test_threads_make_no_difference", "test_round_trip_is_exact"),
)

# scikit-learn's checks, 40 of each model, and the models whose checks are not slow.
CHECKS = "test_scikit_learn_checks["
CHECKED = tuple(f"{CHECKS}{name}(" for name in ("LDA", "PLSA"))


def pytest_collection_modifyitems(items):
    """Mark what is in slow places."""
    here = Path(__file__).parent
    slow = {here / place for place in SLOW}
    for item in items:
        often = not item.name.startswith((CHECKS, *SLOW_TESTS))
        often = often or item.name.startswith(CHECKED)
        if slow & {item.path, *item.path.parents} or not often:
            item.add_marker(pytest.mark.slow)


# A shell that runs the tests in the background has them ignore Ctrl-C, which some test.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def planted():
    """X, θ and φ of a corpus with four planted topics."""
    return draw_corpus(300, 120, 4)


@pytest.fixture(scope="session")
def ragged():
    """Counts with empty rows and columns, one long and one short document."""
    rng = np.random.default_rng(7)
    X = rng.poisson(0.3, size=(40, 50)).astype(float)
    X[[0, 17, 39]] = 0
    X[:, [0, 23, 49]] = 0
    X[5] = rng.poisson(3.0, size=50)
    X[:, [0, 23, 49]] = 0
    X[6] = 0
    X[6, 3] = 2
    return sparse.csr_matrix(X)


@pytest.fixture(scope="session")
def corpora():
    """Folder of the real corpora; skip without it."""
    folder = os.environ.get("TOPICFOLD_CORPORA")
    if not folder:
        pytest.skip("TOPICFOLD_CORPORA is not set")
    return Path(folder)
