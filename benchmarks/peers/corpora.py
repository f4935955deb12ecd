# SPDX-License-Identifier: BSD-3-Clause
"""Corpora, the held-out split, and the files through which workers get them.

A corpus folder holds ``counts.npz`` (a SciPy CSR matrix, documents × terms). Without
one, a synthetic corpus with planted topics over a Zipfian vocabulary is drawn, so that
the benchmark runs anywhere. The parent splits once and writes plain ``.npy`` files; a
worker loads them without temporaries, so that its memory can be measured.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy.sparse as sp

N_TEST = 2000


@dataclass(frozen=True)
class Split:
    """Training counts, and test documents cut into a folded and a scored half."""

    train: sp.csr_matrix
    fold: sp.csr_matrix
    score: sp.csr_matrix


def load_corpus(folder: Path, name: str) -> sp.csr_matrix:
    """Read ``counts.npz`` of the corpus `name` under `folder`."""
    path = folder / name / "counts.npz"
    if not path.exists():
        msg = f"no corpus '{name}': {name}/counts.npz is not in the corpora folder"
        raise FileNotFoundError(msg)
    counts = sp.csr_matrix(sp.load_npz(path))
    counts.sum_duplicates()
    return counts


def zipf_corpus(
    n_docs: int = 3000,
    n_terms: int = 5000,
    n_topics: int = 20,
    length: int = 120,
    seed: int = 0,
) -> sp.csr_matrix:
    """Draw documents from planted topics whose words follow Zipf's law."""
    rng = np.random.default_rng(seed)
    zipf = 1.0 / np.arange(1, n_terms + 1)
    topics = zipf * rng.gamma(0.2, size=(n_topics, n_terms))
    topics /= topics.sum(axis=1, keepdims=True)
    theta = rng.dirichlet(np.full(n_topics, 0.1), size=n_docs)
    sizes = 1 + rng.poisson(length - 1, size=n_docs)
    rows = []
    for start in range(0, n_docs, 256):
        mixed = theta[start : start + 256] @ topics
        mixed /= mixed.sum(axis=1, keepdims=True)
        rows.append(sp.csr_matrix(rng.multinomial(sizes[start : start + 256], mixed)))
    return sp.vstack(rows, format="csr").astype(np.int32)


def hold_out(counts: sp.csr_matrix, seed: int = 0, n_test: int = N_TEST) -> Split:
    """Hold out documents, and cut each in two halves of its tokens, seeded.

    At most a quarter of a small corpus is held out. Of n tokens, ceil(n / 2) are
    folded in and the rest is scored.
    """
    rng = np.random.default_rng(seed)
    n_docs = counts.shape[0]
    order = rng.permutation(n_docs)
    n_test = min(n_test, n_docs // 4)
    test = counts[np.sort(order[:n_test])]
    train = counts[np.sort(order[n_test:])]
    fold = _half_of_tokens(test, rng)
    score = sp.csr_matrix(test - fold)
    score.eliminate_zeros()
    return Split(train.astype(np.float32), fold, score)


def save_train(train: sp.csr_matrix, folder: Path) -> None:
    """Write the training matrix as plain arrays: float32 counts, int32 indices."""
    folder.mkdir(parents=True, exist_ok=True)
    np.save(folder / "data.npy", train.data.astype(np.float32))
    np.save(folder / "indices.npy", train.indices.astype(np.int32))
    np.save(folder / "indptr.npy", train.indptr.astype(np.int32))
    np.save(folder / "shape.npy", np.asarray(train.shape))


def load_train(folder: Path) -> sp.csr_matrix:
    """Read what `save_train` wrote, without copies."""
    data, indices, indptr, shape = (
        np.load(folder / f"{part}.npy")
        for part in ("data", "indices", "indptr", "shape")
    )
    train = sp.csr_matrix((data, indices, indptr), shape=tuple(shape), copy=False)
    train.has_canonical_format = True
    return train


def save_test(split: Split, path: Path) -> None:
    """Write what the evaluator needs: both halves and the training word counts."""
    np.savez(
        path,
        fold_data=split.fold.data,
        fold_indices=split.fold.indices,
        fold_indptr=split.fold.indptr,
        score_data=split.score.data,
        score_indices=split.score.indices,
        score_indptr=split.score.indptr,
        word_counts=np.asarray(split.train.sum(axis=0, dtype=np.float64)).ravel(),
    )


def _half_of_tokens(test: sp.csr_matrix, rng: np.random.Generator) -> sp.csr_matrix:
    counts = test.data.astype(np.int64)
    docs = np.repeat(np.arange(test.shape[0]), np.diff(test.indptr))
    token_doc = np.repeat(docs, counts)
    token_word = np.repeat(test.indices, counts)
    shuffled = np.lexsort((rng.random(token_doc.size), token_doc))
    token_doc, token_word = token_doc[shuffled], token_word[shuffled]
    lengths = np.bincount(token_doc, minlength=test.shape[0])
    starts = np.concatenate(([0], np.cumsum(lengths)[:-1]))
    rank = np.arange(token_doc.size) - starts[token_doc]
    kept = rank < (lengths[token_doc] + 1) // 2
    ones = np.ones(int(kept.sum()), dtype=test.dtype)
    return sp.csr_matrix(
        sp.coo_matrix((ones, (token_doc[kept], token_word[kept])), shape=test.shape)
    )
