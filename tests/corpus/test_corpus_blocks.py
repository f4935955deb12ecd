# SPDX-License-Identifier: BSD-3-Clause
"""The on-disk block matrix: what goes in comes out; bad blocks say what is wrong."""

import contextlib
import json
import os
import zipfile

import numpy as np
import pytest
from safetensors.numpy import save_file
from scipy import sparse

from topicfold import PLSA
from topicfold.corpus import blocks as blocks_module
from topicfold.corpus.blocks import INDEX, BlockMatrix, BlockWriter, write_block
from topicfold.corpus.lines import load_counts
from topicfold.exceptions import DataError
from topicfold.persistence.bundle import checksum, read_bundle, write_bundle


@pytest.fixture
def X():
    rng = np.random.default_rng(0)
    counts = rng.poisson(0.2, size=(103, 40)).astype(np.float32)
    counts[[3, 50]] = 0
    return sparse.csr_matrix(counts)


@pytest.fixture
def blocks(X, tmp_path):
    return BlockMatrix.write(tmp_path / "corpus", X, block_size=25)


def test_round_trip(X, blocks):
    assert blocks.shape == X.shape
    assert blocks.nnz == X.nnz
    assert blocks.block_rows.tolist() == [25, 25, 25, 25, 3]
    assert (sparse.vstack(list(blocks)) != X).nnz == 0


def test_blocks_are_mapped_not_read(blocks):
    for array in (blocks.block(0).data, blocks.block(0).indices):
        owner = array
        while owner.base is not None and not isinstance(owner, np.memmap):
            owner = owner.base
        assert isinstance(owner, np.memmap)
        assert not array.flags.writeable


def test_answers_like_a_csr_matrix(X, blocks):
    np.testing.assert_array_equal(blocks.indptr, X.indptr)
    np.testing.assert_array_equal(blocks.sum(axis=0), np.asarray(X.sum(axis=0))[0])
    np.testing.assert_array_equal(blocks.sum(axis=1), np.asarray(X.sum(axis=1)).T[0])
    assert blocks.sum() == X.sum()
    frequency = np.bincount(X.indices, minlength=40)
    np.testing.assert_array_equal(blocks.document_frequencies, frequency)


@pytest.mark.parametrize(
    "rows", [[5, 102, 3, 77, 77], [-1, 0], slice(10, 90, 7), slice(None), []]
)
def test_rows_by_number(X, blocks, rows):
    expected = X[np.arange(103)[rows] if isinstance(rows, slice) else list(rows)]
    assert (blocks[rows] != expected).nnz == 0


@pytest.mark.parametrize("in_blocks", [False, True])
def test_joined_columns_answer_like_a_csr_matrix(X, blocks, in_blocks, tmp_path):
    more = sparse.csr_matrix(X[::-1, :7] * 2.0)
    more.eliminate_zeros()
    expected = sparse.hstack([X * 0.5, more], format="csr")
    if in_blocks:
        more = BlockMatrix.write(tmp_path / "more", more, block_size=6)
    joined = blocks.join(more, 0.5)
    assert joined.shape == expected.shape
    assert joined.nnz == expected.nnz
    np.testing.assert_array_equal(joined.indptr, expected.indptr)
    for axis in (0, 1):
        found, sums = joined.sum(axis=axis), np.asarray(expected.sum(axis=axis))
        np.testing.assert_allclose(found, sums.ravel(), rtol=1e-6)
    np.testing.assert_array_equal(joined.document_frequencies, expected.getnnz(axis=0))
    stacked = sparse.vstack([joined.block(b) for b in range(joined.n_blocks)])
    np.testing.assert_allclose(stacked.toarray(), expected.toarray(), rtol=1e-6)
    rows = [3, len(joined) - 1, 0, 3]
    np.testing.assert_allclose(
        joined[rows].toarray(), expected[rows].toarray(), rtol=1e-6
    )
    sizes = [joined.block(b).nnz for b in range(joined.n_blocks)]
    np.testing.assert_array_equal(joined.block_nnz, sizes)


def test_no_more_rows_than_those_of_a_block_are_joined_at_a_time(blocks):
    asked = []

    class Watched(sparse.csr_matrix):
        def __getitem__(self, rows):
            part = sparse.csr_matrix(self)[rows]
            asked.append(part.shape[0])
            return part

    joined = blocks.join(Watched(np.ones((103, 2))))
    model = PLSA(3, init="random", max_iter=2, tol=0.0, random_state=0).fit(joined)
    assert model.components_.shape == (3, 42)
    assert set(asked) == set(blocks.block_rows.tolist())


def test_rows_outside_are_an_error(blocks):
    with pytest.raises(IndexError, match="0 to 102"):
        blocks[[103]]


@pytest.mark.parametrize("size", [1, 10, 40, 1000])
def test_batches_cover_every_document_once(X, blocks, size):
    numbered = list(blocks.batches(size, np.random.RandomState(0)))
    batches = [batch for _, batch in numbered]
    for rows, batch in numbered:
        np.testing.assert_array_equal(batch.toarray(), X[rows].toarray())
    stacked = sparse.vstack(batches)
    assert stacked.shape == X.shape

    def key(matrix):
        return sorted(map(tuple, matrix.toarray().tolist()))

    assert key(stacked) == key(X)
    assert max(batch.shape[0] for batch in batches) <= size + blocks.n_blocks


def test_a_batch_has_a_share_of_every_block(tmp_path):
    numbers = sparse.csr_matrix(np.arange(1.0, 104.0)[:, None])
    blocks = BlockMatrix.write(tmp_path / "numbers", numbers, block_size=25)
    batches = [b for _, b in blocks.batches(20, np.random.RandomState(1))]
    for batch in batches:
        rows = batch.toarray().ravel().astype(int) - 1
        assert np.bincount(rows // 25, minlength=5)[:4].tolist() in ([4] * 4, [5] * 4)
    # Not the first rows of each block first.
    assert not np.array_equal(batches[0].toarray().ravel()[:4], [1, 2, 3, 4])


def test_columns_grow_while_writing(tmp_path):
    with BlockWriter(tmp_path / "grown") as writer:
        writer.append(sparse.csr_matrix([[1.0, 2.0]]))
        writer.append(sparse.csr_matrix([[0.0, 1.0, 3.0, 0.0]]))
        writer.close(["a", "b", "c", "d", "e"])
    blocks = BlockMatrix.open(tmp_path / "grown")
    assert blocks.shape == (2, 5)
    assert blocks.vocabulary == ["a", "b", "c", "d", "e"]
    np.testing.assert_array_equal(blocks.block(0).toarray(), [[1, 2, 0, 0, 0]])
    np.testing.assert_array_equal(blocks.sum(axis=0), [1, 3, 3, 0, 0])


def test_folder_appears_only_when_complete(tmp_path):
    writer = BlockWriter(tmp_path / "corpus")
    writer.append(sparse.csr_matrix([[1.0]]))
    assert not (tmp_path / "corpus").exists()
    writer.close()
    assert BlockMatrix.open(tmp_path / "corpus").shape == (1, 1)


def test_failure_leaves_nothing(tmp_path):
    with pytest.raises(DataError, match="block 1 has 3 columns, the others have 2"):
        _write_two(tmp_path / "corpus", n_terms=2)
    assert list(tmp_path.iterdir()) == []


def _write_two(path, **options):
    with BlockWriter(path, **options) as writer:
        writer.append(sparse.csr_matrix([[1.0, 2.0]]))
        writer.append(sparse.csr_matrix([[1.0, 2.0, 3.0]]))


def test_overwriting_is_asked_for(tmp_path):
    _write_two(tmp_path / "corpus")
    with pytest.raises(DataError, match="overwrite=True"):
        _write_two(tmp_path / "corpus")
    _write_two(tmp_path / "corpus", overwrite=True)
    assert [path.name for path in tmp_path.iterdir()] == ["corpus"]


def test_only_folders_of_blocks_are_overwritten(tmp_path):
    (tmp_path / "precious").mkdir()
    with pytest.raises(DataError, match="exists already"):
        BlockWriter(tmp_path / "precious", overwrite=True)


@pytest.mark.parametrize(
    ("block", "message"),
    [
        (sparse.csr_matrix((0, 3)), "block 0 is empty: it has no documents"),
        (sparse.csc_matrix([[1.0]]), "block 0 is a csc matrix, not a CSR"),
        (np.ones((2, 2)), "not a CSR matrix"),
        (sparse.csr_matrix([[-1.0]]), "1 negative entry .* row 0, column 0"),
        (sparse.csr_matrix([[np.nan]]), "1 NaN entry"),
    ],
    ids=["empty", "csc", "dense", "negative", "nan"],
)
def test_bad_blocks(tmp_path, block, message):
    writer = BlockWriter(tmp_path / "corpus")
    with pytest.raises(DataError, match=message):
        writer.append(block)
    writer.abort()


def test_nothing_written_is_an_error(tmp_path):
    with pytest.raises(DataError, match="No block"), BlockWriter(tmp_path / "corpus"):
        pass


def test_list_of_files(X, blocks, tmp_path):
    files = []
    for number, block in enumerate(blocks):
        file = tmp_path / f"part-{number}.npz"
        sparse.save_npz(file, block)
        files.append(file)
    files[2] = blocks.files[2].path
    mixed = BlockMatrix.from_files(files)
    assert (sparse.vstack(list(mixed)) != X).nnz == 0
    np.testing.assert_array_equal(mixed.term_totals, blocks.term_totals)


def test_files_with_different_columns(tmp_path):
    write_block(tmp_path / "a.safetensors", sparse.csr_matrix([[1.0, 0.0]]))
    write_block(tmp_path / "b.safetensors", sparse.csr_matrix([[1.0]]))
    files = [tmp_path / "a.safetensors", tmp_path / "b.safetensors"]
    with pytest.raises(DataError, match=r"b.safetensors has 1 columns, .* have 2"):
        BlockMatrix.from_files(files)


def test_missing_files_are_named(blocks, tmp_path):
    with pytest.raises(DataError, match=r"1 of 1 .*nowhere.npz"):
        BlockMatrix.from_files([tmp_path / "nowhere.npz"])
    (tmp_path / "corpus" / "block-000001.safetensors").unlink()
    with pytest.raises(DataError, match="lacks 1 of 5 blocks"):
        BlockMatrix.open(tmp_path / "corpus")
    with pytest.raises(DataError, match="not a folder of blocks"):
        BlockMatrix.open(tmp_path)


def test_hostile_block_is_refused(tmp_path, blocks):
    # A column outside the matrix would make kernels read other memory.
    bad = sparse.csr_matrix([[1.0, 2.0]])
    bad.indices[1] = 1_000_000
    write_block(tmp_path / "corpus" / "block-000000.safetensors", bad)
    with pytest.raises(DataError, match="its checksum is not that of the index"):
        blocks.block(0)
    (tmp_path / "corpus" / "block-000000.safetensors").write_bytes(b"nonsense" * 9)
    with pytest.raises(DataError, match="is damaged"):
        blocks.block(0)


def test_row_pointers_that_do_not_fit_are_refused(tmp_path, blocks):
    bad = sparse.csr_matrix([[1.0, 2.0], [3.0, 0.0]])
    bad.indptr = np.array([0, 3, 2], dtype=np.int32)
    write_block(tmp_path / "corpus" / "block-000000.safetensors", bad)
    with pytest.raises(DataError, match="its checksum is not that of the index"):
        blocks.block(0)


def test_archives_that_are_no_matrix_are_named(tmp_path):
    with pytest.raises(DataError, match="list of block files is empty"):
        BlockMatrix.from_files([])
    file = tmp_path / "x.npz"
    np.savez(file, something=np.ones(3))
    with pytest.raises(DataError, match=r"x\.npz is not a sparse matrix.*save_npz"):
        BlockMatrix.from_files([file])


def test_a_closed_writer_takes_no_more(tmp_path):
    writer = BlockWriter(tmp_path / "corpus")
    writer.append(sparse.csr_matrix([[1.0]]))
    writer.close()
    writer.close()  # again does nothing
    with pytest.raises(DataError, match="writer is closed"):
        writer.append(sparse.csr_matrix([[1.0]]))
    assert BlockMatrix.open(tmp_path / "corpus").shape == (1, 1)


def test_counts_are_floats_and_words_as_many_as_columns(tmp_path):
    with pytest.raises(DataError, match="dtype=int32 cannot be written"):
        BlockWriter(tmp_path / "corpus", dtype=np.int32)
    with BlockWriter(tmp_path / "corpus") as writer:
        writer.append(sparse.csr_matrix([[1.0, 2.0]]))
        with pytest.raises(DataError, match="vocabulary has 1 words for 2 columns"):
            writer.close(["one"])
        writer.close(["one", "two"])
    assert BlockMatrix.open(tmp_path / "corpus").vocabulary == ["one", "two"]


def seal(folder):
    """Give the index the checksums of the blocks as they are now; return it."""
    found = read_bundle(folder / INDEX)
    blocks = sorted(folder.glob("block-*.safetensors"))
    sums = np.array([checksum(block) for block in blocks], np.int64)
    rewrite(folder, found.arrays | {"block_checksums": sums}, found)
    return found


def rewrite(folder, arrays, found):
    (folder / INDEX).unlink()
    write_bundle(
        folder / INDEX,
        kind=found.kind,
        arrays=arrays,
        strings=found.strings,
        meta=found.meta,
    )


def change_count(folder, number, value):
    """Write another count into the file of a block, in place."""
    file = folder / f"block-{number:06d}.safetensors"
    raw = bytearray(file.read_bytes())
    length = int.from_bytes(raw[:8], "little")
    start = json.loads(raw[8 : 8 + length])["data"]["data_offsets"][0]
    at = 8 + length + start
    raw[at : at + 4] = np.float32(value).tobytes()
    file.write_bytes(raw)


@pytest.mark.parametrize("value", [np.nan, -5.0, np.inf, 7.0, 0.0])
def test_a_changed_count_is_found(tmp_path, blocks, value):
    folder = tmp_path / "corpus"
    blocks.sum(axis=1)
    change_count(folder, 1, value)
    for opened in (blocks, BlockMatrix.open(folder)):
        with pytest.raises(DataError, match=r"block-000001\.\w+ is damaged: its"):
            list(opened)
        with pytest.raises(DataError, match="checksum"):
            PLSA(2, max_iter=2).fit(BlockMatrix.open(folder))


@pytest.mark.filterwarnings("ignore::topicfold.exceptions.EmptyDocumentWarning")
@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (np.nan, "block-000001.safetensors has 1 NaN entry"),
        (-5.0, "block-000001.safetensors has 1 negative entry"),
        (np.inf, "block-000001.safetensors has 1 infinite entry"),
        (0.0, "block-000001.safetensors has stored zeros"),
        (7.0, r"add up to .*, but their index says"),
    ],
)
def test_a_changed_count_is_found_if_sealed(tmp_path, blocks, value, problem):
    folder = tmp_path / "corpus"
    seal(folder)
    expected = PLSA(2, max_iter=2, random_state=0).fit(blocks).components_
    again = PLSA(2, max_iter=2, random_state=0).fit(BlockMatrix.open(folder))
    np.testing.assert_array_equal(again.components_, expected)
    change_count(folder, 1, value)
    seal(folder)
    with pytest.raises(DataError, match=problem):
        PLSA(2, max_iter=2).fit(BlockMatrix.open(folder))


def test_blocks_that_changed_places_are_found(tmp_path, blocks):
    folder = tmp_path / "corpus"
    first, last = (folder / f"block-00000{n}.safetensors" for n in (0, 4))
    first.rename(folder / "aside")
    last.rename(first)
    (folder / "aside").rename(last)
    seal(folder)
    with pytest.raises(DataError, match=r"has 3 documents and .* index says 25 and"):
        list(BlockMatrix.open(folder))


def crafted(folder, **change):
    arrays = {
        "indptr": np.array([0, 1, 2], np.int32),
        "indices": np.array([0, 1], np.int32),
        "data": np.ones(2, np.float32),
        **change,
    }
    file = folder / "crafted.safetensors"
    save_file(arrays, file, metadata={"n_terms": "2"})
    return file


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"indptr": np.array([0, 1, -2], np.int32)}, "fall at row 1"),
        ({"indptr": np.array([0, 1, 9], np.int32)}, "end at 9"),
        ({"indptr": np.empty(0, np.int32)}, "the shape"),
        ({"indices": np.array([0, 2], np.int32)}, "column 2 of row 1"),
        ({"indices": np.array([-1, 0], np.int32)}, "column -1 of row 0"),
        ({"indptr": np.array([0, 2], np.int32), "indices": np.array([1, 0], np.int32)},
         "not sorted"),
        ({"data": np.array([1.0, np.nan], np.float32)}, "1 NaN entry"),
        ({"data": np.array([1, 2], np.int8)}, "cannot be read"),
    ],
)  # fmt: skip
def test_crafted_block_files_are_refused(tmp_path, change, problem):
    file = crafted(tmp_path, **change)
    with pytest.raises(DataError, match=rf"crafted\.safetensors .*{problem}"):
        BlockMatrix.from_files([file])


def test_every_cut_and_flip_of_a_block_file_is_our_error(tmp_path, X):
    good = crafted(tmp_path).read_bytes()
    rng = np.random.default_rng(0)
    file = tmp_path / "x.safetensors"
    npz = tmp_path / "x.npz"
    sparse.save_npz(npz, X)
    good_npz = npz.read_bytes()
    for raw, place in [(good, file)] * 300 + [(good_npz, npz)] * 100:
        bad = bytearray(raw)
        if rng.integers(2):
            bad[rng.integers(len(bad))] ^= 1 << rng.integers(8)
        else:
            del bad[rng.integers(len(bad)) :]
        place.write_bytes(bad)
        with contextlib.suppress(DataError):
            blocks = BlockMatrix.from_files([place])
            assert np.isfinite(blocks.sum(axis=1)).all()


@pytest.mark.parametrize(
    "change",
    [
        {"block_rows": np.array([-1, 25, 25, 25, 29])},
        {"block_rows": np.ones(4, np.int64)},
        {"block_rows": np.ones(5)},
        {"block_nnz": np.ones((5, 1), np.int64)},
        {"term_totals": np.full(40, np.nan)},
        {"term_totals": np.ones(39)},
        {"document_frequencies": np.empty(0, np.int64)},
        {"block_checksums": np.ones(3, np.int64)},
    ],
)
def test_a_crafted_index_is_refused(tmp_path, blocks, change):
    folder = tmp_path / "corpus"
    found = read_bundle(folder / INDEX)
    rewrite(folder, {**found.arrays, **change}, found)
    with pytest.raises(DataError, match=r"index.safetensors has .* Write or copy"):
        BlockMatrix.open(folder)
    (folder / INDEX).write_bytes(b"nonsense")
    with pytest.raises(DataError, match=r"index\.safetensors"):
        BlockMatrix.open(folder)


def test_blocks_are_checked_once_and_again_when_they_change(blocks, monkeypatch):
    calls = []
    real = blocks_module.map_block
    monkeypatch.setattr(
        blocks_module, "map_block", lambda *args: calls.append(args) or real(*args)
    )
    for _ in range(3):
        list(blocks)
    assert len(calls) == 5
    os.utime(blocks.files[2].path)
    list(blocks)
    assert len(calls) == 6


def test_a_link_to_itself_is_refused(tmp_path, blocks):
    file = tmp_path / "corpus" / "block-000001.safetensors"
    file.unlink()
    file.symlink_to(file.name)
    with pytest.raises(DataError, match="block"):
        BlockMatrix.open(file.parent)[:]
    with pytest.raises(DataError, match=file.name):
        BlockMatrix.from_files([file])


@pytest.mark.parametrize("dtype", [np.float16, np.longdouble])
def test_floats_of_other_sizes_are_taken(tmp_path, dtype):
    X = sparse.csr_matrix(np.array([[1.0, 0, 2], [0, 3, 0]]))
    parts = {"indices": X.indices, "indptr": X.indptr, "shape": X.shape}
    np.savez(tmp_path / "x.npz", format=b"csr", data=X.data.astype(dtype), **parts)
    found = load_counts(tmp_path / "x.npz")
    assert found.dtype in (np.float32, np.float64)
    found.eliminate_zeros()
    np.testing.assert_array_equal(found.toarray(), X.toarray())


def test_a_member_that_is_no_array_is_refused(tmp_path):
    sparse.save_npz(tmp_path / "x.npz", sparse.csr_matrix(np.eye(3)), compressed=False)
    with zipfile.ZipFile(tmp_path / "x.npz") as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(tmp_path / "y.npz", "w") as archive:
        for name, content in members.items():
            archive.writestr(name, b"none" if name == "data.npy" else content)
    with pytest.raises(DataError, match="data"):
        load_counts(tmp_path / "y.npz")
