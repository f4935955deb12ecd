# SPDX-License-Identifier: BSD-3-Clause
"""A block's memory of its mixtures: a copy of files, never more than that."""

import pickle
import sys

import numpy as np
import pytest
from scipy import sparse

from topicfold.engine.blocks.engine import REMEMBERED, OneBlock
from topicfold.engine.blocks.store import load_block, share_block


@pytest.fixture
def engine():
    X = sparse.random(30, 12, density=0.4, format="csr", random_state=0)
    return OneBlock(X, 8, np.float32, np.arange(12))


def array(engine, value):
    return engine.pack_documents(np.full((30, 8), value))


def test_written_arrays_are_remembered_and_on_disk(engine, tmp_path):
    path, rows = str(tmp_path / "a.npy"), array(engine, 0.5)
    engine.write(path, rows)
    assert engine.read(path) is rows
    np.testing.assert_array_equal(load_block(path), rows)


def test_changes_of_a_taken_array_leave_the_file(engine, tmp_path):
    path = str(tmp_path / "a.npy")
    engine.write(path, array(engine, 0.5))
    engine.take(path)[:] = 7.0
    np.testing.assert_array_equal(engine.read(path), array(engine, 0.5))


def test_dropped_array_is_given_once(engine, tmp_path):
    path, rows = str(tmp_path / "a.npy"), array(engine, 0.5)
    engine.write(path, rows)
    assert engine.drop(path) is rows
    assert engine.drop(path) is None
    assert engine.drop(None) is None


def test_only_the_latest_are_remembered(engine, tmp_path):
    paths = [str(tmp_path / f"{i}.npy") for i in range(REMEMBERED + 3)]
    arrays = [array(engine, float(i)) for i in range(len(paths))]
    for path, rows in zip(paths, arrays, strict=True):
        engine.write(path, rows)
    held = [engine.read(p) is a for p, a in zip(paths, arrays, strict=True)]
    assert held == [False] * 3 + [True] * REMEMBERED
    np.testing.assert_array_equal(engine.read(paths[0]), arrays[0])


def test_memory_does_not_travel(engine, tmp_path):
    path = str(tmp_path / "a.npy")
    engine.write(path, array(engine, 0.5))
    other = pickle.loads(pickle.dumps(engine))
    assert other.drop(path) is None
    assert engine.drop(path) is not None
    np.testing.assert_array_equal(other.read(path), array(engine, 0.5))


def test_size_counts_the_remembered_mixtures(engine):
    X = sparse.random(30, 12, density=0.4, format="csr", random_state=0)
    wide = OneBlock(X, 8 + 64, np.float32, np.arange(12))
    assert wide.n_bytes - engine.n_bytes == REMEMBERED * 30 * 64 * 4
    assert sys.getsizeof(engine) >= engine.n_bytes


def test_shared_block_can_be_written_without_touching_the_file(tmp_path):
    path = tmp_path / "a.npy"
    np.save(path, np.ones(4))
    shared = share_block(str(path))
    assert type(shared) is np.ndarray
    shared[:] = 2.0
    np.testing.assert_array_equal(np.load(path), np.ones(4))
