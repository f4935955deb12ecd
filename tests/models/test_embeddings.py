# SPDX-License-Identifier: BSD-3-Clause
"""Models that are given embeddings of their documents, in `fit` and afterwards."""

import warnings

import numpy as np
import pytest
from scipy import sparse

import topicfold
from topicfold import (
    FSTM,
    LDA,
    LSI,
    PLSA,
    DiscriminativePLSA,
    DynamicLDA,
    GibbsLDA,
    LaplacianPLSA,
    LocallyConsistentPLSA,
    MedLDA,
    MultimodalLDA,
    NeighborGraph,
    OrthogonalPLSA,
    StructuralLDA,
    TopicClassifier,
    TwoPhase,
    WordNetworkLDA,
)
from topicfold.exceptions import DataError, DataWarning, EmptyDocumentWarning
from topicfold.graph import CountSharing
from topicfold.graph.embedding import EmbeddingIndex
from topicfold.learn.initial import initial_topics, place_clusters
from topicfold.metrics import clustering_nmi
from topicfold.models.lda import EMBEDDED_TOLS

SHARING = (LDA, PLSA, FSTM, OrthogonalPLSA, WordNetworkLDA)
GRAPHS = (LaplacianPLSA, LocallyConsistentPLSA, DiscriminativePLSA)


@pytest.fixture(scope="module")
def texts():
    """Five classes; a text has three of its class's 150 words, a vector tells it."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 5, 500)
    words = 150 * y[:, None] + rng.integers(0, 150, (500, 3))
    X = np.zeros((500, 750))
    np.add.at(X, (np.arange(500)[:, None], words), 1)
    E = np.eye(5, 8)[y] + 0.3 * rng.standard_normal((500, 8))
    return sparse.csr_matrix(X), E, y


def fitted(model, texts, n=400, **options):
    X, E, _ = texts
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", topicfold.exceptions.SpareTopicsWarning)
        warnings.simplefilter("ignore", topicfold.exceptions.UnsettledWarning)
        return model(5, random_state=0, **options).fit(X[:n], embeddings=E[:n])


@pytest.mark.parametrize("model", [LDA, PLSA, FSTM, OrthogonalPLSA, *GRAPHS])
def test_documents_that_share_no_word_come_together(model, texts):
    X, E, y = texts
    plain = model(5, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plain.fit(X[:400])
    found = fitted(model, texts)
    by_words = clustering_nmi(y[:400], plain.doc_topics_.argmax(axis=1))
    by_both = clustering_nmi(y[:400], found.doc_topics_.argmax(axis=1))
    # Where texts share a word, these are of one class: a graph of words is good too.
    assert by_both > (0.75 if model in GRAPHS else max(0.75, by_words + 0.2))
    theta = found.transform(X[400:], embeddings=E[400:])
    np.testing.assert_allclose(theta.sum(axis=1), 1, rtol=1e-5)
    assert clustering_nmi(y[400:], theta.argmax(axis=1)) > 0.75
    one = np.vstack(
        [found.transform(X[[d]], embeddings=E[[d]]) for d in range(400, 420)]
    )
    np.testing.assert_array_equal(one, theta[:20])


@pytest.mark.parametrize("model", SHARING)
def test_a_persons_counts_stay_those_of_the_texts(model, texts):
    X, _, _ = texts
    found = fitted(model, texts)
    np.testing.assert_allclose(found.doc_lengths_, 3.0)
    totals = np.asarray(X[:400].sum(axis=0)).ravel()
    np.testing.assert_allclose(found.word_frequencies_, totals / totals.sum())
    data = found.topic_data()
    np.testing.assert_allclose(data.doc_lengths, 3.0)


def test_lda_sees_the_shared_counts(texts):
    """A fit is one of the counts which `CountSharing` makes, from its clusters."""
    X, E, _ = texts
    sharing = CountSharing()
    shared = sharing.fit_shared(X[:400], E[:400])
    rng = np.random.RandomState(0)
    start = initial_topics(X[:400], 5, "clusters", rng, places=sharing.places)
    expected = LDA(5, random_state=0, init=start, tol=EMBEDDED_TOLS[0]).fit(shared)
    found = fitted(LDA, texts)
    np.testing.assert_allclose(found.components_, expected.components_, rtol=1e-9)
    np.testing.assert_allclose(found.doc_topics_, expected.doc_topics_, rtol=1e-9)
    np.testing.assert_allclose(
        found.transform(X[400:], embeddings=E[400:]),
        expected.transform(sharing.shared(X[400:], E[400:])),
        rtol=1e-9,
    )


def test_clusters_of_many_dimensions_are_those_of_the_places():
    """Nine groups in 300 dimensions, of which a few tell them apart; any threads."""
    rng = np.random.default_rng(0)
    kinds = rng.integers(0, 9, 600)
    rows = rng.standard_normal((9, 300))[kinds] + rng.standard_normal((600, 300))
    rows = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    found = place_clusters(rows, 9, np.random.RandomState(0))
    assert clustering_nmi(kinds, found) == pytest.approx(1.0)
    X = sparse.csr_matrix(rng.poisson(1.0, (600, 50)).astype(np.float32))
    starts = [
        initial_topics(X, 9, "clusters", np.random.RandomState(1), n_jobs, places=rows)
        for n_jobs in (1, 3)
    ]
    np.testing.assert_array_equal(*starts)


def test_words_of_short_texts_are_those_of_the_texts(texts):
    X, _, _ = texts
    found = fitted(WordNetworkLDA, texts)
    plain = WordNetworkLDA(5, random_state=0).fit(X[:400])
    np.testing.assert_array_equal(found.components_, plain.components_)


@pytest.mark.parametrize("model", [LDA, LocallyConsistentPLSA])
def test_saved_with_what_new_documents_need(model, texts, tmp_path):
    X, E, _ = texts
    found = fitted(model, texts)
    found.save(tmp_path / "model")
    again = topicfold.load(tmp_path / "model")
    np.testing.assert_array_equal(
        again.transform(X[400:], embeddings=E[400:]),
        found.transform(X[400:], embeddings=E[400:]),
    )


@pytest.mark.parametrize("model", [LDA, FSTM, LaplacianPLSA])
def test_asked_without_embeddings_words_alone_answer_with_a_warning(model, texts):
    X, _, _ = texts
    found = fitted(model, texts)
    with pytest.warns(DataWarning, match="their mixtures come from their words alone"):
        theta = found.transform(X[400:])
    np.testing.assert_allclose(theta.sum(axis=1), 1, rtol=1e-5)


@pytest.mark.parametrize("model", [LDA, FSTM, LaplacianPLSA])
def test_embeddings_that_fit_the_model_only(model, texts):
    X, E, _ = texts
    plain = model(5, random_state=0, max_iter=3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plain.fit(X)
    with pytest.raises(DataError, match="was fitted without embeddings"):
        plain.transform(X, embeddings=E)
    found = fitted(model, texts)
    with pytest.raises(DataError, match="have 7 dimensions, in fit they had 8"):
        found.transform(X, embeddings=E[:, :7])
    with pytest.raises(DataError, match="100 embeddings for 500 documents"):
        found.transform(X, embeddings=E[400:])
    with pytest.raises(DataError, match="NaN"):
        model(5).fit(X, embeddings=np.where(E > 1, np.nan, E))
    with pytest.raises(DataError, match="499 embeddings for 500 documents"):
        model(5).fit(X, embeddings=E[1:])


@pytest.mark.parametrize("ask", ["partial_fit", "perplexity", "score"])
def test_words_alone_are_asked_for_batches_and_for_the_perplexity(ask, texts):
    X, E, _ = texts
    model = fitted(LDA, texts)
    with pytest.raises(DataError, match="takes embeddings in fit and transform only"):
        getattr(model, ask)(X, embeddings=E)


def test_float16_and_lists_are_taken(texts):
    X, E, _ = texts
    half = LDA(5, random_state=0).fit(X, embeddings=E.astype(np.float16))
    lists = LDA(5, random_state=0).fit(X, embeddings=E.astype(np.float16).tolist())
    np.testing.assert_array_equal(half.doc_topics_, lists.doc_topics_)


def test_a_text_without_words_has_the_mixture_of_its_neighbors(texts):
    X, E, _ = texts
    found = fitted(LDA, texts)
    empty = sparse.csr_matrix((1, 750))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        theta = found.transform(empty, embeddings=E[[450]])
    known = found.transform(X[[450]], embeddings=E[[450]])
    assert theta.argmax() == known.argmax()
    with pytest.warns(EmptyDocumentWarning):
        theta = found.transform(empty, embeddings=np.zeros((1, 8)))
    np.testing.assert_allclose(theta, 0.2, rtol=1e-5)


def test_fit_transform_takes_embeddings(texts):
    X, E, _ = texts
    for model in (LDA(5, random_state=0), FSTM(5, random_state=0)):
        theta = model.fit_transform(X, embeddings=E)
        np.testing.assert_array_equal(theta, model.transform(X, embeddings=E))


def test_models_that_take_none_say_so(texts):
    X, E, _ = texts
    with pytest.raises(DataError, match="GibbsLDA takes no embeddings: it needs whole"):
        GibbsLDA(5).fit(X, embeddings=E)
    ring = np.c_[np.arange(500), np.roll(np.arange(500), 1)]
    models = LSI(2), MedLDA(2), TwoPhase(PLSA(2)), StructuralLDA(2), DynamicLDA(2)
    for model in models:
        with pytest.raises(DataError, match=r"the model \w+ takes no embeddings. Use"):
            model.fit(X, np.arange(500) % 2, embeddings=E)
    with pytest.raises(DataError, match="MultimodalLDA takes no embeddings"):
        MultimodalLDA(2).fit({"a": X, "b": X}, embeddings=E)
    with pytest.raises(TypeError, match=r"LSI.fit\(\) takes no 'vectors'"):
        LSI(2).fit(X, vectors=E)
    with pytest.raises(DataError, match="by the graph that you give"):
        LaplacianPLSA(5, graph=ring).fit(X, embeddings=E)
    with pytest.raises(DataError, match="compares words, so embeddings"):
        LaplacianPLSA(5, graph=NeighborGraph(of="words")).fit(X, embeddings=E)
    with pytest.raises(DataError, match="needs embeddings: fit"):
        LaplacianPLSA(5, graph=NeighborGraph(of="embeddings")).fit(X)


def test_a_classifier_joins_documents_by_embeddings(texts, tmp_path):
    X, E, y = texts
    given = np.full(400, -1)
    given[:25] = y[:25]
    model = TopicClassifier(random_state=0).fit(X[:400], given, embeddings=E[:400])
    assert model.model_.sees_embeddings
    assert (model.transduction_ == y[:400])[25:].mean() > 0.9
    found = model.predict(X[400:], embeddings=E[400:])
    assert (found == y[400:]).mean() > 0.9
    assert model.explain(X[400], embeddings=E[[400]]).label == found[0]
    model.save(tmp_path / "model")
    again = topicfold.load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict(X[400:], embeddings=E[400:]), found)


@pytest.mark.parametrize("model", GRAPHS)
def test_a_graph_of_words_and_embeddings(model, texts, tmp_path):
    X, E, y = texts
    both = fitted(model, texts, graph=NeighborGraph(of="both"))
    new = both.transform(X[400:], embeddings=E[400:])
    assert clustering_nmi(y[400:], new.argmax(axis=1)) > 0.9
    one = np.vstack([both.transform(X[[d]], embeddings=E[[d]]) for d in (400, 499)])
    np.testing.assert_allclose(one, new[[0, 99]], atol=1e-6)
    edges = both.edges_to(X[400:], E[400:])
    assert edges.sum(axis=1).max() == pytest.approx(1.0)
    both.save(tmp_path / "model")
    again = topicfold.load(tmp_path / "model")
    np.testing.assert_array_equal(again.transform(X[400:], embeddings=E[400:]), new)
    with pytest.warns(DataWarning, match="was fitted with embeddings"):
        both.transform(X[400:])


def test_few_labels_join_documents_by_words_and_vectors(texts):
    X, E, y = texts
    labels = np.where(np.arange(500) < 60, y, -1)
    model = TopicClassifier(random_state=0, cv=0).fit(X, labels, embeddings=E)
    assert model.model_.models_[0].graph.of == "both"
    assert (model.predict(X, embeddings=E) == y).mean() > 0.95
    own = LocallyConsistentPLSA(5, random_state=0)
    model = TopicClassifier(own, random_state=0, cv=0).fit(X, labels, embeddings=E)
    assert "both" not in str(model.get_params())


@pytest.mark.parametrize("length", [8, 60])
def test_vectors_without_information_change_nothing(length):
    """Planted topics; noise, and noise in clusters, are no reason to share counts."""
    rng = np.random.default_rng(0)
    topics = rng.dirichlet(np.full(200, 0.05), 9)
    theta = rng.dirichlet(np.full(9, 0.15), 300)
    X = np.array([rng.multinomial(length, row @ topics) for row in theta])
    noise = rng.standard_normal((300, 16))
    clusters = rng.standard_normal((9, 16))[rng.integers(0, 9, 300)]
    plain = LDA(9, random_state=0, max_iter=20, tol=0).fit(X)
    for vectors in (noise, clusters + 0.5 * noise):
        model = LDA(9, random_state=0, max_iter=20, tol=0).fit(X, embeddings=vectors)
        assert model.sharing_.weight_ == 0
        np.testing.assert_array_equal(model.doc_topics_, plain.doc_topics_)


def mixture_error(model, theta, topics):
    """Return the error of the mixtures of planted topics, each found or not."""
    from scipy.optimize import linear_sum_assignment

    likeness = np.sqrt(model.components_) @ np.sqrt(topics).T
    rows, columns = linear_sum_assignment(-likeness)
    found = np.zeros_like(theta)
    found[:, columns] = model.doc_topics_[:, rows]
    return np.sqrt(((found - theta) ** 2).sum(axis=1).mean())


@pytest.mark.parametrize("kind", ["half", "pairs"])
@pytest.mark.parametrize("length", [15, 30, 100])
def test_vectors_of_half_the_topics_do_not_worsen_mixtures(kind, length):
    """Vectors that see half of the topics, or each with another as one."""
    rng = np.random.default_rng(5)
    topics = rng.dirichlet(np.full(600, 0.05), 8)
    theta = rng.dirichlet(np.full(8, 0.25), 800)
    X = np.array([rng.multinomial(length, row @ topics) for row in theta])
    seen = rng.standard_normal((8, 32))
    seen = np.repeat(seen[::2], 2, axis=0) if kind == "pairs" else seen
    seen[4:] = seen[4:] if kind == "pairs" else seen[4]
    vectors = theta @ seen + 0.2 * rng.standard_normal((800, 32))
    plain = LDA(8, random_state=0).fit(X)
    model = LDA(8, random_state=0).fit(X, embeddings=vectors)
    assert model.sharing_.weight_ > 0 or length == 100
    error = mixture_error(model, theta, topics)
    assert error < mixture_error(plain, theta, topics) + 0.005


@pytest.mark.parametrize("draw", [2, 7])
def test_clusters_of_vectors_that_mix_topics_in_pairs_start_none(draw):
    """In texts of a dozen words half of what a text shares is of the wrong topic."""
    rng = np.random.default_rng(draw)
    topics = rng.dirichlet(np.full(1500, 0.05), 12)
    theta = rng.dirichlet(np.full(12, 1 / 6), 1000)
    X = np.array([rng.multinomial(12, row / row.sum()) for row in theta @ topics])
    vectors = theta @ np.repeat(rng.standard_normal((6, 64)), 2, axis=0)
    vectors += 0.2 * rng.standard_normal(vectors.shape)
    X = X[:, X.any(axis=0)]
    model = LDA(12, random_state=0).fit(X, embeddings=vectors)
    assert model.sharing_.agrees
    assert not model._from_places


def test_sharing_everyday_words_apart_does_not_worsen_mixtures_of_longer_texts():
    """Texts of 60 words share counts, and mixtures are as near as with all words."""
    rng = np.random.default_rng(1)
    topics = rng.dirichlet(np.full(800, 0.05), 12)
    theta = rng.dirichlet(np.full(12, 0.08), 500)
    X = np.array([rng.multinomial(60, row / row.sum()) for row in theta @ topics])
    X = sparse.csr_matrix(X.astype(float))
    vectors = theta @ rng.standard_normal((12, 32))
    vectors += 0.2 * rng.standard_normal((500, 32))
    sharing = CountSharing()
    weighted = sharing.fit_shared(X, vectors)
    assert sharing.weight_ > 0.3
    near = EmbeddingIndex(sharing.places).query(None, 15)[0]
    rows = np.repeat(np.arange(500), 15)
    graph = sparse.csr_matrix((np.ones(rows.size), (rows, near.ravel())), (500, 500))
    plain = X + sharing.weight_ / 15 * (graph @ X)
    errors = [
        mixture_error(LDA(12, random_state=0, init=topics).fit(counts), theta, topics)
        for counts in (weighted, plain)
    ]
    assert errors[0] < errors[1] + 0.003
