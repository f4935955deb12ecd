# SPDX-License-Identifier: BSD-3-Clause
"""Blocks on the workers of a Dask cluster (extra ``dask``).

Blocks of counts stay where they are and statistics come back through a tree of sums.
Topics are broadcast through a storage folder that all workers see; mixtures are files
in it, written block by block. A visit of a block is a function of files that do
not change while they are needed, so what a lost worker had done is done again with the
same result.
"""

from __future__ import annotations

import copy
import operator
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from topicfold.corpus.block_corpus import BlockCorpus, Rows, in_pairs
from topicfold.corpus.blocks import BlockMatrix
from topicfold.engine.blocks.executor import BlockArgs, Prepared, Shared, Visit
from topicfold.engine.blocks.store import BlockStore, StoredBlock, save_block
from topicfold.engine.dask.local import local_client, require_dask
from topicfold.engine.dask.tasks import (
    Sent,
    call,
    clean,
    count_terms,
    describe_all,
    found_pairs,
    gather,
    in_touch,
    join_arrays,
    on_this_machine,
    read_in_rows,
    refuse,
    submit_all,
    sum_on_workers,
    sum_rows,
)
from topicfold.exceptions import DataError, DeviceError

__all__ = ["distribute", "local_client"]

# Arrays up to this size travel with the task.
SMALL = 1000
# Bytes that a non-zero needs on a worker: arrangement, counts and scratch.
BYTES_PER_ENTRY = 40


@in_touch()
def distribute(
    X: Any,
    client: Any = None,
    *,
    storage: Any = None,
    vocabulary: list[str] | None = None,
) -> DaskBlocks:
    """Return a corpus whose blocks are on the workers of a Dask cluster.

    `fit`, `partial_fit` and `transform` call it for Dask collections; call it yourself
    to choose the client or the storage, to use several fits on the same blocks, or
    for block files.

    Experimental: measured with the workers of one machine only.

    Parameters
    ----------
    X : dask Array, Bag, Series or DataFrame, BlockMatrix, or list of block files
        Arrays have CSR matrices as chunks, all columns in one chunk. Texts are
        counted in two passes, with the defaults of :func:`topicfold.corpus.vectorize`.
        Files are read by the workers.
    client : distributed.Client or None, default=None
        The cluster; None is the client in use.
    storage : path-like or None, default=None
        Folder that this process and all workers see, for mixtures. None is the
        storage of a `BlockMatrix`, or a temporary folder: enough on one machine.
    vocabulary : list of str or None, default=None
        Words to count in texts; None takes those of the texts.
    """
    client = _client(client)
    if isinstance(X, DaskBlocks):
        return X
    if isinstance(X, list | tuple):
        X = BlockMatrix.from_files(X)
    words = vocabulary
    if isinstance(X, BlockMatrix):
        words = X.vocabulary
        storage = X.storage if storage is None else storage
        blocks = read_in_rows(client, X.files, X.block_nnz)
    elif hasattr(X, "__dask_graph__"):
        blocks, words = _collection_blocks(client, X, vocabulary)
    else:
        raise DataError(
            f"{type(X).__name__} cannot be distributed. Give a dask array of CSR "
            "chunks, a bag or dataframe of texts, a BlockMatrix or block files."
        )
    return DaskBlocks(client, blocks, storage=storage, vocabulary=words)


class DaskBlocks(BlockCorpus):
    """A corpus of futures of CSR matrices, made by :func:`distribute`; all see
    `storage`.
    """

    _joined_files: Sequence[StoredBlock] = ()

    def __init__(
        self,
        client: Any,
        blocks: list[Any],
        *,
        storage: Any = None,
        vocabulary: list[str] | None = None,
    ) -> None:
        self.client = client
        # From a worker of this machine without a detour; elsewhere the client knows.
        self.direct: bool | None = on_this_machine(client.nthreads()) or None
        self.storage = None if storage is None else Path(storage)
        self.vocabulary = vocabulary
        self._store = BlockStore(self.storage)
        described = describe_all(client, blocks)
        n_terms = described[0][1]
        self.dtype = np.dtype(max(d[2] for d in described))
        for number, (rows, columns, _, _, problem) in enumerate(described):
            if problem or rows == 0 or columns != n_terms:
                refuse(number, described[number], n_terms)
        numbered = [(b, i, n_terms, self.dtype) for i, b in enumerate(blocks)]
        self._hold(submit_all(client, clean, numbered), described)
        _check_storage(self)

    def _hold(self, blocks: list[Any], described: list[Any]) -> None:
        """Take blocks as this corpus' own."""
        self.blocks = blocks
        self.block_rows = np.array([d[0] for d in described], dtype=np.int64)
        self.block_nnz = np.array([d[3] for d in described], dtype=np.int64)
        counted = DaskPrepared(self, blocks).reduce(count_terms)
        self.document_frequencies, self.term_totals = counted

    @in_touch()
    def prepare_blocks(self, make: Visit | None, shared: Shared) -> DaskPrepared:
        """Make the prepared blocks on the workers; they stay there."""
        if make is None:
            return DaskPrepared(self, self.blocks)
        sent, files = self.broadcast(shared)
        args = [(make, block, (), sent) for block in self.blocks]
        return DaskPrepared(self, submit_all(self.client, call, args), files)

    def broadcast(self, shared: tuple[Any, ...]) -> tuple[Any, list[StoredBlock]]:
        """Put large arrays in files, which lost workers cannot lose; hold the files."""
        files: list[StoredBlock] = []

        def send(value: Any) -> Any:
            if isinstance(value, np.ndarray) and value.size > SMALL:
                files.extend(self._store.new_blocks(1))
                save_block(files[-1].path, value)
                return Sent(files[-1].path)
            if type(value) is tuple:
                return tuple(send(item) for item in value)
            return value

        return send(shared), files

    def _row_sums(self) -> tuple[Rows, NDArray[np.float64]]:
        parts = DaskPrepared(self, self.blocks).collect(sum_rows)
        return (
            np.concatenate([nnz for nnz, _ in parts]),
            np.concatenate([sums for _, sums in parts]),
        )

    @in_touch()
    def _take(self, chosen: list[tuple[int, Rows]]) -> sparse.csr_matrix:
        parts = gather(self.client, self._selected(chosen))
        return sparse.csr_matrix(sparse.vstack(parts, format="csr"))

    @in_touch()
    def join(self, more: Any, weight: float = 1.0) -> DaskBlocks:
        """See `BlockCorpus`: rows go to the workers by way of the storage, once."""
        args, files = [], []
        for block, own in zip(self.blocks, self.row_ranges, strict=True):
            rows = more[own]
            arrays = rows.data, rows.indices, rows.indptr
            sent, held = self.broadcast(arrays)
            args.append((join_arrays, block, (weight, rows.shape), sent))
            files += held
        joined = self._made_by(args, files)
        joined.vocabulary = None if more.shape[1] else self.vocabulary
        return joined

    @in_touch()
    def by_slice(self, slices: Rows, n_slices: int) -> tuple[DaskBlocks, Rows]:
        """See `BlockCorpus`: the workers find the pairs and make the columns."""
        own = [(slices[rows], n_slices) for rows in self.row_ranges]
        blocks = list(zip(self.blocks, own, strict=True))
        args: list[Any] = [(found_pairs, *block, ()) for block in blocks]
        found = gather(self.client, submit_all(self.client, call, args))
        pairs = np.unique(np.concatenate(found))
        sent, files = self.broadcast((pairs,))
        sliced = self._made_by([(in_pairs, *block, sent) for block in blocks], files)
        sliced.vocabulary = None
        return sliced, pairs

    def _made_by(self, calls: list[Any], files: list[StoredBlock]) -> DaskBlocks:
        """Return the corpus of what calls make of the blocks."""
        made = self._like_this(submit_all(self.client, call, calls))
        # Held, for a lost block is made again from them.
        made._joined_files = [*self._joined_files, *files]
        return made

    def _like_this(self, blocks: list[Any]) -> DaskBlocks:
        made = copy.copy(self)
        vars(made).pop("_rows_known", None)
        made._hold(blocks, describe_all(self.client, blocks))
        return made

    def _selected(self, chosen: list[tuple[int, Rows]]) -> list[Any]:
        args = [(self.blocks[block], rows) for block, rows in chosen]
        return submit_all(self.client, operator.getitem, args)

    @in_touch()
    def _batch(self, chosen: list[tuple[int, Rows]]) -> DaskBlocks:
        batch = self._like_this(self._selected(chosen))
        # Batches keep the order of words of their corpus.
        batch.document_frequencies = self.document_frequencies
        return batch


class DaskPrepared(Prepared):
    """Prepared blocks on the workers."""

    def __init__(
        self, corpus: DaskBlocks, blocks: list[Any], files: Sequence[Any] = ()
    ) -> None:
        self.corpus = corpus
        self.blocks = blocks
        # Held, for a lost block is made again from them.
        self._files = files

    @in_touch()
    def _visit(
        self, function: Visit, block_args: BlockArgs, shared: Shared, *, add: bool
    ) -> Any:
        from distributed.scheduler import KilledWorker

        sent, files = self.corpus.broadcast(shared)
        args = [
            (function, block, () if block_args is None else block_args[b], sent)
            for b, block in enumerate(self.blocks)
        ]
        try:
            client, direct = self.corpus.client, self.corpus.direct
            visits = submit_all(client, call, args)
            result = (sum_on_workers if add else gather)(client, visits, direct)
        except (KilledWorker, MemoryError) as error:
            raise DeviceError(self._too_large()) from error
        del files  # they had to be there until now
        return result

    def _too_large(self) -> str:
        largest = int(np.argmax(self.corpus.block_nnz))
        rows = int(self.corpus.block_rows[largest])
        nnz = int(self.corpus.block_nnz[largest])
        size = nnz * BYTES_PER_ENTRY / 2**20
        return (
            "A worker died or ran out of memory while it visited a block. The largest "
            f"block has {rows} documents and {nnz} non-zeros, about {size:.0f} MiB on "
            f"a worker beside the topics. Lower the block size below {rows} documents "
            "(block_size of BlockMatrix.write, chunks of the dask array: "
            "x.rechunk({0: n}), npartitions of a bag), or give workers more memory."
        )


def _client(client: Any) -> Any:
    _, distributed = require_dask()
    if client is not None:
        return client
    try:
        return distributed.get_client()
    except ValueError as error:
        raise DeviceError(
            "There is no Dask cluster to compute on. Start one before fit: client = "
            "topicfold.engine.dask.local_client() uses this machine, "
            "distributed.Client('tcp://…:8786') a cluster."
        ) from error


def _collection_blocks(
    client: Any, X: Any, vocabulary: list[str] | None
) -> tuple[list[Any], list[str] | None]:
    """Return futures of the blocks of an array or of texts, and the words."""
    if hasattr(X, "chunks") and getattr(X, "ndim", None) == 2:
        if len(X.chunks[1]) != 1:
            raise DataError(
                f"The dask array is divided into {len(X.chunks[1])} chunks of columns. "
                f"Blocks are whole rows: use x.rechunk({{1: -1}})."
            )
        return client.compute(list(X.to_delayed().ravel())), None
    from topicfold.engine.dask.texts import text_blocks

    return text_blocks(client, X, vocabulary)


def _check_storage(corpus: DaskBlocks) -> None:
    """Make sure that every worker sees the folder of mixtures."""
    folder = corpus._store.folder
    seen = corpus.client.run(_folder_exists, str(folder))
    blind = [worker for worker, sees in seen.items() if not sees]
    if blind:
        raise DataError(
            f"{len(blind)} of {len(seen)} workers (first: {blind[0]}) cannot see the "
            f"folder {folder.parent}, where mixtures are stored. Give a folder on a "
            "shared file system: distribute(X, storage='/shared/folder')."
        )


def _folder_exists(path: str) -> bool:
    return Path(path).is_dir()
