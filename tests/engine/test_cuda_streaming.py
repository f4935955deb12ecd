# SPDX-License-Identifier: BSD-3-Clause
"""Streaming with a NumPy stand-in for the device; the same on one: ``tests/gpu``."""

import itertools
import weakref

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from step_support import EntropyTheta

from topicfold import LaplacianPLSA
from topicfold.core.counts import OuterSum
from topicfold.engine import make_engine
from topicfold.engine.cpu import CpuEngine
from topicfold.engine.cuda import streaming as planning
from topicfold.engine.cuda.streaming import (
    Plan,
    StreamedEngine,
    cut_blocks,
    plan_blocks,
    spread,
)
from topicfold.engine.cuda.transfer import Record, narrowed, visit_blocks
from topicfold.exceptions import DataError
from topicfold.learn.learner import Cvb0, Learner, Variational
from topicfold.parts import Context
from topicfold.parts.steps import prepare_step
from topicfold.phi import DirichletPhi, PhiStep
from topicfold.theta import DirichletTheta, LaplacianTheta, ThetaStep

STREAMS = ("send", "work", "fetch")
ORDERS = list(itertools.permutations(STREAMS))


class SimulatedStreams:
    """Runs nothing until it must, then the streams one after another in `order`.

    Whatever a stream may do by its events before or after the others, it does in one
    of the orders.
    """

    def __init__(self, order=STREAMS, deaf=None):
        self.order, self.deaf = order, deaf
        self.queues = {name: [] for name in STREAMS}
        self.done = dict.fromkeys(STREAMS, 0)

    def begin(self):
        assert all(self.done[name] == len(self.queues[name]) for name in STREAMS)

    def submit(self, stream, function, *args):
        self.queues[stream].append((function, args))

    def record(self, stream):
        return stream, len(self.queues[stream])

    def wait(self, stream, event):
        if event is not None and (stream, event[0]) != self.deaf:
            self.queues[stream].append((self._run, event))

    def _run(self, stream, stop):
        while self.done[stream] < stop:
            function, args = self.queues[stream][self.done[stream]]
            function(*args)
            self.done[stream] += 1

    def finish(self):
        for name in self.order:
            self._run(name, len(self.queues[name]))


class NumpyPort(SimulatedStreams):
    """A device that is the CPU engine; fresh memory has NaNs."""

    def __init__(self, X, n_topics, order=STREAMS, dtype=np.float64):
        super().__init__(order)
        self.words = np.random.default_rng(0).permutation(X.shape[1])
        self.topics = self._engine(X[:0], n_topics, dtype, self.words)

    def _engine(self, X, n_topics, dtype, word_order):
        return CpuEngine(X, n_topics, dtype=dtype, word_order=word_order)

    def pinned(self, n_bytes):
        return np.full(n_bytes, 255, np.uint8)

    def empty(self, shape, dtype):
        array = np.empty(shape, dtype)
        array.fill(255 if array.dtype == np.uint8 else np.nan)
        return array

    def copy(self, target, source):
        assert target.shape == source.shape
        assert target.dtype == source.dtype
        np.copyto(target, source)

    def prepare(self, X):
        layout = self._engine(X, 1, np.float64, self.words)._layout
        return {
            "indptr": layout.indptr,
            "indices": layout.indices,
            "counts": layout.counts.astype(np.uint8),
            "first_slot": np.zeros(1, np.int32),
        }

    def reserve(self, n_entries, n_slots):
        self.most_entries = n_entries

    def upload(self, array):
        return array.copy()

    def arrange(self, lists, *, keep=False):
        return lists

    def engine(self, lists):
        indptr, counts = lists["indptr"], lists["counts"].astype(float)
        assert len(counts) <= self.most_entries
        shape = (len(indptr) - 1, self.topics.n_terms)
        X = sparse.csr_matrix((counts, lists["indices"], indptr), shape=shape)
        topics = self.topics
        order = np.arange(topics.n_terms)
        return self._engine(X, topics.n_topics, topics.dtype, order)


@pytest.fixture
def counts():
    X = sparse.random(61, 17, 0.3, format="csr", random_state=0, dtype=np.float64)
    X.data = np.ceil(X.data * 4)
    return X


def some_plan(X, rows=7, n_stay=3):
    offsets = np.unique(np.r_[np.arange(0, X.shape[0], rows), X.shape[0]])
    return Plan(offsets, spread(n_stay, len(offsets) - 1))


def streamed(X, n_topics, order=STREAMS, **plan):
    return StreamedEngine(X, NumpyPort(X, n_topics, order), some_plan(X, **plan))


def weighed(rows, lengths, arrays, data, factor):
    numbers = np.arange(rows.start, rows.stop)
    return factor * arrays[0] * numbers[:, None] + arrays[1] * lengths[:, None]


def half(rows, lengths, arrays, data):
    return 0.5 * arrays[0]


def total_of(rows, lengths, arrays, data):
    return float((arrays[0] * lengths[:, None]).sum()), arrays[0].sum(axis=0)


def everything(engine, theta, phi, link, max_updates):
    P, B = engine.pack_documents(theta), engine.pack_topics(phi)
    prior = engine.pack_prior(0.2)
    options = {"link": link, "max_updates": max_updates, "tol": -1.0}
    first = engine.document_pass(P, B, prior=prior, **options)
    done = engine.document_pass(P, B, prior=prior, out=first.counts, **options)
    words = engine.word_pass(P, B, np.empty_like(B))
    Q = P + prior
    Q += prior
    both = np.multiply(Q, P)
    return {
        "parameters": engine.unpack_documents(P),
        "counts": engine.unpack_documents(done.counts),
        "mixtures": engine.mixtures(P),
        "words": engine.unpack_topics(words),
        "loglik": done.loglik,
        "updates": done.n_updates.sum(),
        "sum": engine.unpack_documents(Q),
        "product": engine.unpack_documents(both),
        "visited": engine.unpack_documents(engine.map_rows(weighed, (P, Q), (2.0,))),
        "visited once": engine.unpack_documents(engine.map_rows(half, (Q,))),
        "summed": engine.gather_rows(total_of, (Q,))[0],
        "column sums": engine.gather_rows(total_of, (Q,))[1],
        "totals": engine.topic_totals(P),
        "documents": engine.documents_of_topics(P),
        "topic totals": engine.topic_totals(words),
        "logs": engine.log_totals(P, 0.1),
        "digammas": engine.digamma_totals(P, 0.1),
        "document bound": engine.document_bound(Q, prior),
        "topic bound": engine.topic_bound(words, 0.3),
    }


@pytest.mark.parametrize("order", ORDERS, ids="-".join)
@pytest.mark.parametrize("n_topics", [11, 8], ids=["padded", "unpadded"])
@pytest.mark.parametrize("link", ["identity", "digamma"])
def test_a_streamed_corpus_is_one_corpus(counts, order, n_topics, link):
    rng = np.random.default_rng(1)
    theta = rng.gamma(1.0, size=(61, n_topics)) + 0.1
    phi = rng.dirichlet(np.ones(17), n_topics)
    for max_updates, n_stay in ((0, 3), (3, 0), (2, 9)):
        whole = CpuEngine(counts, n_topics, dtype=np.float64)
        blocks = streamed(counts, n_topics, order, n_stay=n_stay)
        exact = everything(whole, theta, phi, link, max_updates)
        for name, value in everything(blocks, theta, phi, link, max_updates).items():
            np.testing.assert_allclose(
                value, exact[name], rtol=1e-9, atol=1e-12, err_msg=name
            )


@pytest.mark.parametrize("n_stay", [1, 4, 9])
def test_what_stays_on_the_device_changes_no_bit(counts, n_stay):
    rng = np.random.default_rng(1)
    theta, phi = rng.gamma(1.0, size=(61, 3)) + 0.1, rng.dirichlet(np.ones(17), 3)
    plain, mixed = (
        everything(streamed(counts, 3, n_stay=n), theta, phi, "digamma", 2)
        for n in (0, n_stay)
    )
    for name, value in plain.items():
        np.testing.assert_array_equal(mixed[name], value, err_msg=name)


ALGORITHMS = {
    "plsa": lambda engine, phi: Learner(engine, phi, ThetaStep(), PhiStep()),
    "dirichlet": lambda engine, phi: Learner(
        engine, phi, DirichletTheta(1.1), DirichletPhi(1.05)
    ),
    "entropy": lambda engine, phi: Learner(engine, phi, EntropyTheta(2.0), PhiStep()),
    "cvb0": lambda engine, phi: Cvb0(
        engine, phi, alpha=np.full(3, 0.3), eta=0.1, doc_updates=2, learn_priors=True
    ),
    "variational": lambda engine, phi: Variational(
        engine, phi, alpha=np.full(3, 0.3), eta=0.1, doc_updates=2, learn_priors=True
    ),
}


@pytest.mark.parametrize("name", list(ALGORITHMS))
def test_algorithms_need_not_know_where_documents_are(counts, name):
    phi = np.random.default_rng(2).dirichlet(np.ones(17), 3)
    whole = CpuEngine(counts, 3, dtype=np.float64)
    fits_ = [ALGORITHMS[name](e, phi) for e in (whole, streamed(counts, 3))]
    histories = [[fit.start()] + [fit.iterate() for _ in range(7)] for fit in fits_]
    np.testing.assert_allclose(histories[1], histories[0], rtol=1e-9)
    np.testing.assert_allclose(fits_[1].topics(), fits_[0].topics(), atol=1e-9)
    np.testing.assert_allclose(fits_[1].doc_topics(), fits_[0].doc_topics(), atol=1e-8)
    restored = ALGORITHMS[name](streamed(counts, 3), phi)
    state = fits_[1].state()
    packed = restored.engine.pack_documents(
        fits_[1].engine.unpack_documents(state["documents"])
    )
    value = restored.restore(state | {"documents": packed})
    assert value == pytest.approx(histories[1][-1], rel=1e-9)


def test_rows_that_are_not_there_yet_are_packed_block_by_block(counts):
    engine = streamed(counts, 3)
    rows, columns = np.arange(61.0), np.arange(3.0)
    for value in (np.broadcast_to(columns, (61, 3)), OuterSum(rows, columns)):
        packed = engine.pack_documents(value)
        np.testing.assert_array_equal(
            engine.unpack_documents(packed), np.asarray(value)
        )


def test_a_word_pass_without_a_document_pass_is_an_error(counts):
    engine = streamed(counts, 3)
    B = engine.pack_topics(np.full((3, 17), 1 / 17))
    with pytest.raises(RuntimeError, match="before the word pass"):
        engine.word_pass(None, B, np.empty_like(B))


def test_arithmetic_with_a_matrix_is_refused(counts):
    documents = streamed(counts, 11).pack_documents(np.ones((61, 11)))
    assert documents.shape == (61, 16)
    assert len(documents) == 61
    with pytest.raises(TypeError, match="ufunc 'add'"):
        np.add(documents, np.ones((61, 16)))


def test_graph_steps_need_all_documents_in_one_place(counts):
    graph = sparse.eye(61, format="csr")
    engine = streamed(counts, 2)
    topics = engine.pack_topics(np.ones((2, counts.shape[1])))
    context = Context.of(engine, topics, graph=graph)
    with pytest.raises(DataError, match="all documents in one place"):
        prepare_step(LaplacianTheta(), context)


def test_neighbors_in_transform_where_the_device_has_no_room(counts, monkeypatch):
    model = LaplacianPLSA(3, max_iter=5, transform_neighbors=True, random_state=0)
    expected = model.fit(counts).transform(counts)
    rows, alive = [], []

    def only_twenty(X, n_topics, **options):
        # Nothing else is on the device when it is asked.
        assert not any(engine() for engine in alive)
        return X.shape[0] <= 20

    def make(X, n_topics, **options):
        engine = make_engine(X, n_topics, **options)
        rows.append(X.shape[0])
        alive.append(weakref.ref(engine))
        return engine

    monkeypatch.setattr("topicfold.infer.fold_in.has_room", only_twenty)
    monkeypatch.setattr("topicfold.infer.fold_in.make_engine", make)
    np.testing.assert_array_equal(model.transform(counts), expected)
    assert rows == [15, 15, 15, 16]


def run_blocks(stays, n_slots, in_place, streams):
    """Visit blocks whose work is to double a number; return what is fetched."""
    coming = [np.nan] * n_slots
    results = coming if in_place else [np.nan] * n_slots
    there, fetched, order = {}, {}, []

    def send(number, slot):
        coming[slot] = number + 1.0

    def work(number, slot):
        order.append(number)
        if slot is None:
            there[number] = 2 * (number + 1.0)
        else:
            results[slot] = 2 * coming[slot]

    def fetch(number, slot):
        fetched[number] = results[slot]

    visit_blocks(streams, stays, n_slots, send, work, fetch, in_place=in_place)
    values = there | fetched
    return order, [values.get(number) for number in range(len(stays))]


@given(
    st.lists(st.booleans(), max_size=12),
    st.integers(1, 4),
    st.booleans(),
    st.sampled_from(ORDERS),
)
def test_every_block_is_visited_in_order_and_whole(stays, n_slots, in_place, order):
    done, values = run_blocks(stays, n_slots, in_place, SimulatedStreams(order))
    assert done == list(range(len(stays)))
    assert values == [2.0 * (number + 1) for number in range(len(stays))]


@pytest.mark.parametrize(
    ("deaf", "in_place"),
    [
        (("send", "work"), False),
        (("send", "fetch"), True),
        (("work", "send"), False),
        (("work", "fetch"), False),
        (("fetch", "work"), False),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, tuple) else None,
)
def test_no_event_can_be_spared(deaf, in_place):
    right = [2.0 * (number + 1) for number in range(8)]
    results = [
        run_blocks([False] * 8, 2, in_place, SimulatedStreams(order, deaf))[1]
        for order in ORDERS
    ]
    assert any(values != right for values in results)


def test_a_failure_leaves_nothing_queued():
    """Copies under way end before the caller gets its buffers back."""

    class Eager(SimulatedStreams):
        def submit(self, stream, function, *args):
            if stream == "work" and args[0] == 2:
                raise KeyError("block two")
            super().submit(stream, function, *args)

    streams, fetched = Eager(), []
    with pytest.raises(KeyError, match="block two"):
        visit_blocks(
            streams,
            [False] * 4,
            2,
            lambda number, slot: None,
            lambda number, slot: None,
            lambda number, slot: fetched.append(number),
            in_place=False,
        )
    assert fetched == [0, 1]
    for name in STREAMS:
        assert streams.done[name] == len(streams.queues[name]) > 0


def test_a_record_keeps_types_and_empty_arrays():
    arrays = {"a": np.arange(5, dtype=np.int64), "none": np.empty(0, np.int32)}
    arrays["b"] = np.array([7, 8], np.uint8)
    record = Record(arrays, lambda n_bytes: np.full(n_bytes, 9, np.uint8))
    views = record.views(record.buffer.copy())
    for name, array in arrays.items():
        assert views[name].dtype == array.dtype
        np.testing.assert_array_equal(views[name], array)


@given(st.lists(st.integers(0, 50), min_size=1, max_size=40), st.integers(1, 2000))
def test_blocks_cover_all_documents_and_keep_their_size(lengths, block_bytes):
    indptr = np.r_[0, np.cumsum(lengths)]
    offsets = cut_blocks(indptr, 12, block_bytes)
    assert (offsets[0], offsets[-1]) == (0, len(lengths))
    assert (np.diff(offsets) > 0).all()
    sizes = 12 * np.diff(offsets) + planning.SENT * np.diff(indptr[offsets])
    longest = 12 + planning.SENT * max(lengths)
    assert sizes.max() <= block_bytes + longest


@given(st.integers(0, 20), st.integers(1, 20))
def test_chosen_blocks_are_spread(n_chosen, n_blocks):
    n_chosen = min(n_chosen, n_blocks)
    chosen = spread(n_chosen, n_blocks)
    assert (len(chosen), chosen.sum()) == (n_blocks, n_chosen)
    gaps = np.diff(np.flatnonzero(chosen))
    assert len(gaps) == 0 or gaps.max() - gaps.min() <= 1


def test_free_memory_decides_what_stays_not_where_blocks_end():
    indptr = np.arange(0, 100_001, 10)
    kind = np.dtype(np.float32)
    plans = [
        plan_blocks(indptr, 100, 32, kind, free, block_bytes=2**17)
        for free in (2_000_000, 3_000_000, 10**9)
    ]
    stay = [int(plan.stays.sum()) for plan in plans]
    assert stay[0] < stay[1] < stay[2] == len(plans[2].stays)
    for plan in plans:
        np.testing.assert_array_equal(plan.offsets, plans[0].offsets)


def test_a_small_device_gets_smaller_blocks():
    indptr = np.arange(0, 100_001, 10)
    kind = np.dtype(np.float32)
    large = plan_blocks(indptr, 10, 32, kind, 10**8)
    small = plan_blocks(indptr, 10, 32, kind, 10**6)
    assert len(large.stays) < len(small.stays)


def test_counts_are_sent_in_as_few_bytes_as_hold_them():
    for values, kind in (
        ([1.0, 255.0], np.uint8),
        ([256.0], np.uint16),
        ([0.5], np.float64),
        ([2.0**16], np.float64),
        ([], np.float64),
    ):
        assert narrowed(np.array(values)).dtype == kind
