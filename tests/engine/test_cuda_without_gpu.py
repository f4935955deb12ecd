# SPDX-License-Identifier: BSD-3-Clause
"""What of the CUDA engine needs no GPU: dispatch, errors, layout, blocks."""

import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from topicfold import FSTM, LDA, PLSA, LaplacianPLSA, OrthogonalPLSA, TwoPhase
from topicfold.corpus.blocks import BlockMatrix
from topicfold.engine import make_engine
from topicfold.engine.blocks.engine import BlockedEngine
from topicfold.engine.cpu import CpuEngine
from topicfold.engine.cuda import device, layout, place, source, steps
from topicfold.engine.cuda.streaming import fits
from topicfold.engine.protocol import array_module, on_device, to_numpy
from topicfold.exceptions import DataError, DeviceError
from topicfold.infer import two_phase
from topicfold.infer.frank_wolfe import frank_wolfe
from topicfold.parts import Context
from topicfold.parts.steps import prepare_step
from topicfold.theta import LaplacianTheta
from topicfold.theta.graph import GraphOperator


class CudaRuntimeError(Exception):
    pass


def fake_cupy(*, n_devices=1, driver=12040, free=2**30, failure=None):
    """A stand-in for the parts of cupy that are asked before any array is made."""

    def device_count():
        if failure is not None:
            raise CudaRuntimeError(failure)
        return n_devices

    class OutOfMemoryError(Exception):
        pass

    runtime = SimpleNamespace(
        getDeviceCount=device_count,
        driverGetVersion=lambda: driver,
        memGetInfo=lambda: (free, 2 * free),
        CUDARuntimeError=CudaRuntimeError,
    )
    cuda = SimpleNamespace(
        runtime=runtime,
        memory=SimpleNamespace(OutOfMemoryError=OutOfMemoryError),
        driver=SimpleNamespace(CUDADriverError=type("Driver", (Exception,), {})),
        compiler=SimpleNamespace(CompileException=type("Compile", (Exception,), {})),
    )
    pool = SimpleNamespace(free_all_blocks=lambda: None)
    return SimpleNamespace(
        cuda=cuda,
        get_default_memory_pool=lambda: pool,
        get_default_pinned_memory_pool=lambda: pool,
    )


def use_cupy(monkeypatch, module):
    monkeypatch.setitem(sys.modules, "cupy", module)


@pytest.fixture
def counts():
    X = sparse.random(23, 17, 0.3, format="csr", random_state=0, dtype=np.float64)
    X.data = np.ceil(X.data * 4)
    return X


def test_without_cupy_the_error_has_the_install_line(monkeypatch, counts):
    use_cupy(monkeypatch, None)
    with pytest.raises(DeviceError, match=r"pip install 'topicfold\[gpu\]'"):
        make_engine(counts, 2, device="cuda")


@pytest.mark.parametrize(
    "model",
    [
        PLSA(2, device="cuda"),
        LDA(2, device="cuda"),
        LDA(2, algorithm="variational", device="cuda"),
        LDA(2, batch_size=5, device="cuda"),
        OrthogonalPLSA(2, device="cuda"),
        LaplacianPLSA(2, device="cuda"),
        FSTM(2, device="cuda"),
    ],
    ids=["plsa", "cvb0", "variational", "online", "orthogonal", "laplacian", "fstm"],
)
def test_models_never_fall_back_to_the_cpu(monkeypatch, counts, model):
    use_cupy(monkeypatch, None)
    with pytest.raises(DeviceError, match="device='cuda' needs CuPy"):
        model.fit(counts)


def test_transform_asks_for_the_device_too(monkeypatch, counts):
    model = PLSA(2, random_state=0, max_iter=2).fit(counts).set_params(device="cuda")
    use_cupy(monkeypatch, None)
    with pytest.raises(DeviceError, match="device='cuda' needs CuPy"):
        model.transform(counts)


def test_the_second_phase_infers_on_the_device_of_its_base(monkeypatch):
    asked = []

    def spy(*args, **options):
        asked.append(options.pop("device"))
        return frank_wolfe(*args, **options)

    monkeypatch.setattr(two_phase, "frank_wolfe", spy)
    X, y = np.eye(4)[:, [0, 1, 2, 3, 0]], [0, 0, 1, 1]
    base = PLSA(2, random_state=0).fit(X)
    model = TwoPhase(base, prefit=True, n_rounds=1)
    model.fit(X, y)
    assert set(asked) == {"cpu"}
    model.base_.device = "cuda"
    members = np.eye(2, dtype=bool)[y]
    model._label_mixtures(sparse.csr_matrix(X), members, np.full((4, 1), -1))
    assert asked[-1] == "cuda"


@pytest.mark.parametrize(
    ("module", "message"),
    [
        (fake_cupy(n_devices=0), "found no NVIDIA GPU"),
        (fake_cupy(failure="cudaErrorNoDevice: none"), "found no NVIDIA GPU"),
        (fake_cupy(failure="cudaErrorInsufficientDriver: old"), "driver is too old"),
        (fake_cupy(driver=11020), "supports CUDA 11.2 only"),
        (fake_cupy(failure="cudaErrorUnknown: odd"), "reported an error .*odd"),
    ],
    ids=["none", "no device", "old driver", "old cuda", "other"],
)
def test_an_unusable_gpu_is_explained(monkeypatch, counts, module, message):
    use_cupy(monkeypatch, module)
    with pytest.raises(DeviceError, match=message):
        make_engine(counts, 2, device="cuda")


def test_out_of_memory_says_how_much_was_free(monkeypatch):
    cupy = fake_cupy(free=3 * 2**30)
    use_cupy(monkeypatch, cupy)
    out_of_memory = cupy.cuda.memory.OutOfMemoryError
    with (
        pytest.raises(DeviceError, match=r"while a pass ran.*3\.0 of 6\.0 GiB"),
        device.device_errors("a pass ran"),
    ):
        raise out_of_memory("Out of memory allocating 9 bytes.")


@pytest.mark.parametrize("kind", ["driver", "compiler"])
def test_other_device_errors_become_device_errors(monkeypatch, kind):
    cupy = fake_cupy()
    use_cupy(monkeypatch, cupy)
    errors = {
        "driver": cupy.cuda.driver.CUDADriverError,
        "compiler": cupy.cuda.compiler.CompileException,
    }
    with pytest.raises(DeviceError, match="broken"), device.device_errors("x"):
        raise errors[kind]("broken")


def test_nothing_of_cupy_is_imported_unless_asked_for():
    modules = [path.stem for path in Path(device.__file__).parent.glob("[a-z]*.py")]
    assert {"engine", "steps", "streaming"} <= set(modules)
    names = ", ".join(f"topicfold.engine.cuda.{m}" for m in modules)
    code = f"import sys, {names}; print('cupy' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_are_spread_evenly_over_threads(dtype):
    itemsize = np.dtype(dtype).itemsize
    for n_topics in range(1, 8192 // itemsize + 1):
        shape = source.row_shape(n_topics, np.dtype(dtype))
        assert n_topics <= shape.width < n_topics + 128
        for spread in (shape.documents, shape.words):
            assert spread.lanes in (4, 8, 16, 32)
            assert shape.width * itemsize % (16 * spread.lanes) == 0
            assert spread.lanes % spread.unroll == 0
            assert shape.width * itemsize // spread.lanes <= source.MAX_ROW_BYTES


@pytest.mark.parametrize("collapsed", [False, True])
def test_rows_of_half_precision_are_spread_in_pieces_of_16_bytes(collapsed):
    for n_topics in range(17, 2049):
        options = {"half": True, "collapsed": collapsed}
        shape = source.row_shape(n_topics, np.dtype(np.float32), **options)
        spread = shape.documents
        assert shape.width == source.row_shape(n_topics, np.dtype(np.float32)).width
        assert shape.words == spread
        assert spread.lanes in (4, 8, 16, 32)
        assert shape.width % (8 * spread.lanes) == 0
        assert spread.lanes % spread.unroll == 0


def test_too_many_topics_for_registers_are_an_error():
    with pytest.raises(DeviceError, match="room for 1024 topics of float64"):
        source.row_shape(1025, np.dtype(np.float64))


@given(
    st.lists(st.integers(0, 30), min_size=1, max_size=12),
    st.integers(1, 4),
    st.integers(0, 12),
)
def test_stretches_cover_every_non_zero_once(lengths, n_tiles, n_common):
    rng = np.random.default_rng(sum(lengths))
    word_ptr = np.r_[0, np.cumsum(lengths)]
    n_common = min(n_common, int(np.argmin([*lengths, 0])))
    inner = [
        np.sort(rng.integers(word_ptr[w], word_ptr[w + 1] + 1, n_tiles - 1))
        for w in range(n_common)
    ]
    borders = np.array(
        [np.r_[word_ptr[w], inner[w], word_ptr[w + 1]] for w in range(n_common)],
        dtype=np.int64,
    ).reshape(n_common, n_tiles + 1)
    most, layout.STRETCH = layout.STRETCH, 7
    try:
        stretches, n_slots = layout.cut_stretches(word_ptr, borders)
    finally:
        layout.STRETCH = most
    seen = np.zeros(word_ptr[-1], int)
    parts = zip(*stretches[:4], strict=True)
    slots = {}
    for start, length, word, slot in parts:
        seen[start : start + length] += 1
        assert length <= 7
        assert word_ptr[word] <= start
        assert start + length <= word_ptr[word + 1]
        slots.setdefault(int(word), []).append(int(slot))
    assert (seen == 1).all()
    assert sorted(slots) == list(range(len(lengths)))
    assert sorted(s for own in slots.values() for s in own if s >= 0) == list(
        range(n_slots)
    )
    for i, word in enumerate(stretches.joined):
        own = range(stretches.first_slot[i], stretches.first_slot[i + 1])
        assert sorted(slots.pop(int(word))) == list(own)
    assert all(own == [-1] for own in slots.values())


def test_stretches_of_common_words_are_visited_by_tile():
    borders = np.array([[0, 2, 4], [4, 5, 8]])
    stretches, _ = layout.cut_stretches(np.array([0, 4, 8, 9]), borders)
    assert stretches.word.tolist() == [0, 1, 0, 1, 2]
    assert stretches.start.tolist() == [0, 4, 2, 5, 8]


class StandInBlock(place.CudaBlock):
    """The device is the CPU engine; counts how many blocks are on it."""

    on_device = 0
    most = 0

    def _device_engine(self):
        StandInBlock.on_device += 1
        StandInBlock.most = max(StandInBlock.most, StandInBlock.on_device)
        options = {"dtype": self.dtype, "word_order": self._order}
        return CpuEngine(self._X, self.n_topics, **options)

    def word_pass(self, parameters, weights, out):
        StandInBlock.on_device -= 1
        return super().word_pass(parameters, weights, out)


def in_blocks(X, n_topics, rows, folder):
    corpus = BlockMatrix.write(folder, X, block_size=rows)
    corpus.keep_bytes = 0
    return BlockedEngine(
        corpus,
        n_topics,
        dtype=np.float64,
        make_block=StandInBlock,
    )


@pytest.mark.parametrize("link", ["identity", "digamma"])
@pytest.mark.parametrize("max_updates", [0, 3])
def test_blocks_are_one_engine(counts, link, max_updates, tmp_path):
    rng = np.random.default_rng(1)
    theta, phi = rng.gamma(1.0, size=(23, 3)) + 0.1, rng.dirichlet(np.ones(17), 3)
    results = []
    StandInBlock.on_device = StandInBlock.most = 0
    for engine in (
        CpuEngine(counts, 3, dtype=np.float64),
        in_blocks(counts, 3, 5, tmp_path / "x"),
    ):
        P, B = engine.pack_documents(theta), engine.pack_topics(phi)
        done = engine.document_pass(
            P,
            B,
            prior=engine.pack_prior(0.2),
            link=link,
            max_updates=max_updates,
            tol=-1.0,
        )
        words = engine.word_pass(P, B, np.empty_like(B))
        results.append(
            (
                engine.unpack_documents(P),
                engine.unpack_documents(done.counts),
                engine.unpack_topics(words),
                done.loglik,
                done.n_updates.sum(),
                engine.document_bound(P, engine.pack_prior(0.2)),
                engine.log_totals(P, 0.1),
            )
        )
    for whole, blocks in zip(*results, strict=True):
        np.testing.assert_allclose(blocks, whole, rtol=1e-10, atol=1e-12)
    assert (StandInBlock.on_device, StandInBlock.most) == (0, 1)


def test_a_word_pass_without_its_block_is_an_error(counts):
    block = place.CudaBlock(counts, 2, np.float64, np.arange(17))
    weights = np.ones((17, 2))
    with pytest.raises(RuntimeError, match="before the word pass"):
        block.word_pass(np.ones((23, 2)), weights, np.empty_like(weights))


def test_a_corpus_in_blocks_is_visited_block_by_block(monkeypatch, counts, tmp_path):
    use_cupy(monkeypatch, fake_cupy())
    corpus = BlockMatrix.write(tmp_path / "x", counts, block_size=6)
    engine = make_engine(corpus, 3, dtype=np.float64, device="cuda")
    assert isinstance(engine, BlockedEngine)
    assert engine.n_blocks == 4
    assert engine._blocks.make is place.CudaBlock


def test_topics_larger_than_the_device_are_an_error(monkeypatch, counts):
    use_cupy(monkeypatch, fake_cupy(free=1000))
    with pytest.raises(DeviceError, match="3 topics over 17 terms and one document"):
        make_engine(counts, 3, device="cuda")


def test_a_matrix_larger_than_the_device_is_streamed(monkeypatch, counts):
    kind = np.dtype(np.float64)
    free = next(n for n in range(0, 10**6, 100) if fits(counts, 3, kind, n))
    use_cupy(monkeypatch, fake_cupy(free=int(free / 0.85) - 200))
    monkeypatch.setattr(place, "_streamed", lambda *args: args)
    X, n_topics, dtype, order, plan = make_engine(counts, 3, dtype=kind, device="cuda")
    assert X is counts
    assert (n_topics, dtype, order) == (3, kind, None)
    assert plan.offsets[-1] == 23
    assert not plan.stays.all()


def test_graph_steps_say_that_they_cannot_stream(counts, tmp_path):
    engine = in_blocks(counts, 2, 5, tmp_path / "x")
    topics = engine.pack_topics(np.ones((2, 17)))
    context = Context.of(engine, topics, graph=sparse.eye(23, format="csr"))
    with pytest.raises(DataError, match="all documents in one place"):
        prepare_step(LaplacianTheta(), context)


def test_numpy_arrays_are_not_on_a_device():
    array = np.zeros(3)
    assert not on_device(array)
    assert array_module(array) is np
    assert to_numpy(array) is array


def test_device_arrays_are_fetched():
    host = np.ones(2)
    array = SimpleNamespace(__cuda_array_interface__={}, get=lambda: host)
    assert on_device(array)
    assert to_numpy(array) is host


class NumpyGraphOperator(steps.CudaGraphOperator):
    """The device's operator with NumPy in the place of CuPy and of the kernels."""

    def _run(self, name, weights, *arrays):
        W = sparse.csr_matrix((weights, self._indices, self._indptr))
        *inputs, out = arrays
        # Kernels are compiled for rows with their padding.
        assert all(array.shape[1] == self._engine.width for array in inputs)
        if name == "neighbor_sums":
            out[...] = W @ inputs[0]
        else:
            a, b = inputs
            products = (np.asarray(W.sum(axis=1)) * a - W @ a) * b
            out[...] = products.sum(axis=1)


def test_the_devices_graph_operator_is_that_of_the_cpu(monkeypatch):
    monkeypatch.setattr(steps, "device_errors", lambda what: nullcontext())
    rng = np.random.default_rng(0)
    W = sparse.random(20, 20, 0.3, format="csr", random_state=1)
    W = sparse.csr_matrix(W + W.T)
    engine = SimpleNamespace(
        n_topics=3,
        n_documents=20,
        width=4,
        dtype=np.dtype(float),
        _cupy=np,
        _total=lambda values: float(values.sum()),
        pack_documents=lambda rows: np.pad(rows, ((0, 0), (0, 1))),
    )
    ours, expected = NumpyGraphOperator(W, engine), GraphOperator(W, 3)
    packed = np.pad(rng.dirichlet(np.ones(3), size=(2, 20)), ((0, 0), (0, 0), (0, 1)))
    views = [rows[:, :3] for rows in packed.copy()]
    # Views of packed arrays are used as they are; other rows are packed first.
    for theta, other in (views, [np.ascontiguousarray(view) for view in views]):
        counts = 9.0 * other
        for name, *arguments in (
            ("normalize", counts),
            ("smooth", theta, 0.3),
            ("neighbor_sums", theta),
            ("edge_products", theta, other),
            ("divergence", theta),
            ("expected_loglik", counts, theta),
            ("expected_loglik_rows", counts, theta),
        ):
            np.testing.assert_allclose(
                getattr(ours, name)(*arguments),
                getattr(expected, name)(*arguments),
                err_msg=name,
                rtol=1e-9,
            )
        lengths = counts.sum(axis=1)
        found, _ = ours.solve(lengths, 2.0, counts, theta, tol=1e-12)
        solved, _ = expected.solve(lengths, 2.0, counts, theta, tol=1e-12)
        np.testing.assert_allclose(found, solved, atol=1e-9)
        rows = ours.normalize(found, in_place=True)
        np.testing.assert_array_equal(rows, found)
