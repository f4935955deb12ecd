# SPDX-License-Identifier: BSD-3-Clause
"""Trees by recursion: planted ones found, tokens kept, the path of each document."""

import numpy as np
import pytest
from sklearn.metrics import normalized_mutual_info_score
from tests_support import planted_tree

from topicfold import LDA, TopicTree
from topicfold.exceptions import DataError, DataWarning
from topicfold.learn import run_em
from topicfold.models.topic_tree import (
    Splits,
    allotted,
    documents_of_nodes,
    level_sizes,
    shared_words,
)


def subject(theta, model, level):
    """Return the node of a level that has most of each document, with all below it."""
    below = theta.copy()
    for node in range(len(model.parents_) - 1, 0, -1):
        below[:, model.parents_[node]] += below[:, node]
    nodes = np.flatnonzero(model.levels_ == level)
    return nodes[below[:, nodes].argmax(axis=1)]


@pytest.mark.parametrize("seed", [0, 1])
def test_a_planted_tree_of_known_size_is_found(seed):
    X, paths = planted_tree(seed)
    model = TopicTree(17, random_state=seed).fit(X)
    assert np.bincount(model.levels_).tolist() == [1, 4, 12]
    for level in (1, 2):
        own = subject(model.doc_topics_, model, level)
        assert normalized_mutual_info_score(paths[:, level - 1], own) > 0.95
    assert [len(child["children"]) for child in model.tree_["children"]] == [3] * 4
    np.testing.assert_array_equal(model.transform(X), model.doc_topics_)
    assert (np.diff(model.objective_history_) >= 0).all()
    assert model.converged_
    assert model.n_topics_history_[-1] == 17


def test_with_thirty_leaves_too_and_beside_the_chain():
    X, paths = planted_tree(2, (6, 5), n_documents=1500)
    model = TopicTree(37, random_state=0).fit(X)
    assert np.bincount(model.levels_).tolist() == [1, 6, 30]
    for level in (1, 2):
        own = subject(model.doc_topics_, model, level)
        assert normalized_mutual_info_score(paths[:, level - 1], own) > 0.95


def test_no_token_is_lost_and_none_is_in_two_nodes():
    X, _ = planted_tree(0)
    splits = Splits(X, [4, 12], LDA(2, max_iter=20), eta=0.01, seed=0)
    values = [splits.start()]
    for _ in range(6):
        values.append(splits.iterate())
        assert abs(sum(splits.counts) - X).sum() == 0
    assert (np.diff(values) >= 0).all()
    words = [np.asarray(own.sum(axis=0)).ravel() for own in splits.counts]
    expected = sum(
        n * np.log(n / own.sum()) for own in words for n in own[own > 0].astype(float)
    )
    assert values[-1] == pytest.approx(expected)
    children = np.array(splits.parents)
    assert (children[1:] < np.arange(1, len(children))).all()


def test_one_level_of_topics_is_lda_less_what_its_topics_share():
    X, _ = planted_tree(0)
    tree = TopicTree(5, depth=2, random_state=0).fit(X)
    assert tree.levels_.tolist() == [0, 1, 1, 1, 1]
    flat = LDA(4, random_state=0).fit(X)
    both = subject(tree.doc_topics_, tree, 1), flat.doc_topics_.argmax(axis=1)
    assert normalized_mutual_info_score(*both) > 0.9
    root = np.random.default_rng(0).dirichlet(np.full(400, 0.05))  # as it was drawn
    like = tree.components_ @ root / np.linalg.norm(tree.components_, axis=1)
    assert like[0] > 0.9 * np.linalg.norm(root)
    assert like[0] > 1.5 * like[1:].max()


def test_max_iter_is_of_each_lda_and_a_split_that_gains_nothing_ends_nothing():
    X, _ = planted_tree(0, (6, 5), n_documents=1500)
    few = TopicTree(37, max_iter=2, random_state=0).fit(X)
    assert few.n_topics_ == 37
    splits = Splits(X, [4, 12], LDA(2, max_iter=2), eta=0.01, seed=0)
    parts, calls = splits._parts, []

    def first_is_one(node, n_children):
        calls.append(node)
        if len(calls) > 1:
            return parts(node, n_children)
        return [X * 0, X, *([X * 0] * (n_children - 1))]

    splits._parts = first_is_one
    result = run_em(splits, max_iter=100, tol=0.0)
    assert result.history[1] == result.history[0]
    assert result.converged
    assert len(calls) > 1


def test_threads_make_no_difference():
    X, _ = planted_tree(1)
    one, two = (TopicTree(17, random_state=3, n_jobs=n).fit(X) for n in (1, 2))
    for name in ("components_", "doc_topics_", "node_documents_"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))


def test_paths_repeat_a_leaf_that_is_above_the_last_level():
    X, _ = planted_tree(0, n_documents=200)
    model = TopicTree(17, random_state=0).fit(X)
    model.parents_ = np.array([-1, 0, 1, 1, 0])
    model.levels_ = np.array([0, 1, 2, 2, 1])
    assert model.paths().tolist() == [[0, 1, 2], [0, 1, 3], [0, 4, 4]]


def test_few_documents_have_few_nodes():
    X, _ = planted_tree(0, n_documents=45)
    assert TopicTree(random_state=0).fit(X).n_topics_ == 7
    assert TopicTree(random_state=0).fit(X[:12]).n_topics_ == 1
    assert level_sizes(100, 3, 45) == [2, 4]
    assert level_sizes(100, 4, 45) == [2, 4]
    assert level_sizes(2, 3, 1000) == []
    assert level_sizes(40, 4, 1000) == [3, 9, 27]


def test_shares_of_nodes_and_of_words():
    assert allotted(np.array([1.0, 1.0, 1.0]), 4) == [2, 1, 1]
    assert sum(allotted(np.random.default_rng(0).random(7), 50)) == 50
    topics = np.random.default_rng(0).dirichlet(np.full(30, 0.3), 4)
    mean = np.exp(0.25 * np.log(topics).sum(axis=0))
    part = shared_words(topics, np.full(4, 0.25))
    np.testing.assert_allclose(part * topics, np.minimum(mean, topics), rtol=1e-10)
    theta = np.array([[0.2, 0.1, 0.4, 0.3], [0.2, 0.5, 0.2, 0.1], [0.1, 0.2, 0.3, 0.4]])
    assert documents_of_nodes(theta, np.array([-1, 0, 0, 2])).tolist() == [3, 1, 2, 2]


def test_the_prior_of_levels_belongs_to_the_chain():
    X, _ = planted_tree(0, n_documents=60)
    with pytest.raises(DataError, match="level_prior is α of the levels of a path"):
        TopicTree(level_prior=2.0).fit(X)


def test_a_chain_with_as_many_nodes_as_it_may_have_says_so():
    X, _ = planted_tree(0, (6, 5), n_documents=100)
    chain = TopicTree(6, algorithm="crp", max_iter=4, random_state=0)
    with pytest.warns(DataWarning, match="the tree has 6 nodes, as many as it may"):
        chain.fit(X)
