# SPDX-License-Identifier: BSD-3-Clause
"""The page of few labels says of repeated draws what was measured."""

import numpy as np
from benchmarks.few_labels import page


def test_repeated_draws_are_compared_in_pairs():
    rows = [
        {"method": method, "draw": draw, "start": start, "accuracy": accuracy}
        for method, of_draws in {
            "LDA + LR": [[0.6], [0.7], [0.8]],
            "tf-idf + LR": [[0.9], [0.3], [0.3]],
            "naive Bayes EM": [[1.0], [1.0], [1.0]],  # no rival of the bar
            "TopicClassifier": [[0.5, 0.6], [0.7, 0.7], [0.6, 0.8]],
        }.items()
        for draw, found in enumerate(of_draws)
        for start, accuracy in enumerate(found)
    ]
    about = {"part": "repeats", "corpus": "blogs", "size": 5, "documents": 9}
    text = page([{**about, **row} for row in rows])
    behind = 100 * np.array([0.05, 0.0, 0.1])
    error = behind.std(ddof=1) / np.sqrt(3)
    cells = ["blogs", 5, 3, 2, "LDA + LR", "0.700 ± 0.058", "0.650 ± 0.050"]
    cells.append(f"+5.0 ± {error:.1f}")
    assert f"| {' | '.join(map(str, cells))} |" in text
