# SPDX-License-Identifier: BSD-3-Clause
"""Author-topic model: EM by the equations, authors found again, unknown ones."""

import numpy as np
import pytest
import sklearn
from scipy import sparse
from sides_support import planted
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, normalize

import topicfold
from topicfold import PLSA, AuthorTopics
from topicfold.evidence.words import SKETCH, word_sketches
from topicfold.exceptions import DataError, DataWarning
from topicfold.learn.learner import Learner
from topicfold.theta import Authors

FEW = {"max_iter": 5, "tol": 0.0, "random_state": 0}


@pytest.fixture(scope="module")
def written():
    """Documents by one or two of twelve authors, each with a mixture of their own."""
    rng = np.random.default_rng(1)
    _, _, phi = planted(seed=2)
    mixtures = rng.dirichlet(np.full(4, 0.2), 12)
    lists = [rng.choice(12, rng.integers(1, 3), False).tolist() for _ in range(300)]
    theta = np.array([mixtures[own].mean(axis=0) for own in lists])
    X = np.array([rng.multinomial(60, row) for row in theta @ phi]).astype(float)
    names = [[f"author {a:02d}" for a in own] for own in lists]
    return sparse.csr_matrix(X), names, mixtures, phi


def em(X, M, phi, alpha, eta, n_iter):
    """Author-topic EM, token by token and author by author."""
    Theta = np.full((M.shape[1], len(phi)), 1 / len(phi))
    for _ in range(n_iter):
        # p(a, k | d, w), all four dimensions.
        joint = np.einsum("da,ak,kw->dwak", M, Theta, phi)
        joint /= joint.sum(axis=(2, 3), keepdims=True)
        joint *= X[:, :, None, None]
        phi = joint.sum(axis=(0, 2)).T + eta
        phi /= phi.sum(axis=1, keepdims=True)
        Theta = joint.sum(axis=(0, 1)) + alpha
        Theta /= Theta.sum(axis=1, keepdims=True)
    return Theta, phi


def test_passes_are_em_over_authors_and_topics_of_every_token(written):
    X, names, *_ = written
    X, names = X[:30], names[:30]
    start = np.random.default_rng(0).dirichlet(np.ones(X.shape[1]), 4)
    priors = {"doc_topic_prior": 0.3, "topic_word_prior": 0.05}
    model = AuthorTopics(4, **FEW, **priors, strict=True, init=start).fit(
        X, authors=names
    )
    M = Authors().check(names, model._side_context(X, n_topics=4)).toarray()
    Theta, phi = em(X.toarray(), M, start, 0.3, 0.05, 5)
    np.testing.assert_allclose(model.author_topics_, Theta, atol=1e-8)
    np.testing.assert_allclose(model.components_, phi, atol=1e-8)
    np.testing.assert_allclose(model.doc_topics_, M @ Theta, atol=1e-8)


def test_objective_never_falls_and_authors_are_found(written):
    X, names, mixtures, phi = written
    model = AuthorTopics(4, strict=True, random_state=0).fit(X, authors=names)
    history = np.array(model.objective_history_)
    assert (np.diff(history) >= -1e-9 * np.abs(history[:-1])).all()
    assert model.author_names_.tolist() == [f"author {a:02d}" for a in range(12)]
    from scipy.optimize import linear_sum_assignment

    overlap = np.minimum(model.components_[:, None], phi[None]).sum(axis=2)
    ours, truth = linear_sum_assignment(-overlap)
    found = model.author_topics_[:, ours]
    assert np.abs(found - mixtures[:, truth]).sum(axis=1).mean() < 0.1


def test_an_author_for_each_document_is_plain_plsa(written, monkeypatch):
    X, *_ = written
    monkeypatch.setattr(Learner, "extrapolated", lambda algorithm: algorithm)
    start = np.random.default_rng(0).dirichlet(np.ones(X.shape[1]), 4)
    tiny = {"doc_topic_prior": 1e-12, "topic_word_prior": 1e-12}
    with pytest.warns(DataWarning, match="AuthorTopics was fitted without authors, so"):
        ours = AuthorTopics(4, **FEW, **tiny, strict=True, init=start).fit(X)
    assert len(ours.author_names_) == X.shape[0]
    plain = PLSA(4, **FEW, init=start).fit(X)
    np.testing.assert_allclose(ours.doc_topics_, plain.doc_topics_, atol=1e-6)
    np.testing.assert_allclose(ours.components_, plain.components_, atol=1e-6)


def test_new_documents_with_and_without_authors(written):
    X, names, *_ = written
    model = AuthorTopics(4, strict=True, random_state=0).fit(X, authors=names)
    known = model.transform(X[:3], authors=names[:3])
    np.testing.assert_allclose(known, model.doc_topics_[:3], atol=1e-6)
    words = model.transform(X[:3])
    assert not np.allclose(words, known, atol=1e-3)
    mixed = model.transform(X[:3], authors=[names[0], None, []])
    np.testing.assert_allclose(mixed, [known[0], words[1], words[2]], atol=1e-6)


def test_an_unknown_author_has_the_mixture_of_the_prior(written):
    X, names, *_ = written
    alpha = np.array([0.1, 0.2, 0.3, 0.4])
    model = AuthorTopics(4, doc_topic_prior=alpha, strict=True, **FEW).fit(
        X, authors=names
    )
    with pytest.warns(DataWarning, match="no documents by 'Nobody'"):
        found = model.transform(X[:2], authors=[["Nobody"], ["author 01", "Nobody"]])
    np.testing.assert_allclose(found[0], alpha)
    np.testing.assert_allclose(
        found[1], (alpha + model.author_topics_[1]) / 2, atol=1e-6
    )


def test_a_matrix_of_authors_is_the_same_as_lists(written):
    X, names, *_ = written
    strict = {"strict": True, **FEW}
    by_list = AuthorTopics(4, **strict).fit(X, authors=names)
    M = Authors().check(names, by_list._side_context(X, n_topics=4))
    by_matrix = AuthorTopics(4, **strict).fit(X, authors=3 * M)
    np.testing.assert_allclose(by_matrix.author_topics_, by_list.author_topics_)
    np.testing.assert_allclose(
        by_matrix.transform(X, authors=M), by_list.doc_topics_, atol=1e-6
    )


def test_similar_authors_share_topics(written):
    X, names, mixtures, _ = written
    model = AuthorTopics(4, random_state=0).fit(X, authors=names)
    cosines = mixtures @ mixtures.T
    cosines /= np.sqrt(np.outer(np.diag(cosines), np.diag(cosines)))
    np.fill_diagonal(cosines, -1)
    found = model.similar_authors("author 00", 3)
    assert f"author {cosines[0].argmax():02d}" in [name for name, _ in found]
    with pytest.raises(DataError, match="Did you mean author 00"):
        model.similar_authors("Author 00")


def test_authors_are_compared_by_mixtures_and_by_words(written):
    X, names, *_ = written
    model = AuthorTopics(4, **FEW).fit(X, authors=names)
    side = model.sides_[0]
    roots = np.sqrt(side.entity_topics_.astype(float))
    mixtures = roots @ roots[[0]].T
    words = side.word_places_ @ side.word_places_[[0]].T
    name = model.author_names_[0]
    for found, wanted in (
        (model.similar_authors(name, 5), (mixtures + 2 * words).ravel() / 3),
        (model.similar_authors(name, 5, words=False), mixtures.ravel()),
    ):
        wanted[0] = -1
        best = np.argsort(-wanted, kind="stable")[:5]
        assert [n for n, _ in found] == model.author_names_[best].tolist()
        np.testing.assert_allclose([like for _, like in found], wanted[best], 1e-6)
    without = model.similar_authors(name, 5, words=False)
    side.word_places_ = None  # of a file
    assert model.similar_authors(name, 5) == without


def test_sketches_of_words_have_the_cosines_of_words():
    rng = np.random.default_rng(0)
    X = sparse.random(60, 3000, 0.05, format="csr", random_state=rng)
    X.data = np.ceil(5 * X.data)
    X = sparse.csr_matrix(X + X[rng.permutation(60)])  # some are alike
    members = np.stack([np.arange(60) // 2, np.arange(60)], axis=1)
    found = word_sketches(X, members, 30)
    weights = TfidfTransformer(smooth_idf=True).fit(X).idf_
    rows = X.copy()
    rows.data = np.log1p(rows.data)
    rows = normalize(rows @ sparse.diags(weights))
    sums = normalize(np.add.reduceat(rows.toarray(), np.arange(0, 60, 2), axis=0))
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1.0, rtol=1e-6)
    gaps = (found @ found.T - sums @ sums.T)[np.triu_indices(30, 1)]
    assert np.abs(gaps).mean() < 1 / np.sqrt(SKETCH)


@pytest.mark.parametrize(
    ("authors", "message"),
    [
        ([["a"]] * 5, "authors has 5 rows, but X has 300 documents"),
        ([None] * 300, "has no name for any document"),
        (["a"] * 299 + [3.5], "authors of document 299 are 3.5"),
        ("a", "give a list of names"),
        (7, "give a list of names"),
        (-sparse.eye(300, format="csr"), "negative"),
        (sparse.eye(10, format="csr"), "authors has 10 rows"),
    ],
)
def test_bad_authors_are_explained(written, authors, message):
    with pytest.raises(DataError, match=message):
        AuthorTopics(4, **FEW).fit(written[0], authors=authors)


def test_saved_and_loaded(written, tmp_path):
    X, names, *_ = written
    model = AuthorTopics(4, **FEW).fit(X, authors=names)
    model.save(tmp_path / "model")
    again = topicfold.load(tmp_path / "model")
    assert again.similar_authors("author 03") == model.similar_authors("author 03")
    np.testing.assert_array_equal(
        again.transform(X, authors=names), model.transform(X, authors=names)
    )


def test_authors_travel_through_a_pipeline_by_routing(written):
    X, names, *_ = written
    with sklearn.config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(FunctionTransformer(), AuthorTopics(4, **FEW))
        theta = pipeline.fit(X, authors=names).transform(X, authors=names)
    model = AuthorTopics(4, **FEW).fit(X, authors=names)
    np.testing.assert_array_equal(theta, model.transform(X, authors=names))


def test_perplexity_with_authors_is_lower_than_without_words(written):
    X, names, *_ = written
    model = AuthorTopics(4, random_state=0).fit(X[:250], authors=names[:250])
    known = model.perplexity(X[250:], authors=names[250:])
    frequencies = model.word_frequencies_
    unigram = np.exp(-(X[250:] @ np.log(frequencies + 1e-9)).sum() / X[250:].sum())
    assert known < 0.9 * unigram


def test_authors_travel_through_a_grid_search_by_routing(written):
    X, names, *_ = written
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(AuthorTopics(**FEW), {"n_components": [1, 4]}, cv=2)
        search.fit(X, authors=names)
    assert search.best_params_ == {"n_components": 4}
    assert len(search.best_estimator_.author_names_) == 12


def test_new_documents_with_authors_leave_the_model_as_it_is():
    X = np.array([[5, 4, 0, 0], [4, 6, 0, 0], [0, 0, 3, 5], [3, 0, 3, 4]] * 5)
    authors = [["Ann"], ["Ann", "Bob"], ["Cid"], ["Bob", "Cid"]] * 5
    model = AuthorTopics(2, random_state=0).fit(X, authors=authors)
    alpha, theta = model.doc_topic_prior_.copy(), model.transform(X)
    model.transform(X, authors=authors)
    np.testing.assert_array_equal(model.doc_topic_prior_, alpha)
    np.testing.assert_array_equal(model.transform(X), theta)
