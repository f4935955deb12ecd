# SPDX-License-Identifier: BSD-3-Clause
"""What a model may ask of an engine, whatever device it runs on, and how to get one.

An engine is built once from X. It keeps parameters in its own layout: word-major
topics in its own order of words, topics padded to whole SIMD registers. `pack_*`
and `unpack_*` cross the border; models work on packed arrays and never care about the
order of words. What steps see are plain rows, the first `n_topics` columns (a view).

With ``P`` a packed (documents × topics) array of parameters, ``B`` packed topic
weights and ``link`` one of

- ``"identity"``: ``A = P`` (PLSA, MAP),
- ``"digamma"``: ``A = exp ψ(P)`` (variational LDA),
- ``"collapsed"``: ``A = P``, and every token sees counts without its own (CVB0),

the document pass computes, at the non-zeros of X only,

    s_dw = Σ_k A_dk B_wk,   r_dw = X_dw / s_dw,   N_dk = A_dk Σ_w r_dw B_wk

and remembers r; the word pass turns it into ``N_wk = B_wk Σ_d r_dw A_dk``.

With the collapsed link, ``p_k = A_dk B_wk / s_dw`` and ``c = min(X_dw, 1)``,

    q_k ∝ max(A_dk − c p_k, prior_k) · max(B_wk − c p_k scale_k, floor_k),   Σ_k q_k = 1

and N_dk and N_wk are sums of ``X_dw q_k``; `OwnShare` holds scale and floor.

Documents may have an `OwnShare` too, rows of scale e and floor f in place of the prior:
A token of topic k then weighs e_dk in its document, ``P ← N ∘ e + f`` is an update,
and the first factor of q is ``max(A_dk − c p_k e_dk, f_dk)``.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import gammaln, psi

from topicfold.core.counts import normalize_rows
from topicfold.core.threads import blocks_of, n_threads
from topicfold.core.typing import Array
from topicfold.corpus.block_corpus import BlockCorpus
from topicfold.exceptions import DeviceError

Link = Literal["identity", "digamma", "collapsed"]
# Called with the rows' numbers, the documents' lengths, plain rows of each input, the
# rows' data (or None) and what is shared; of a module: other processes must find it.
RowFunction = Callable[..., Any]
Statistics = tuple[Any, ...]
# Rows of an array in memory that are visited at a time: bounds what a step allocates.
ROWS_AT_ONCE = 2**16


class OwnShare(NamedTuple):
    """What of a token's share leaves a topic weight, and what always stays (packed).

    With ``B_wk = (N_wk + η) / (N_k + Vη)`` a whole token weighs ``1 / (N_k + Vη)`` in
    topic k, and η alone weighs ``η / (N_k + Vη)``. Both are vectors over topics. Where
    words differ, they have a row per group of words, and `groups` has the group of
    each packed word. Those of documents are packed documents; a scale of None is one.
    """

    scale: Any
    floor: Array
    groups: NDArray[np.int32] | None = None


class PassOptions(NamedTuple):
    """How a document pass is made; see `Engine.document_pass`."""

    prior: Array | None = None
    link: Link = "identity"
    max_updates: int = 0
    tol: float = 0.0
    own: OwnShare | None = None
    documents: OwnShare | None = None


class RowTask(NamedTuple):
    """What `Engine.map_rows` or `gather_rows` is asked to do."""

    function: RowFunction
    shared: tuple[Any, ...]
    data: Any

    def __call__(self, engine: Engine, rows: slice, arrays: list[Any]) -> Any:
        """Call the function for some rows; `arrays` are those of the inputs."""
        lengths, own = engine.document_lengths[rows], rows_of(self.data, rows)
        return self.function(rows, lengths, arrays, own, *self.shared)


class DocumentPass(NamedTuple):
    """What a document pass returns.

    `counts` are the expected topic counts N_dk (packed), `loglik` is
    ``Σ X_dw log s_dw`` with the rows of A normalised (digamma:
    ``exp(ψ(P) − ψ(ΣP))``; others: to sum 1), `n_updates` how often each row was
    updated.
    """

    counts: Array
    loglik: float
    n_updates: NDArray[np.integer]


def corpus_fingerprint(
    shape: tuple[int, int], n_topics: int, tokens: Any
) -> dict[str, float]:
    """Tell a corpus from others, for a state that is taken up again."""
    names = "documents", "terms", "topics", "tokens"
    return dict(zip(names, (*shape, n_topics, float(tokens)), strict=True))


class ExpectedCounts(NamedTuple):
    """N_dk, N_wk (both packed) and the log-likelihood of one E-step."""

    documents: Array
    words: Array
    loglik: float


class Engine(Protocol):
    """Expected counts of one corpus on one device."""

    #: Whether packed documents have only the topics that a document may use.
    packs_allowed: ClassVar[bool] = False
    #: Whether all documents are in one array, as parts with a graph need them.
    in_one_place: ClassVar[bool] = True
    #: Whether documents may have an `OwnShare`, as evidence, priors and masks need it.
    takes_own_rows: ClassVar[bool] = True
    #: Threads of kernels; blocks are visited by threads or workers of their own.
    threads: int = 1

    n_documents: int
    n_terms: int
    n_topics: int
    dtype: np.dtype
    document_lengths: NDArray[np.float64]

    @property
    def word_order(self) -> NDArray[np.integer]:
        """Column of X of each row of packed topics."""

    def pack_documents(self, theta: Array) -> Array:
        """Copy a (D, K) array into the engine's layout."""

    def unpack_documents(self, packed: Array) -> Array:
        """Return the (D, K) array of a packed one."""

    def mixtures(self, packed: Array) -> Array:
        """Return the (D, K) array of a packed one, rows on the simplex."""
        return normalize_rows(self.unpack_documents(packed))

    def pack_topics(self, phi: Array) -> Array:
        """Copy (K, V) topics into the engine's layout."""

    def unpack_topics(self, packed: Array) -> Array:
        """Return the (K, V) array of packed topics, words in the order of X."""

    def pack_prior(self, prior: Array | float) -> Array:
        """Return a prior over topics (scalar or length K) in the engine's layout."""

    def document_pass(
        self,
        parameters: Array,
        weights: Array,
        *,
        prior: Array | None = None,
        link: Link = "identity",
        max_updates: int = 0,
        tol: float = 0.0,
        own: OwnShare | None = None,
        documents: OwnShare | None = None,
        out: Array | None = None,
    ) -> DocumentPass:
        """Update rows ``P ← N + prior`` in place up to `max_updates` times, then
        evaluate N, r and the log-likelihood at the final rows.

        `own` is for the collapsed link, which makes no updates in place; given with
        the identity link, it says that the collapsed link will follow, and an engine
        may use the kernels of that (it then has one set of them to compile).
        `documents` (not with the digamma link) has a scale and a floor of each
        document, in place of the prior. Counts are written to `out` if it is given.
        """
        lacking = own is None or (prior is None and documents is None)
        if (link == "collapsed" or own is not None) and (lacking or max_updates):
            raise ValueError(
                "the collapsed link needs prior and own, and max_updates=0, got "
                f"prior={prior}, own={own}, max_updates={max_updates}"
            )
        asked = PassOptions(prior, link, max_updates, tol, own, documents)
        return self._document_pass(parameters, weights, asked, out)

    def _document_pass(
        self, parameters: Array, weights: Array, asked: PassOptions, out: Array | None
    ) -> DocumentPass:
        raise NotImplementedError

    def add_prior(self, counts: Array, prior: Array, out: Array | None) -> Array:
        """Return ``N_dk + prior`` (packed), written to `out` or to a new array."""
        return np.add(counts, prior, out=out)

    def word_pass(self, parameters: Array, weights: Array, out: Array) -> Array:
        """Return N_wk of the last document pass, written to `out`."""

    def expected_counts(self, parameters: Array, weights: Array) -> ExpectedCounts:
        """One E-step: a document pass and a word pass."""
        documents = self.document_pass(parameters, weights)
        words = self.word_pass(parameters, weights, np.empty_like(weights))
        return ExpectedCounts(documents.counts, words, documents.loglik)

    def map_rows(
        self,
        function: RowFunction,
        inputs: tuple[Any, ...],
        shared: tuple[Any, ...] = (),
        out: Any = None,
        data: Any = None,
    ) -> Any:
        """Return packed documents with the rows that `function` returns for one or two
        inputs.

        `data` has a row per document, an array or a CSR matrix: `function` is given
        those of its rows. If it returns a pair, the second is kept by `data`, with
        ``data.keep(rows, ...)``.
        """
        return self._map_rows(RowTask(function, shared, data), inputs, out)

    def gather_rows(
        self,
        function: RowFunction,
        inputs: tuple[Any, ...],
        shared: tuple[Any, ...] = (),
        data: Any = None,
    ) -> tuple[Any, ...]:
        """Return the sums of what `function` returns for rows, as in `map_rows`.

        It returns a tuple of float64 arrays and numbers, which are added up in one
        order, whatever the threads and workers.
        """
        return self._gather_rows(RowTask(function, shared, data), inputs)

    def _map_rows(self, task: RowTask, inputs: tuple[Any, ...], out: Any) -> Any:
        out = np.zeros_like(inputs[0]) if out is None else out
        for rows, new in self._visit_rows(task, inputs):
            if isinstance(new, tuple):
                task.data.keep(rows, new[1])
                new = new[0]
            self._put_rows(out, rows, new)
        return out

    def _gather_rows(self, task: RowTask, inputs: tuple[Any, ...]) -> Statistics:
        parts = (part for _, part in self._visit_rows(task, inputs))
        return functools.reduce(add_statistics, parts)

    def _visit_rows(
        self, task: RowTask, inputs: tuple[Any, ...]
    ) -> Iterator[tuple[slice, Any]]:
        for rows in ranges_of(self.n_documents):
            arrays = [self._plain_rows(array, rows) for array in inputs]
            yield rows, task(self, rows, arrays)

    def _plain_rows(self, packed: Array, rows: slice) -> Array:
        """Return some documents of packed ones, with all topics."""
        return packed[rows, : self.n_topics]

    def _put_rows(self, packed: Array, rows: slice, plain: Array) -> None:
        packed[rows, : self.n_topics] = plain

    def topic_totals(self, counts: Array) -> NDArray[np.float64]:
        """Return ``N_k = Σ_w N_wk`` (length K, float64)."""
        return self._column_sums(counts, "total", 0.0)

    def documents_of_topics(self, counts: Array) -> NDArray[np.float64]:
        """Return ``Σ_d min(N_dk, 1)`` (length K, float64)."""
        return self._column_sums(counts, "at most 1", 0.0)

    def normalize_topics(self, counts: Array, prior: float, out: Array) -> Array:
        """Return ``(N_wk + prior)⁺`` with every topic summing to one."""

    def expected_log_topics(self, counts: Array, prior: float, out: Array) -> Array:
        """Return ``exp(ψ(N_wk + prior) − ψ(Σ_w N_wk + prior))``."""

    def log_totals(self, array: Array, prior: Array | float) -> NDArray[np.float64]:
        """Return ``Σ_rows log(array + prior)`` (length K, float64)."""
        return self._column_sums(array, "log", prior)

    def digamma_totals(self, array: Array, prior: Array | float) -> NDArray[np.float64]:
        """Return ``Σ_rows ψ(array + prior)`` (length K, float64)."""
        return self._column_sums(array, "digamma", prior)

    def document_bound(self, parameters: Array, prior: Array) -> float:
        """Return ``Σ_d E_q[log p(θ_d|prior)] − E_q[log q(θ_d)]``, q = Dir(P_d)."""

    def topic_bound(self, counts: Array, prior: float) -> float:
        """Return the same for topics with λ = counts + prior."""
        totals = self.topic_totals(counts) + prior * self.n_terms
        inner = self._column_sums(counts, "topic bound", prior)
        cross = psi(totals) * (self.n_terms * prior - totals)
        constant = gammaln(self.n_terms * prior) - self.n_terms * gammaln(prior)
        return float((inner - cross - gammaln(totals) + constant).sum())

    def _column_sums(
        self, array: Array, kind: str, prior: Array | float
    ) -> NDArray[np.float64]:
        """Sum over rows, by topic: the entries or functions of them, in float64.

        "topic bound" is ``ln Γ(λ) + (prior − λ) ψ(λ)`` with λ = array + prior.
        """
        raise NotImplementedError


def rows_of(data: Any, rows: Any) -> Any:
    """Return the rows of data that has one per document; None stays None."""
    return None if data is None else data[rows]


def add_statistics(total: Statistics, other: Statistics) -> Statistics:
    """Add two tuples entry by entry; arrays of the first are overwritten."""
    return tuple(
        np.add(a, b, out=a) if isinstance(a, np.ndarray) else a + b
        for a, b in zip(total, other, strict=True)
    )


def make_engine(
    X: sparse.csr_matrix,
    n_topics: int,
    *,
    dtype: np.dtype | type = np.float32,
    device: str = "cpu",
    n_jobs: int | None = None,
    word_order: NDArray[np.integer] | None = None,
    allowed: sparse.csr_matrix | None = None,
) -> Engine:
    """Build the engine of `device` for a clean CSR matrix.

    Sums over a document's words are taken in `word_order` (default: by document
    frequency in X); give one for results that do not depend on the other documents.

    With the topics that each document is `allowed` to use (D, K), if these are few, a
    matrix X in memory on the CPU gets the engine whose passes cost no more than these;
    in other places, parameters are to be zero elsewhere.
    """
    if device not in ("cpu", "cuda"):
        raise DeviceError(f"Unknown device {device!r}. Use device='cpu' or 'cuda'.")
    options: dict[str, Any] = {"dtype": dtype, "threads": n_threads(n_jobs)}
    if device == "cuda":
        from topicfold.engine.cuda.place import make_cuda_engine

        return make_cuda_engine(X, n_topics, word_order=word_order, **options)
    if isinstance(X, BlockCorpus):
        from topicfold.engine.blocks.engine import BlockedEngine

        return BlockedEngine(X, n_topics, **options)
    options["word_order"] = word_order
    if allowed is not None:
        from topicfold.engine.masked import MaskedEngine, pays

        if pays(X, allowed):
            return MaskedEngine(X, n_topics, allowed, **options)
    from topicfold.engine.cpu import CpuEngine

    return CpuEngine(X, n_topics, **options)


def has_room(
    X: sparse.csr_matrix,
    n_topics: int,
    *,
    dtype: np.dtype | type = np.float32,
    device: str = "cpu",
) -> bool:
    """Whether `make_engine` would hold all documents in one place on the device."""
    if device == "cpu":
        return True
    from topicfold.engine.cuda.place import fits_now

    return fits_now(X, n_topics, np.dtype(dtype))


def order_of_topics(topics: NDArray[np.floating]) -> NDArray[np.intp]:
    """Return an order of words, common ones first, that no other document changes."""
    return np.argsort(-topics.sum(axis=0), kind="stable")


def on_device(array: Any) -> bool:
    """Whether `array` is a CuPy array."""
    return not isinstance(array, np.ndarray) and hasattr(
        array, "__cuda_array_interface__"
    )


def array_module(array: Any) -> Any:
    """Return the module whose functions work on `array`: numpy or cupy."""
    if on_device(array):
        import cupy

        return cupy
    return np


def to_numpy(array: Any) -> Any:
    """Return `array` itself, or a NumPy copy of a device array."""
    return array.get() if on_device(array) else array


def ranges_of(n_rows: int, at_once: int | None = None) -> Iterator[slice]:
    """Yield slices of at most `at_once` rows, by default `ROWS_AT_ONCE`."""
    for start, stop in blocks_of(n_rows, at_once or ROWS_AT_ONCE):
        yield slice(start, stop)


def padded(rows: Array) -> Array | None:
    """Return the contiguous array whose first columns `rows` are, if there is one."""
    if rows.flags.c_contiguous:
        return rows
    base = rows.base
    if base is None or base.ndim != 2 or not base.flags.c_contiguous:
        return None
    same = len(base) == len(rows) and base.dtype == rows.dtype
    return base if same and _address(base) == _address(rows) else None


def _address(array: Any) -> int:
    # NumPy's `data` is a memoryview, CuPy's has the pointer.
    pointer = getattr(array.data, "ptr", None)
    return int(array.ctypes.data if pointer is None else pointer)


def pack_rows(rows: Array, engine: Engine, like: Array) -> Array:
    """Return plain rows of all documents packed as `like` is."""
    whole = padded(rows)
    if whole is not None and whole.shape == like.shape and whole.dtype == like.dtype:
        return whole
    return engine.pack_documents(rows)


def pack_own(engine: Engine, own: OwnShare) -> OwnShare:
    """Return an own share of words packed; `groups` are of the columns of X."""
    if own.groups is None:
        return OwnShare(engine.pack_prior(own.scale), engine.pack_prior(own.floor))
    scale, floor = (
        array_module(engine.pack_prior(0.0)).stack([engine.pack_prior(r) for r in rows])
        for rows in (own.scale, own.floor)
    )
    return OwnShare(scale, floor, own.groups[engine.word_order].astype(np.int32))
