# SPDX-License-Identifier: BSD-3-Clause
"""Files of blocks: written over only when nobody holds them."""

import gc
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from topicfold.corpus.blocks import BlockMatrix
from topicfold.engine import make_engine
from topicfold.engine.blocks import store as block_store
from topicfold.engine.blocks.store import BlockStore, load_block, save_block


def rows(value, n_rows=6):
    return np.full((n_rows, 3), value, np.float32)


def inode(path):
    return Path(path).stat().st_ino


@pytest.fixture
def store(tmp_path):
    return BlockStore(tmp_path, overwrite=True)


def written(store, n_blocks, value):
    blocks = store.new_blocks(n_blocks)
    for block in blocks:
        save_block(block.path, rows(value))
    return blocks


def names(store):
    return sorted(path.name for path in store.folder.iterdir())


def test_files_that_nobody_holds_are_written_over_block_for_block(store):
    first = written(store, 3, 1.0)
    old = [inode(block.path) for block in first]
    del first
    second = written(store, 3, 2.0)
    assert [inode(block.path) for block in second] == old
    for block in second:
        np.testing.assert_array_equal(load_block(block.path), rows(2.0))
    assert names(store) == sorted(Path(block.path).name for block in second)


def test_files_that_are_held_stay(store):
    first = written(store, 2, 1.0)
    second = written(store, 2, 2.0)
    for block in first:
        np.testing.assert_array_equal(load_block(block.path), rows(1.0))
    assert len({inode(block.path) for block in [*first, *second]}) == 4


def test_files_with_a_second_name_are_never_written_over(store, tmp_path):
    first = written(store, 2, 1.0)
    first[0].link_to(tmp_path / "kept.npy")
    del first
    second = written(store, 2, 2.0)
    np.testing.assert_array_equal(np.load(tmp_path / "kept.npy"), rows(1.0))

    second[0].link_to(tmp_path / "again.npy")
    adopted = store.new_blocks(1)
    adopted[0].link_from(tmp_path / "again.npy")
    del second, adopted
    written(store, 3, 3.0)
    np.testing.assert_array_equal(np.load(tmp_path / "again.npy"), rows(2.0))


def test_other_sizes_are_written_whole(store):
    first = store.new_blocks(1)
    save_block(first[0].path, rows(1.0, n_rows=50))
    del first
    for n_rows in (7, 90):
        block = store.new_blocks(1)
        save_block(block[0].path, rows(2.0, n_rows))
        np.testing.assert_array_equal(load_block(block[0].path), rows(2.0, n_rows))
        assert Path(block[0].path).stat().st_size < 128 + 12 * n_rows + 1
        del block


def test_spare_files_are_few(store):
    held = [written(store, 2, float(i)) for i in range(5)]
    held.clear()
    assert len(names(store)) == 4
    # What was laid ready and not used goes with the block it was for.
    unused = store.new_blocks(2)
    assert len([name for name in names(store) if name.endswith(".spare")]) == 2
    del unused
    assert not [name for name in names(store) if name.endswith(".spare")]


def test_two_who_write_one_block_write_the_same(store):
    first = written(store, 1, 1.0)
    del first
    block = store.new_blocks(1)[0]
    save_block(block.path, rows(2.0))
    save_block(block.path, rows(2.0))
    np.testing.assert_array_equal(load_block(block.path), rows(2.0))


def test_without_overwriting_files_go_with_their_blocks(tmp_path):
    store = BlockStore(tmp_path)
    first = written(store, 2, 1.0)
    mapped = block_store.share_block(first[0].path)
    del first
    assert names(store) == []
    written(store, 2, 2.0)
    np.testing.assert_array_equal(mapped, rows(1.0))


def test_who_reads_a_file_while_it_is_retired_is_told(store, monkeypatch):
    held = written(store, 1, 1.0)
    path = held[0].path
    read = block_store._read_header

    def slowly(stream):
        held.clear()
        held.extend(written(store, 1, 2.0))
        return read(stream)

    monkeypatch.setattr(block_store, "_read_header", slowly)
    with pytest.raises(FileNotFoundError):
        load_block(path)


def test_who_reads_a_file_while_it_is_written_again_reads_it_again(store, monkeypatch):
    block = written(store, 1, 1.0)[0]
    read, streams = block_store._read_header, []

    def slowly(stream):
        if not streams:
            save_block(block.path, rows(1.0))
        streams.append(stream)
        return read(stream)

    monkeypatch.setattr(block_store, "_read_header", slowly)
    np.testing.assert_array_equal(load_block(block.path), rows(1.0))
    assert len(streams) == 2


def test_threads_read_headers_one_at_a_time(store, monkeypatch):
    blocks, inside, most = written(store, 8, 1.0), [], []
    read = np.lib.format.read_magic

    def counted(stream):
        inside.append(stream)
        time.sleep(0.005)
        most.append(len(inside))
        inside.remove(stream)
        return read(stream)

    monkeypatch.setattr(np.lib.format, "read_magic", counted)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(load_block, [block.path for block in blocks]))
    assert max(most) == 1
    np.testing.assert_array_equal(found, [rows(1.0)] * 8)


def test_names_that_were_never_written_are_forgotten(store):
    held = written(store, 2, 1.0)
    interrupted = store.new_blocks(4)
    del interrupted
    old = [inode(block.path) for block in held]
    del held
    assert [inode(block.path) for block in written(store, 2, 2.0)] == old


def test_the_second_name_is_forgotten_with_the_file(store, tmp_path):
    first = written(store, 1, 1.0)
    first[0].link_to(tmp_path / "kept.npy")
    del first
    assert store.linked == set()


def test_a_folder_goes_with_its_store(tmp_path):
    store = BlockStore(tmp_path, overwrite=True)
    written(store, 2, 1.0)
    folder = store.folder
    del store
    gc.collect()
    assert not folder.exists()
    assert not list(tmp_path.iterdir())


@pytest.fixture
def engine(planted, tmp_path):
    X = planted[0].astype(np.float64)
    BlockMatrix.write(tmp_path / "corpus", X, block_size=100)
    return make_engine(BlockMatrix.open(tmp_path / "corpus", storage=tmp_path), 4)


def start(engine):
    theta = engine.pack_documents(np.full((engine.n_documents, 4), 0.25))
    topics = engine.pack_topics(np.full((4, engine.n_terms), 1 / engine.n_terms))
    return theta, topics


def test_passes_of_an_engine_write_over_the_same_files(engine):
    theta, topics = start(engine)
    counts = engine.document_pass(theta, topics).counts
    seen = []
    for _ in range(4):
        theta, counts = counts, engine.document_pass(counts, topics, out=theta).counts
        seen.append({inode(block.path) for block in counts.blocks})
    # Three sets take turns: parameters, counts, and those of the pass before.
    assert len(set.union(*seen)) == 3 * engine.n_blocks
    assert seen[0] == seen[3]


def test_passes_that_update_parameters_need_four_sets_of_files(engine):
    gamma, topics = start(engine)
    counts = engine.document_pass(gamma, topics, max_updates=1).counts
    seen = set()
    for _ in range(6):
        engine.document_pass(gamma, topics, max_updates=1, out=counts)
        for documents in (gamma, counts):
            seen |= {inode(block.path) for block in documents.blocks}
    assert len(seen) == 4 * engine.n_blocks
