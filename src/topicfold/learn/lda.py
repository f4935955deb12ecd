# SPDX-License-Identifier: BSD-3-Clause
"""Other links of the learner (docs/math.md §2): CVB0 and variational Bayes.

Passes of CVB0 move topics a little at a time. Where topics differ much in size, several
start in a large one and share it for good, and small ones share one: no small step
leads out. So the topics of the tokens of a `Sample` are drawn now and then, and

- α is learned from them (expected counts would not do: they are spread more evenly);
- each topic is weighed with the topic most like it, if they are alike at all, against
  both as one (`gibbs.pairs`), and each topic in two halves against itself;
- a pair that is worth next to nothing becomes one topic, and the halves of the topic
  whose halves are worth most become two.

All depends on the topics, α and the sample alone, so a corpus may be in blocks, and a
fit that is resumed does the same.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import psi

from topicfold.core.counts import normalize_rows, token_words
from topicfold.core.threads import one_blas_thread
from topicfold.core.typing import Array
from topicfold.engine.protocol import Link, OwnShare
from topicfold.learn.learner import Learner
from topicfold.learn.loop import Extrapolation, Point
from topicfold.learn.priors import dirichlet_from_mean_log, symmetric_from_mean_log

Vector = NDArray[np.float64]
# Passes before which topics are looked at.
AT = (6, 12, 18, 24, 30)
# Documents of the sample: least, for each topic, most; and tokens of one in the mean.
LEAST_DOCUMENTS, DOCUMENTS_PER_TOPIC, MOST_DOCUMENTS = 600, 20, 3000
SAMPLE_TOKENS = 60
# α is learned after these sweeps over the sample, by so many rounds of Minka's fixed
# point each time.
LEARNED_AFTER = (2, 3)
ALPHA_ROUNDS = 7
LEAST_ALPHA = 1e-3
# Two topics are one where their words are at least this much alike (1 is the same), and
# both are worth less than this in place of one, in nats for each token of the smaller
# one. Where they are worth far less than nothing, their words stand in the same
# documents, as those of a form do, and need not be the same.
LEAST_LIKENESS = 0.65
LEAST_WORTH, TOGETHER = 0.05, -0.2
# Halves of a topic that are worth less than this for each of its tokens are no topics.
LEAST_HALVES = -0.06
# Topics whose shares vary less than this part of the median are of common words.
EVENLY = 0.1
# Topics with fewer tokens in the sample are left alone.
LEAST_TOKENS = 30
# Topics that may move at a time.
MOST_MOVED = 0.2
# Of a word's tokens on either side, so that no half is without a word.
SMOOTHING = 0.1
# The part of itself by which an extrapolated pass of `Cvb0` may lower its objective,
# which need not rise.
CVB0_SLACK = 1e-4
# The same of `LeftOut`: with more, the covariance of correlated topics never settles.
LEFT_OUT_SLACK = 1e-6
# After the last look at the topics, mixtures may move by so many times more when a fit
# ends. RMSE of drawn mixtures and passes (6 draws of the settings of
# benchmarks/mixtures.py): 3 .140, 46; 1.5 .138, 57; 1 .135, 67.
AFTER_LOOKS = 1.5
# Tokens of a topic that has lost all.
SMALLEST_TOTAL = 1e-30


class Cvb0(Learner):
    """Collapsed variational Bayes of order zero: tokens see counts without their own.

    A token's own count is left out of its document's counts completely, as
    ``c p_k e_dk`` and never below ``α_dk e_dk``, and out of its word's counts by
    `own_word_share`: where most words are rare, topics of counts without the token fit
    new documents worse than with half of it.

    The objective is ``Σ X_dw log Σ_k θ_dk φ_kw``, the log-likelihood of the training
    words at θ ∝ N_dk + α and φ ∝ N_wk + η. The updates do not maximise it: it rises at
    first and may fall a little later.
    """

    link: Link = "collapsed"
    settles_over = 5
    #: By which α is learned and topics are merged and split.
    sample: Sample | None = None

    def with_sample(
        self, sample: sparse.csr_matrix | None, own_word_share: float
    ) -> Self:
        """Learn α from the topics of a sample's tokens, and merge and split topics.

        Returns self.
        """
        if sample is not None:
            self.own_word_share = own_word_share
            self.sample = Sample(sample, float(self.alpha.sum()))
            self.learn_priors = False  # not from expected counts, too
        return self

    def advance(self) -> None:
        """New topics and documents from the counts of the last pass."""
        super().advance()
        if self.sample is None or self._iteration not in AT:
            return
        self.prior_updates.append(self._iteration)
        topics = self.engine.unpack_topics(self.weights)
        seed = self._iteration
        self.alpha, swaps = self.sample.look(topics, self.alpha, self.eta, seed)
        if not swaps:
            return
        topics, self._totals, self.alpha = swapped_topics(
            topics, self._totals, self.alpha, swaps
        )
        self.weights = self.engine.pack_topics(topics)
        moves = [(s.into, s.spare, s.parted, s.share) for s in swaps]
        self.documents = self.engine.map_rows(
            swapped_rows, (self.documents,), (moves,), out=self.documents
        )
        self._take_topics()
        if self.extrapolation is not None:
            self.extrapolation.begin_again()

    def _pass_options(self) -> dict[str, Any]:
        documents = None if self.known is None else self.known.own
        if self._iteration > 0:
            own: OwnShare | None = self._own_share()
            return {"link": self.link, "own": own, "documents": documents}
        # The start has no counts of tokens yet.
        nothing = self.engine.pack_prior(0.0)
        own = OwnShare(nothing, nothing) if self.known is None else None
        return {"link": "identity", "own": own, "documents": documents}

    def extrapolated(self) -> Self:
        """Extrapolate the passes; returns self.

        Documents that may use some of the topics only go on as they are.
        """
        if self.known is None or self.known.allowed is None:
            self.extrapolation = Extrapolation(self, CVB0_SLACK)
        return self

    def moved(self) -> float:
        """Return the mean share of a document's mixture that the last pass moves.

        Less, by `AFTER_LOOKS`, once no more topics are merged or split.
        """
        settled = self.sample is not None and self._iteration > AT[-1]
        return super().moved() / (AFTER_LOOKS if settled else 1.0)

    def _priors_value(self) -> float:
        return 0.0


class LeftOut(Learner):
    """EM with a part of a token's own count left out of its word's counts.

    Topics then fit the words of new documents better (see `Cvb0`); in its document, a
    token's count stays. The objective need not rise all the way. The φ-step makes
    topics as ``(N_wk + η) / (N_k + Vη)``, with η the `word_prior`.
    """

    def __init__(self, *args: Any, word_prior: float, **options: Any) -> None:
        super().__init__(*args, **options)
        self.word_prior = word_prior
        shape = self.engine.n_documents, self.engine.n_topics
        self._kept = self.engine.pack_documents(np.broadcast_to(np.zeros(1), shape))

    def _pass_options(self) -> dict[str, Any]:
        if self._iteration == 0:  # the start has no counts of tokens yet
            return super()._pass_options()
        kept = OwnShare(self._kept, self._kept)
        return {"link": "collapsed", "own": self._own_share(), "documents": kept}

    def extrapolated(self) -> Self:
        """Extrapolate the passes, whatever the steps; returns self."""
        self.extrapolation = Extrapolation(self, LEFT_OUT_SLACK)
        return self

    def moved(self) -> float:
        """Return 0, or infinity while what the θ-step learns still changes.

        Mixtures at their modes are not the shares that the last pass expects.
        """
        return np.inf if self.theta_step.moving else 0.0

    def free_scratch(self) -> None:
        """Let go of what only another iteration would need."""
        super().free_scratch()
        self._kept = np.empty((0, 0), self.engine.dtype)


class Variational(Learner):
    """Batch variational Bayes (Blei et al. 2003); the objective is the ELBO.

    The bound never falls, even if the priors are learned: they maximise it.
    """

    link: Link = "digamma"
    # With sides: (N + α) e, of which the documents' weights are made.
    _weighted: Any = None

    def _start_documents(self) -> None:
        super()._start_documents()
        if self.known is not None:
            self._weighted = self.documents
            self.documents = self.known.expected(self._weighted)

    def _pass_options(self) -> dict[str, Any]:
        return super()._pass_options() if self.known is None else {}

    def _start_topics(self, phi: Array) -> None:
        super()._start_topics(phi)
        #: Expected counts of words, λ without η.
        self.counts = self.weights
        self.counts *= self.engine.dtype.type(self._totals[0])
        self.weights = self._spare_topics
        self._spare_topics = self.counts
        self.engine.expected_log_topics(self.counts, self.eta, self.weights)

    def topic_totals(self) -> NDArray[np.float64]:
        """Σ_w λ_kw."""
        prior = self.eta * self.engine.n_terms
        return self.engine.topic_totals(self.counts) + prior

    def _set_topics(self, words: Array) -> None:
        self.engine.expected_log_topics(self.counts, self.eta, self.weights)

    def _move_documents(self, counts: Any) -> None:
        """Documents have been moved in the last pass, and will be in the next.

        Not so with sides: the engine knows no evidence with this link.
        """
        self._spare_documents = counts
        if self.known is not None:
            self.known.learn(counts, self._iteration, self.alpha, self.eta)
            self._weighted = self.known.weights(counts, counts, None)
            self.documents = self.known.expected(self._weighted)

    def extrapolated(self) -> Self:
        """Extrapolate the passes, unless there are sides; returns self."""
        if self.known is None:
            self.extrapolation = Extrapolation(self)
        return self

    def point(self) -> Point:
        """Return where the next pass begins: topics are λ without η."""
        return Point(self.documents, self.counts)

    def move_to(self, point: Point) -> None:
        """Let the next pass begin there, with as many tokens in a topic as now."""
        topics, totals = point.topics, self.engine.topic_totals(self.counts)
        reached = np.maximum(self.engine.topic_totals(topics), SMALLEST_TOTAL)
        topics *= self.engine.pack_prior(totals / reached)
        self.documents = point.documents
        self._adopt_topics(topics)
        self._take_topics()

    def _packed_topics(self) -> Array:
        return self.counts

    def _adopt_topics(self, packed: Array) -> None:
        self.counts = self._spare_topics = packed
        self.engine.expected_log_topics(packed, self.eta, self.weights)

    def _learn_priors(self, counts: Any, words: Array) -> None:
        engine = self.engine
        totals, documents = engine.document_lengths + self.alpha.sum(), self.documents
        if self.known is not None:
            documents = self.known.without_evidence(self._weighted)
        mean_log_theta = (
            engine.digamma_totals(documents, 0.0) - psi(totals).sum()
        ) / engine.n_documents
        self.alpha = dirichlet_from_mean_log(mean_log_theta, self.alpha)
        log_phi = engine.digamma_totals(self.counts, self.eta) - (
            engine.n_terms * psi(self.topic_totals())
        )
        mean_log_phi = float(log_phi.sum()) / (engine.n_topics * engine.n_terms)
        self.eta = symmetric_from_mean_log(mean_log_phi, engine.n_terms, self.eta)

    def _priors_value(self) -> float:
        engine = self.engine
        if self.known is None:
            prior = engine.pack_prior(self.alpha)
            documents = engine.document_bound(self.documents, prior)
        else:
            rows = self._weighted, self.documents, self._counted().counts
            documents = self.known.bound(*rows, self.alpha)
        return documents + engine.topic_bound(self.counts, self.eta)

    def doc_topics(self) -> Array:
        """Posterior means (D, K)."""
        if self.known is None:
            return super().doc_topics()
        return self.known.doc_topics(self._weighted)

    def keep_results(self) -> None:
        """Give every side what was learned for it."""
        self.documents = self._weighted
        super().keep_results()

    def state(self) -> dict[str, Any]:
        """Return what `restore` needs; with sides, what weights are made of."""
        own = {} if self.known is None else {"documents": self._weighted}
        return super().state() | own

    def _adopt_documents(self, packed: Any) -> None:
        super()._adopt_documents(packed)
        if self.known is not None:
            self._weighted, self.documents = packed, self.known.expected(packed)

    def free_scratch(self) -> None:
        """Let go of what only another iteration would need."""
        super().free_scratch()
        self.weights = np.empty((0, 0), self.engine.dtype)

    def topics(self) -> Array:
        """Posterior mean topics (K, V)."""
        topics = self.engine.unpack_topics(self.counts)
        topics += topics.dtype.type(self.eta)
        return normalize_rows(topics)


class Swap(NamedTuple):
    """Topics `into` and `spare` become one, the halves of `parted` two.

    `first` (V,) is the share of each word's tokens that stay with `parted`; `share` is
    that of all its tokens.
    """

    into: int
    spare: int
    parted: int
    first: Vector
    share: float


class Sample:
    """The tokens of some documents, and what their topics say of topics and α.

    Parameters
    ----------
    counts : sparse matrix
        Whole counts of the documents.
    least : float
        Least Σα.
    """

    def __init__(self, counts: sparse.csr_matrix, least: float) -> None:
        self.least = least
        self.terms, number = np.unique(counts.indices, return_inverse=True)
        self.doc_ptr, self.words = token_words(counts, number.astype(np.int32))

    def look(
        self, topics: Array, alpha: Vector, eta: float, seed: int
    ) -> tuple[Vector, list[Swap]]:
        """Return α and the swaps that the sample supports."""
        if len(self.words) == 0:
            return alpha, []
        alpha, drawn = self._learned(topics, alpha, seed)
        if len(alpha) < 3:
            return alpha, []
        from topicfold.gibbs.pairs import Sampled, halves, worth_of_pairs

        tokens = Sampled(self.doc_ptr, self.words, drawn, len(self.terms))
        sizes = np.maximum(np.bincount(drawn, minlength=len(alpha)), 1)
        common, few = self._of_common_words(drawn, len(alpha)), sizes < LEAST_TOKENS
        pairs = _alike(topics)
        # Topics of common words stay apart: in one they would come back to all others.
        kept = ~common[pairs].all(axis=1) & ~few[pairs].any(axis=1)
        pairs = pairs[kept]
        if not len(pairs):
            return alpha, []
        worth = worth_of_pairs(tokens, pairs, alpha, eta, seed).worth
        worth /= sizes[pairs].min(axis=1)
        worth[worth < TOGETHER] = np.inf
        spared = _least(pairs, worth, len(alpha))
        if not spared:
            return alpha, []
        parted = halves(tokens, alpha, eta, seed)
        worth = parted.worth / sizes
        worth[common | few] = worth[np.ravel(spared)] = -np.inf
        order = np.argsort(-parted.worth, kind="stable")
        best = [int(k) for k in order if worth[k] > LEAST_HALVES]
        return alpha, [
            self._swap(topics, *pair, k, parted.counts)
            for pair, k in zip(spared, best, strict=False)
        ]

    def _swap(
        self, topics: Array, into: int, spare: int, parted: int, counts: Any
    ) -> Swap:
        sides = counts[:, 2 * parted : 2 * parted + 2] + SMOOTHING
        first = np.full(topics.shape[1], 0.5)
        first[self.terms] = sides[:, 0] / sides.sum(axis=1)
        share = float(topics[parted].astype(np.float64) @ first)
        return Swap(into, spare, parted, first, share)

    def _learned(
        self, topics: Array, alpha: Vector, seed: int
    ) -> tuple[Vector, NDArray[np.int32]]:
        """Return α and the topics of the tokens."""
        from topicfold.gibbs.pairs import alpha_from_codes, draw_tokens

        n_topics, lengths = len(alpha), np.diff(self.doc_ptr)
        rows = np.ascontiguousarray(topics[:, self.terms].T, dtype=np.float32)
        drawn = np.zeros(len(self.words), dtype=np.int32)
        first = np.repeat(np.arange(len(lengths)), lengths) * n_topics
        for sweeps in pairwise((0, *LEARNED_AFTER)):
            plan = alpha.astype(np.float32), seed, sweeps, drawn
            draw_tokens(self.doc_ptr, self.words, rows, *plan)
            counts = np.bincount(first + drawn)
            place = np.flatnonzero(counts)
            codes = counts[place] * n_topics + place % n_topics
            for _ in range(ALPHA_ROUNDS):
                alpha = alpha_from_codes(codes, lengths, alpha)
            alpha = np.maximum(alpha, LEAST_ALPHA)
            alpha = alpha * max(1.0, self.least / alpha.sum())
        return alpha, drawn

    def _of_common_words(
        self, drawn: NDArray[np.int32], n_topics: int
    ) -> NDArray[np.bool_]:
        """Return which topics are spread far more evenly over documents than others.

        By the squared coefficient of variation of their shares, that of drawing tokens
        taken off.
        """
        lengths = np.diff(self.doc_ptr)
        rows = np.repeat(np.arange(len(lengths)), lengths)
        counts = np.bincount(rows * n_topics + drawn, minlength=len(lengths) * n_topics)
        counts = counts.reshape(-1, n_topics)
        sizes = counts.sum(axis=0)
        expected = np.outer(lengths, sizes / max(sizes.sum(), 1))
        spread = ((counts - expected) ** 2).sum(axis=0) - sizes
        spread = spread / np.maximum((expected**2).sum(axis=0), 1e-300)
        return np.asarray(spread < EVENLY * np.median(spread[sizes > 0]))


def _alike(topics: Array) -> NDArray[np.int64]:
    """Return disjoint pairs of topics (G, 2) that are alike, the most alike first."""
    roots = np.sqrt(topics)
    with one_blas_thread():
        likeness = roots @ roots.T
    np.fill_diagonal(likeness, -1.0)
    pairs: list[NDArray[np.int64]] = []
    while len(pairs) < len(topics) // 2:
        pair = np.array(np.divmod(likeness.argmax(), len(topics)))
        if likeness[tuple(pair)] < LEAST_LIKENESS:
            break
        pairs.append(pair)
        likeness[pair] = likeness[:, pair] = -1.0
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)


def _least(
    pairs: NDArray[np.int64], worth: Vector, n_topics: int
) -> list[tuple[int, int]]:
    """Return pairs that are worth next to nothing, the least first."""
    most = max(1, int(MOST_MOVED * n_topics))
    least = np.argsort(worth, kind="stable")[:most]
    return [
        (int(pairs[g, 0]), int(pairs[g, 1])) for g in least if worth[g] < LEAST_WORTH
    ]


def swapped_topics(
    topics: Array, totals: Vector, alpha: Vector, swaps: list[Swap]
) -> tuple[Array, Vector, Vector]:
    """Return topics (K, V), their totals and α after swaps."""
    topics, totals, alpha = topics.copy(), totals.copy(), alpha.copy()
    for a, b, c, first, share in swaps:
        part = totals[a] / (totals[a] + totals[b])
        topics[a] = part * topics[a] + (1 - part) * topics[b]
        topics[b] = topics[c] * (1 - first) / (1 - share)
        topics[c] = topics[c] * first / share
        for numbers in (totals, alpha):
            numbers[a] += numbers[b]
            numbers[b] = (1 - share) * numbers[c]
            numbers[c] *= share
    return topics, totals, alpha


def swapped_rows(
    rows: slice, lengths: Any, arrays: list[Array], data: Any, moves: Any
) -> Array:
    """Return documents after swaps; `moves` are (into, spare, parted, share)."""
    (documents,) = arrays
    documents = documents.copy()
    for a, b, c, share in moves:
        documents[:, a] += documents[:, b]
        documents[:, b] = (1 - share) * documents[:, c]
        documents[:, c] *= share
    return documents


def sample_of(X: Any, n_topics: int) -> sparse.csr_matrix | None:
    """Return some documents of some tokens each; None of weights that are no counts.

    Documents are drawn at random; of a longer one `SAMPLE_TOKENS` tokens are left in
    the mean. Both are always the same.
    """
    n_documents = X.shape[0]
    most = min(max(LEAST_DOCUMENTS, DOCUMENTS_PER_TOPIC * n_topics), MOST_DOCUMENTS)
    rng = np.random.default_rng(0)
    chosen = np.sort(rng.choice(n_documents, min(most, n_documents), replace=False))
    sample = sparse.csr_matrix(X[chosen])
    if (sample.data != np.floor(sample.data)).any():
        return None
    lengths = np.asarray(sample.sum(axis=1, dtype=np.float64)).ravel()
    kept = np.minimum(1.0, SAMPLE_TOKENS / np.maximum(lengths, 1.0))
    kept = np.repeat(kept, np.diff(sample.indptr))
    drawn = rng.binomial(sample.data.astype(np.int64), kept)
    parts = drawn.astype(sample.dtype), sample.indices, sample.indptr
    sample = sparse.csr_matrix(parts, sample.shape)
    sample.eliminate_zeros()
    return sample
