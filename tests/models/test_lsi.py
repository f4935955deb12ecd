# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

import topicfold
from topicfold import LSI
from topicfold.exceptions import DataError, EmptyDocumentWarning, ModelFileError
from topicfold.lsi.weighting import WEIGHTINGS, global_weights, weigh
from topicfold.persistence import read_bundle, save_estimator, write_bundle

LOW_RANK = np.exceptions.RankWarning


def low_rank_counts(n_documents, n_terms, rank, seed=0):
    """Counts of exactly that rank."""
    rng = np.random.default_rng(seed)
    left = rng.integers(0, 3, (n_documents, rank))
    left[:rank] += np.eye(rank, dtype=int)
    return sparse.csr_matrix(left @ rng.integers(0, 3, (rank, n_terms))).astype(float)


def same_up_to_signs(found, expected, **tolerance):
    signs = np.sign(np.sum(found * expected, axis=1, keepdims=True))
    np.testing.assert_allclose(found * signs, expected, **tolerance)


@pytest.mark.parametrize("weighting", WEIGHTINGS)
def test_equals_the_dense_decomposition(planted, weighting):
    X = planted[0]
    model = LSI(6, weighting=weighting, tol=1e-9).fit(X)
    dense = weigh(
        X.astype(float), weighting, global_weights(X.astype(float), weighting)
    ).toarray()
    _, values, right = np.linalg.svd(dense, full_matrices=False)
    np.testing.assert_allclose(model.singular_values_, values[:6], rtol=1e-10)
    same_up_to_signs(model.components_, right[:6], atol=1e-7)
    np.testing.assert_allclose(
        model.transform(X.astype(float)), dense @ model.components_.T, atol=1e-9
    )
    assert (model.components_.max(axis=1) >= -model.components_.min(axis=1)).all()


def test_weights_by_hand():
    X = sparse.csr_matrix([[1.0, 2.0, 0.0], [1.0, 0.0, 4.0], [2.0, 0.0, 4.0]])
    tfidf = weigh(X, "tfidf", global_weights(X, "tfidf"))
    expected = TfidfTransformer(norm=None).fit_transform(X)
    np.testing.assert_allclose(tfidf.toarray(), expected.toarray())
    entropy = global_weights(X, "log-entropy")
    first = 1 + (0.25 * np.log(0.25) * 2 + 0.5 * np.log(0.5)) / np.log(3)
    np.testing.assert_allclose(entropy, [first, 1.0, 1 - np.log(2) / np.log(3)])
    both = weigh(X, "log-entropy", entropy)
    np.testing.assert_allclose(both.toarray(), np.log1p(X.toarray()) * entropy)
    np.testing.assert_array_equal(
        weigh(X, "binary", np.ones(3)).toarray(), X.toarray() > 0
    )


def test_inverse_transform_is_the_best_approximation(planted):
    X = planted[0].astype(float)
    model = LSI(5, weighting="counts").fit(X)
    back = model.inverse_transform(model.transform(X))
    values = np.linalg.svd(X.toarray(), compute_uv=False)
    error = np.linalg.norm(X.toarray() - back)
    np.testing.assert_allclose(error, np.sqrt((values[5:] ** 2).sum()), rtol=1e-9)
    np.testing.assert_allclose(
        error**2,
        model.total_squares_ - (model.singular_values_**2).sum(),
        rtol=1e-9,
    )
    with pytest.raises(DataError, match="3 columns, but the model has 5"):
        model.inverse_transform(np.ones((2, 3)))


def test_the_same_bits_for_any_number_of_threads():
    rng = np.random.default_rng(1)
    X = sparse.random(900, 1500, 0.05, random_state=rng, format="csr")
    models = [
        LSI(20, n_jobs=jobs, random_state=0).fit(X[:700]).partial_fit(X[700:])
        for jobs in (1, 3)
    ]
    np.testing.assert_array_equal(models[0].components_, models[1].components_)
    np.testing.assert_array_equal(models[0].transform(X), models[1].transform(X))
    one_by_one = np.vstack([models[0].transform(X[i]) for i in range(5)])
    np.testing.assert_array_equal(one_by_one, models[0].transform(X)[:5])


def test_dtype_of_the_input_is_kept(planted):
    model = LSI(3).fit(planted[0].astype(np.float32))
    assert model.transform(planted[0].astype(np.float32)).dtype == np.float32
    assert model.transform(planted[0].astype(np.float64)).dtype == np.float64


def test_updates_are_exact_while_the_rank_suffices():
    X = low_rank_counts(160, 90, 7)
    model = LSI(7, weighting="counts", keep_documents=True)
    for start in range(0, 160, 20):
        model.partial_fit(X[start : start + 20])
    fresh = LSI(7, weighting="counts", keep_documents=True).fit(X)
    np.testing.assert_allclose(
        model.singular_values_, fresh.singular_values_, rtol=1e-10
    )
    same_up_to_signs(model.components_, fresh.components_, atol=1e-8)
    same_up_to_signs(model.doc_topics_.T, fresh.doc_topics_.T, atol=1e-6)
    np.testing.assert_allclose(
        model.inverse_transform(model.doc_topics_), X.toarray(), atol=1e-7
    )


def test_rank_grows_with_the_documents():
    X = low_rank_counts(60, 40, 6)
    with pytest.warns(LOW_RANK, match="rank 2, below n_components=8"):
        model = LSI(8, weighting="counts").fit(X[:2])
    assert (model.singular_values_[2:] == 0).all()
    assert model.components_.shape == (8, 40)
    assert (model.transform(X)[:, 2:] == 0).all()
    model.partial_fit(X[2:])
    values = np.linalg.svd(X.toarray(), compute_uv=False)
    np.testing.assert_allclose(model.singular_values_[:6], values[:6], rtol=1e-10)
    assert (model.singular_values_[6:] == 0).all()


def test_update_error_is_within_what_is_stated(planted):
    X = planted[0].astype(float)
    model = LSI(10, weighting="counts").fit(X[:60])
    for start in range(60, 300, 40):
        model.partial_fit(X[start : start + 40])
    fresh = LSI(10, weighting="counts").fit(X)
    new, old = model.singular_values_**2, fresh.singular_values_**2
    dropped = model.total_squares_ - new.sum()
    assert model.total_squares_ == fresh.total_squares_
    assert (new <= old * (1 + 1e-9)).all()
    assert 0 < old.sum() - new.sum() <= dropped
    assert old.sum() - new.sum() < 0.03 * old.sum()
    # The planted topics are strong: their space is found by updates too.
    overlap = np.linalg.svd(
        model.components_[:4] @ fresh.components_[:4].T, compute_uv=False
    )
    assert overlap.min() > 0.999


@pytest.mark.parametrize("size", [1, 40], ids=["one document", "forty documents"])
def test_orthogonality_does_not_drift_over_100_updates(size):
    rng = np.random.default_rng(3)
    X = sparse.csr_matrix(rng.poisson(0.1, (100 * size + 50, 300)).astype(float))
    model = LSI(30, weighting="counts").fit(X[:50])
    for start in range(50, X.shape[0], size):
        model.partial_fit(X[start : start + size])
    assert model.n_documents_seen_ == X.shape[0]
    gram = model.components_ @ model.components_.T
    np.testing.assert_allclose(gram, np.eye(30), atol=1e-11)


def test_memory_does_not_depend_on_the_documents_seen(planted):
    def size(model):
        return sum(v.nbytes for v in vars(model).values() if isinstance(v, np.ndarray))

    X = planted[0]
    model = LSI(5).fit(X[:50])
    before = size(model)
    for start in range(50, 300, 50):
        model.partial_fit(X[start : start + 50])
    assert size(model) == before


def test_added_terms_equal_a_fresh_fit_when_the_rank_suffices():
    X = low_rank_counts(70, 50, 5, seed=2)
    model = LSI(5, weighting="counts", keep_documents=True).fit(X[:, :35])
    model.add_terms(X[:, 35:])
    fresh = LSI(5, weighting="counts", keep_documents=True).fit(X)
    np.testing.assert_allclose(
        model.singular_values_, fresh.singular_values_, rtol=1e-10
    )
    same_up_to_signs(model.components_, fresh.components_, atol=1e-8)
    same_up_to_signs(model.doc_topics_.T, fresh.doc_topics_.T, atol=1e-6)
    assert model.n_features_in_ == 50
    np.testing.assert_allclose(model.total_squares_, fresh.total_squares_)
    model.partial_fit(X)


def test_terms_that_no_document_has_need_no_documents(planted):
    X = planted[0].astype(float)
    model = LSI(4).fit(X)
    before = model.transform(X)
    model.add_terms(sparse.csr_matrix((300, 2)))
    wide = sparse.hstack([X, np.zeros((300, 2))]).tocsr()
    np.testing.assert_array_equal(model.transform(wide), before)
    assert (model.components_[:, -2:] == 0).all()
    with pytest.raises(DataError, match="keep_documents=True"):
        model.add_terms(np.ones((300, 1)))
    with pytest.raises(DataError, match="7 rows, but the model has seen 300"):
        model.add_terms(sparse.csr_matrix((7, 2)))


def test_names_of_added_terms():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(np.eye(4) + 1, columns=list("abcd"))
    model = LSI(2, weighting="counts", keep_documents=True).fit(frame)
    with pytest.raises(DataError, match="names must be given"):
        model.add_terms(np.ones((4, 1)))
    with pytest.raises(DataError, match="1 different"):
        model.add_terms(np.ones((4, 1)), ["a"])
    model.add_terms(np.ones((4, 1)), ["e"])
    assert model.feature_names_in_.tolist() == list("abcde")
    assert model.transform(frame.assign(e=1)).shape == (4, 2)


def test_bad_input(planted):
    X = planted[0]
    with pytest.raises(NotFittedError, match="LSI instance is not fitted"):
        LSI().transform(X)
    with pytest.raises(DataError, match="every term has weight 0"):
        LSI(1).fit(np.ones((3, 2)))
    with pytest.raises(DataError, match="Fit again to change it"):
        LSI(2).fit(X).set_params(n_components=3).partial_fit(X)
    with pytest.raises(DataError, match="set after the fit"):
        LSI(2).fit(X).set_params(keep_documents=True).partial_fit(X)
    with pytest.raises(DataError, match="LSI has no topics"):
        LSI(2).fit(X).topic_data()
    with pytest.raises(DataError, match="negative entries"):
        LSI(2, keep_documents=True).fit(X).add_terms(-np.ones((300, 1)))


def test_rank_above_the_matrix_gives_zero_dimensions():
    X = sparse.csr_matrix(np.diag([3.0, 2.0, 1.0]))
    with pytest.warns(LOW_RANK, match=r"\(3 × 3\) has rank 3, below n_components=5"):
        model = LSI(5, weighting="counts").fit(X)
    np.testing.assert_allclose(model.singular_values_, [3, 2, 1, 0, 0], atol=1e-12)
    assert model.get_feature_names_out().tolist() == [f"lsi{i}" for i in range(5)]


def test_an_empty_document_is_the_zero_vector(ragged):
    with pytest.warns(EmptyDocumentWarning, match="3 of 40 .* get the zero vector"):
        model = LSI(3).fit(ragged)
    with pytest.warns(EmptyDocumentWarning, match="get the zero vector"):
        Z = model.transform(ragged)
    assert (Z[[0, 17, 39]] == 0).all()
    before = model.singular_values_
    with pytest.warns(EmptyDocumentWarning, match="2 of 2"):
        model.partial_fit(sparse.csr_matrix((2, 50)))
    np.testing.assert_allclose(model.singular_values_, before, rtol=1e-12)


@pytest.mark.parametrize("keep", [False, True], ids=["factors", "documents"])
def test_a_loaded_model_is_the_saved_one_and_goes_on(tmp_path, planted, keep):
    X = planted[0]
    model = LSI(4, keep_documents=keep).fit(X[:200]).partial_fit(X[200:260])
    model.save(tmp_path / "model")
    loaded = topicfold.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.transform(X), model.transform(X))
    np.testing.assert_array_equal(
        loaded.partial_fit(X[260:]).transform(X),
        model.partial_fit(X[260:]).transform(X),
    )
    assert hasattr(loaded, "doc_topics_") == keep


def test_a_model_saved_before_its_fit_loads(tmp_path):
    save_estimator(LSI(3, weighting="binary"), tmp_path / "model")
    loaded = topicfold.load(tmp_path / "model")
    assert loaded.get_params() == LSI(3, weighting="binary").get_params()
    with pytest.raises(NotFittedError, match="LSI instance is not fitted"):
        loaded.transform(np.eye(4))


@pytest.mark.parametrize(
    "name",
    ["term_base_", "term_weights_", "doc_topics_", "singular_values_"],
)
def test_a_damaged_file_is_refused(tmp_path, planted, name):
    path = tmp_path / "model"
    LSI(4, keep_documents=True).fit(planted[0]).save(path)
    bundle = read_bundle(path)
    key = next(k for k in bundle.arrays if k.endswith(name))
    arrays = {**bundle.arrays, key: bundle.arrays[key][:-1]}
    write_bundle(
        path, kind=bundle.kind, arrays=arrays, strings=bundle.strings, meta=bundle.meta
    )
    with pytest.raises(ModelFileError, match="not consistent"):
        topicfold.load(path)


def test_in_a_pipeline(planted):
    Z = make_pipeline(LSI(4), Normalizer()).fit_transform(planted[0])
    np.testing.assert_allclose(np.linalg.norm(Z, axis=1), 1, rtol=1e-5)
