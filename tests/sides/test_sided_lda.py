# SPDX-License-Identifier: BSD-3-Clause
"""LDA with sides: what the driver makes of each hook, against the equations."""

import numpy as np
import pytest
import sides_support as support
from engine_reference import left_out
from scipy import sparse
from sklearn.base import clone

import topicfold
from topicfold import LDA, PLSA
from topicfold.corpus.blocks import BlockMatrix
from topicfold.engine.protocol import OwnShare
from topicfold.exceptions import DataError
from topicfold.infer.fold_in import fold_in
from topicfold.learn.learner import OWN_WORD_SHARE
from topicfold.parts import Context, Side
from topicfold.parts.together import SideData
from topicfold.phi import OrthogonalPhi, OtherCounts
from topicfold.theta import Authors, LaplacianTheta

FEW = {"max_iter": 4, "tol": 0.0, "random_state": 0}


@pytest.fixture(scope="module")
def corpus():
    return support.planted()


def cvb0(X, phi, alpha, eta, n_iter, delta=0.0, mask=1.0):
    """CVB0 with rows of evidence and priors, straight from the equations."""
    X, B = X.toarray(), phi.T.copy()
    alpha = np.broadcast_to(alpha, (len(X), len(phi)))
    e = np.exp(delta - np.max(delta, axis=-1, keepdims=True)) if np.ndim(delta) else 1.0
    e = np.broadcast_to(e * mask, alpha.shape)
    start = np.broadcast_to(1.0 * np.asarray(mask), alpha.shape)
    P = (X.sum(axis=1, keepdims=True) / len(phi) + alpha) * start
    q = P[:, None, :] * B
    q /= np.maximum(q.sum(axis=2, keepdims=True), 1e-300)
    for _ in range(n_iter):
        assigned = X[:, :, None] * q
        N, W = assigned.sum(axis=1), assigned.sum(axis=0)
        totals = W.sum(axis=0) + eta * len(W)
        B = (W + eta) / totals
        P = (N + alpha) * e
        own = OwnShare(OWN_WORD_SHARE / totals, eta / totals)
        q = left_out(P, B, X, OwnShare(e, alpha * e), own)
    theta = (N + alpha) * (e > 0)
    return theta / theta.sum(axis=1, keepdims=True), B.T


def start_of(X, n_topics=4):
    rng = np.random.default_rng(3)
    return rng.dirichlet(np.ones(X.shape[1]), n_topics)


def given(X, **options):
    priors = {"doc_topic_prior": 0.2, "topic_word_prior": 0.05}
    return {**FEW, **priors, "n_components": 4, "init": start_of(X), **options}


@pytest.mark.usefixtures("plain_passes")
def test_evidence_is_a_factor_on_the_topics_of_a_document(corpus):
    X, theta, _ = corpus
    delta = 2.0 * np.log(theta + 0.1)
    model = LDA(**given(X), sides=[support.Slant()]).fit(X, slant=delta)
    expected = cvb0(X, start_of(X), 0.2, 0.05, 4, delta)
    np.testing.assert_allclose(model.doc_topics_, expected[0], atol=1e-8)
    np.testing.assert_allclose(model.components_, expected[1], atol=1e-8)


@pytest.mark.usefixtures("plain_passes")
def test_evidences_add_up_and_offsets_do_not_matter(corpus):
    X, theta, _ = corpus
    delta = np.log(theta + 0.1)
    one = LDA(**given(X), sides=[support.Slant(2.0)]).fit(X, slant=delta)
    two = LDA(**given(X), sides=[support.Slant(), support.OtherSlant()])
    two.fit(X, slant=delta + 1000.0, other_slant=delta - 5000.0)
    np.testing.assert_allclose(two.doc_topics_, one.doc_topics_, atol=1e-8)


def test_strong_evidence_stays_finite(corpus):
    X, theta, _ = corpus
    model = LDA(**given(X), sides=[support.Slant()]).fit(X, slant=1e6 * theta)
    assert np.isfinite(model.objective_history_).all()
    np.testing.assert_allclose(model.doc_topics_.sum(axis=1), 1.0)
    assert (model.doc_topics_.argmax(axis=1) == theta.argmax(axis=1)).mean() > 0.99


@pytest.mark.usefixtures("plain_passes")
def test_own_priors_are_pseudo_counts_of_each_document(corpus):
    X, theta, _ = corpus
    alphas = 0.05 + 5.0 * theta
    model = LDA(**given(X), sides=[support.OwnPrior()]).fit(X, alphas=alphas)
    expected = cvb0(X, start_of(X), alphas, 0.05, 4)
    np.testing.assert_allclose(model.doc_topics_, expected[0], atol=1e-8)
    np.testing.assert_allclose(model.components_, expected[1], atol=1e-8)


@pytest.mark.usefixtures("plain_passes")
def test_masked_topics_are_never_used(corpus):
    X, theta, _ = corpus
    only = theta >= np.sort(theta, axis=1)[:, [-2]]
    model = LDA(**given(X), sides=[support.Only()]).fit(X, only=only)
    # Two of four topics share what the prior has for four.
    expected = cvb0(X, start_of(X), 0.4, 0.05, 4, mask=only)
    np.testing.assert_allclose(model.doc_topics_, expected[0], atol=1e-8)
    assert (model.doc_topics_[~only] == 0).all()
    new = model.transform(X, only=only)
    assert (new[~only] == 0).all()
    assert (model.transform(X)[~only] > 0).all()


@pytest.mark.usefixtures("plain_passes")
@pytest.mark.parametrize(
    "name", ["Slant", "OwnPrior", "Only"], ids=["evidence", "prior", "mask"]
)
def test_what_says_nothing_leaves_lda_as_it_is(corpus, name):
    X, theta, _ = corpus
    nothing = {
        "Slant": np.zeros_like(theta),
        "OwnPrior": np.full_like(theta, 0.2),
        "Only": np.ones_like(theta),
    }[name]
    side = getattr(support, name)()
    plain = LDA(**given(X)).fit(X)
    model = LDA(**given(X), sides=[side]).fit(X, **{side.data: nothing})
    np.testing.assert_allclose(model.doc_topics_, plain.doc_topics_, atol=1e-8)
    np.testing.assert_allclose(model.components_, plain.components_, atol=1e-8)


def test_topics_of_a_side_take_the_place_of_the_plain_ones(corpus):
    X, *_ = corpus
    word = int(np.asarray(X.sum(axis=0)).argmax())
    model = LDA(**given(X), sides=[support.Banned(word)]).fit(X)
    assert model.components_[0, word] == 0.0
    assert (model.components_[1:, word] > 0).all()
    np.testing.assert_allclose(model.components_.sum(axis=1), 1.0)


def test_plain_topics_of_a_side_change_nothing(corpus):
    X, *_ = corpus

    class Plain(Side):
        hook = "topics"

        def topics(self, counts, eta, words, context):
            from topicfold.learn.learner import plain_topics

            return plain_topics(counts, eta)

    plain = LDA(**given(X)).fit(X)
    model = LDA(**given(X), sides=[Plain()]).fit(X)
    np.testing.assert_allclose(model.components_, plain.components_, atol=1e-8)


def test_a_matrix_cut_in_two_has_topics_in_each_part(corpus):
    """Two groups, normalised apart, both with the documents' mixtures."""
    X, *_ = corpus
    left, right = X[:, :30], X[:, 30:]
    model = LDA(4, sides=[OtherCounts("right")], random_state=0).fit(left, right=right)
    assert model.components_.shape == (4, 30)
    other = model.sides_[0].components_
    np.testing.assert_allclose(other.sum(axis=1), 1.0)
    # With either part alone the mixtures are those of both, nearly.
    both = model.transform(left, right=right)
    np.testing.assert_allclose(both, model.doc_topics_, atol=0.1)
    empty = sparse.csr_matrix(left.shape)
    from_right = model.transform(empty, right=right)
    agree = (from_right.argmax(axis=1) == model.transform(left).argmax(axis=1)).mean()
    assert agree > 0.8


def test_weight_of_other_counts_is_a_repetition_of_them(corpus):
    X, *_ = corpus
    left, right = X[:, :30], X[:, 30:]
    heavy = LDA(4, sides=[OtherCounts("right", 3.0)], random_state=0)
    heavy.fit(left, right=right)
    repeated = LDA(4, sides=[OtherCounts("right")], random_state=0)
    repeated.fit(left, right=3 * right)
    np.testing.assert_array_equal(heavy.doc_topics_, repeated.doc_topics_)


def test_one_author_per_document_is_plain_em(corpus):
    """M = identity: the entities are the documents."""
    X, *_ = corpus
    names = [[f"d{d}"] for d in range(X.shape[0])]
    model = LDA(**given(X, max_iter=20), sides=[Authors()]).fit(X, authors=names)
    history = np.array(model.objective_history_)
    assert (np.diff(history) >= -1e-7 * np.abs(history[:-1])).all()
    theta = model.doc_topics_
    order = [model.sides_[0].names_.tolist().index(name) for (name,) in names]
    np.testing.assert_allclose(theta, model.sides_[0].entity_topics_[order], atol=1e-8)


def test_blocks_give_what_the_whole_gives(corpus, tmp_path):
    X, theta, _ = corpus
    blocks = BlockMatrix.write(tmp_path / "blocks", X, block_size=50)
    sides = [support.Slant(), support.OwnPrior(), support.Banned(3)]
    data = {"slant": np.log(theta + 0.1), "alphas": 0.1 + theta}
    whole = LDA(**given(X), sides=sides).fit(X, **data)
    parts = LDA(**given(X), sides=sides).fit(blocks, **data)
    np.testing.assert_allclose(parts.doc_topics_, whole.doc_topics_, atol=1e-8)
    np.testing.assert_allclose(parts.components_, whole.components_, atol=1e-8)
    names = [["a", "b"][: 1 + d % 2] for d in range(X.shape[0])]
    options = {**given(X), "sides": [Authors()]}
    whole, parts = (LDA(**options).fit(where, authors=names) for where in (X, blocks))
    np.testing.assert_allclose(parts.doc_topics_, whole.doc_topics_, atol=1e-8)


@pytest.mark.parametrize("kind", [LDA, PLSA])
@pytest.mark.parametrize("init", ["random", "documents", "given"])
def test_other_counts_join_blocks_as_they_join_a_matrix(corpus, tmp_path, kind, init):
    X, *_ = corpus
    left, right, tags = X[:, :30], X[:, 30:50].tolil(), X[:, 50:]
    right[5] = 0
    right = right.tocsr()
    blocks = BlockMatrix.write(tmp_path / "left", left, block_size=50)
    others = BlockMatrix.write(tmp_path / "right", right, block_size=35)
    sides = [OtherCounts("right", weight=1.5), OtherCounts("tags")]
    init = start_of(left) if init == "given" else init
    model = kind(4, sides=sides, init=init, **FEW)
    whole = clone(model).fit(left, right=right, tags=tags)
    parts = clone(model).fit(blocks, right=right, tags=tags)
    both = clone(model).fit(blocks, right=others, tags=tags)
    memory = clone(model).fit(left, right=others, tags=tags)
    np.testing.assert_array_equal(memory.doc_topics_, whole.doc_topics_)
    np.testing.assert_allclose(parts.doc_topics_, whole.doc_topics_, atol=1e-8)
    np.testing.assert_array_equal(both.doc_topics_, parts.doc_topics_)
    for one, other in zip(parts.sides_, whole.sides_, strict=True):
        np.testing.assert_allclose(one.components_, other.components_, atol=1e-8)
    expected = whole.transform(left, right=right)
    for given_right in (right, others):
        found = parts.transform(blocks, right=given_right)
        np.testing.assert_allclose(found, expected, atol=1e-8)


def test_other_counts_of_blocks_have_as_many_rows_and_the_same_words(corpus, tmp_path):
    X, *_ = corpus
    blocks = BlockMatrix.write(tmp_path / "left", X[:, :30], block_size=50)
    words = [f"tag{n}" for n in range(30)]
    others = BlockMatrix.write(tmp_path / "right", X[:, 30:], vocabulary=words)
    few = BlockMatrix.write(tmp_path / "few", X[:-1, 30:])
    model = LDA(4, sides=[OtherCounts("right")], **FEW)
    for wrong in (X[:-1, 30:], few):
        with pytest.raises(DataError, match="right has 119 rows, but X has 120 doc"):
            model.fit(blocks, right=wrong)
    model.fit(blocks, right=others)
    assert model.sides_[0].feature_names_in_.tolist() == words
    for wrong in (X[:-1, 30:], few):
        with pytest.raises(DataError, match="right has 119 rows, but X has 120 doc"):
            model.transform(blocks, right=wrong)
    turned = BlockMatrix.write(tmp_path / "turned", X[:, 30:], vocabulary=words[::-1])
    with pytest.raises(DataError, match="tag29"):
        model.transform(blocks, right=turned)


def test_evidence_counts_in_transform_only_if_it_is_given(corpus):
    X, theta, _ = corpus
    delta = np.zeros_like(theta)
    delta[:, 2] = 1e4
    model = LDA(**given(X), sides=[support.Slant()]).fit(X, slant=np.zeros_like(theta))
    plain = LDA(**given(X)).fit(X)
    np.testing.assert_allclose(model.transform(X), plain.transform(X), atol=1e-8)
    assert (model.transform(X, slant=delta).argmax(axis=1) == 2).all()
    part = model.transform(X[5:9], slant=delta[5:9])
    np.testing.assert_allclose(part, model.transform(X, slant=delta)[5:9], atol=1e-10)


def test_priors_of_unknown_documents_are_asked_for(corpus):
    X, theta, _ = corpus
    model = LDA(**given(X), sides=[support.OwnPrior()]).fit(X, alphas=0.1 + theta)
    strong = 1e6 * np.eye(4)[np.zeros(len(theta), int)] + 1e-3
    np.testing.assert_allclose(model.transform(X, alphas=strong)[:, 0], 1.0, atol=1e-3)
    assert model.transform(X).std() > 0.1


@pytest.mark.parametrize(
    ("sides", "names"),
    [
        ([support.Only(), support.Only()], "Only and Only"),
        ([Authors(), support.OwnPrior()], "Authors and OwnPrior"),
        ([support.Only(), Authors()], "Only and Authors"),
        ([support.Banned(), support.Banned()], "Banned and Banned"),
        ([support.Slant(), support.Slant()], "Slant and Slant"),
    ],
)
def test_sides_that_contradict_each_other_are_named(corpus, sides, names):
    with pytest.raises(DataError, match=names):
        LDA(4, sides=sides).fit(corpus[0])


def test_missing_and_unknown_data_are_named(corpus):
    X, *_ = corpus
    with pytest.raises(DataError, match=r"Authors needs its data: fit\(X, authors="):
        LDA(4, sides=[Authors()]).fit(X)
    with pytest.raises(TypeError, match=r"'author'.*It takes authors"):
        LDA(4, sides=[Authors()]).fit(X, author=[["a"]] * X.shape[0])
    with pytest.raises(TypeError, match="It has no sides"):
        LDA(4).fit(X, authors=[["a"]] * X.shape[0])
    with pytest.raises(DataError, match="which is not a side"):
        LDA(4, sides=["authors"]).fit(X)


@pytest.mark.parametrize(
    "options",
    [{"algorithm": "variational"}, {"batch_size": 10}, {"learn_priors": True}],
)
def test_options_without_meaning_beside_sides_are_refused(corpus, options):
    names = [["a"]] * corpus[0].shape[0]
    with pytest.raises(DataError, match=r"all documents at|contradicts|use algo"):
        LDA(4, sides=[Authors()], **options).fit(corpus[0], authors=names)


def test_a_saved_model_has_its_sides(corpus, tmp_path):
    X, *_ = corpus
    names = [[f"a{d % 5}"] for d in range(X.shape[0])]
    options = {"sides": [Authors(), OtherCounts("tags")], **given(X[:, :30])}
    model = LDA(**options).fit(X[:, :30], authors=names, tags=X[:, 30:])
    model.save(tmp_path / "model")
    again = topicfold.load(tmp_path / "model")
    data = {"authors": names, "tags": X[:, 30:]}
    np.testing.assert_array_equal(
        again.transform(X[:, :30], **data), model.transform(X[:, :30], **data)
    )
    assert again.sides_[0].names_.tolist() == ["a0", "a1", "a2", "a3", "a4"]


@pytest.mark.usefixtures("plain_passes")
def test_plsa_takes_sides_too(corpus):
    """Without priors: EM, which never falls, and the same hooks."""
    X, theta, _ = corpus
    names = [[f"a{d % 7}"] for d in range(X.shape[0])]
    options = {**FEW, "max_iter": 15, "init": start_of(X)}
    model = PLSA(4, sides=[Authors()], **options).fit(X, authors=names)
    history = np.array(model.objective_history_)
    assert (np.diff(history) >= -1e-9 * np.abs(history[:-1])).all()
    plain = PLSA(4, **options).fit(X)
    nothing = PLSA(4, sides=[support.Slant()], **options)
    nothing.fit(X, slant=np.zeros_like(theta))
    np.testing.assert_allclose(nothing.doc_topics_, plain.doc_topics_, atol=1e-6)
    only = theta >= np.sort(theta, axis=1)[:, [-2]]
    masked = PLSA(4, sides=[support.Only()], **options).fit(X, only=only)
    assert (masked.doc_topics_[~only] == 0).all()
    parts = PLSA(4, sides=[OtherCounts("right")], random_state=0)
    parts.fit(X[:, :30], right=X[:, 30:])
    history = np.array(parts.objective_history_)
    assert (np.diff(history) >= -1e-9 * np.abs(history[:-1])).all()
    with pytest.raises(DataError, match="Authors computes mixtures itself"):
        PLSA(4, sides=[Authors()], theta_step=LaplacianTheta()).fit(X, authors=names)


class PassByPass(OrthogonalPhi):
    """Orthogonal topics whose passes are not extrapolated: none are beside a side."""

    extrapolates = False


@pytest.mark.parametrize("name", ["theta_step", "phi_step"])
def test_steps_beside_a_side_that_says_nothing_are_those_of_plsa(corpus, name):
    X, theta, _ = corpus
    step = LaplacianTheta(weight=0.3) if name == "theta_step" else PassByPass()
    options = {**FEW, "max_iter": 5, "init": start_of(X), name: step}
    plain = PLSA(4, **options).fit(X)
    sided = PLSA(4, sides=[support.Slant()], **options)
    sided.fit(X, slant=np.zeros_like(theta))
    np.testing.assert_allclose(sided.doc_topics_, plain.doc_topics_, atol=1e-6)
    np.testing.assert_allclose(sided.components_, plain.components_, atol=1e-6)
    np.testing.assert_allclose(sided.objective_history_, plain.objective_history_)


def test_a_phi_step_sees_the_counts_that_sides_have_shaped():
    X, theta, _ = support.planted()
    only = theta >= np.sort(theta, axis=1)[:, [-2]]
    options = {"phi_step": OrthogonalPhi(), "max_iter": 30, "tol": 0, "random_state": 0}
    plain = LDA(4, **options)
    plain.doc_updates = 0  # with sides, documents move once per pass
    plain.fit(X)
    # A side that says nothing: LDA with the step.
    silent = LDA(4, sides=[support.Only()], **options).fit(X, only=np.ones_like(only))
    np.testing.assert_allclose(silent.components_, plain.components_, atol=1e-8)
    np.testing.assert_allclose(silent.objective_history_, plain.objective_history_)
    for side, data in (
        (support.Only(), {"only": only}),
        (support.OwnPrior(), {"alphas": 0.1 + theta}),
        (Authors(), {"authors": [f"a{d % 7}" for d in range(len(theta))]}),
    ):
        model = LDA(4, sides=[side], **options).fit(X, **data)
        history = np.array(model.objective_history_)
        assert (np.diff(history) >= -1e-7 * np.abs(history[1:])).all(), side
        assert np.abs(model.components_ - plain.components_).max() > 1e-3


def folded_with_sides(X, topics, alpha, mask, delta):
    """``A ← (N + α) e``: three times without evidence, then thirty times with it."""
    A = (1.0 + alpha) * mask
    for n in range(33 if np.any(delta) else 3):
        e = mask * np.exp(delta - np.max(delta, axis=1, keepdims=True)) ** (n >= 3)
        N = A * ((X / (A @ topics)) @ topics.T)
        A = (N + alpha) * e
    if np.any(delta):
        N = A * ((X / (A @ topics)) @ topics.T)
    theta = (N + alpha) * mask
    return theta / theta.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("slanted", [False, True])
@pytest.mark.parametrize("masked", [False, True])
def test_mixtures_with_sides_are_those_of_the_equations(corpus, masked, slanted):
    X, theta, topics = corpus
    X, theta = X[:20], theta[:20]
    topics = 0.9 * topics + 0.1 / X.shape[1]
    alpha = np.array([0.1, 0.5, 0.2, 0.9])
    only = theta >= np.sort(theta, axis=1)[:, [-2 if masked else 0]]
    delta = slanted * np.random.default_rng(1).normal(size=(20, 4))
    lengths = np.asarray(X.sum(axis=1)).ravel()
    context = Context(20, 4, X.shape[1], lengths, alpha=alpha, fitting=False)
    used, data = [support.Only()], [sparse.csr_matrix(only)]
    if slanted:
        used, data = [*used, support.Slant()], [*data, delta]
    sides = SideData(used, data, context)
    found = fold_in(X, topics, sides=sides, max_iter=3, tol=0.0, dtype=X.dtype)
    # A document's prior tokens are shared by the topics it may use.
    own = alpha * (4 / only.sum(axis=1, keepdims=True))
    expected = folded_with_sides(X.toarray(), topics, own, only, delta)
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_documents_without_words_and_sides_are_even(corpus):
    X, _, topics = corpus
    X = sparse.csr_matrix(sparse.vstack([X[:3], sparse.csr_matrix((1, X.shape[1]))]))
    lengths = np.asarray(X.sum(axis=1)).ravel()
    alpha = np.array([0.1, 0.5, 0.2, 0.9])
    context = Context(4, 4, X.shape[1], lengths, alpha=alpha, fitting=False)
    options = {"max_iter": 3, "tol": 0.0, "dtype": X.dtype}
    found = fold_in(X, topics, sides=SideData([], [], context), **options)
    np.testing.assert_array_equal(found[3], 0.25)
    prior = support.OwnPrior()
    given = SideData([prior], [np.tile(alpha, (4, 1))], context)
    found = fold_in(X, topics, sides=given, **options)
    np.testing.assert_allclose(found[3], alpha / alpha.sum())


@pytest.mark.parametrize("name", ["Slant", "OwnPrior"])
def test_extrapolated_passes_are_those_of_lda_too(corpus, name):
    X, theta, _ = corpus
    nothing = {"Slant": np.zeros_like(theta), "OwnPrior": np.full_like(theta, 0.2)}
    side = getattr(support, name)()
    options = {**given(X), "max_iter": 60, "tol": None}
    plain = LDA(**options).fit(X)
    model = LDA(**options, sides=[side]).fit(X, **{side.data: nothing[name]})
    assert model.n_iter_ == plain.n_iter_ < 60
    np.testing.assert_allclose(model.doc_topics_, plain.doc_topics_, atol=1e-6)
