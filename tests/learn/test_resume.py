# SPDX-License-Identifier: BSD-3-Clause
"""A state is taken up by the fit it belongs to, and only when it is whole."""

import json

import numpy as np
import pytest
from scipy import sparse

from topicfold import FSTM, LDA, PLSA, OrthogonalPLSA
from topicfold.corpus.blocks import BlockMatrix
from topicfold.engine.blocks.engine import BlockedEngine
from topicfold.evidence import Links
from topicfold.exceptions import DataError, ModelFileError
from topicfold.learn import MetricTracker, Resume
from topicfold.learn.resume import POINTER
from topicfold.persistence import read_bundle, write_bundle
from topicfold.persistence.bundle import checksum
from topicfold.phi import DirichletPhi

LDA_OPTIONS = {"max_iter": 2, "random_state": 0, "doc_topic_prior": 0.1}


@pytest.fixture(scope="module")
def counts():
    rng = np.random.default_rng(0)
    return sparse.csr_matrix(rng.poisson(1.0, size=(24, 10)).astype(float))


def state_of(folder):
    return folder / json.loads((folder / POINTER).read_text())["state"]


def fit(folder, counts, cls=LDA, **options):
    resume = Resume(folder)
    model = cls(3, **{**LDA_OPTIONS, "callbacks": [resume], **options}).fit(counts)
    return model, resume.resumed_at_


@pytest.mark.parametrize(
    ("changes", "difference"),
    [
        ({"doc_topic_prior": 0.5}, "doc_topic_prior was 0.1 and is now 0.5"),
        ({"random_state": 1}, "random_state was 0 and is now 1"),
        ({"algorithm": "variational"}, "algorithm was .* and is now "),
        ({"phi_step": DirichletPhi(1.1)}, "phi_step was None and is now DirichletPhi"),
        ({"init": np.full((3, 10), 0.1)}, r"init was .* and is now an array of shape"),
        ({"random_state": np.random.RandomState(0)}, "is now a RandomState"),
    ],
    # Not the values: an object's address differs between the workers of a test run.
    ids=lambda value: value if isinstance(value, str) else next(iter(value)),
)
def test_another_parameter_is_named(tmp_path, counts, changes, difference):
    fit(tmp_path / "state", counts)
    expected = f"another fit: .*{difference}.*remove the folder to start afresh"
    with pytest.raises(DataError, match=expected):
        fit(tmp_path / "state", counts, **changes)


LEARNING = {
    "plsa": (PLSA, {}),
    "orthogonal": (OrthogonalPLSA, {}),
    "fstm": (FSTM, {}),
    "cvb0": (LDA, {}),
    "variational": (LDA, {"algorithm": "variational"}),
    "batches": (LDA, {"batch_size": 8}),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_topics", [3, 8, 9, 20, 50])
@pytest.mark.parametrize("learning", LEARNING)
def test_a_fit_goes_on_with_any_number_of_topics(tmp_path, learning, n_topics, dtype):
    X = np.random.default_rng(1).poisson(0.7, size=(60, 70)).astype(dtype)
    cls, options = LEARNING[learning]

    def fit(max_iter, *callbacks):
        given = {"random_state": 0, "tol": 0.0, "callbacks": callbacks, **options}
        return cls(n_topics, max_iter=max_iter, **given).fit(X)

    resume = Resume(tmp_path)
    fit(2, resume)
    found, whole = fit(4, resume), fit(4)
    assert resume.resumed_at_ == 2
    for name in ("components_", "doc_topics_", "objective_history_"):
        np.testing.assert_array_equal(getattr(found, name), getattr(whole, name))


def test_another_model_is_named(tmp_path, counts):
    options = {"max_iter": 2, "random_state": 0, "callbacks": [Resume(tmp_path / "s")]}
    PLSA(3, **options).fit(counts)
    with pytest.raises(DataError, match="model was PLSA and is now OrthogonalPLSA"):
        OrthogonalPLSA(3, **options).fit(counts)


def test_a_parameter_inside_a_step_is_named(tmp_path, counts):
    fit(tmp_path / "state", counts, phi_step=DirichletPhi(1.1))
    with pytest.raises(DataError, match=r"phi_step was .*=1.1.* and is now .*=1.2"):
        fit(tmp_path / "state", counts, phi_step=DirichletPhi(1.2))


@pytest.mark.parametrize("in_blocks", [False, True])
@pytest.mark.parametrize("cls", [LDA, FSTM, PLSA])
def test_another_corpus_of_the_same_size_is_refused(tmp_path, counts, cls, in_blocks):
    def corpus(X, name):
        return BlockMatrix.write(tmp_path / name, X, block_size=10) if in_blocks else X

    options = {"max_iter": 2, "random_state": 0, "callbacks": [Resume(tmp_path / "s")]}
    cls(3, **options).fit(corpus(counts, "a"))
    cls(3, **options).fit(corpus(counts, "b"))
    other = corpus(counts[::-1].tocsr(), "c")
    with pytest.raises(DataError, match=r"another fit: it was another corpus\."):
        cls(3, **options).fit(other)


def test_another_corpus_of_the_same_sums_is_refused(tmp_path, counts):
    first, other = counts.toarray() + 1, counts.toarray() + 1
    first[:2, :2], other[:2, :2] = [[9, 1], [1, 9]], [[1, 9], [9, 1]]
    blocks = [
        BlockMatrix.write(tmp_path / f"{i}", X, block_size=10)
        for i, X in enumerate((first, other))
    ]
    for axis in (0, 1):
        np.testing.assert_array_equal(*(b.sum(axis=axis) for b in blocks))
    options = {"max_iter": 2, "random_state": 0, "callbacks": [Resume(tmp_path / "s")]}
    PLSA(3, **options).fit(blocks[0])
    with pytest.raises(DataError, match="it was another corpus"):
        PLSA(3, **options).fit(blocks[1])


def test_the_same_blocks_in_other_files_go_on(tmp_path, counts):
    blocks = BlockMatrix.write(tmp_path / "blocks", counts, block_size=10)
    fit(tmp_path / "state", blocks)
    for number, block in enumerate(blocks):
        block = sparse.csr_matrix(block)
        block.indices = block.indices.astype(np.int64)
        sparse.save_npz(tmp_path / f"{number}.npz", block)
    files = [tmp_path / f"{number}.npz" for number in range(3)]
    assert fit(tmp_path / "state", BlockMatrix.from_files(files))[1] == 2


@pytest.mark.parametrize(
    ("path", "every", "message"),
    [
        (None, 1, "path=None is not the name of a folder"),
        (3, 1, "path=3 is not the name of a folder"),
        ("state", "a", "every='a' must be a whole number"),
        ("state", 1.5, r"every=1\.5 must be a whole number"),
        ("state", 0, "every=0 must be a whole number"),
    ],
)
def test_what_is_no_folder_or_number_is_told(path, every, message):
    with pytest.raises(DataError, match=message):
        Resume(path, every=every)


@pytest.mark.parametrize("name", ["file", "file/state"])
def test_a_file_is_no_folder_of_a_state(tmp_path, counts, name):
    (tmp_path / "file").write_text("mine")
    seen = []
    with pytest.raises(DataError, match=r"file.* cannot be the folder of a state: "):
        PLSA(3, callbacks=[MetricTracker(seen.append), Resume(tmp_path / name)]).fit(
            counts
        )
    assert not seen
    assert (tmp_path / "file").read_text() == "mine"


def test_what_does_not_change_an_iteration_may_change(tmp_path, counts):
    fit(tmp_path / "state", counts, tol=0)
    model, resumed = fit(
        tmp_path / "state", counts, tol=1e-9, max_iter=5, n_jobs=2, verbose=True
    )
    assert resumed == 2
    whole = LDA(3, **{**LDA_OPTIONS, "max_iter": 5, "tol": 1e-9}).fit(counts)
    np.testing.assert_array_equal(model.components_, whole.components_)
    np.testing.assert_array_equal(model.doc_topics_, whole.doc_topics_)


def test_the_state_of_another_version_is_refused(tmp_path, counts, monkeypatch):
    fit(tmp_path / "state", counts)
    monkeypatch.setattr("topicfold.learn.resume.__version__", "9.9")
    with pytest.raises(DataError, match=r"version of topicfold was .* and is now 9\.9"):
        fit(tmp_path / "state", counts)


def test_any_flipped_byte_is_found(tmp_path, counts):
    fit(tmp_path / "state", counts)
    file = state_of(tmp_path / "state") / "state.safetensors"
    whole = bytearray(file.read_bytes())
    for place in [*range(0, len(whole), 97), len(whole) - 1]:
        whole[place] ^= 1
        file.write_bytes(whole)
        with pytest.raises(ModelFileError, match=r"Remove .* to start afresh"):
            fit(tmp_path / "state", counts)
        whole[place] ^= 1


@pytest.mark.parametrize("damage", ["flip", "shorten", "remove"])
def test_damaged_mixtures_of_a_block_are_found(tmp_path, counts, damage):
    blocks = BlockMatrix.write(tmp_path / "blocks", counts, block_size=10)
    fit(tmp_path / "state", blocks)
    file = state_of(tmp_path / "state") / "documents-000001.npy"
    whole = file.read_bytes()
    file.unlink()
    if damage == "flip":
        file.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    elif damage == "shorten":
        file.write_bytes(whole[:-8])
    with pytest.raises(ModelFileError, match=r"Remove .* to start afresh"):
        fit(tmp_path / "state", blocks)


@pytest.mark.parametrize("column", [0, 9])
@pytest.mark.parametrize("value", [np.nan, np.inf, -1.0, 1e30, 1.0])
def test_forged_mixtures_of_a_block_reach_no_kernel(
    tmp_path, counts, monkeypatch, value, column
):
    blocks = BlockMatrix.write(tmp_path / "blocks", counts, block_size=10)
    options = {**LDA_OPTIONS, "callbacks": [Resume(tmp_path / "state")]}
    LDA(9, **options).fit(blocks)
    LDA(9, **options).fit(blocks)
    if column == 0 and value == 1.0:  # a number like any other of a fit
        return
    file = state_of(tmp_path / "state") / "documents-000001.npy"
    mixtures = np.load(file)
    file.unlink()
    mixtures[3, column] = value  # columns from 9 on are there for alignment
    np.save(file, mixtures)
    seal(tmp_path / "state", {file.name: checksum(file)})
    monkeypatch.setattr(BlockedEngine, "adopt_documents", None)
    with pytest.raises(ModelFileError, match=r"damaged .documents-000001.npy has"):
        LDA(9, **options).fit(blocks)


def seal(folder, files):
    """State other checksums of the files beside a state."""
    file = state_of(folder) / "state.safetensors"
    bundle = read_bundle(file)
    bundle.meta["files"].update(files)
    write_bundle(file, kind=bundle.kind, arrays=bundle.arrays, meta=bundle.meta)


def test_the_blocks_that_are_checked_are_those_that_are_used(tmp_path, counts):
    blocks = BlockMatrix.write(tmp_path / "blocks", counts, block_size=10)
    fit(tmp_path / "state", blocks)
    folder = state_of(tmp_path / "state")
    file = folder / "state.safetensors"
    bundle = read_bundle(file)
    sums = bundle.meta["files"]
    bundle.meta["files"] = {f"sound-{name}": crc for name, crc in sums.items()}
    for name in sums:
        (folder / f"sound-{name}").write_bytes((folder / name).read_bytes())
        (folder / name).unlink()
        np.save(folder / name, np.ones((1, 3)))
    write_bundle(
        folder / file, kind=bundle.kind, arrays=bundle.arrays, meta=bundle.meta
    )
    with pytest.raises(ModelFileError, match="its files are not those of the 3 blocks"):
        fit(tmp_path / "state", blocks)


def test_checksums_that_are_no_table_are_refused(tmp_path, counts):
    blocks = BlockMatrix.write(tmp_path / "blocks", counts, block_size=10)
    fit(tmp_path / "state", blocks)
    file = state_of(tmp_path / "state") / "state.safetensors"
    bundle = read_bundle(file)
    bundle.meta["files"] = [[name] for name in bundle.meta["files"]]
    write_bundle(file, kind=bundle.kind, arrays=bundle.arrays, meta=bundle.meta)
    with pytest.raises(ModelFileError, match="table of checksums"):
        fit(tmp_path / "state", blocks)


def test_a_seed_that_was_not_given_is_named(tmp_path, counts):
    def fit(**options):
        resume = [Resume(tmp_path / "state")]
        model = LDA(3, max_iter=2, sides=[Links()], callbacks=resume, **options)
        return model.fit(counts, links=[[0, 1], [2, 3], [4, 5]])

    fit()
    with pytest.raises(DataError, match=r"data of Links was .* no random_state was"):
        fit()
    with pytest.raises(DataError) as caught:
        fit(random_state=1)
    assert "no random_state" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("documents", np.ones((3, 3))),
        ("documents", np.ones((24, 2))),
        ("documents", np.full((24, 3), np.nan)),
        ("documents", -np.ones((24, 3))),
        ("topics", np.ones((3, 9))),
        ("topics", np.ones((3, 10), np.float32)),
        ("alpha", np.ones(2)),
    ],
    ids=str,
)
def test_arrays_of_another_form_do_not_reach_the_kernels(tmp_path, counts, name, value):
    fit(tmp_path / "state", counts)
    file = state_of(tmp_path / "state") / "state.safetensors"
    bundle = read_bundle(file)
    arrays = {**bundle.arrays, name: value}
    write_bundle(file, kind=bundle.kind, arrays=arrays, meta=bundle.meta)
    with pytest.raises(ModelFileError, match=rf"damaged .{name} (does not have|has)"):
        fit(tmp_path / "state", counts)


def test_a_state_without_documents_says_so(tmp_path, counts):
    fit(tmp_path / "state", counts)
    file = state_of(tmp_path / "state") / "state.safetensors"
    bundle = read_bundle(file)
    del bundle.arrays["documents"]
    write_bundle(file, kind=bundle.kind, arrays=bundle.arrays, meta=bundle.meta)
    with pytest.raises(ModelFileError, match=r"damaged .it has no documents"):
        fit(tmp_path / "state", counts)


def test_random_numbers_have_a_position(tmp_path, counts):
    fit(tmp_path / "state", counts, batch_size=8)
    file = state_of(tmp_path / "state") / "state.safetensors"
    bundle = read_bundle(file)
    for position in (-1, 625, 624):  # at the last one new numbers are made
        bundle.meta["values"]["rest"][0] = position
        write_bundle(file, kind=bundle.kind, arrays=bundle.arrays, meta=bundle.meta)
        if position != 624:
            with pytest.raises(ModelFileError, match=f"no position {position}"):
                fit(tmp_path / "state", counts, batch_size=8)
    fit(tmp_path / "state", counts, batch_size=8)


ALGORITHMS = {
    "cvb0": {},
    "variational": {"algorithm": "variational"},
    "batches": {"batch_size": 8},
}


@pytest.mark.parametrize(
    ("algorithm", "name", "value"),
    [
        ("cvb0", "eta", -1),
        ("cvb0", "iteration", 1.5),
        ("cvb0", "prior_updates", ["a"]),
        ("cvb0", "totals", np.array([0.0, 30.0, 30.0])),
        ("cvb0", "totals", np.array([1e-4, 30.0, 30.0])),
        ("cvb0", "documents", np.full((24, 3), 1e30)),
        ("variational", "eta", 1e300),
        ("variational", "eta", True),
        ("batches", "tokens", ""),
        ("batches", "n_documents", {}),
        ("batches", "n_batches", []),
        ("batches", "n_batches", None),
        ("batches", "rest", 3),
        ("batches", "rest", [57, 10**30, 0.0]),
        ("batches", "rest", [57, 2**62, 0.0]),
        ("batches", "totals", np.array([3.7e307, 30.0, 30.0])),
    ],
    ids=str,
)
def test_a_value_that_no_fit_has_is_refused(tmp_path, counts, algorithm, name, value):
    options = ALGORITHMS[algorithm]
    fit(tmp_path, counts, **options)
    forge(tmp_path, name, value)
    with pytest.raises(ModelFileError, match=r"damaged .*Remove .* to start afresh"):
        fit(tmp_path, counts, **options)


def forge(folder, name, value):
    """Change one value of a state, with the checksums right again."""
    file = state_of(folder) / "state.safetensors"
    bundle = read_bundle(file)
    where = bundle.arrays if name in bundle.arrays else bundle.meta["values"]
    where[name] = value
    write_bundle(file, kind=bundle.kind, arrays=bundle.arrays, meta=bundle.meta)


def test_a_state_that_is_gone_says_what_to_do(tmp_path, counts):
    fit(tmp_path / "state", counts)
    (state_of(tmp_path / "state") / "state.safetensors").unlink()
    with pytest.raises(ModelFileError, match=r"no file .* Remove .* to start afresh"):
        fit(tmp_path / "state", counts)


@pytest.mark.parametrize("kind", ["folder", "loop", "nowhere", "deep"])
def test_a_pointer_that_is_no_file_is_named(tmp_path, counts, kind):
    fit(tmp_path, counts)
    (tmp_path / POINTER).unlink()
    if kind == "folder":
        (tmp_path / POINTER).mkdir()
    elif kind == "deep":
        (tmp_path / POINTER).write_text("[" * 100_000)
    else:
        (tmp_path / POINTER).symlink_to(POINTER if kind == "loop" else kind)
    with pytest.raises(ModelFileError, match=r"current.json cannot be read: .* Remove"):
        fit(tmp_path, counts)
