# SPDX-License-Identifier: BSD-3-Clause
"""The Dask engine: the bits of the local blocks, whatever happens to workers."""

import logging
import os
import signal
import threading

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from step_support import EntropyTheta

from topicfold import FSTM, LDA, PLSA, OrthogonalPLSA, TwoPhase
from topicfold.corpus.blocks import BlockMatrix
from topicfold.exceptions import DataError, DeviceError
from topicfold.learn import Callback, Resume

distributed = pytest.importorskip("distributed")
import dask  # noqa: E402
import dask.array as da  # noqa: E402
import dask.bag as db  # noqa: E402
from distributed_support import (  # noqa: E402
    ask_for_too_much,
    eat_memory,
    local_cluster,
    wait_for_workers,
)

from topicfold.engine.dask import DaskPrepared, distribute  # noqa: E402
from topicfold.engine.dask.tasks import workers_in_rows  # noqa: E402

MODELS = {
    "plsa": PLSA(4, max_iter=4, tol=0, random_state=0),
    "orthogonal": OrthogonalPLSA(4, max_iter=3, tol=0, random_state=0),
    "lda-cvb0": LDA(4, max_iter=6, tol=0, random_state=0, learn_priors=True),
    "lda-vb": LDA(4, max_iter=6, tol=0, random_state=0, algorithm="variational"),
    "fstm": FSTM(4, max_iter=2, tol=0, random_state=0),
    "own-step": PLSA(4, theta_step=EntropyTheta(), max_iter=4, tol=0, random_state=0),
}


def csr_array(parts, n_terms):
    chunks = [
        da.from_delayed(dask.delayed(part), shape=(part.shape[0], n_terms), dtype=float)
        for part in parts
    ]
    return da.concatenate(chunks)


@pytest.mark.parametrize("name", MODELS)
def test_fit_has_the_bits_of_local_blocks(client, blocks, name):
    local = clone(MODELS[name]).fit(blocks)
    there = clone(MODELS[name]).fit(distribute(blocks))
    assert there.objective_history_ == local.objective_history_
    np.testing.assert_array_equal(there.components_, local.components_)
    np.testing.assert_array_equal(there.doc_topics_, local.doc_topics_)


def test_same_bits_at_any_number_of_workers(blocks):
    online = LDA(4, max_iter=2, tol=0, random_state=0, batch_size=150)
    batch, streamed = [], []
    for n_workers in (1, 3):
        with (
            local_cluster(n_workers, processes=False) as cluster,
            distributed.Client(cluster),
        ):
            corpus = distribute(blocks)
            batch.append(clone(MODELS["lda-cvb0"]).fit(corpus))
            streamed.append(clone(online).fit(corpus))
    for one, three in (batch, streamed):
        np.testing.assert_array_equal(one.components_, three.components_)
        np.testing.assert_array_equal(one.doc_topics_, three.doc_topics_)
    # Online, a batch is added up block by block here, at once in one process.
    local = clone(online).fit(blocks)
    np.testing.assert_allclose(streamed[0].components_, local.components_, atol=1e-12)


def test_dask_array_of_csr_chunks(client, blocks, planted):
    X = csr_array(list(blocks), 120)
    expected = clone(MODELS["plsa"]).fit(blocks)
    model = clone(MODELS["plsa"]).fit(X)
    np.testing.assert_array_equal(model.components_, expected.components_)
    counts = planted[0].astype(np.float64)
    np.testing.assert_array_equal(model.transform(X), model.transform(counts))
    streamed = clone(MODELS["plsa"]).partial_fit(X)
    once = clone(MODELS["plsa"]).partial_fit(counts)
    np.testing.assert_allclose(streamed.components_, once.components_, atol=1e-12)


def test_two_phase_inference_on_workers(client, blocks, planted):
    counts = planted[0].astype(np.float64)
    base = FSTM(4, max_iter=2, random_state=0)
    model = TwoPhase(base, n_rounds=1).fit(counts, planted[1].argmax(axis=1))
    there = distribute(blocks)
    np.testing.assert_array_equal(model.transform(there), model.transform(counts))
    with pytest.raises(DataError, match="TwoPhase needs all documents"):
        TwoPhase(base).fit(there, planted[1].argmax(axis=1))


def test_list_of_block_files(client, blocks):
    corpus = distribute([file.path for file in blocks.files])
    found = clone(MODELS["plsa"]).fit(corpus)
    expected = clone(MODELS["plsa"]).fit(blocks)
    np.testing.assert_array_equal(found.components_, expected.components_)


TEXTS = ["red fox runs", "red dog runs far", "blue whale sings", "blue fish sings"] * 4


def test_bag_of_texts(client):
    bag = db.from_sequence(TEXTS, npartitions=3)
    model = PLSA(2, max_iter=20, random_state=0).fit(bag)
    # "runs" and "sings" are in half of the documents, no word in more.
    assert list(model.feature_names_in_) == [
        "blue", "dog", "far", "fish", "fox", "red", "runs", "sings", "whale"
    ]  # fmt: skip
    theta = model.transform(
        db.from_sequence(["red runs", "sings unknown"], npartitions=1)
    )
    assert theta.argmax(axis=1).tolist() in ([0, 1], [1, 0])
    assert model.topic_data().vocabulary[0] == "blue"


def test_dataframe_of_texts(client):
    pytest.importorskip("pyarrow")
    pd = pytest.importorskip("pandas")
    dd = pytest.importorskip("dask.dataframe")
    frame = dd.from_pandas(
        pd.DataFrame({"text": TEXTS, "id": range(16)}), npartitions=2
    )
    bag = PLSA(2, max_iter=5, random_state=0).fit(
        db.from_sequence(TEXTS, npartitions=2)
    )
    model = PLSA(2, max_iter=5, random_state=0).fit(frame)
    np.testing.assert_array_equal(model.components_, bag.components_)
    with pytest.raises(DataError, match=r"columns \['id'\]"):
        PLSA(2).fit(frame[["id"]])


class KillWorkers(Callback):
    """Kill workers with SIGKILL while they compute the pass after an iteration."""

    def __init__(self, client, iteration, n_workers):
        self.client = client
        self.iteration = iteration
        self.n_workers = n_workers
        self.killed = []
        self.fitted = threading.Event()

    def on_iteration(self, state):
        if state.iteration == self.iteration:
            pids = self.client.run(os.getpid)
            thread = threading.Thread(target=self._kill_when_busy, args=[pids])
            thread.start()

    def _kill_when_busy(self, pids):
        while not self.fitted.wait(0.001):
            busy = [w for w, tasks in self.client.processing().items() if tasks]
            if busy:
                # The busy one first: it is in the middle of a pass.
                for worker in sorted(pids, key=lambda w: w != busy[0]):
                    if len(self.killed) < self.n_workers:
                        os.kill(pids[worker], signal.SIGKILL)
                        self.killed.append(worker)
                return


@pytest.mark.parametrize(
    ("name", "n_workers"),
    [("plsa", 1), ("lda-vb", 1), ("plsa", 2)],
    ids=["plsa", "lda-vb", "all-workers"],
)
def test_killed_workers_cost_time_only(client, blocks, name, n_workers):
    # If all are killed, no copy in memory is left of blocks, topics or mixtures.
    expected = clone(MODELS[name]).fit(blocks)
    wait_for_workers(client, 2)
    for _ in range(20):
        killer = KillWorkers(client, 2, n_workers)
        model = clone(MODELS[name]).set_params(callbacks=[killer])
        model.fit(distribute(blocks))
        killer.fitted.set()
        if killer.killed:  # else the pass was over before it was seen
            break
    wait_for_workers(client, 2)
    assert len(killer.killed) == n_workers
    assert model.objective_history_ == expected.objective_history_
    np.testing.assert_array_equal(model.components_, expected.components_)
    np.testing.assert_array_equal(model.doc_topics_, expected.doc_topics_)


class EndWorkers(Callback):
    """End all workers after an iteration, so that nobody starts them again."""

    def __init__(self, cluster, client):
        self.cluster = cluster
        self.client = client

    def on_iteration(self, state):
        if state.iteration == 2:
            self.cluster.scale(0)
            wait_for_workers(self.client, 0)


class OnLog(logging.Handler):
    """Do something when it is said that there are no workers."""

    def __init__(self, do):
        super().__init__()
        self.do = do
        self.said = 0

    def emit(self, record):
        if "has no workers" in record.getMessage():
            self.said += 1
            self.do()


@pytest.fixture
def ending(blocks):
    """Fit on a cluster that loses all its workers; `do` what when it is said."""

    def fit(do):
        handler = OnLog(lambda: do(cluster))
        logging.getLogger("topicfold").addHandler(handler)
        try:
            with (
                local_cluster(2, processes=False) as cluster,
                distributed.Client(cluster) as client,
            ):
                model = clone(MODELS["plsa"])
                model.set_params(callbacks=[EndWorkers(cluster, client)])
                model.fit(distribute(blocks))
        finally:
            logging.getLogger("topicfold").removeHandler(handler)
            assert handler.said == 1
        return model

    return fit


def test_workers_that_never_come_back_are_not_waited_for(ending, monkeypatch):
    monkeypatch.setattr("topicfold.engine.dask.tasks.PATIENCE", 0.1)
    with pytest.raises(DeviceError, match=r"Only 0/1 workers .*Resume\(folder\)"):
        ending(lambda cluster: None)


def test_a_fit_goes_on_when_workers_come_back(ending, blocks):
    expected = clone(MODELS["plsa"]).fit(blocks)
    model = ending(lambda cluster: cluster.scale(2))
    assert model.objective_history_ == expected.objective_history_
    np.testing.assert_array_equal(model.doc_topics_, expected.doc_topics_)


def test_the_first_ctrl_c_ends_a_fit_without_workers(ending):
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        ending(lambda cluster: os.kill(os.getpid(), signal.SIGINT))
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.parametrize(
    ("threads", "sizes", "expected"),
    [
        ({"a": 1, "b": 1}, [5] * 6, "aaabbb"),
        ({"a": 1, "b": 1}, [60, 20, 20, 20], "abbb"),
        ({"a": 1, "b": 3}, [5] * 8, "aabbbbbb"),
        ({"a": 1, "b": 1}, [0, 0], "aa"),
        ({"a": 1, "b": 1, "c": 1}, [5], "b"),
    ],
)
def test_blocks_in_a_row_go_to_one_worker(threads, sizes, expected):
    # As many non-zeros for each thread. Where Dask puts them is its own affair: a
    # worker that is late or lost gets fewer.
    assert "".join(workers_in_rows(threads, np.array(sizes))) == expected


def test_worker_out_of_memory_names_the_block_size(blocks):
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        local_cluster(1, memory_limit="600MiB") as cluster,
        distributed.Client(cluster),
    ):
        corpus = distribute(blocks)
        # The nanny ends a worker above 95 % of its limit.
        with pytest.raises(DeviceError, match=r"block size below 26 documents"):
            DaskPrepared(corpus, corpus.blocks).collect(eat_memory)


def test_memory_error_names_the_block_size(client, blocks):
    corpus = distribute(blocks)
    with pytest.raises(DeviceError, match=r"largest block has 26 documents"):
        DaskPrepared(corpus, corpus.blocks).collect(ask_for_too_much)


def test_resume_on_the_cluster(client, blocks, tmp_path):
    expected = clone(MODELS["plsa"]).fit(blocks)
    resume = Resume(tmp_path / "state")
    corpus = distribute(blocks, storage=tmp_path / "storage")
    clone(MODELS["plsa"]).set_params(max_iter=2, callbacks=[resume]).fit(corpus)
    model = clone(MODELS["plsa"]).set_params(callbacks=[resume]).fit(corpus)
    assert resume.resumed_at_ == 2
    np.testing.assert_array_equal(model.doc_topics_, expected.doc_topics_)


@pytest.mark.parametrize("moves_to", ["cluster", "here"])
def test_a_state_moves_between_the_cluster_and_local_blocks(
    client, blocks, tmp_path, moves_to
):
    expected = clone(MODELS["plsa"]).fit(blocks)
    resume = Resume(tmp_path / "state")
    places = [blocks, distribute(blocks, storage=tmp_path / "storage")]
    first, then = places if moves_to == "cluster" else places[::-1]
    clone(MODELS["plsa"]).set_params(max_iter=2, callbacks=[resume]).fit(first)
    model = clone(MODELS["plsa"]).set_params(callbacks=[resume]).fit(then)
    assert resume.resumed_at_ == 2
    np.testing.assert_array_equal(model.doc_topics_, expected.doc_topics_)


def test_resume_refuses_another_corpus_of_the_same_sums(client, tmp_path):
    def corpus(name, corner):
        X = np.ones((20, 4))
        X[:2, :2] = corner
        blocks = BlockMatrix.write(tmp_path / name, sparse.csr_matrix(X), block_size=8)
        return distribute(blocks, storage=tmp_path / "storage")

    options = {"max_iter": 2, "random_state": 0, "callbacks": [Resume(tmp_path / "s")]}
    PLSA(2, **options).fit(corpus("a", [[9, 1], [1, 9]]))
    with pytest.raises(DataError, match="it was another corpus"):
        PLSA(2, **options).fit(corpus("b", [[1, 9], [9, 1]]))


ROWS = sparse.csr_matrix(np.ones((3, 4)))


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ([ROWS, ROWS[:, :3]], "block 1 .* has 3 columns, the others have 4"),
        ([ROWS, ROWS[:0]], "block 1 .* is empty: it has no documents"),
        ([ROWS, ROWS.tocsc()], "block 1 .* is a csc matrix, not a CSR"),
        ([ROWS, ROWS.toarray()], "block 1 .* is a ndarray, not a CSR"),
        ([ROWS, -ROWS], "block 1 .* has 12 negative entries"),
    ],
    ids=["columns", "empty", "csc", "dense", "negative"],
)
def test_bad_blocks_say_what_and_how(client, parts, message):
    chunks = [
        da.from_delayed(dask.delayed(part), shape=(3, 4), dtype=float) for part in parts
    ]
    with pytest.raises(DataError, match=message):
        PLSA(2).fit(da.concatenate(chunks))


def test_chunks_of_columns_are_refused(client):
    X = da.ones((4, 6), chunks=(2, 3))
    with pytest.raises(DataError, match=r"2 chunks of columns.*rechunk\(\{1: -1\}\)"):
        PLSA(2).fit(X)


def test_collections_of_other_things(client):
    with pytest.raises(DataError, match="holds int, not texts"):
        PLSA(2).fit(db.from_sequence([1, 2, 3], npartitions=1))
    with pytest.raises(DataError, match="cannot be distributed"):
        distribute({"a": 1})


def test_workers_must_see_the_storage(client, blocks, monkeypatch):
    wait_for_workers(client, 2)
    monkeypatch.setattr("topicfold.engine.dask._folder_exists", lambda path: False)
    with pytest.raises(DataError, match=r"2 of 2 workers .* cannot see the folder"):
        distribute(blocks)
