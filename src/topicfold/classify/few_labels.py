# SPDX-License-Identifier: BSD-3-Clause
"""A linear rule from few labels: how it is trained, chosen and calibrated.

Features are the square roots of topic mixtures and latent directions of the words (LSA,
embeddings), unit rows times a scale. A rule may train itself: its probabilities are
averaged over the document graph, the most certain documents of each class count as
labelled, and the rule becomes the mean of itself and one learned from those. Then naive
Bayes on the words learns from the probabilities of all documents, and its values are
added. The labels decide which recipe suits the corpus: each labelled document is
classified by rules that have not seen its label.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from topicfold.core.counts import pair_counts
from topicfold.core.typing import Array
from topicfold.models.base import TopicModel
from topicfold.models.fstm import FSTM
from topicfold.models.manifold import DEFAULT_ETA, LocallyConsistentPLSA
from topicfold.models.side_by_side import SideBySide
from topicfold.models.two_phase import TwoPhase
from topicfold.parts.steps import DirichletPhi

Codes = NDArray[np.int64]

SURE_SHARE = 0.3  # of the documents of a class that the rule learns from, at most …
SURE_MOST, SURE_TOTAL = 100, 1000  # … and documents of a class, and of all classes
SMOOTHING, SMOOTHINGS = 0.5, 2  # the neighbours' share in a probability; how often
COMMON_WORDS = 0.5  # the corpus's share in the words of a class
BLOCK = 10_000  # documents rated at once
WORD_ROUNDS = 2  # how often naive Bayes learns from what it helped to find


@dataclass(frozen=True)
class Recipe:
    """The features of a rule, by the scales of their blocks, and how it is trained."""

    text: str
    topics: float
    directions: float
    self_taught: bool = True
    plain: bool = False  # its topics are of the words alone

    def features(self, roots: Array, directions: Array | None) -> Array:
        """Return the features of documents, from √θ and unit rows of directions."""
        blocks = [(self.topics, roots), (self.directions, directions)]
        used = [(scale, rows) for scale, rows in blocks if scale and rows is not None]
        features, end = np.hstack([rows for _, rows in used]), 0
        for scale, rows in used:  # in place: this is the largest table there is
            begin, end = end, end + rows.shape[1]
            features[:, begin:end] *= scale
        return features

    def of(self, views: Views) -> tuple[Rows, Views]:
        """Return the features of documents, and what else a rule uses of them."""
        seen = views if self.self_taught else views._replace(graph=None)
        roots = views.plain if self.plain and views.plain is not None else views.roots
        return Rows(self, roots, views.directions), seen


@dataclass(frozen=True)
class Roots:
    """√θ of several starts, concatenated; computed only for the requested documents."""

    starts: list[Array]

    def __len__(self) -> int:
        return len(self.starts[0])

    def __getitem__(self, rows: Any) -> Array:
        theta = SideBySide.stacked([theta[rows] for theta in self.starts])
        roots: Array = np.sqrt(theta, dtype=np.float32)
        return roots


@dataclass(frozen=True)
class Rows:
    """Features, computed only for the requested documents: there is no table of all."""

    recipe: Recipe
    roots: Array | Roots
    directions: Array | None

    def __len__(self) -> int:
        return len(self.roots)

    def __getitem__(self, rows: Any) -> Array:
        beside = None if self.directions is None else self.directions[rows]
        return self.recipe.features(self.roots[rows], beside)


# The first is taken where labels cannot tell; benchmarks/results/few_labels.md.
RECIPES = (
    Recipe("topics and LSA (half weight), self-trained", 1.0, 0.5),
    Recipe("topics and LSA (double weight), self-trained", 1.0, 2.0),
    Recipe("topics and LSA, without neighbours", 1.0, 1.0, False),
)
# Where the words of neighbours agree less than this, the last is replaced by one whose
# topics have no neighbours either; with fewer labels than this, rules that teach
# themselves must agree with each other as much as this (kappa).
LITTLE_TRUST, LABELS_THAT_TELL, STEADY = 0.6, 50, 0.75
PLAIN = Recipe(
    "topics without neighbours and LSA (half weight)", *(1.0, 0.5, False, True)
)


class Views(NamedTuple):
    """The documents of a corpus as features for a rule; float32 if there are many."""

    roots: Array | Roots  # √θ
    directions: Array | None = None  # unit rows
    words: sparse.csr_matrix | None = None  # unit rows of tf-idf
    graph: sparse.csr_array | None = None  # rows sum to 1, or 0
    plain: Array | Roots | None = None  # √θ of topics without neighbours


def teach(
    features: Array | Rows, codes: Codes, graph: sparse.csr_array | None = None
) -> Any:
    """Return a classifier of the documents with a class number; -1 is unknown.

    Classes have equal weight, however many labels they have. With `graph`, whose rows
    sum to 1 or 0, it then trains itself once, with classes as frequent as it found
    them; the result is the mean of the rule from the labels and the self-trained one.
    """
    options = {"C": 10.0, "max_iter": 200, "tol": 1e-3}
    classifier = LogisticRegression(class_weight="balanced", **options)
    known = np.flatnonzero(codes >= 0)
    rule = classifier.fit(features[known].astype(np.float64), codes[known])
    unknown = codes < 0
    if graph is None or not unknown.any():
        return rule
    columns = np.searchsorted(rule.classes_, codes[known])
    found = probabilities(decisions(rule, features, rule.classes_), 1.0)
    found[known] = np.eye(len(rule.classes_))[columns]
    smooth = found
    for _ in range(SMOOTHINGS):
        smooth = graph @ smooth
        smooth *= SMOOTHING
        smooth += (1.0 - SMOOTHING) * found
    best, sure = smooth.argmax(axis=1), smooth.max(axis=1)
    most = min(SURE_MOST, max(SURE_TOTAL // len(rule.classes_), 1))
    taught = codes.copy()
    for column, code in enumerate(rule.classes_):
        rows = np.flatnonzero(unknown & (best == column))
        n_sure = min(int(np.ceil(SURE_SHARE * len(rows))), most)
        taught[rows[np.argsort(-sure[rows], kind="stable")[:n_sure]]] = code
    chosen = np.flatnonzero(taught >= 0)
    learned = features[chosen].astype(np.float64)
    second = LogisticRegression(**options).fit(learned, taught[chosen])
    for name in ("coef_", "intercept_"):
        setattr(second, name, (getattr(rule, name) + getattr(second, name)) / 2)
    return second


def decisions(rule: Any, features: Array | Rows, classes: NDArray[Any]) -> Array:
    """Return decision values (D, n_classes); a class unknown to the rule has the least.

    Block by block, so that features in float32 are never all copied to float64.
    """
    starts = range(0, max(len(features), 1), BLOCK)
    parts = [rule.decision_function(features[i : i + BLOCK]) for i in starts]
    values = np.concatenate(parts).astype(np.float64, copy=False)
    if values.ndim == 1:  # two classes: one function, positive for the second
        values = np.stack([np.zeros_like(values), values], axis=1)
    if len(rule.classes_) == len(classes):
        return values
    full = np.repeat(values.min(axis=1, keepdims=True) - 1.0, len(classes), axis=1)
    full[:, np.searchsorted(classes, rule.classes_)] = values
    return full


def smoothed(found: Array, edges: sparse.csr_array, neighbors: Array) -> Array:
    """Return the logarithms of probabilities averaged with those of neighbours.

    `edges` are weights that sum to 1 in a row, or to 0: such a row stays as it is.
    """
    share = SMOOTHING * np.asarray(edges.sum(axis=1)).ravel()[:, None]
    mixed: Array = edges @ neighbors
    mixed *= SMOOTHING
    mixed += (1.0 - share) * found
    np.maximum(mixed, 1e-12, out=mixed)
    return np.log(mixed, out=mixed)


class WordRule(NamedTuple):
    """Naive Bayes on unit rows of tf-idf: weights (C, V) and an intercept per class."""

    weights: Array
    intercepts: Array

    @classmethod
    def taught(cls, words: sparse.csr_matrix, found: Array) -> WordRule:
        """Return the rule of documents with class probabilities (D, C).

        ``log(½ p(w|c) + ½ p(w))``, less its mean over classes, which has no influence.
        """
        sums = np.asarray(found.T @ words)
        common = sums.sum(axis=0) / sums.sum()
        own = sums / np.maximum(sums.sum(axis=1, keepdims=True), 1e-300)
        mixed = (1.0 - COMMON_WORDS) * own + COMMON_WORDS * common
        logs = np.log(np.maximum(mixed, 1e-300))
        shares = np.log(np.maximum(found.mean(axis=0), 1e-12))
        return cls(logs - logs.mean(axis=0), shares)

    def values(self, words: sparse.csr_matrix) -> Array:
        """Return the values of each class for documents, from their words (D, C)."""
        said: Array = words @ self.weights.T + self.intercepts
        return said


def rated(
    rule: Any, features: Array | Rows, codes: Codes, n_classes: int, views: Views
) -> tuple[Array, Array, WordRule | None]:
    """Return values (D, C), probabilities with known labels, and the rule of words.

    Values are those of the rule or, in views with a graph, logarithms of probabilities
    by features and words, averaged with the neighbours'.
    """
    known = np.flatnonzero(codes >= 0)
    fixed = np.eye(n_classes)[codes[known]]

    def labelled(values: Array) -> Array:
        found = probabilities(values, 1.0)
        found[known] = fixed
        return found

    linear = decisions(rule, features, np.arange(n_classes))
    found, by_words = labelled(linear), None
    if views.graph is None:
        return linear, found, None
    values = smoothed(found, views.graph, found)
    if views.words is not None:
        for _ in range(WORD_ROUNDS):
            by_words = WordRule.taught(views.words, labelled(values))
            found = labelled(linear + by_words.values(views.words))
            values = smoothed(found, views.graph, found)
    return values, found, by_words


def best_temperature(values: Array, codes: Codes) -> float:
    """Return T for which ``softmax(values / T)`` fits the classes best.

    To avoid certainty from very few documents, a normal prior on log T keeps T near 1,
    with the weight of one document.
    """

    def loss(log_temperature: float) -> float:
        scores = log_softmax(values * np.exp(-log_temperature), axis=1)
        own = scores[np.arange(len(codes)), codes]
        return float(-own.sum() + 0.5 * log_temperature**2)

    return float(np.exp(minimize_scalar(loss, bounds=(-4.0, 4.0), method="bounded").x))


def log_loss(values: Array, codes: Codes) -> float:
    """Return the mean log-loss of decision values at their best temperature."""
    scores = log_softmax(values / best_temperature(values, codes), axis=1)
    return float(-scores[np.arange(len(codes)), codes].mean())


def probabilities(values: Array, temperature: float) -> Array:
    """Return class probabilities (D, C) of decision values."""
    return np.asarray(softmax(values / temperature, axis=1))


@dataclass(frozen=True)
class CrossFit:
    """Labelled documents, and the values of rules that have not seen their labels."""

    rows: NDArray[np.intp]
    codes: Codes
    values: Array

    @property
    def right(self) -> NDArray[np.bool_]:
        """Whether each document was classified correctly."""
        return np.asarray(self.values.argmax(axis=1) == self.codes)


def weighted_share(
    right: NDArray[np.bool_], codes: Codes, shares: Array
) -> tuple[float, float]:
    """Return the share found, classes weighted by `shares`, and the effective number.

    A document has the weight ``shares[c] / n_c``, where n_c is the number of documents
    of its class. The effective number of documents is ``(Σ w)² / Σ w²`` (Kish). A class
    without documents cannot be weighted.
    """
    counts = np.bincount(codes, minlength=len(shares))
    if not shares[counts > 0].sum() > 0:
        shares = counts.astype(np.float64)
    weights = (shares / np.maximum(counts, 1))[codes]
    share = float(weights @ right / weights.sum())
    return min(share, 1.0), float(weights.sum() ** 2 / (weights @ weights))


def wilson_interval(share: float, n: float) -> tuple[float, float]:
    """Return the 95 % interval of a share that was measured on n documents."""
    z = 1.959963984540054
    middle = share + z * z / (2 * n)
    half = z * np.sqrt(share * (1 - share) / n + (z / (2 * n)) ** 2)
    scale = 1 + z * z / n
    low, high = (middle - half) / scale, (middle + half) / scale
    return max(float(low), 0.0), min(float(high), 1.0)


def choose_recipe(
    recipes: tuple[Recipe, ...], views: Views, codes: Codes, parts: Codes
) -> tuple[Recipe, CrossFit | None]:
    """Return the recipe that is right most often on labels its rules did not see.

    If several are, the one with the smallest log-loss; log-loss alone favours recipes
    without self-training, which are less certain. `parts` divides the labelled
    documents. The cross-fit that is returned accounts for the choice, too: the recipe
    that classifies a part is chosen without that part. None, and the first recipe, if
    no class has two labels. With a plain recipe at the end, the neighbours are not
    trusted: then few labels cannot decide, and self-trained recipes are used only if
    their rules agree with each other on the documents without a label.
    """
    n_classes, n_labels = int(codes.max()) + 1, int((codes >= 0).sum())
    tried = [_hidden_values(recipe, views, codes, parts) for recipe in recipes]
    told = np.isfinite(tried[0][0]).all(axis=1)  # their class is known without them too
    if not told.any():
        return recipes[0], None
    if recipes[-1].plain and n_labels < LABELS_THAT_TELL:
        kept = [
            number
            for number, (_, said) in enumerate(tried)
            if recipes[number].plain or _agreement(said, n_classes) >= STEADY
        ]
        recipes = tuple(recipes[number] for number in kept)
        tried = [tried[number] for number in kept]
    rows, own = np.flatnonzero(told), codes[told]
    found = [values[told] for values, _ in tried]
    honest = np.empty((len(rows), n_classes))
    for part in np.unique(parts[told]):
        hidden = parts[told] == part
        best = 0
        if not hidden.all():
            seen = ~hidden
            best = _best([values[seen] for values in found], own[seen])
        honest[hidden] = found[best][hidden]
    return recipes[_best(found, own)], CrossFit(rows, own, honest)


def _best(found: list[Array], codes: Codes) -> int:
    """Return whose decision values are right most often, then least surprised."""
    wrong = [int((values.argmax(axis=1) != codes).sum()) for values in found]
    losses = [log_loss(values, codes) for values in found]
    return min(range(len(found)), key=lambda i: (wrong[i], losses[i]))


def _agreement(said: list[Codes], n_classes: int) -> float:
    """Return the mean of Cohen's kappa over pairs of rules; 0 for a single one.

    Also 0, where scikit-learn's is NaN, if both name the same class only.
    """
    kappas = []
    for one, other in combinations(said, 2):
        shares = pair_counts(one, other, (n_classes, n_classes)) / max(len(one), 1)
        chance = float(shares.sum(axis=0) @ shares.sum(axis=1))
        kappas.append((float(np.trace(shares)) - chance) / max(1.0 - chance, 1e-12))
    return float(np.mean(kappas)) if kappas else 0.0


def _hidden_values(
    recipe: Recipe, views: Views, codes: Codes, parts: Codes
) -> tuple[Array, list[Codes]]:
    """Return decision values of labelled documents by rules without them, else NaN.

    And the classes that each rule found for the documents without a label.
    """
    features, views = recipe.of(views)
    n_classes = int(codes.max()) + 1
    values, said = np.full((len(codes), n_classes), np.nan), []
    for part in range(int(parts.max()) + 1):
        hidden = parts == part
        seen = np.where(hidden, -1, codes)
        left = np.unique(seen[seen >= 0])
        rows = np.flatnonzero(hidden & np.isin(codes, left))
        if len(left) < 2 or not len(rows):
            continue
        rule = teach(features, seen, views.graph)
        found = rated(rule, features, seen, n_classes, views)[0]
        values[rows] = found[rows]
        said.append(found[codes < 0].argmax(axis=1))
    return values, said


def most_telling(
    features: Array, found: Array, codes: Codes, n: int
) -> NDArray[np.int64]:
    """Return documents without a label whose labels would help most, best first.

    Greedily the largest doubt times squared distance to the nearest document that has
    a label or was chosen; doubt is one less the margin of the best class.
    """
    open_rows = np.flatnonzero(codes < 0)
    top = np.sort(found[open_rows], axis=1)
    doubt = 1.0 - (top[:, -1] - top[:, -2])
    rows = features[open_rows]
    squares = np.einsum("ij,ij->i", rows, rows)

    def distances(row: Array) -> Array:
        return np.maximum(squares - 2.0 * (rows @ row) + row @ row, 0.0)

    nearest = np.full(len(open_rows), np.inf)
    for document in np.flatnonzero(codes >= 0):
        np.minimum(nearest, distances(features[document]), out=nearest)
    chosen: list[int] = []
    for _ in range(min(n, len(open_rows))):
        best = int(np.argmax(np.where(np.isin(open_rows, chosen), -1, doubt * nearest)))
        chosen.append(int(open_rows[best]))
        np.minimum(nearest, distances(rows[best]), out=nearest)
    return np.array(chosen, dtype=np.int64)


# Chosen and confirmed in benchmarks/results/few_labels_defaults.md.
FEW_PER_CLASS = 30


def default_topics(
    codes: NDArray[np.int64],
    n_components: int | None = None,
    *,
    few: bool | None = None,
    base: TopicModel | None = None,
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> TopicModel:
    """Return the topics of a `TopicClassifier` for which none were given.

    With `few` labels (None: fewer than 30 per class, and on fewer than half of the
    documents) three starts of a graph model, otherwise `TwoPhase` on `base`. `codes`
    are class numbers, -1 where unknown; the seed is fixed, so that results can be
    reproduced.

    Examples
    --------
    >>> default_topics(np.arange(200) % 2)
    TwoPhase(base=FSTM(n_components=40, random_state=0))
    """
    n_labelled, n_classes = int((codes >= 0).sum()), int(codes.max()) + 1
    if few is None:
        few = n_labelled < min(FEW_PER_CLASS * n_classes, len(codes) / 2)
    options = {
        "n_components": n_components or _n_topics(len(codes), n_classes),
        "random_state": random_state,
        "n_jobs": n_jobs,
    }
    if few:
        # More starts gain more than more iterations, and should differ.
        options |= {"transform_neighbors": True, "init": "documents", "tol": 1e-4}
        options |= {"phi_step": DirichletPhi(DEFAULT_ETA)}
        return SideBySide(LocallyConsistentPLSA(**options))
    base = (FSTM() if base is None else clone(base)).set_params(**options)
    return TwoPhase(base)


def _n_topics(n_documents: int, n_classes: int) -> int:
    """Return 100, more for many classes, fewer for few documents."""
    return max(n_classes, min(max(100, 4 * n_classes), n_documents // 5), 2)
