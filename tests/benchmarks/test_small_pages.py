# SPDX-License-Identifier: BSD-3-Clause
"""Pages of small benchmarks say what their rows say."""

import numpy as np
from benchmarks import embeddings, few_labels_interval, starts
from scipy.sparse import csr_matrix


def test_the_page_of_intervals_counts_what_was_held():
    base = {"corpus": "one", "size": 5, "draw": 10, "estimate": 0.5, "choice": ""}
    rows = [
        {**base, "how": how, "accuracy": accuracy, "low": 0.4, "high": 0.6}
        for how, accuracy in [
            *[("balanced", 0.5)] * 3,
            ("balanced", 0.7),
            ("proportional", 0.3),
            ("proportional", 0.6),
        ]
    ]
    for size in few_labels_interval.SIZES[1:]:
        rows.append({**rows[0], "size": size})
    page = few_labels_interval.page(rows)
    assert "| balanced | 83.3% of 6 | 16.7% | 0.0% | 0.200 |" in page
    assert "| proportional | 50.0% of 2 | 0.0% | 50.0% |" in page
    assert "| one | 0.512 | 0.500 | 5 of 6 | 1 of 2 |" in page


def test_labels_are_drawn_evenly_or_as_they_come():
    y = np.repeat([0, 1], [90, 10])
    even = few_labels_interval.draw(y, "balanced", 5, 0)
    assert np.bincount(y[even]).tolist() == [5, 5]
    counts = [
        np.bincount(y[few_labels_interval.draw(y, "proportional", 5, seed)])
        for seed in range(50)
    ]
    assert min(len(count) for count in counts) == 2
    assert 7 < np.mean([count[0] for count in counts]) < 9.5


def test_the_page_of_starts_counts_corpora_above_documents():
    rows = [
        {"corpus": "one", "model": model, "init": init, "seed": 0, "npmi": 0.0}
        | {"nmi": 0.5 + 0.1 * (init == "clusters")}
        for model in starts.MODELS
        for init in starts.STARTS
    ]
    assert f"| above documents | |{' 0 | 0 | 1 |' * 4}" in starts.page(rows)


def test_the_page_of_embeddings_has_means_over_seeds():
    rows = [
        {"corpus": "bbc", "method": "LDA", "size": 20, "seed": seed, "npmi": 0.1}
        | {"nmi": 0.4 + 0.1 * seed, "cv": 0.5, "seconds": 2.0, "documents": 9}
        for seed in (0, 1)
    ]
    page = embeddings.page(rows)
    assert "| LDA | 0.450 / 0.10 / 0.50 / 2.0 | 0.450 |" in page
    assert "## 50 topics" not in page


def test_words_of_clusters_are_those_that_others_lack():
    counts = csr_matrix([[2, 1, 0], [0, 1, 2], [2, 1, 0]])
    topics = embeddings.by_clusters(counts, np.array([0, 1, 0]))
    assert topics.argmax(axis=1).tolist() == [0, 2]
