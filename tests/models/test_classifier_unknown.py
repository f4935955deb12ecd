# SPDX-License-Identifier: BSD-3-Clause
"""What a classifier says of documents that it is in doubt about."""

import numpy as np
import pytest

from topicfold import PLSA, TopicClassifier
from topicfold.exceptions import DataError


@pytest.mark.parametrize(
    ("classes", "unknown", "expected"),
    [
        (["a", "b"], None, ""),
        (["a", "b"], "unknown", "unknown"),
        ([0, 1], None, -1),
        ([0, 1], "?", "?"),
        ([0.0, 1.0], None, -1),
        ([False, True], None, -1),
    ],
    ids=repr,
)
def test_the_label_of_doubt_is_given_as_it_is(classes, unknown, expected):
    X = np.random.default_rng(0).poisson(1.0, (12, 8))
    base = PLSA(2, max_iter=3, random_state=0)
    model = TopicClassifier(base, abstain=0.999, unknown_label=unknown)
    found = model.fit(X, np.array(classes * 6)).predict(X)
    assert set(found.tolist()) == {expected}


def test_half_a_document_cannot_be_asked_for():
    X = np.random.default_rng(0).poisson(1.0, (12, 8))
    y = np.where(np.arange(12) < 6, np.arange(12) % 2, -1)
    model = TopicClassifier(PLSA(2, max_iter=3, random_state=0)).fit(X, y)
    with pytest.raises(DataError, match="not a number of documents"):
        model.suggest_labels(2.5)
