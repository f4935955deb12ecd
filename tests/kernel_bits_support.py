# SPDX-License-Identifier: BSD-3-Clause
"""Kernels called with the same rows at many places in memory, and their code read.

Run as a program, with names of kernels and of types, it checks kernels that it
compiles afresh and prints what it found; ``exact`` compiles without fast-math.
"""

from __future__ import annotations

import re
import sys

import numpy as np
from scipy import sparse

WIDTHS = (1, 3, 4, 7, 8, 15, 16, 20, 31, 32, 33, 100)
LENGTHS = (*range(1, 12), 15, 16, 17, 31, 32, 33, 63, 65, 100, 130)
FAR = 4096


def arrays_in(arguments):
    """Yield the arrays among nested arguments, in order."""
    for argument in arguments:
        if isinstance(argument, tuple):
            yield from arrays_in(argument)
        elif isinstance(argument, np.ndarray):
            yield argument


def replaced(arguments, arrays):
    """Return the arguments with their arrays taken from an iterator."""
    return tuple(
        replaced(argument, arrays)
        if isinstance(argument, tuple)
        else next(arrays)
        if isinstance(argument, np.ndarray)
        else argument
        for argument in arguments
    )


def placed(arguments, offset, gap, backwards=False):
    """Copy the arrays into one buffer, `gap` bytes apart, `offset` bytes off a line."""
    originals = list(arrays_in(arguments))
    n_bytes = sum(array.nbytes + gap + 16 for array in originals)
    buffer = np.zeros(n_bytes + 256, np.uint8)
    at = -buffer.ctypes.data % 64 + offset
    copies = [None] * len(originals)
    order = range(len(originals))
    for i in reversed(order) if backwards else order:
        array = originals[i]
        at += -(buffer.ctypes.data + at) % array.itemsize
        copy = buffer[at : at + array.nbytes].view(array.dtype).reshape(array.shape)
        copy[...] = array
        copies[i] = copy
        at += array.nbytes + gap
    return replaced(arguments, iter(copies))


def results_at(kernel, arguments, ranges):
    """Call a kernel on rows or as a whole; return its arrays and what it returned."""
    returned = [
        kernel(*rows, *arguments) for rows in (ranges if ranges is not None else [()])
    ]
    found = [array.tobytes() for array in arrays_in(arguments)]
    return found, returned if ranges is None else None


def find_differences(kernel, arguments, n_rows=None, itemsize=8):
    """Return the placements at which a kernel gives other bits than far apart.

    A kernel over a range of `n_rows` rows is also called row by row.
    """
    whole = None if n_rows is None else [(0, n_rows)]
    expected = results_at(kernel, placed(arguments, 0, FAR), whole)
    trials = [
        (offset, gap, backwards, whole)
        for offset in range(0, 64, itemsize)
        for gap, backwards in ((0, False), (0, True), (FAR, False))
    ]
    if n_rows is not None:
        single = [(row, row + 1) for row in range(n_rows)]
        trials += [(0, 0, False, single), (itemsize, 0, True, single)]
    return [
        (offset, gap, backwards, ranges == whole)
        for offset, gap, backwards, ranges in trials
        if results_at(kernel, placed(arguments, offset, gap, backwards), ranges)
        != expected
    ]


def make_documents(rng, n_terms=200):
    """Return sorted CSR rows of many lengths, a row without words among them."""
    rows = [np.sort(rng.choice(n_terms, n, replace=False)) for n in (*LENGTHS, 0)]
    indptr = np.r_[0, np.cumsum([len(row) for row in rows])]
    indices = np.concatenate(rows).astype(np.int32)
    counts = rng.integers(1, 9, len(indices)).astype(np.uint16)
    return indptr, indices, counts


def document_case(rng, width, dtype, digamma):
    """The document pass, three updates of every document."""
    from topicfold.engine.kernels import document_rows

    indptr, indices, counts = make_documents(rng)
    shape = len(indptr) - 1, width
    rows = rng.random(shape).astype(dtype)
    arguments = (
        (indptr, indices, counts), rows, rng.random((200, width)).astype(dtype),
        rng.random(width).astype(dtype), None, (3, 0.0),
        np.empty(shape, dtype) if digamma else None,
        (np.empty(shape, dtype), np.empty(len(indices), dtype), np.empty(shape[0]),
         np.empty(shape[0], np.int32)),
    )  # fmt: skip
    return document_rows, arguments, shape[0]


def word_case(rng, width, dtype):
    """The word pass, all words as one range."""
    from topicfold.engine import kernels
    from topicfold.engine.cpu import TILE_SIZE, document_layout, word_layout

    indptr, indices, counts = make_documents(rng)
    X = sparse.csr_matrix(
        (counts.astype(dtype), indices, indptr), (len(indptr) - 1, 200)
    )
    documents = document_layout(X, np.dtype(dtype))
    words = word_layout(documents)
    arguments = (
        0, 200,
        (TILE_SIZE, words.tile_groups, words.group_word, words.group_ptr,
         words.tile_document),
        documents.indptr[:-1].copy(), None,
        rng.random(X.nnz).astype(dtype), rng.random((X.shape[0], width)).astype(dtype),
        rng.random((200, width)).astype(dtype), None, np.empty((200, width), dtype),
    )  # fmt: skip
    return kernels.word_rows, arguments, None


def collapsed_cases(rng, width, dtype):
    """Both passes of the collapsed link: plain, and with own rows and groups."""
    from topicfold.engine import kernels

    indptr, indices, counts = make_documents(rng)
    shape = len(indptr) - 1, width
    prior, scale, floor = (rng.random(width).astype(dtype) for _ in range(3))
    groups = rng.integers(0, 3, 200).astype(np.int32)
    rows = [rng.random(shape).astype(dtype) for _ in range(2)]
    tables = [rng.random((3, width)).astype(dtype) for _ in range(2)]
    for kind, sides in (
        ("", (prior, None, scale, floor, None)),
        ("_sided", (*rows, *tables, groups)),
    ):
        arguments = (
            (indptr, indices, counts), rng.random(shape).astype(dtype),
            rng.random((200, width)).astype(dtype), *sides[:2], sides[2:], 1,
            (np.empty(shape, dtype), np.empty(len(indices), dtype),
             np.empty(len(indices), dtype), np.empty(shape[0])),
        )  # fmt: skip
        kernel = kernels.collapsed_document_rows
        yield f"collapsed_document_rows{kind}", kernel, arguments, shape[0]
        _, arguments, _ = word_case(rng, width, dtype)
        *lists, _, ratio, weighed, weights, _, out = arguments
        numbers = ratio[::-1].copy(), ratio
        arguments = *lists, *numbers, weighed, weights, sides, out
        yield f"collapsed_word_rows{kind}", kernels.word_rows, arguments, None


def table_cases(rng, width, dtype):
    """Sums over rows, and topics from counts."""
    from topicfold.engine import kernels

    array = rng.random((37, width)).astype(dtype)
    prior = rng.random(width)
    for name in ("column_sums", "log_sums", "digamma_sums", "topic_bound_sums"):
        arguments = 0, 0, 37, array, prior, np.empty((1, width))
        yield name, getattr(kernels, name), arguments, None
    arguments = array, prior, width, np.empty(37)
    yield "dirichlet_bound_rows", kernels.dirichlet_bound_rows, arguments, 37
    arguments = array, 0.1, prior, width, np.empty_like(array)
    yield "exp_digamma_rows", kernels.exp_digamma_rows, arguments, 37
    yield "scale_rows", kernels.scale_rows, (array.copy(), 0.1, prior, width), 37
    for keeps_totals in (True, False):
        arguments = array, width, (0.7, 0.01, keeps_totals), array[::-1].copy()
        yield "extrapolate_rows", kernels.extrapolate_rows, arguments, 37


def graph_cases(rng, width, dtype, n):
    """Every kernel over the edges of a graph of n documents."""
    from topicfold.theta import graph as kernels

    W = sparse.random_array((n, n), density=0.3, format="csr", rng=rng, dtype=dtype)
    edges = W.indptr.astype(np.int64), W.indices.astype(np.int32), W.data
    theta, other, out = (rng.random((n, width)).astype(dtype) for _ in range(3))
    more = rng.random((n, width)).astype(dtype)
    degrees, steps, each = W.sum(axis=1).astype(np.float64), rng.random(n), np.empty(n)
    diagonal = 1 + rng.random(n)
    yield "normalize_rows", kernels.normalize_shares, (theta, width, out), n
    yield "neighbor_sums", kernels.neighbor_sums, (*edges, theta, out), n
    arguments = *edges, degrees, theta, steps, out
    yield "smooth_rows", kernels.smooth_rows, arguments, n
    arguments = *edges, theta, other, each
    yield "squared_differences", kernels.squared_differences, arguments, n
    yield "log_rows", kernels.log_rows, (theta, width, out), n
    yield "expected_loglik", kernels.expected_loglik, (theta, other, width, each), n
    yield "apply_system", kernels.apply_system, (*edges, diagonal, theta, out, each), n
    arguments = 0.3, diagonal, theta, other, out, more, each
    yield "advance", kernels.advance, arguments, n
    yield "redirect", kernels.redirect, (0.3, diagonal, theta, out), n


def learning_cases(rng, width, dtype):
    """MedLDA's dual and weights, the orthogonal step."""
    from topicfold.learn import medlda
    from topicfold.phi.orthogonal import update_topics

    features, labels = rng.random((19, width)), rng.integers(0, 3, 19)
    arguments = (
        features, (features**2).sum(axis=1), labels, 1.0, 1.0, 0.01,
        np.zeros((19, 3)), np.zeros((3, width)),
    )  # fmt: skip
    yield "sweep_documents", medlda.sweep_documents, arguments, None
    gamma = rng.random((19, width)).astype(dtype)
    arguments = gamma, gamma[::-1].copy(), np.empty_like(gamma), np.empty(19)
    yield "margin_weights", medlda.margin_weights, arguments, None
    counts = rng.random((3, width))
    topics = counts / counts.sum(axis=1, keepdims=True)
    arguments = counts, 5.0, topics, topics.sum(axis=0), np.empty(width)
    yield "update_topics", update_topics, arguments, None


def frank_wolfe_case(rng, width, dtype):
    """Frank-Wolfe on all documents."""
    from topicfold.infer.frank_wolfe import infer_documents

    indptr, indices, counts = make_documents(rng)
    n_rows = len(indptr) - 1
    phi = rng.dirichlet(np.full(200, 0.2), width).T.clip(1e-10)
    table = np.concatenate([phi, np.log(phi)], axis=1).astype(dtype)
    arguments = (
        indptr, indices, counts.astype(np.float64), table, np.ones(200, bool),
        np.resize([-1, 0, 1], n_rows), 0.3 * rng.random((2, width)), True, 50, 0.0,
        np.zeros(n_rows * width, np.int32), np.zeros(n_rows * width, dtype),
        np.empty(n_rows, np.int64), np.empty((n_rows, 4)),
    )  # fmt: skip
    return infer_documents, arguments, None


def gibbs_case(rng, width, dtype):
    """Mixtures by Gibbs sampling with the topics fixed."""
    from topicfold.gibbs.fixed_topics import fixed_scratch, sample_mixtures

    indptr, indices, _ = make_documents(rng)
    n_rows = len(indptr) - 1
    rows = rng.dirichlet(np.full(200, 0.2), width).T.astype(np.float32).copy()
    alpha = rng.random(width)
    arguments = (
        indptr, indices.astype(np.uint32), rows, (rows * alpha).sum(axis=1), alpha,
        (np.uint64(1), 2, 3), np.arange(n_rows, dtype=np.uint64),
        fixed_scratch(width, 200), np.zeros((n_rows, width)),
    )  # fmt: skip
    return sample_mixtures, arguments, n_rows


def cases(width, dtype):
    """Yield (name, kernel, arguments, rows of its range or None)."""
    rng = np.random.default_rng(width)
    yield "document_rows", *document_case(rng, width, dtype, False)
    yield "document_rows_digamma", *document_case(rng, width, dtype, True)
    yield "word_rows", *word_case(rng, width, dtype)
    yield from collapsed_cases(rng, width, dtype)
    yield "infer_documents", *frank_wolfe_case(rng, width, dtype)
    yield from table_cases(rng, width, dtype)
    yield from graph_cases(rng, width, dtype, 23)
    yield from graph_cases(rng, width, dtype, 1)
    yield from learning_cases(rng, width, dtype)
    if dtype == np.float32:
        yield "sample_mixtures", *gibbs_case(rng, width, dtype)


def guarded_sums(code):
    """Return the sums in LLVM code that a test of addresses may send another way.

    A guarded loop's block ``vector.memcheck`` jumps to the loop's scalar form; a sum
    arrives there with its start from the guard and its part from the vector form.
    """
    found = []
    for function in re.findall(r"^define .*?^}", code, re.M | re.S):
        parts = re.split(r'^"?([\w.$-]+)"?:.*$', function, flags=re.M)
        blocks = dict(zip(parts[1::2], parts[2::2], strict=True))
        for name in blocks:
            if not name.startswith("vector.memcheck"):
                continue
            jump = re.findall(r"^  br .*$", blocks[name], re.M)[-1]
            for target in re.findall(r'label %"?([\w.$-]+)', jump):
                pattern = r"^ +(%\S+ = phi [\w ]*(?:double|float) .*)$"
                for phi in re.findall(pattern, blocks[target], re.M):
                    pairs = re.findall(r'\[ (\S+), %"?([\w.$-]+)"? \]', phi)
                    start = {value for value, block in pairs if block == name}
                    parts_of = {v for v, block in pairs if "vec" in block} - start
                    if parts_of:
                        found.append(f"{name}: {phi}")
    return found


def check(names=None, widths=WIDTHS, dtypes=("float32", "float64")):
    """Return what differs, by kernel; only kernels in `names` where given."""
    found = []
    for width in widths:
        for dtype in map(np.dtype, dtypes):
            for name, kernel, arguments, n_rows in cases(width, dtype.type):
                if names is not None and name not in names:
                    continue
                for place in find_differences(
                    kernel, arguments, n_rows, dtype.itemsize
                ):
                    found.append((name, width, dtype.name, *place))
    return found


def guarded_in(modules):
    """Return the guarded sums of the kernels that these modules have compiled."""
    found = []
    for module in modules:
        for name, value in vars(module).items():
            for signature in getattr(value, "signatures", ()):
                code = value.inspect_llvm(signature)
                if len(code) < 1000:
                    raise RuntimeError(f"{name} came from the cache: no code to read")
                found += [f"{name}: {line}" for line in guarded_sums(code)]
    return found


def main(names, dtypes, exact):
    """Check kernels compiled just now; the exit status says whether all is well."""
    from topicfold.core import jit

    if exact:
        jit.FASTMATH = False
    found = check(names, (3, 16, 33, 100), dtypes)
    ours = [name for name in sys.modules if name.startswith("topicfold.")]
    kernels = [sys.modules[name] for name in ours if "kernels" in name]
    found += guarded_in(kernels)
    sys.stdout.write("\n".join(map(str, [len(kernels), *found[:20]])))
    return 1 if found or not kernels else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1].split(), sys.argv[2].split(), "exact" in sys.argv))
