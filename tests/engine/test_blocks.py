# SPDX-License-Identifier: BSD-3-Clause
"""Blocks of rows: the numbers of one matrix, with bounded memory."""

import functools
import operator
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.base import clone

from topicfold import (
    FSTM,
    LDA,
    PLSA,
    GibbsLDA,
    LaplacianPLSA,
    OrthogonalPLSA,
    TwoPhase,
)
from topicfold.corpus.blocks import BlockMatrix
from topicfold.engine import make_engine
from topicfold.engine.blocks.executor import FAN_IN, LocalBlocks, sum_in_order
from topicfold.engine.blocks.store import link_or_copy
from topicfold.exceptions import DataError, EmptyDocumentWarning, ModelFileError
from topicfold.learn import Resume
from topicfold.learn.resume import POINTER
from topicfold.phi import DirichletPhi
from topicfold.theta import DirichletTheta

MODELS = {
    "plsa": PLSA(4, max_iter=12, tol=0, random_state=0),
    "plsa-map": PLSA(
        4,
        max_iter=12,
        tol=0,
        random_state=0,
        theta_step=DirichletTheta(1.2),
        phi_step=DirichletPhi(1.1),
    ),
    "orthogonal": OrthogonalPLSA(4, max_iter=12, tol=0, random_state=0),
    "lda-cvb0": LDA(4, max_iter=11, tol=0, random_state=0),
    "lda-cvb0-priors": LDA(4, max_iter=11, tol=0, random_state=0, learn_priors=True),
    "lda-vb": LDA(4, max_iter=11, tol=0, random_state=0, algorithm="variational"),
    "fstm": FSTM(4, max_iter=5, tol=0, random_state=0, doc_tol=0.0),
}
ONLINE = LDA(4, max_iter=3, tol=0, random_state=0, batch_size=64)


@pytest.fixture(scope="module")
def counts(planted):
    return planted[0].astype(np.float64)


@pytest.fixture(scope="module")
def blocks(counts, tmp_path_factory):
    # 12 blocks: more than one group of the sum.
    path = tmp_path_factory.mktemp("blocks") / "corpus"
    return BlockMatrix.write(path, counts, block_size=26)


def weighed(rows, lengths, arrays, data):
    """Depends on which documents these are, and on how long they are."""
    numbers = np.arange(rows.start, rows.stop)
    return arrays[0] * numbers[:, None] + arrays[1] * lengths[:, None]


def scaled(rows, lengths, arrays, data, power):
    """Depends on data of these documents, an array or a sparse matrix."""
    return arrays[0] * np.asarray(data.sum(axis=1)).reshape(-1, 1) ** power


def cross_products(rows, lengths, arrays, data):
    return arrays[0].T @ data, float(len(lengths)), data.sum(axis=0)


def total_of(rows, lengths, arrays, data, factor):
    return (factor * float((arrays[0] * lengths[:, None]).sum()),)


def passes(engine, seed=0, link="identity"):
    rng = np.random.default_rng(seed)
    theta = rng.gamma(1.0, size=(engine.n_documents, engine.n_topics)) + 0.1
    phi = rng.dirichlet(np.ones(engine.n_terms), engine.n_topics)
    P, B = engine.pack_documents(theta), engine.pack_topics(phi)
    prior = engine.pack_prior(0.1)
    done = engine.document_pass(P, B, prior=prior, link=link, max_updates=2)
    words = engine.word_pass(P, B, np.empty_like(B))
    step = engine.expected_counts(P, B)
    added = P + prior
    P += prior
    return {
        "one step": engine.unpack_topics(step.words),
        "one step's documents": engine.unpack_documents(step.documents),
        "parameters": engine.unpack_documents(P),
        "added": engine.unpack_documents(added),
        "counts": engine.unpack_documents(done.counts),
        "mixtures": engine.mixtures(P),
        "loglik": done.loglik,
        "updates": done.n_updates.sum(),
        "words": engine.unpack_topics(words),
        "visited": engine.unpack_documents(engine.map_rows(weighed, (P, done.counts))),
        "summed": engine.gather_rows(total_of, (P,), (3.0,))[0],
        "column sums": engine.topic_totals(P),
        "documents": engine.documents_of_topics(P),
        "logs": engine.log_totals(P, 0.1),
        "digammas": engine.digamma_totals(P, prior),
        "bound": engine.document_bound(P, prior),
    }


@pytest.mark.parametrize("n_topics", [3, 9, 20])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_rows_come_with_their_data(counts, blocks, n_topics, form):
    rng = np.random.default_rng(0)
    theta = rng.random((counts.shape[0], n_topics)) + 0.1
    data = rng.random((counts.shape[0], 4))
    engines = [make_engine(X, n_topics, dtype=np.float64) for X in (counts, blocks)]
    for engine in engines:
        P = engine.pack_documents(theta)
        mapped = engine.map_rows(scaled, (P,), (2,), data=form(data))
        expected = theta * data.sum(axis=1, keepdims=True) ** 2
        assert_allclose(engine.unpack_documents(mapped), expected)
        products, size, totals = engine.gather_rows(cross_products, (P,), data=data)
        assert_allclose(products, theta.T @ data)
        assert size == len(theta)
        assert_allclose(totals, data.sum(axis=0))


@pytest.mark.parametrize("link", ["identity", "digamma"])
@pytest.mark.parametrize("n_topics", [3, 9])
def test_passes_are_those_of_one_matrix(counts, blocks, link, n_topics):
    whole = passes(make_engine(counts, n_topics, dtype=np.float64), link=link)
    parts = passes(make_engine(blocks, n_topics, dtype=np.float64), link=link)
    for name, expected in whole.items():
        np.testing.assert_allclose(parts[name], expected, rtol=1e-10, err_msg=name)


def test_same_bits_with_threads_and_without_kept_blocks(blocks):
    reference = passes(make_engine(blocks, 5))
    lean = BlockMatrix.open(Path(blocks.files[0].path).parent)
    lean.keep_bytes = 0
    for engine in (make_engine(blocks, 5, n_jobs=3), make_engine(lean, 5)):
        for name, value in passes(engine).items():
            np.testing.assert_array_equal(value, reference[name], err_msg=name)


def test_one_row_broadcast_is_not_made_a_matrix(blocks, monkeypatch):
    engine = make_engine(blocks, 4)
    sent = []
    collect = engine._blocks.collect
    monkeypatch.setattr(
        engine._blocks, "collect", lambda f, args: sent.extend(args) or collect(f, args)
    )
    engine.pack_documents(np.broadcast_to(np.full((1, 4), 0.25), (300, 4)))
    assert {rows.shape for _, rows in sent} == {(1, 4)}


def test_word_pass_needs_a_document_pass(blocks):
    engine = make_engine(blocks, 4)
    with pytest.raises(RuntimeError, match="document pass"):
        engine.word_pass(None, None, None)


@pytest.mark.parametrize("n", [1, 7, 8, 9, 63, 64, 65, 200])
def test_sum_has_the_order_of_the_tree(n):
    # Numbers of many sizes: any other order rounds differently.
    numbers = np.random.default_rng(n).normal(size=n) * 10.0 ** (np.arange(n) % 17)
    values = list(numbers)
    while len(values) > 1:
        groups = [values[i : i + FAN_IN] for i in range(0, len(values), FAN_IN)]
        values = [functools.reduce(operator.add, group) for group in groups]
    assert sum_in_order(((number,) for number in numbers), n) == (values[0],)


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_fit_is_that_of_one_matrix(counts, blocks, name):
    whole = clone(MODELS[name]).fit(counts)
    parts = clone(MODELS[name]).fit(blocks)
    threads = clone(MODELS[name]).set_params(n_jobs=2).fit(blocks)
    # Frank-Wolfe may end a step apart where two topics are equally good.
    tolerance = 1e-6 if name == "fstm" else 1e-12
    np.testing.assert_allclose(parts.components_, whole.components_, atol=tolerance)
    np.testing.assert_allclose(parts.doc_topics_, whole.doc_topics_, atol=tolerance)
    np.testing.assert_allclose(
        parts.objective_history_, whole.objective_history_, rtol=1e-7
    )
    np.testing.assert_array_equal(threads.components_, parts.components_)
    np.testing.assert_array_equal(threads.doc_topics_, parts.doc_topics_)


@pytest.mark.parametrize("name", ["plsa", "lda-cvb0", "lda-vb", "fstm"])
def test_partial_fit_and_transform_take_blocks(counts, blocks, name):
    model = clone(MODELS[name]).partial_fit(counts)
    other = clone(MODELS[name]).partial_fit(blocks)
    np.testing.assert_allclose(other.components_, model.components_, atol=1e-12)
    np.testing.assert_array_equal(model.transform(blocks), model.transform(counts))


def test_online_fit_learns_from_blocks(counts, blocks):
    whole, parts = clone(ONLINE).fit(counts), clone(ONLINE).fit(blocks)
    # Other batches, the same quality.
    assert parts.objective_history_[-1] > whole.objective_history_[0]
    assert parts.objective_history_[-1] == pytest.approx(
        whole.objective_history_[-1], abs=0.05
    )
    assert parts.n_documents_seen_ == 3 * counts.shape[0]
    np.testing.assert_allclose(parts.doc_topics_.sum(axis=1), 1.0)


def test_list_of_block_files_is_a_corpus(blocks):
    model = clone(MODELS["plsa"])
    expected = clone(model).fit(blocks)
    files = [file.path for file in blocks.files]
    found = clone(model).fit(files)
    np.testing.assert_array_equal(found.components_, expected.components_)


def test_empty_documents_are_warned_about_and_uniform(ragged, tmp_path):
    blocks = BlockMatrix.write(tmp_path / "ragged", ragged, block_size=7)
    with pytest.warns(EmptyDocumentWarning, match="3 of 40"):
        model = LDA(3, max_iter=3, random_state=0).fit(blocks)
    np.testing.assert_allclose(model.doc_topics_[[0, 17, 39]], 1 / 3)


def test_mixtures_stay_in_the_storage_folder(blocks, tmp_path):
    storage = tmp_path / "storage"
    own = BlockMatrix.open(Path(blocks.files[0].path).parent, storage=storage)
    model = clone(MODELS["plsa"]).fit(own)
    assert isinstance(model.doc_topics_, np.memmap)
    assert [path.suffix for path in storage.iterdir()] == [".npy"]
    np.testing.assert_array_equal(
        np.load(next(storage.iterdir())), np.asarray(model.doc_topics_)
    )


def test_without_storage_nothing_stays(blocks, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    model = clone(MODELS["plsa"]).fit(blocks)
    assert model.doc_topics_.shape == (300, 4)
    assert list(tmp_path.iterdir()) == []


def test_saved_model_of_blocks_loads(blocks, tmp_path):
    import topicfold

    model = clone(MODELS["plsa"]).fit(blocks)
    model.save(tmp_path / "model")
    loaded = topicfold.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.doc_topics_, model.doc_topics_)


def test_words_of_the_blocks_become_feature_names(tmp_path, counts):
    words = [f"word{i}" for i in range(counts.shape[1])]
    blocks = BlockMatrix.write(tmp_path / "a", counts, block_size=99, vocabulary=words)
    model = clone(MODELS["plsa"]).fit(blocks)
    assert model.topic_data().vocabulary == tuple(words)
    assert model.transform(blocks).shape == (300, 4)
    other = BlockMatrix.write(
        tmp_path / "b", counts, block_size=99, vocabulary=words[::-1]
    )
    with pytest.raises(DataError, match="column 0 is 'word119', not 'word0'"):
        model.transform(other)


def test_models_that_need_all_documents_say_so(blocks):
    labels = np.arange(300) % 2
    with pytest.raises(DataError, match="TwoPhase needs all documents in one place"):
        TwoPhase(FSTM(3)).fit(blocks, labels)
    with pytest.raises(DataError, match=r"LaplacianPLSA .*needs all documents"):
        LaplacianPLSA(3).fit(blocks)
    with pytest.raises(DataError, match="PLSA needs all documents"):
        clone(MODELS["plsa"]).fit(blocks).perplexity(blocks)


def test_two_phase_inference_takes_blocks(counts, blocks, planted):
    labels = planted[1].argmax(axis=1)
    base = FSTM(4, max_iter=3, random_state=0)
    model = TwoPhase(base, n_rounds=1).fit(counts, labels)
    np.testing.assert_array_equal(model.transform(blocks), model.transform(counts))


def test_other_number_of_columns_in_transform(blocks, counts, tmp_path):
    model = clone(MODELS["plsa"]).fit(blocks)
    narrow = BlockMatrix.write(tmp_path / "narrow", counts[:, :50])
    with pytest.raises(ValueError, match="50 features"):
        model.transform(narrow)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["plsa", "orthogonal", "lda-cvb0-priors", "fstm"])
@pytest.mark.parametrize("where", ["memory", "blocks"])
def test_resumed_fit_has_the_same_bits(counts, blocks, name, where, tmp_path):
    X = counts if where == "memory" else blocks
    expected = clone(MODELS[name]).fit(X)
    resume = Resume(tmp_path / "state", every=2)
    # Ends after iteration 3, so the state is that of iteration 2.
    clone(MODELS[name]).set_params(max_iter=3, callbacks=[resume]).fit(X)
    resumed = clone(MODELS[name]).set_params(callbacks=[resume]).fit(X)
    assert resume.resumed_at_ == 2
    assert resumed.objective_history_ == expected.objective_history_
    np.testing.assert_array_equal(resumed.components_, expected.components_)
    np.testing.assert_array_equal(resumed.doc_topics_, expected.doc_topics_)


def test_resume_says_what_it_cannot_go_on_with(planted, counts, tmp_path):
    resume = Resume(tmp_path / "state")
    with pytest.raises(DataError, match="Resume does not work with CollapsedGibbs"):
        GibbsLDA(2, callbacks=[resume]).fit(planted[0])
    with pytest.raises(
        DataError, match="LaplacianTheta keeps a state between iterations"
    ):
        LaplacianPLSA(2, max_iter=2, callbacks=[resume]).fit(counts)
    assert not (tmp_path / "state").exists()
    PLSA(4, max_iter=2, callbacks=[resume], random_state=0).fit(counts)
    (tmp_path / "state" / POINTER).write_text('{"stat')
    with pytest.raises(ModelFileError, match=r"cannot be read.*to start afresh"):
        PLSA(4, max_iter=2, callbacks=[resume], random_state=0).fit(counts)


def test_resume_refuses_the_state_of_another_fit(counts, tmp_path):
    resume = Resume(tmp_path / "state")
    PLSA(4, max_iter=2, callbacks=[resume], random_state=0).fit(counts)
    with pytest.raises(DataError, match="state of another fit"):
        PLSA(5, max_iter=2, callbacks=[resume], random_state=0).fit(counts)


KILLED = """
import os, signal, sys
import topicfold.engine.blocks.engine as blocked
import topicfold.learn.online as online
from topicfold import LDA, PLSA
from topicfold.corpus.blocks import BlockMatrix
from topicfold.learn import Resume

kind, corpus, state, calls_left = sys.argv[1:4] + [int(sys.argv[4])]

def dying(function):
    def call(*args):
        global calls_left
        calls_left -= 1
        if calls_left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return function(*args)
    return call

blocked._evaluate_block = dying(blocked._evaluate_block)
online.OnlineLearner.learn = dying(online.OnlineLearner.learn)
options = {"tol": 0, "random_state": 0, "callbacks": [Resume(state)]}
models = {
    "plsa": PLSA(4, max_iter=12, **options),
    "lda-vb": LDA(4, max_iter=11, algorithm="variational", **options),
    "online": LDA(4, max_iter=3, batch_size=64, **options),
}
models[kind].fit(BlockMatrix.open(corpus))
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "calls"), [("plsa", 65), ("lda-vb", 65), ("online", 8)]
)
def test_kill_9_loses_only_the_unfinished_pass(blocks, tmp_path, kind, calls):
    corpus = str(Path(blocks.files[0].path).parent)
    state = tmp_path / "state"
    done = subprocess.run(
        [sys.executable, "-c", KILLED, kind, corpus, str(state), str(calls)],
        env={**os.environ, "TMPDIR": str(tmp_path)},
        check=False,
    )
    assert done.returncode == -signal.SIGKILL
    model = clone(ONLINE if kind == "online" else MODELS[kind])
    expected = clone(model).fit(blocks)
    resume = Resume(state)
    resumed = model.set_params(callbacks=[resume]).fit(blocks)
    # The start takes a pass of 12 blocks or, online, no batch; a pass has 5 batches.
    assert resume.resumed_at_ == (calls // 12 - 1 if kind != "online" else 1)
    assert resumed.objective_history_ == expected.objective_history_
    np.testing.assert_array_equal(resumed.components_, expected.components_)
    np.testing.assert_array_equal(resumed.doc_topics_, expected.doc_topics_)


@pytest.mark.slow
def test_dask_is_not_imported(blocks):
    folder = str(Path(blocks.files[0].path).parent)
    code = (
        "import sys; from topicfold import PLSA;"
        "from topicfold.corpus.blocks import BlockMatrix;"
        f"PLSA(2, max_iter=1).fit(BlockMatrix.open({folder!r}));"
        "print([m for m in ('dask', 'distributed') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_sparse_arrays_are_no_blocks(counts):
    whole = clone(MODELS["plsa"]).fit(counts)
    other = clone(MODELS["plsa"]).fit(sparse.csr_array(counts))
    np.testing.assert_array_equal(other.components_, whole.components_)


def test_a_block_that_fails_ends_the_pass(blocks):
    """What waits behind it is not begun, and the error is the block's own."""
    visited = []

    def fail_at_three(block, number):
        visited.append(number)
        if number == 3:
            raise ValueError("block three")

    prepared = LocalBlocks(blocks, 2)
    with pytest.raises(ValueError, match="block three"):
        prepared.collect(fail_at_three, [(n,) for n in range(blocks.n_blocks)])
    assert 3 in visited
    assert len(visited) < blocks.n_blocks


def test_saved_mixtures_are_copied_where_no_link_can_be(tmp_path, monkeypatch):
    def refuse(source, target):
        raise OSError(18, "Invalid cross-device link")

    (tmp_path / "a").write_bytes(b"rows")
    monkeypatch.setattr(os, "link", refuse)
    link_or_copy(str(tmp_path / "a"), str(tmp_path / "b"))
    (tmp_path / "a").write_bytes(b"later")
    assert (tmp_path / "b").read_bytes() == b"rows"


def test_mixtures_of_kept_blocks_are_read_from_memory(blocks):
    engine = make_engine(blocks, 4)
    theta = engine.pack_documents(np.full((engine.n_documents, 4), 0.25))
    topics = engine.pack_topics(np.full((4, engine.n_terms), 1 / engine.n_terms))
    first = engine.document_pass(theta, topics)
    for block in theta.blocks:
        Path(block.path).unlink()
    assert engine.document_pass(theta, topics).loglik == first.loglik
