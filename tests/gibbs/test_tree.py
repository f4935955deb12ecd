# SPDX-License-Identifier: BSD-3-Clause
"""The nested Chinese restaurant process: conditionals by enumeration, planted trees."""

import math

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import normalized_mutual_info_score
from tests_support import planted_tree

import topicfold
from topicfold import TopicTree
from topicfold.gibbs import tree_kernels as kernels
from topicfold.gibbs.tree import NestedCrp

GROUPS = np.array([[0, 0, 0, 1, 1, 1], [0, 0, 1, 2, 2, 2]])


def small_chain(seed=0):
    rng = np.random.default_rng(seed)
    X = sparse.csr_matrix(rng.poisson(0.7, (6, 9)) + np.eye(6, 9)).astype(np.float64)
    chain = NestedCrp(X, GROUPS, n_nodes=12, alpha=2.0, eta=0.3, burn_in=100, seed=seed)
    chain.gamma = 0.7
    return chain


def plain_log_joint(chain, paths, levels):
    """Log P of paths (tuples of any labels) and levels, token after token."""
    doc_ptr, words = chain.corpus
    n_terms, depth = chain.nodes.counts.shape[1], chain.depth
    seen, of_node, total = {}, {}, 0.0
    for d, path in enumerate(paths):
        for level in range(1, depth):
            above, here = path[:level], path[: level + 1]
            n = seen.get(here, 0)
            up = seen.get(above, 0) if level > 1 else d
            total += math.log((n or chain.gamma) / (up + chain.gamma))
        for level in range(1, depth):
            here = path[: level + 1]
            seen[here] = seen.get(here, 0) + 1
        used = [0] * depth
        for i in range(doc_ptr[d], doc_ptr[d + 1]):
            lev, w = int(levels[i]), int(words[i])
            n = i - doc_ptr[d]
            total += math.log((used[lev] + chain.alpha) / (n + depth * chain.alpha))
            used[lev] += 1
            node = of_node.setdefault(path[: lev + 1], np.zeros(n_terms))
            share = (node[w] + chain.eta) / (node.sum() + n_terms * chain.eta)
            total += math.log(share)
            node[w] += 1
    return total


def labels(chain):
    return [tuple(path) for path in chain.paths.tolist()]


@pytest.mark.slow
def test_the_joint_probability_is_that_of_the_tokens_one_by_one():
    chain = small_chain()
    chain.start()
    for _ in range(5):
        chain.iterate()
    plain = plain_log_joint(chain, labels(chain), chain.levels)
    assert chain.log_joint() == pytest.approx(plain, rel=1e-12)


def test_paths_are_drawn_by_their_conditional_probability():
    chain = small_chain()
    chain.start()
    d, doc_ptr = 2, chain.corpus[0]
    others = labels(chain)
    known = {path for e, path in enumerate(others) if e != d}
    inner = {path[:n] for path in known for n in (1, 2)}
    # Every path of another document, and a new branch below every inner node.
    choices = [*known, *((*node, "new", "leaf")[:3] for node in inner)]
    log_p = np.array(
        [
            plain_log_joint(chain, [*others[:d], p, *others[d + 1 :]], chain.levels)
            for p in choices
        ]
    )
    expected = dict(
        zip(choices, np.exp(log_p - np.logaddexp.reduce(log_p)), strict=True)
    )
    tokens = np.arange(doc_ptr[d], doc_ptr[d + 1])
    chain._count(tokens, np.array([d]), -1)
    found = dict.fromkeys(choices, 0.0)
    grid = (np.arange(20_000) + 0.5) / 20_000
    state, nodes = (chain.paths, chain.levels), tuple(chain.nodes)
    priors = chain.alpha, chain.eta, chain.gamma
    for u in grid:
        kernels.draw_path(
            d, doc_ptr[d], doc_ptr[d + 1], chain.corpus, state, nodes, priors, u,
            chain.scratch,
        )  # fmt: skip
        path = labels(chain)[d]
        if path not in found:
            kept = 2 if path[:2] in inner else 1
            path = (*path[:kept], "new", "leaf")[:3]
        found[path] += 1 / len(grid)
    for path, p in expected.items():
        assert found[path] == pytest.approx(p, abs=2e-4), path


def test_the_gain_of_a_merge_is_that_of_the_joint_probability():
    chain = small_chain()
    chain.start()
    first, second = chain.paths[0, 2], chain.paths[2, 2]  # leaves of one parent
    expected = chain._gain(first, second)
    before = labels(chain)
    after = [
        tuple(first if node == second else node for node in path) for path in before
    ]
    gain = plain_log_joint(chain, after, chain.levels)
    gain -= plain_log_joint(chain, before, chain.levels)
    assert expected == pytest.approx(gain, abs=1e-9)
    a, b = chain.paths[0, 1], chain.paths[3, 1]
    expected = chain._gain(a, b)
    after = [tuple(a if node == b else node for node in path) for path in before]
    gain = plain_log_joint(chain, after, chain.levels)
    gain -= plain_log_joint(chain, before, chain.levels)
    assert expected == pytest.approx(gain, abs=1e-9)


def test_counts_are_those_of_the_tokens_after_merges_and_moves():
    X, _ = planted_tree(0, (3, 2), n_documents=150, n_terms=300)
    groups = np.random.default_rng(0).integers(6, size=(2, 150))
    chain = NestedCrp(X, groups, n_nodes=60, alpha=5.0, eta=0.1, burn_in=50, seed=0)
    chain.start()
    for _ in range(20):
        chain.iterate()
    own = chain.paths[chain.rows, chain.levels]
    expected = np.zeros_like(chain.nodes.counts)
    np.add.at(expected, (own, chain.corpus[1]), 1)
    np.testing.assert_array_equal(chain.nodes.counts, expected)
    np.testing.assert_array_equal(chain.nodes.totals, expected.sum(axis=1))
    documents = np.bincount(chain.paths.ravel(), minlength=60)
    np.testing.assert_array_equal(chain.nodes.documents, documents)
    for lev in (1, 2):
        parents = chain.nodes.parent[chain.paths[:, lev]]
        np.testing.assert_array_equal(parents, chain.paths[:, lev - 1])


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_a_planted_tree_is_found(seed):
    X, paths = planted_tree(seed, (3, 2), n_documents=400, n_terms=300)
    model = TopicTree(algorithm="crp", random_state=seed).fit(X)
    assert np.bincount(model.levels_).tolist() == [1, 3, 6]
    for theta in (model.doc_topics_, model.transform(X)):
        for lev in (1, 2):
            own = theta[:, model.levels_ == lev].argmax(axis=1)
            assert normalized_mutual_info_score(paths[:, lev - 1], own) > 0.95
    gap = np.abs(model.transform(X) - model.doc_topics_).sum(axis=1).mean()
    assert gap < 0.05
    tree = model.tree_
    assert tree["documents"] == X.shape[0]
    assert [len(child["children"]) for child in tree["children"]] == [2, 2, 2]
    lines = model.tree_text(n_words=2).splitlines()
    assert len(lines) == 10
    assert lines[2].startswith("    2 (")


def test_a_damaged_tree_is_not_loaded(tmp_path):
    X, _ = planted_tree(0, (3, 2), n_documents=60, n_terms=300)
    model = TopicTree(algorithm="crp", random_state=0, max_iter=8).fit(X)
    for name, wrong in (("parents_", 0), ("levels_", 1)):
        broken = topicfold.TopicTree().set_params(**model.get_params())
        vars(broken).update(vars(model))
        array = getattr(model, name).copy()
        array[0] = wrong
        setattr(broken, name, array)
        broken.save(tmp_path / name)
        with pytest.raises(topicfold.exceptions.ModelFileError, match=name):
            topicfold.load(tmp_path / name)
