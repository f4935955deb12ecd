# SPDX-License-Identifier: BSD-3-Clause
"""The one learner: from expected counts to mixtures and topics, pass by pass.

A pass over the corpus multiplies a row of every document with one of every word,

    A_d = (θ(N_d) + α_d) e_d,   B_w = φ(N_w + η)

and returns expected counts N. θ and φ are the model's steps, α_d and η its priors, e_d
is the factor exp δ_dk of evidence; plain PLSA has none of α, η and e. With a mixing
``A = (MΘ) e`` and the entity of a token sums out,

    N_ak = θ_ak Σ_d M_da N_dk / (MΘ)_dk,   θ_ak ∝ N_ak + α_k

`Learner` assigns a token by A and B as they are, which is EM: with steps that do not
lower the objective, and without evidence, it never falls. `Cvb0` and `LeftOut` leave
the token's own count out, `Variational` takes expectations of logarithms of A and B
(docs/math.md §2).

The document pass that evaluates an iteration is the first half of the next one's
E-step, so an iteration costs one document pass and one word pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import psi

from topicfold.core.counts import normalize_rows
from topicfold.core.threads import even_ranges, run_ranges
from topicfold.core.typing import Array
from topicfold.engine.protocol import (
    DocumentPass,
    Engine,
    Link,
    OwnShare,
    array_module,
    corpus_fingerprint,
    pack_own,
    pack_rows,
    ranges_of,
)
from topicfold.exceptions import DataError
from topicfold.learn.loop import EM_FLOOR, Extrapolation, Point
from topicfold.learn.priors import (
    alpha_from_documents,
    dirichlet_from_mean_log,
    symmetric_from_mean_log,
)
from topicfold.learn.rearranging import AT, EVERY, LAST, Sample, swap_topics
from topicfold.parts.side_rows import SideRows, log_prior
from topicfold.parts.sides import Side, TopicWeights
from topicfold.parts.steps import (
    Context,
    Move,
    PhiStep,
    Step,
    ThetaStep,
    as_counts,
    documents_value,
    has_no_effect,
    is_plain,
    learn_from_documents,
    moved_rows,
    moved_shares,
    prepare_step,
    step_back,
    topics_value,
    update_documents,
    update_topics,
)
from topicfold.parts.together import SideData, topics_of

PRIOR_EVERY = 5
# With evidence the objective need not rise: passes over which its change is taken.
WITH_SIDES = 5
# How much of a token's own count leaves the counts of its word where it does.
OWN_WORD_SHARE = 0.5
# Rows of documents that are changed at a time, so that they stay in cache.
ROWS_IN_CACHE = 2048
# The part of itself by which an extrapolated pass of `Cvb0` may lower its objective,
# which need not rise.
CVB0_SLACK = 1e-4
# The same of `LeftOut`: with more, the covariance of correlated topics never settles.
LEFT_OUT_SLACK = 1e-6
# After the last look at the topics, mixtures may move by so many times more when a fit
# ends. RMSE of drawn mixtures and passes (draws 7 to 12 of the settings of
# benchmarks/mixtures.py): 3 .153, 42; 2 .150, 49; 1.5 .148, 57. With 1.75 they are .149
# and 52, but topics of short texts that part late stay together.
AFTER_LOOKS = 1.5
# Tokens of a topic that has lost all.
SMALLEST_TOTAL = 1e-30


class ColumnGroup(NamedTuple):
    """Columns whose topics sum to one by themselves; `side` brought them, if any."""

    columns: slice
    eta: float
    side: Side | None = None


class Learner:
    """EM with any θ-step, φ-step, priors and sides; see the module.

    Parameters
    ----------
    engine : Engine
        The corpus: X and the columns that sides added.
    phi : ndarray of shape (K, V)
        Start of the topics. Mixtures start even.
    theta_step, phi_step : ThetaStep, PhiStep or None
        How expected counts become mixtures and topics; None is plain.
    alpha, eta : ndarray of shape (K,) or None, float
        Priors of documents and of topics; None is none.
    sides, groups : SideData, sequence of ColumnGroup
        What else is known of documents; the groups of columns, X's first.
    graph, data : object
        For θ-steps that need a graph, and what the θ-step's `check` returned.
    doc_updates, doc_tol : int, float
        Most extra updates of a document in an iteration, and the change of a mixture
        that ends them.
    learn_priors : bool
        Whether priors follow the data, every `PRIOR_EVERY` iterations.
    """

    link: Link = "identity"
    #: Passes over which the change of the objective is taken; see `run_em`.
    settles_over = 1
    #: Passes before the first that is extrapolated.
    plain_first = 0
    #: Why mixtures stay although they should move; empty where they do not.
    stuck = ""
    extrapolation: Extrapolation | None = None
    #: By which topics are merged and split; and whether α is learned from it, too.
    sample: Sample | None = None
    samples_alpha = False
    #: Pass before which topics are looked at last.
    last_look = AT[-1]
    #: How much of a token's own count leaves the counts of its word where it does.
    own_word_share = OWN_WORD_SHARE
    _own: OwnShare | None = None
    _every_word: Array | None = None
    _spare_documents: Any = None
    _evaluated: tuple[Any, DocumentPass] | None = None
    _pass: Any = None  # the last `DocumentPass`
    _safe = False

    def __init__(
        self,
        engine: Engine,
        phi: Array,
        theta_step: ThetaStep | None = None,
        phi_step: PhiStep | None = None,
        *,
        alpha: NDArray[np.float64] | None = None,
        eta: float = 0.0,
        sides: SideData | None = None,
        groups: Sequence[ColumnGroup] | None = None,
        graph: Any = None,
        data: Any = None,
        doc_updates: int = 0,
        doc_tol: float = 0.0,
        learn_priors: bool = False,
    ) -> None:
        self.engine = engine
        self.theta_step = ThetaStep() if theta_step is None else theta_step
        self.phi_step = PhiStep() if phi_step is None else phi_step
        self.alpha = np.zeros(engine.n_topics) if alpha is None else alpha
        self.eta = self.word_prior = eta
        self.doc_updates, self.doc_tol = doc_updates, doc_tol
        self.learn_priors = learn_priors
        self.prior_updates: list[int] = []
        #: How far each iteration of a safeguarded step went, 1 being all the way.
        self.shares: list[float] = []
        self.known = None
        if sides is not None:
            self.known = SideRows(engine, sides.at(0, self.alpha, eta))
            self.settles_over = WITH_SIDES
        self.groups = groups or [ColumnGroup(slice(0, engine.n_terms), eta)]
        self._topic_side = None if sides is None else sides.one("topics")
        self._group_totals = np.zeros((len(self.groups), engine.n_topics))
        self._iteration = 0
        self._value = -np.inf
        self._start_topics(phi)
        self._start_documents()
        self.theta_context = Context.of(engine, self.weights, graph)
        self.theta_context.data = data
        self.phi_context = Context.of(engine, self.weights)
        prepare_step(self.theta_step, self.theta_context)
        prepare_step(self.phi_step, self.phi_context)

    def _start_topics(self, phi: Array) -> None:
        if self.known is not None:
            phi = np.array(phi)
            for columns, _, side in self.groups:
                for other in self.known.now.sides if side is None else ():
                    own = other.start(phi[:, columns], self.known.now.context)
                    phi[:, columns] = own
                phi[:, columns] = normalize_rows(phi[:, columns])
        self.weights = self.engine.pack_topics(phi)
        self._spare_topics = np.empty_like(self.weights)
        tokens = self.engine.document_lengths.sum()
        self._totals = np.full(self.engine.n_topics, tokens / self.engine.n_topics)

    def _start_documents(self) -> None:
        engine = self.engine
        shape = engine.n_documents, engine.n_topics
        self._on_simplex = self.known is None and not self.alpha.any()
        if self._on_simplex:
            even = np.full((1, engine.n_topics), 1.0 / engine.n_topics)
            self.documents = engine.pack_documents(np.broadcast_to(even, shape))
            return
        shares = (engine.document_lengths / engine.n_topics)[:, None]
        packed = engine.pack_documents(np.broadcast_to(shares, shape))
        self.documents = self._with_prior(packed, None, packed)

    # ---- one iteration

    def moved(self) -> float:
        """Return the mean share of a document's mixture that the last pass moves.

        Where passes are not extrapolated, what the θ-step learns and the objective
        decide.
        """
        learned = self.theta_step.moved()
        if self.extrapolation is None or self._pass is None:
            return learned
        rows, gather = [self.documents, self._pass.counts], self.engine.gather_rows
        if self.known is not None and self.known.own is not None:
            own, gather = self.known.own, self.known.gather
            rows += [row for row in (own.floor, own.scale) if row is not None]
        (total,) = gather(_distances, tuple(rows), (self.alpha,))
        return max(learned, float(total) / max(self.engine.n_documents, 1))

    def start(self) -> float:
        """Evaluate the start."""
        self._take_topics()
        self._value = self.evaluate()
        return self._value

    def iterate(self) -> float:
        """New topics and documents; returns the objective there."""
        if self._pass is None:
            raise RuntimeError("call start() before iterate()")
        if self.extrapolation is not None and self._iteration >= self.plain_first:
            self._value = self.extrapolation.iterate(self._value)
            return self._value
        before, old = self._value, self.documents
        self.advance()
        self._value = self._go_safely(before, old) if self._safe else self.evaluate()
        return self._value

    def advance(self) -> None:
        """New topics and documents from the counts of the last pass."""
        engine, done = self.engine, self._pass
        self._iteration += 1
        words = engine.word_pass(self.documents, self.weights, self._spare_topics)
        if self.learn_priors and self._iteration % PRIOR_EVERY == 0:
            self.prior_updates.append(self._iteration)
            self._learn_priors(done.counts, words)
        self._set_topics(words)
        self._take_topics()
        self._move_documents(done.counts)
        if self.sample is not None and self._iteration in (*AT, self.last_look):
            self._rearrange(self.sample)

    def has_free_topics(self) -> bool:
        """Whether any topics may be merged and split."""
        return self.known is None or bool(self.known.free_topics().any())

    def take_sample(self, sample: sparse.csr_matrix, *, learn_alpha: bool) -> None:
        """Merge and split topics by a sample.

        Where `learn_alpha`, α is that of the sample's topics.
        """
        least, plain = float(self.alpha.sum()), self.known is None
        self.sample = Sample(sample, least, asks_independence=plain)
        self.samples_alpha = learn_alpha
        self.learn_priors = False  # not from expected counts, too

    def _rearrange(self, sample: Sample) -> None:
        """Merge and split topics, and learn α, by a sample of tokens."""
        free = None if self.known is None else self.known.free_topics()
        topics, totals = self._joint_topics()
        asked = topics, self.alpha, self.eta, self._iteration, free
        alpha, swaps = sample.look(*asked, threads=self.engine.threads)
        independent = sample.independent
        share = OWN_WORD_SHARE + (1 - OWN_WORD_SHARE) * independent
        if share > self.own_word_share:
            self.own_word_share = share
            if self.extrapolation is not None:
                self.extrapolation.begin_again()
        if swaps and independent and self.last_look <= self._iteration < LAST:
            self.last_look = self._iteration + EVERY
        if self.samples_alpha:
            self.prior_updates.append(self._iteration)
            self.alpha = alpha
        if not swaps:
            return
        totals, alpha = totals.copy(), self.alpha.copy()
        swap_topics(topics, totals, alpha, swaps)
        if self.samples_alpha:
            self.alpha = alpha
        self._take_joint_topics(topics, totals)
        moves = [swap.move() for swap in swaps]
        if self._own is not None:
            self._own = _moved_own(self._own, moves)
        self._move_shares(moves)
        if self.known is not None:
            self.known.move(moves)
        self._take_topics()
        if self.extrapolation is not None:
            self.extrapolation.begin_again()

    def _move_shares(self, moves: list[Move]) -> None:
        engine, documents = self.engine, self.documents
        if not isinstance(documents, np.ndarray) or documents.ndim == 1:
            shared = moved_shares, moves
            self.documents = engine.map_rows(
                moved_rows, (documents,), shared, out=documents
            )
            return

        def move(start: int, stop: int) -> None:
            for rows in ranges_of(stop - start, ROWS_IN_CACHE):
                some = documents[start:stop][rows]
                some[:] = moved_shares(some, moves)

        ranges = even_ranges(engine.n_documents, engine.threads)
        run_ranges(move, ranges, engine.threads)

    def _joint_topics(self) -> tuple[Array, NDArray[np.float64]]:
        """Return topics (K, V) that sum to one over all groups, and their totals."""
        topics = self.engine.unpack_topics(self.weights)
        if len(self.groups) == 1:
            return topics, self._totals
        totals = self._group_totals.sum(axis=0)
        for group, own in zip(self.groups, self._group_totals, strict=True):
            topics[:, group.columns] *= (own / totals).astype(topics.dtype)[:, None]
        return topics, totals

    def _take_joint_topics(self, topics: Array, totals: NDArray[np.float64]) -> None:
        if len(self.groups) == 1:
            self._totals = totals
        else:
            for number, group in enumerate(self.groups):
                own = topics[:, group.columns].sum(axis=1, dtype=np.float64)
                self._group_totals[number] = own * totals
                topics[:, group.columns] = normalize_rows(topics[:, group.columns])
            self._totals = self._group_totals[0]
        self.weights = self.engine.pack_topics(topics)

    def evaluate(self) -> float:
        """Pass over the documents; return the objective."""
        if self._evaluated is not None and self._evaluated[0] is self.documents:
            self._pass = self._evaluated[1]
        else:
            prior = self.engine.pack_prior(self.alpha) if self.alpha.any() else None
            self._pass = self.engine.document_pass(
                self.documents,
                self.weights,
                prior=prior,
                out=self._spare_documents,
                **self._pass_options(),
            )
        self._evaluated = None
        return self._objective(self._pass.loglik)

    @property
    def log_likelihood(self) -> float:
        """Of the words, in the last pass; without priors, steps and evidence."""
        return float(self._pass.loglik)

    def _pass_options(self) -> dict[str, Any]:
        updates = {"max_updates": self.doc_updates, "tol": self.doc_tol}
        return {"link": self.link, **updates}

    def _go_safely(self, before: float, old: Any) -> float:
        """Go from the old documents to the new as far as the objective does not fall.

        With the new topics the old ones are never below the last objective, unless
        evidence has changed.
        """
        target = self.documents

        def accepts(documents: Any) -> bool:
            self.documents = documents
            return self.evaluate() >= before

        most = self.theta_step.max_halvings
        documents, share = step_back(target, old, accepts, most)
        self.shares.append(share)
        self.stuck = ""
        if share == 0.0:
            accepts(documents)
            if self.known is not None:
                self.stuck = self.known.contradiction(self.theta_step, target, old)
        return self.theta_context.objective

    def point(self) -> Point:
        """Return where the next pass begins."""
        return Point(self.documents, self.weights)

    def move_to(self, point: Point) -> None:
        """Let the next pass begin there; topics sum to one in each group."""
        if len(self.groups) > 1:
            topics = self.engine.unpack_topics(point.topics)
            for group in self.groups:
                topics[:, group.columns] = normalize_rows(topics[:, group.columns])
            point = point._replace(topics=self.engine.pack_topics(topics))
        self.documents, self.weights = point
        self._take_topics()

    def extrapolated(self) -> Self:
        """Extrapolate the passes of plain PLSA, with priors or not; returns self.

        Those of orthogonal topics, too. With a graph, fits settle in few passes, and
        extrapolated ones at a worse optimum as often as at a better one.
        """
        plain = has_no_effect(self.theta_step, self.theta_context) and (
            self.phi_step.extrapolates or has_no_effect(self.phi_step, self.phi_context)
        )
        if plain and self.known is None and not self.alpha.any():
            self.extrapolation = Extrapolation(self, floor=EM_FLOOR)
        return self

    def _learn_priors(self, counts: Any, words: Array) -> None:
        self.alpha = alpha_from_documents(self.engine, counts, self.alpha)

    # ---- documents

    def _move_documents(self, counts: Any) -> None:
        """The joint M-step: documents move by the responsibilities of the topics."""
        old = self.documents
        if self.known is not None:
            self.known.learn(counts, self._iteration, self.alpha, self.eta)
        new, self._on_simplex = self._stepped(counts)
        safe = self._safe = self.theta_step.safeguarded and self._on_simplex
        if self.known is not None or self.alpha.any():
            if self._on_simplex:
                new = as_counts(new, self.engine)
            new = self._with_prior(new, counts, None if safe else old)
            self._on_simplex = False
        self.documents = new
        if new is not counts:
            self._spare_documents = counts
        else:
            self._spare_documents = None if safe else old

    def _with_prior(self, rows: Any, counts: Any, out: Any) -> Any:
        """Return ``(rows + α) e``; without counts, there is no evidence yet."""
        if self.known is not None:
            return self.known.weights(rows, counts, out)
        return self.engine.add_prior(rows, self.engine.pack_prior(self.alpha), out)

    def _stepped(self, counts: Any) -> tuple[Any, bool]:
        """Return what the θ-step makes of counts, and whether it is on the simplex."""
        engine, step, context = self.engine, self.theta_step, self.theta_context
        if is_plain(step) and not step.pseudo_count:
            return counts, False
        theta, on_simplex = self._theta(self.documents)
        own = None if self.known is None else self.known.own

        def evaluate(rows: Array) -> DocumentPass:
            packed = pack_rows(rows, engine, theta)
            if own is not None and own.scale is not None:
                packed = packed * own.scale
            self._evaluated = packed, engine.document_pass(packed, self.weights)
            return self._evaluated[1]

        context.evaluate = evaluate
        kept = self.known is not None  # evidence is of the counts
        new, made = update_documents(step, counts, theta, context, on_simplex, kept)
        context.evaluate = None  # it holds the old mixtures
        learn_from_documents(step, counts, new, context, made)
        return new, made

    def _theta(self, documents: Any) -> tuple[Any, bool]:
        """Return packed mixtures without evidence, and whether rows sum to one."""
        if self.known is None:
            return documents, self._on_simplex
        return self.known.without_evidence(documents), False

    # ---- topics

    def _set_topics(self, words: Array) -> None:
        """Make the topics of packed counts, in the same array."""
        if self.word_prior > 0 or self.known is not None:
            prior = self.word_prior * self.engine.n_terms
            self._totals = self.engine.topic_totals(words) + prior
        topics = self._topics_from(words)
        self._spare_topics, self.weights = self.weights, topics

    def _topics_from(self, words: Array) -> Array:
        if len(self.groups) > 1 or self._topic_side is not None:
            return self._grouped_topics(words)
        if self.eta > 0:
            if is_plain(self.phi_step) and not self.phi_step.pseudo_count:
                return self.engine.normalize_topics(words, self.eta, words)
            words[:, : self.engine.n_topics] += words.dtype.type(self.eta)
        return update_topics(self.phi_step, words, self.weights, self.phi_context)

    def _grouped_topics(self, words: Array) -> Array:
        """Return topics that sum to one in each group, or are made by a side."""
        counts = self.engine.unpack_topics(words)
        weights = np.empty_like(counts)
        made = []
        for number, group in enumerate(self.groups):
            columns, eta = group.columns, self._eta(group)
            own = counts[:, columns].T
            if group.side is None and self._topic_side is not None and self.known:
                found = topics_of(self._topic_side[0], own, eta, self.known.now.context)
            else:
                found = plain_topics(own, eta)
            weights[:, columns] = found.weights.T
            size = columns.stop - columns.start
            totals = own.sum(axis=0, dtype=np.float64)
            self._group_totals[number] = totals + eta * size
            made.append((size, found))
        self._totals = self._group_totals[0]
        self._own = _joined_share(made, self.own_word_share)
        if self.engine.packs_allowed:  # it keeps no words that documents do not read
            self._every_word = weights
        return self.engine.pack_topics(weights)

    def _eta(self, group: ColumnGroup) -> float:
        return self.eta if group.side is None else group.eta

    def _own_share(self) -> OwnShare:
        """Return what a token adds to its word's weight, and what always stays."""
        if self._own is not None:
            return pack_own(self.engine, self._own)
        pack = self.engine.pack_prior
        totals = np.maximum(self._totals, np.finfo(np.float32).tiny)
        scale, floor = self.own_word_share / totals, self.word_prior / totals
        return OwnShare(pack(scale), pack(floor))

    def _take_topics(self) -> None:
        """Tell the steps of the topics that count from now on."""
        context = self.theta_context
        value = topics_value(self.phi_step, self.weights, self.phi_context)
        context.topics_value = value
        context.topics = self.phi_context.topics = self.weights[
            :, : self.engine.n_topics
        ]

    # ---- the objective

    def _objective(self, loglik: float) -> float:
        context, value = self.theta_context, loglik
        if type(self.theta_step).value is not ThetaStep.value:
            theta, on_simplex = self._theta(self.documents)
            value += documents_value(self.theta_step, theta, context, on_simplex)
        value += context.topics_value
        value += self._priors_value()
        if self.known is not None:
            value += self.known.value(self._pass.counts)
        context.objective = float(value)
        return context.objective

    def _priors_value(self) -> float:
        """Return ``Σ α_dk log θ_dk + Σ η log φ_kw``."""
        if not self.alpha.any():
            return 0.0
        engine, known = self.engine, self.known
        if known is None:
            log_theta = engine.log_totals(self.documents, 0.0)
            log_norm = np.log(engine.document_lengths + self.alpha.sum()).sum()
            value = float(self.alpha @ (log_theta - log_norm))
        else:
            value = known.prior_value(self.documents, self.alpha)
        return value + self._topics_prior_value()

    def _topics_prior_value(self) -> float:
        if len(self.groups) == 1:
            return float(self.eta * self.engine.log_totals(self.weights, 0.0).sum())
        topics = self.engine.unpack_topics(self.weights)
        return sum(
            self._eta(group) * log_prior(topics[:, group.columns], 1.0)
            for group in self.groups
        )

    # ---- results

    def topics(self) -> Array:
        """Topics over the columns of X (K, V), rows on the simplex."""
        return self.group_topics()[0]

    def group_topics(self) -> list[Array]:
        """Topics over each group of columns, those of X first."""
        topics = self._every_word
        if topics is None:
            topics = self.engine.unpack_topics(self.weights)
        return [normalize_rows(topics[:, g.columns]) for g in self.groups]

    def topic_totals(self) -> NDArray[np.float64]:
        """Tokens of each topic, its prior's included."""
        return self._totals

    def doc_topics(self) -> Array:
        """Mixtures (D, K); with a prior, uniform where there are no words."""
        known, engine = self.known, self.engine
        if known is not None and (known.own is not None or known.mixing is not None):
            return known.doc_topics(self.documents)
        theta = engine.mixtures(self.documents)
        if self.alpha.any():
            theta[engine.document_lengths == 0] = 1.0 / engine.n_topics
        return theta

    def kkt_residual(self) -> float | None:
        """Return how far the last pass is from a maximum; None where it is not known.

        With g the gradient of what steps add to the objective, it is the largest of
        ``|N_dk + θ_dk g_dk − θ_dk Σ_j(N_dj + θ_dj g_dj)| / n_d`` and the same of words
        in topics: the residual of the conditions of a maximum, weighted by the entry,
        as one at zero may be smaller. Without steps it is what another EM step would
        change an entry by.
        """
        prior = self.alpha.any() or self.eta
        if self._pass is None or self.known or prior:
            return None
        of_documents = _pull(self.theta_step, self.documents, self.theta_context)
        of_words = _pull(self.phi_step, self.weights, self.phi_context)
        if of_documents is None or of_words is None or self.theta_step.pseudo_count:
            return None
        largest = self._residual_of_documents(of_documents)
        return max(largest, self._residual_of_words(of_words))

    def _residual_of_documents(self, pull: Array | float) -> float:
        engine, counts = self.engine, self._pass.counts
        if isinstance(pull, float):
            (most,) = engine.gather_rows(_residual_rows, (self.documents, counts))
            return float(most)
        used = slice(0, engine.n_topics)
        return _largest_residual(self.documents[:, used], counts[:, used], pull, 1)

    def _residual_of_words(self, pull: Array | float) -> float:
        engine = self.engine
        words = engine.word_pass(self.documents, self.weights, self._spare_topics)
        if not isinstance(pull, float) or pull > 0:
            used = slice(0, engine.n_topics)
            return _largest_residual(self.weights[:, used], words[:, used], pull, 0)
        totals = engine.topic_totals(words)
        scale = engine.pack_prior(
            np.divide(1.0, totals, where=totals > 0, out=0 * totals)
        )
        largest = 0.0
        for own in ranges_of(len(words)):  # in cache
            change = words[own] * scale
            change -= self.weights[own] * (scale > 0)
            largest = max(largest, float(abs(change).max()))
        return largest

    def keep_results(self) -> None:
        """Give every side what was learned for it."""
        if self.known is None:
            return
        if len(self.groups) > 1:
            for group, topics in zip(self.groups, self.group_topics(), strict=True):
                if group.side is not None:
                    group.side.components_ = topics  # type: ignore[attr-defined]
        self.known.finish(self.documents, self._iteration, self.alpha, self.eta)

    def free_scratch(self) -> None:
        """Let go of what only another iteration would need."""
        self._spare_topics = np.empty((0, 0), self.engine.dtype)
        self._pass = self.extrapolation = self._spare_documents = None
        self._evaluated = None

    # ---- going on later

    def fingerprint(self) -> dict[str, Any]:
        """Tell this corpus, and what is known of its documents, from others."""
        own = {} if self.known is None else self.known.now.fingerprint()
        engine, tokens = self.engine, self.engine.document_lengths.sum()
        shape = engine.n_documents, engine.n_terms
        return {**corpus_fingerprint(shape, engine.n_topics, tokens), **own}

    def state(self) -> dict[str, Any]:
        """Return what `restore` needs to go on from here."""
        check_resumable(self.theta_step)
        topics = self._every_word
        if topics is None:
            topics = self.engine.unpack_topics(self._packed_topics())
        state: dict[str, Any] = {
            "topics": topics,
            "totals": self.topic_totals(),
            "documents": self.documents,
            "alpha": self.alpha,
            "eta": self.eta,
            "own_word_share": float(self.own_word_share),
            "last_look": self.last_look,
            "iteration": self._iteration,
            "prior_updates": list(self.prior_updates),
            **carried(self.theta_step, "side theta_step"),
            **carried(self.phi_step, "phi_step"),
            **({} if self.extrapolation is None else self.extrapolation.state()),
            **({} if self.known is None else self.known.state()),
        }
        if self._own is not None:
            state |= {"own_scale": self._own.scale, "own_floor": self._own.floor}
        return state

    def restore(self, state: dict[str, Any]) -> float:
        """Go on from a `state`; returns the objective there."""
        self.alpha, self.eta = state["alpha"], float(state["eta"])
        self._iteration = int(state["iteration"])
        self.own_word_share = float(state["own_word_share"])
        self.last_look = int(state["last_look"])
        self.prior_updates = list(state["prior_updates"])
        if (state["totals"] < 0.5 * self.eta).any():
            raise ValueError("totals are below the prior of the topics")
        steps = {"side theta_step": self.theta_step, "phi_step": self.phi_step}
        for prefix, step in steps.items():
            for name in carried(step, prefix):
                setattr(step, name.rpartition(" ")[2], state[name])
        self._restore_own(state)
        if self.known is not None:
            self.known.restore(state, self._iteration, self.alpha, self.eta)
        self._adopt_documents(state["documents"])
        self._totals = state["totals"]
        stepped = type(self.theta_step).update is not ThetaStep.update
        self._on_simplex = self._on_simplex and stepped
        self._adopt_topics(self.engine.pack_topics(state["topics"]))
        if self._every_word is not None:
            self._every_word = state["topics"]
        self._take_topics()
        doc_updates, self.doc_updates = self.doc_updates, 0
        try:
            self._value = self.evaluate()
        finally:
            self.doc_updates = doc_updates
        if self.extrapolation is not None and self._iteration > self.plain_first:
            self.extrapolation.restore(state)
        return self._value

    def _restore_own(self, state: dict[str, Any]) -> None:
        if self.known is None:
            return
        self._topics_from(np.zeros_like(self._spare_topics))  # for the form of `_own`
        if self._own is None:
            return
        own = state["own_scale"], state["own_floor"]
        form = {(array.shape, array.dtype.char) for array in own}
        if form != {(np.shape(self._own.scale), "d")} or not np.min(own) >= 0:
            raise ValueError("own_scale or own_floor is invalid")
        self._own = self._own._replace(scale=own[0], floor=own[1])

    def _packed_topics(self) -> Array:
        """What the topics are made of: themselves, or counts."""
        return self.weights

    def _adopt_documents(self, packed: Any) -> None:
        self.documents = packed

    def _adopt_topics(self, packed: Array) -> None:
        self.weights = packed


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
        settled = self.sample is not None and self._iteration > self.last_look
        return super().moved() / (AFTER_LOOKS if settled else 1.0)

    def _priors_value(self) -> float:
        return 0.0


class LeftOut(Learner):
    """EM with a token's own share left out; after `last` passes topics stay.

    A part of a token's count leaves the counts of its word, as in `Cvb0`. To θ_dk of
    its document, a token that is of topic k with p_k adds about
    ``p_k θ_dk / (n θ_dk + s_k)``, with s the θ-step's `stiffness`: this leaves, too.
    With it a token would pull its document to its own topic, and short documents the
    topics to their words.

    Topics then fit the words of new documents better, but the objective need not rise.
    Once topics stay, mixtures and what the θ-step learns go on by EM, and it never
    falls. The φ-step makes topics as ``(N_wk + η) / (N_k + Vη)``, with η the
    `word_prior`.
    """

    def __init__(
        self, *args: Any, word_prior: float, last: int, **options: Any
    ) -> None:
        super().__init__(*args, **options)
        self.word_prior, self.last = word_prior, last
        shape = self.engine.n_documents, self.engine.n_topics
        nothing = np.broadcast_to(np.zeros(1), shape)
        pack = self.engine.pack_documents
        self._share, self._floor = pack(nothing), pack(nothing)

    def iterate(self) -> float:
        """New documents, and topics as long as they are learned."""
        if self._iteration < self.last:
            return super().iterate()
        done = self._pass
        self._iteration += 1
        self._move_documents(done.counts)
        self._value = self.evaluate()
        return self._value

    def _pass_options(self) -> dict[str, Any]:
        # The start has no counts of tokens yet.
        if not 0 < self._iteration < self.last:
            return super()._pass_options()
        stiffness = self.theta_step.stiffness()  # type: ignore[attr-defined]
        self._share = self.engine.map_rows(
            _own_rows, (self.documents,), (stiffness,), out=self._share
        )
        kept = OwnShare(self._share, self._floor)
        return {"link": "collapsed", "own": self._own_share(), "documents": kept}

    def extrapolated(self) -> Self:
        """Extrapolate the passes, whatever the steps; returns self."""
        self.extrapolation = Extrapolation(self, LEFT_OUT_SLACK)
        return self

    def moved(self) -> float:
        """Return how far the last pass moved what is learned.

        Mixtures at their modes are not the shares that the last pass expects.
        """
        return np.inf if self._iteration <= self.last else self.theta_step.moved()

    def free_scratch(self) -> None:
        """Let go of what only another iteration would need."""
        super().free_scratch()
        self._share = self._floor = np.empty((0, 0), self.engine.dtype)


class Variational(Learner):
    """Batch variational Bayes (Blei et al. 2003); the objective is the ELBO.

    The bound never falls, even if the priors are learned: they maximise it.

    A word that has left a topic hardly comes back, as ``exp ψ(η)`` is next to nothing.
    The first passes, from even mixtures, go far, and further ones in their direction
    would lose words that the topic needs: they are plain.
    """

    link: Link = "digamma"
    # Default end less the end of 200 plain passes, nats per token, means of 14 fits of
    # real corpora: 0 -.0005, 1 .0002, 2 .0003, 3 .0002, 4 .0001.
    plain_first = 2
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
            rows = self._weighted, self.documents, self._pass.counts
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


class _Largest(float):
    """A number whose sum with another is the larger one, for `gather_rows`."""

    def __add__(self, other: float) -> _Largest:
        return _Largest(max(self, other))


def _pull(step: Any, packed: Array, context: Context) -> Any:
    """Return entries times the gradient of what a step adds; None if not known."""
    if has_no_effect(step, context):
        return float(step.pseudo_count)
    if type(step).pull is Step.pull:
        return None  # documents may be in blocks
    return step.pull(packed[:, : context.corpus.n_topics], context)


def _largest_residual(
    rows: Array, counts: Array, pull: Array | float, axis: int
) -> float:
    """Return the largest residual of rows or columns that have counts."""
    totals = counts.sum(axis=axis, keepdims=True)
    whole = counts + pull
    whole -= rows * whole.sum(axis=axis, keepdims=True)
    xp = array_module(rows)
    return float((abs(whole) * (totals > 0) / xp.where(totals > 0, totals, 1)).max())


def _residual_rows(
    rows: slice, lengths: Any, arrays: list[Array], data: Any
) -> tuple[float]:
    """Return the largest ``|N_dk / n_d − θ_dk|`` of documents that have words."""
    theta, counts = arrays
    sizes = [array.sum(axis=1, keepdims=True) for array in arrays]
    used = (sizes[0] > 0) & (sizes[1] > 0)
    if not used.any():
        return (_Largest(0.0),)
    change = counts / np.where(used, sizes[1], 1) - theta / np.where(used, sizes[0], 1)
    return (_Largest(abs(change * used).max()),)


def _distances(
    rows: slice, lengths: Any, arrays: list[Array], data: Any, alpha: Any
) -> tuple[float]:
    """Return ``½ Σ_dk |θ_dk − θ'_dk|`` of mixtures before and after a pass.

    Documents may have rows of their own: a prior in place of α, and evidence.
    """
    before, counts, *own = arrays
    xp = array_module(before)
    prior = own[0] if own else xp.asarray(alpha.astype(counts.dtype))
    after = (counts * own[1] if len(own) > 1 else counts) + prior
    totals = after.sum(axis=1, keepdims=True)
    used = totals > 0  # a document without words has no mixture of its own
    after /= xp.where(used, totals, 1)
    sizes = before.sum(axis=1, keepdims=True)
    after -= before * used / xp.where(sizes > 0, sizes, 1)
    return (float(xp.abs(after).sum(dtype=np.float64)) / 2,)


def _own_rows(
    rows: slice, lengths: Any, arrays: list[Array], data: Any, stiffness: Any
) -> Array:
    """Return what a token adds to θ of its document: never more than there is."""
    theta = arrays[0]
    xp = array_module(theta)
    firm = xp.asarray(lengths)[:, None] * theta + xp.asarray(stiffness)
    share = theta / xp.maximum(firm, 1.0)
    return share.astype(theta.dtype)  # type: ignore[no-any-return]


def plain_topics(counts: Array, eta: float) -> TopicWeights:
    """Return ``(N_wk + η) / (N_k + Vη)`` of counts (n_words, K)."""
    totals = counts.sum(axis=0, dtype=np.float64) + eta * len(counts)
    totals = np.where(totals > 0, totals, 1.0)
    weights = (counts + eta) / totals
    return TopicWeights(weights, 1.0 / totals, eta / totals)


def _moved_own(own: OwnShare, moves: list[Move]) -> OwnShare:
    """Return what a token adds to topics that have moved: the less, the larger."""
    scale, floor = own.scale.copy(), own.floor.copy()
    for a, b, c, share in moves:
        part = scale[:, b] / np.maximum(scale[:, a] + scale[:, b], 1e-300)
        for rows in (scale, floor):
            rows[:, a] *= part
            rows[:, b] = rows[:, c] / (1 - share)
            rows[:, c] /= share
    return own._replace(scale=scale, floor=floor)


def _joined_share(made: list[tuple[int, TopicWeights]], part: float) -> OwnShare:
    """Return the own share of the words of all groups, by column."""
    scales, floors, groups, first = [], [], [], 0
    for size, found in made:
        scale, floor = np.atleast_2d(found.scale), np.atleast_2d(found.floor)
        own = np.zeros(size, np.int32) if found.groups is None else found.groups
        scales.append(part * scale)
        floors.append(floor)
        groups.append(own + first)
        first += len(scale)
    return OwnShare(
        np.concatenate(scales), np.concatenate(floors), np.concatenate(groups)
    )


def carried(step: Step, prefix: str) -> dict[str, Any]:
    """Return the numbers that a step has learned, by names of a state."""
    return {
        f"{prefix} {attribute}": value
        for attribute, value in step._learned().items()
        if isinstance(value, np.ndarray | float) and np.asarray(value).dtype.kind == "f"
    }


def check_resumable(step: ThetaStep) -> None:
    """Refuse to keep the state of a fit whose θ-step has one of its own."""
    if step.needs_graph or step.needs_all_documents:
        raise DataError(
            f"{type(step).__name__} keeps a state between iterations, so Resume cannot "
            "save it: Resume works with steps that see some documents at a time."
        )
