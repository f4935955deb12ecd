# SPDX-License-Identifier: BSD-3-Clause
"""New documents of a new subject: they are noticed, and get topics of their own."""

import numpy as np
import pytest
from scipy import sparse

from topicfold import Topics
from topicfold.editing import apply_edits, edits_of, numbers_of
from topicfold.exceptions import DataError
from topicfold.session.growing import word_gains

GROUPS = (
    "fox wolf wood leaf bear deer hare lynx",
    "sea fish boat wave tide reef salt coral",
    "soup salt bread oven bowl spoon dough yeast",
)


def _texts(group, number, seed):
    rng = np.random.default_rng(seed)
    words = GROUPS[group].split()
    return [" ".join(rng.choice(words, 12)) for _ in range(number)]


OLD = _texts(0, 60, 0) + _texts(1, 60, 1)
FOOD = _texts(2, 40, 2)


@pytest.fixture(params=["lda", "plsa", "gibbs", "fstm"])
def topics(request):
    return Topics(2, model=request.param, min_df=1, max_df=1.0).fit(OLD)


def test_documents_of_a_new_subject_are_noticed(topics):
    topics.update(FOOD)
    assert topics.update_.unlike > 30
    assert "Unlike" in dict(topics.update_.lines())


def test_ordinary_documents_are_not(topics):
    topics.update(_texts(0, 30, 5) + _texts(1, 30, 6))
    assert topics.update_.unlike == 0
    assert {row["change"] for row in topics.update_.topics} == {""}


def test_they_get_a_topic_and_the_others_stay(topics, tmp_path):
    topics.rename(0, "first")
    before = topics.data_
    topics.update(FOOD, new_topics=1)
    after, done = topics.data_, topics.update_
    assert after.numbers == (0, 1, 2)
    assert {row["topic"]: row["change"] for row in done.topics}[2] == "new"
    assert dict(done.lines())["New"].startswith("only in the new documents: 2 ")
    np.testing.assert_array_equal(after.doc_topics[:120, :2], before.doc_topics)
    assert not after.doc_topics[:120, 2].any()
    assert (after.main_topics()[120:] == 2).mean() > 0.9
    assert {*after.top_terms(8)[2]} <= {*GROUPS[2].split()}
    kept = np.minimum(before.topics, after.topics[:2, : before.n_terms]).sum(axis=1)
    assert kept.min() > 0.9
    topics.save(tmp_path / "model")
    again = Topics.load(tmp_path / "model")
    assert again.data_.name(0) == "first"
    found = again.transform(["dough yeast bread oven"])
    assert found.argmax() == 2
    assert again.split(2).data_.numbers == (0, 1, 2, 3)


def test_the_log_says_that_topics_came(topics):
    topics.update(FOOD, new_topics=2).drop(0).update(["a fox"])
    assert topics.data_.numbers == (1, 2, 3)
    log = topics.edit_log()
    assert log["edits"] == [
        {"action": "grow", "n_topics": 2},
        {"action": "drop", "topics": [0]},
    ]
    assert log["topics"] == 2
    plain = Topics(2, min_df=1, max_df=1.0).fit(OLD).model_
    with pytest.raises(DataError, match=r"Edit 0 .*added later"):
        apply_edits(plain, edits_of(log, plain))
    assert numbers_of(plain) == [0, 1]


def test_bad_input(topics):
    with pytest.raises(DataError, match="new_topics=-1"):
        topics.update(FOOD, new_topics=-1)
    with pytest.raises(DataError, match="without refit"):
        topics.update(FOOD, new_topics=1, refit=True)
    with pytest.raises(DataError, match="3 new topics need at least as many"):
        topics.update(FOOD[:2], new_topics=3)
    labelled = Topics(2, model="medlda", min_df=1).fit(OLD, [0] * 60 + [1] * 60)
    with pytest.raises(DataError, match="models of words alone"):
        labelled.update(FOOD, new_topics=1)
    bound = Topics(2, model="correlated", min_df=1, max_df=1.0).fit(OLD)
    with pytest.raises(DataError, match="learned how its topics are correlated"):
        bound.update(FOOD, new_topics=1)


def test_gains_are_those_of_the_equation():
    rng = np.random.default_rng(0)

    class Model:
        components_ = rng.dirichlet(np.ones(9), 4)
        word_frequencies_ = rng.dirichlet(np.ones(9))

    X = rng.poisson(0.8, (20, 9)).astype(float)
    X[3] = 0
    theta = rng.dirichlet(np.ones(4), 20)
    phi, common = Model.components_, Model.word_frequencies_
    tokens = np.full(4, 50.0)
    for own in (None, tokens):
        wanted = np.zeros(20)
        for d in range(20):
            for w in np.flatnonzero(X[d]):
                words = phi[:, w].copy()
                if own is not None:
                    shares = theta[d] * words / (theta[d] @ words)
                    words = np.maximum(words - X[d, w] * shares / own, 0)
                lift = theta[d] @ words / common[w]
                wanted[d] += X[d, w] * np.log(0.99 * lift + 0.01)
            wanted[d] /= max(X[d].sum(), 1)
        found = word_gains(sparse.csr_matrix(X), theta, Model, own)
        np.testing.assert_allclose(found, wanted, rtol=1e-12)
