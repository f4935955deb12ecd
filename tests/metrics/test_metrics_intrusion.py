# SPDX-License-Identifier: BSD-3-Clause
"""Intrusion questions and names of topics."""

import numpy as np
import pytest

from topicfold import TopicData
from topicfold.exceptions import DataError
from topicfold.metrics import (
    IntrusionItem,
    score_intrusion,
    topic_intrusion,
    word_intrusion,
)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    return TopicData(
        topics=rng.dirichlet(np.full(60, 0.2), size=6),
        vocabulary=[f"w{i}" for i in range(60)],
        doc_topics=rng.dirichlet(np.full(6, 0.4), size=30),
    )


def test_word_questions_have_one_intruder(data):
    items = word_intrusion(data, n_words=5, random_state=0)
    assert {item.subject for item in items} == set(range(6))
    best = data.top_term_ids(5)
    for item in items:
        others = [c for i, c in enumerate(item.choice_ids) if i != item.answer]
        assert sorted(others) == sorted(best[item.subject].tolist())
        intruder = item.choice_ids[item.answer]
        assert intruder in np.delete(best, item.subject, axis=0)
        row = data.topics[item.subject]
        assert row[intruder] <= np.median(row)
        assert item.choices == tuple(data.vocabulary[c] for c in item.choice_ids)
    assert len({item.answer for item in items}) > 1


def test_questions_are_reproducible(data):
    assert word_intrusion(data, random_state=3) == word_intrusion(data, random_state=3)
    assert len(word_intrusion(data, n_items=2, random_state=0)) == 2


def test_topic_questions_have_one_intruder(data):
    items = topic_intrusion(data, n_topics=3, n_items=8, random_state=0)
    assert len(items) == 8
    for item in items:
        theta = data.doc_topics[item.subject]
        shown = [c for i, c in enumerate(item.choice_ids) if i != item.answer]
        assert sorted(shown) == sorted(np.argsort(-theta)[:3].tolist())
        assert theta[item.choice_ids[item.answer]] < theta[shown].min()
        assert item.choices[0] == data.name(item.choice_ids[0])


def test_topics_that_are_the_same_have_no_questions():
    same = TopicData(topics=[[0.6, 0.4, 0], [0.6, 0.4, 0]], vocabulary=list("abc"))
    assert word_intrusion(same, n_words=2, random_state=0) == []
    one = TopicData(topics=[[0.5, 0.5]], vocabulary=list("ab"), doc_topics=[[1.0]])
    assert word_intrusion(one, n_words=1, random_state=0) == []
    even = TopicData(
        topics=np.eye(4), vocabulary=list("abcd"), doc_topics=np.full((3, 4), 0.25)
    )
    assert topic_intrusion(even, random_state=0) == []


def test_scores():
    items = [
        IntrusionItem("topic", d, ("a", "b"), (0, 1), 1, (0.8, 0.2)) for d in (0, 1, 1)
    ]
    score = score_intrusion(items, [1, 0, None])
    assert (score.precision, score.chance, score.n_answered) == (0.5, 0.5, 2)
    assert score.by_subject == {0: 1.0, 1: 0.0}
    assert score.log_odds == pytest.approx(np.log(0.2 / 0.8) / 2)
    nothing = score_intrusion(items, [None] * 3)
    assert np.isnan(nothing.precision)
    assert nothing.n_answered == 0


WORDS = ["neural", "network", "weights", "supreme", "court", "ruled"]


def named_data(**more):
    topics = [[0.4, 0.4, 0.2, 0, 0, 0], [0, 0, 0, 0.4, 0.4, 0.2]]
    return TopicData(topics=topics, vocabulary=WORDS, **more)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: word_intrusion(named_data(), n_words=0), "n_words=0"),
        (lambda: topic_intrusion(named_data()), "needs the mixtures"),
        (
            lambda: topic_intrusion(named_data(doc_topics=[[1.0, 0.0]])),
            "n_topics=1 or less",
        ),
        (lambda: score_intrusion([], [1]), "1 answers to 0"),
        (
            lambda: score_intrusion(
                [IntrusionItem("word", 0, ("a",), (0,), 0, (1.0,))], [1]
            ),
            "answer 0 is 1",
        ),
    ],
)
def test_errors(call, message):
    with pytest.raises(DataError, match=message):
        call()
