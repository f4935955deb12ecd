# SPDX-License-Identifier: BSD-3-Clause
"""The one judge of all peers: held-out perplexity by document completion.

Half of a test document's tokens is folded in with fixed topics: from a uniform start,
50 EM steps ``theta_k ∝ 0.1 + sum_w n_w p(k | w)``. The other half is scored with
``0.99 · sum_k theta_k phi_kw + 0.01 · unigram_w``, where the unigram is that of the
training documents with one added to every word's count. Shares no code with topicfold.
"""

from __future__ import annotations

from pathlib import Path

import numba
import numpy as np

N_STEPS = 50
PSEUDO_COUNT = 0.1
UNIGRAM_SHARE = 0.01


class Evaluator:
    """Perplexity of topics over the scored halves of the test documents.

    Parameters
    ----------
    fold, score : sequence of ndarray
        Each the (indptr, indices, data) of a CSR matrix, test documents × terms.
    word_counts : ndarray of shape (n_terms,)
        Counts of the words in the training documents.
    """

    def __init__(self, fold, score, word_counts):
        self._fold = _typed(*fold)
        self._score = _typed(*score)
        self._unigram = (word_counts + 1.0) / (word_counts.sum() + word_counts.size)
        self._unseen = word_counts == 0
        self.n_tokens = float(self._score[2].sum())

    @classmethod
    def load(cls, path: Path) -> Evaluator:
        """Read what `corpora.save_test` wrote."""
        with np.load(path) as arrays:
            parts = ("indptr", "indices", "data")
            fold = [arrays[f"fold_{part}"] for part in parts]
            score = [arrays[f"score_{part}"] for part in parts]
            return cls(fold, score, arrays["word_counts"])

    def perplexity(self, topics: np.ndarray) -> float:
        """Score `topics`, an array (n_topics, n_terms) whose rows sum to one."""
        if topics.ndim != 2 or topics.shape[1] != self._unigram.size:
            msg = f"topics have shape {topics.shape}, not (K, {self._unigram.size})"
            raise ValueError(msg)
        sums = topics.sum(axis=1, dtype=np.float64)
        if not np.all(np.abs(sums - 1.0) < 1e-3):
            msg = f"rows of topics sum to {sums.min():.4f} .. {sums.max():.4f}, not 1"
            raise ValueError(msg)
        words = np.ascontiguousarray(topics.T, dtype=np.float32)
        loglik = _completion_loglik(words, *self._fold, *self._score, self._unigram)
        return float(np.exp(-loglik / self.n_tokens))

    def unigram_perplexity(self) -> float:
        """Score the training unigram alone: what a model must at least beat."""
        loglik = self._score[2] @ np.log(self._unigram[self._score[1]])
        return float(np.exp(-loglik / self.n_tokens))

    def unseen_share(self) -> float:
        """Share of the scored tokens whose word is in no training document."""
        return float(self._score[2] @ self._unseen[self._score[1]]) / self.n_tokens


def _typed(indptr, indices, data):
    return indptr.astype(np.int64), indices.astype(np.int64), data.astype(np.float32)


@numba.njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz", "arcp"})
def _completion_loglik(
    words, f_indptr, f_words, f_counts, s_indptr, s_words, s_counts, unigram
):
    n_topics = words.shape[1]
    longest = 0
    for doc in range(f_indptr.size - 1):
        longest = max(longest, f_indptr[doc + 1] - f_indptr[doc])
    rows = np.empty((longest, n_topics), dtype=np.float32)
    theta = np.empty(n_topics, dtype=np.float32)
    gathered = np.empty(n_topics, dtype=np.float32)
    loglik = 0.0
    for doc in range(f_indptr.size - 1):
        start, end = f_indptr[doc], f_indptr[doc + 1]
        for i in range(start, end):
            rows[i - start] = words[f_words[i]]
        _fold_in(rows[: end - start], f_counts[start:end], theta, gathered)
        for i in range(s_indptr[doc], s_indptr[doc + 1]):
            word = s_words[i]
            mixed = 0.0
            for k in range(n_topics):
                mixed += theta[k] * words[word, k]
            prob = (1.0 - UNIGRAM_SHARE) * mixed + UNIGRAM_SHARE * unigram[word]
            loglik += s_counts[i] * np.log(prob)
    return loglik


@numba.njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz", "arcp"})
def _fold_in(rows, counts, theta, gathered):
    n_topics = theta.size
    theta[:] = np.float32(1.0 / n_topics)
    for _ in range(N_STEPS):
        gathered[:] = np.float32(0.0)
        for i in range(rows.shape[0]):
            prob = np.float32(0.0)
            for k in range(n_topics):
                prob += theta[k] * rows[i, k]
            if prob > np.float32(1e-30):
                ratio = counts[i] / prob
                for k in range(n_topics):
                    gathered[k] += ratio * rows[i, k]
        total = np.float32(0.0)
        for k in range(n_topics):
            theta[k] = np.float32(PSEUDO_COUNT) + theta[k] * gathered[k]
            total += theta[k]
        for k in range(n_topics):
            theta[k] /= total
