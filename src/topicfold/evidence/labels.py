# SPDX-License-Identifier: BSD-3-Clause
"""Labels as topics: a document uses the topics of its labels and of the background.

Labeled LDA (Ramage et al. 2009) with one topic per label and none in the background,
partially labelled topics (Ramage et al. 2011) with several of either. A document whose
labels are not known may use all topics.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import expit, logsumexp, softmax
from sklearn.linear_model import LogisticRegression
from sklearn.utils import column_or_1d

from topicfold.core import saved
from topicfold.core.labels import (
    class_numbers,
    indicator_members,
    is_unknown,
    without_mask,
)
from topicfold.core.parameters import DeclaredParameters, warn_caller, whole
from topicfold.core.typing import Array
from topicfold.exceptions import DataError
from topicfold.parts.sides import Side
from topicfold.parts.steps import Context

_LISTS = list | tuple | set | frozenset | np.ndarray
# Documents, and pairs of a document and a label, that say how large the share of a
# label is where it is given.
MOST_CALIBRATED, MOST_PAIRS = 2000, 500_000
MOST_TOPICS = 1_000_000
# Ridge of the weights of what predicts the one label of a document (`Clues`).
CLUE_RIDGE = 1.0


class KnownLabels(NamedTuple):
    """Labels of documents (D, C), and which documents' labels are not known."""

    members: sparse.csr_matrix
    unknown: NDArray[np.bool_]


Clues = NDArray[np.float64]  # (D, C, 5): what each document says of each label
N_CLUES = 5


class Labels(DeclaredParameters, Side):
    """Topics of labels: ``topics_per_label`` of each, and ``n_background`` for all.

    Data
    ----
    labels : sequence of labels, of lists of labels, or a matrix of 0 and 1
        One entry per document. Unknown are None, NaN, -1 and "", and rows of -1 of a
        matrix; an empty list says that a document has none of the labels.

    Parameters
    ----------
    topics_per_label : int, default=1
        Topics of each label.
    n_background : int, default=1
        Topics that every document may use: the words that no label explains.

    Attributes
    ----------
    classes_ : ndarray of shape (n_labels,)
        The labels, in the order of their topics.
    topic_names_ : list of str
        Names of the topics: labels, then the background.
    several_ : bool
        Whether documents have any number of labels: a list had none or more than one,
        or labels came as a matrix.
    clue_weights_ : ndarray of shape (5,)
        Weights in the score of a label, learned from hidden labels, of five logarithms:
        the label's share, the likelihood of the document's words, that of its different
        words, the label's frequency, and the likelihood ratio of words that distinguish
        labels. Only with one label per document, and where hidden labels were
        predicted.

    References
    ----------
    D. Ramage, D. Hall, R. Nallapati, C. Manning (2009). Labeled LDA. EMNLP.
    D. Ramage, C. Manning, S. Dumais (2011). Partially labeled topic models for
    interpretable text mining. KDD.
    """

    data = "labels"
    hook = "mask"
    known_later = False
    topics_per_label: Annotated[int, whole(1)]
    n_background: Annotated[int, whole(0)]

    def __init__(self, topics_per_label: int = 1, n_background: int = 1) -> None:
        self._store_parameters(locals())

    def check(self, data: Any, context: Context) -> KnownLabels:
        """Return the labels as a matrix, by the classes of the fit."""
        members, classes, unknown, several = read_labels(data, context.n_documents)
        if context.fitting:
            self.classes_, self.several_ = classes, several
            used = np.asarray(members.sum(axis=0)).ravel() > 0
            if not used.all():
                self.classes_, members = classes[used], members[:, used]
            known = KnownLabels(sparse.csr_matrix(members), unknown)
        else:
            known = self._as_fitted(members, classes, unknown)
        bare = np.flatnonzero((np.diff(known.members.indptr) == 0) & ~known.unknown)
        if len(bare) and self.n_background == 0:
            raise DataError(
                f"Document {bare[0]} has no label, and there is no background topic "
                "that it could use. Give None if its labels are not known, or set "
                "n_background=1."
            )
        return known

    def _as_fitted(
        self, members: Any, classes: NDArray[Any], unknown: NDArray[np.bool_]
    ) -> KnownLabels:
        """Return labels of new documents in the columns of the fit."""
        place = {str(label): c for c, label in enumerate(self.classes_)}
        found = [place.get(str(label), -1) for label in classes]
        strange = [label for label, c in zip(classes, found, strict=True) if c < 0]
        if strange:
            shown = ", ".join(repr(str(label)) for label in strange[:5])
            warn_caller(
                f"No document of the fit had the label{'s' * (len(strange) > 1)} "
                f"{shown}{' and more' if len(strange) > 5 else ''}. "
                f"{'They are' if len(strange) > 1 else 'It is'} ignored; a document "
                "with no other label may use all topics."
            )
        chosen = sparse.csr_matrix(
            (np.ones(len(classes)), (np.arange(len(classes)), np.maximum(found, 0))),
            shape=(len(classes), len(self.classes_)),
        )
        keep = np.asarray(found) >= 0
        had = np.diff(members.indptr) > 0
        mapped = sparse.csr_matrix(members @ sparse.diags_array(1.0 * keep) @ chosen)
        mapped.eliminate_zeros()
        lost = had & (np.diff(mapped.indptr) == 0)
        return KnownLabels(mapped, unknown | lost)

    def n_topics(self, data: KnownLabels, context: Context) -> int:
        """Return one number for labels and background."""
        n_topics = len(self.classes_) * self.topics_per_label + self.n_background
        if n_topics == 0:
            raise DataError(
                "No document has a label, and n_background is 0, so there is no topic "
                "to learn."
            )
        if n_topics > MOST_TOPICS:
            raise DataError(
                f"{len(self.classes_):,} labels make {n_topics:,} topics. Give fewer "
                f"topics_per_label or n_background: {MOST_TOPICS:,} are the most."
            )
        if len(self.classes_) == 0:
            warn_caller(
                "The model was fitted without any known label, so it is LDA with "
                f"n_background={self.n_background}. Give fit(X, labels=...)."
            )
        self.topic_names_ = self.names()
        return n_topics

    def names(self) -> list[str]:
        """Return names of the topics: labels, then the background.

        The background gets another name if a label has the same one.
        """
        own = _numbered(map(str, self.classes_), self.topics_per_label)
        shared, taken = "background", set(own)
        while taken & set(_numbered([shared], self.n_background)):
            shared = f"shared {shared}"
        return own + _numbered([shared], self.n_background)

    def start(self, topics: Array, context: Context) -> Array:
        """All topics start near the corpus: the first pass makes them of the labels."""
        if len(self.classes_) == 0:
            return topics
        corpus = np.asarray(context.word_totals) + 1.0 / context.n_terms
        return np.asarray(0.8 * corpus / corpus.sum() + 0.2 * topics)

    def allowed(self, data: KnownLabels, context: Context) -> sparse.csr_matrix:
        """Return the topics of each document's labels, and those of the background."""
        n_labels, per_label = len(self.classes_), self.topics_per_label
        repeat = sparse.kron(sparse.eye_array(n_labels), np.ones((1, per_label)))
        own = data.members @ repeat if n_labels else data.members[:, :0]
        shape = context.n_documents, self.n_background
        parts = sparse.hstack([own, np.ones(shape)]) if shape[1] else own
        allowed = sparse.csr_matrix(parts)
        if data.unknown.any():
            every = sparse.csr_matrix(1.0 * data.unknown[:, None])
            allowed = allowed + every @ np.ones((1, allowed.shape[1]))
            allowed = sparse.csr_matrix(allowed)
        allowed.data[:] = 1.0
        allowed.sort_indices()
        return allowed

    # ---- labels from mixtures

    def shares(self, theta: Array) -> NDArray[np.float64]:
        """Return the share of each label (D, C) in what is not background."""
        n_labels = len(self.classes_)
        own = theta[:, : n_labels * self.topics_per_label].astype(np.float64)
        own = own.reshape(len(theta), n_labels, -1).sum(axis=2)
        totals = own.sum(axis=1, keepdims=True)
        even = np.full_like(own, 1.0 / max(n_labels, 1))
        return np.divide(own, totals, out=even, where=totals > 0)

    def clues(self, theta: Array, counts: Any, topic_counts: Array) -> Clues:
        """Return the clues that predict the one label of each document.

        `topic_counts` are the expected counts of words in the topics (K, V). A label's
        words are those of its topics and its part of the background, each word once
        more, as in naive Bayes. Likelihoods are by the root of the number of words, as
        words are not independent. In the last one words weigh by what they say of the
        label, ``Σ_c p(c|w) log(p(c|w) / p(c))``, in rows of length one.
        """
        n_labels, per_label = len(self.classes_), self.topics_per_label
        own = np.asarray(topic_counts[: n_labels * per_label], dtype=np.float64)
        own = own.reshape(n_labels, per_label, -1).sum(axis=1)
        totals = own.sum(axis=1, keepdims=True)
        frequencies = totals / max(float(totals.sum()), 1e-300)
        shared = np.asarray(topic_counts[n_labels * per_label :], dtype=np.float64)
        words = own + frequencies * shared.sum(axis=0) + 1.0
        logs = np.log(words / words.sum(axis=1, keepdims=True)).T
        ratios = logs - np.log(words.sum(axis=0) / words.sum())[:, None]
        given_word = frequencies.T * np.exp(ratios)  # p(c|w), (V, C)
        given_word /= np.maximum(given_word.sum(axis=1, keepdims=True), 1e-300)
        told = np.log(
            np.maximum(given_word, 1e-300) / np.maximum(frequencies.T, 1e-300)
        )
        told = (given_word * told).sum(axis=1)
        X = sparse.csr_matrix(counts, dtype=np.float64)
        different = X.copy()
        different.data = np.log1p(np.maximum(X.data, 0.0)) / np.log(2)
        found = [np.log(self.shares(theta) + 1e-4)]
        for matrix in (X, different):
            sizes = np.asarray(matrix.sum(axis=1)).reshape(-1, 1)
            found.append(np.asarray(matrix @ logs) / np.sqrt(np.maximum(sizes, 1.0)))
        found.append(np.tile(np.log(frequencies + 1e-3).T, (len(theta), 1)))
        different.data *= told[different.indices]
        sizes = np.sqrt(np.asarray(different.multiply(different).sum(axis=1)))
        sizes = np.maximum(sizes.reshape(-1, 1), 1e-12)
        found.append(np.asarray(different @ ratios) / sizes)
        return np.stack([part - part.mean(axis=1, keepdims=True) for part in found], 2)

    def weigh_clues(self, clues: Clues, wanted: NDArray[np.bool_]) -> None:
        """Learn the weights of clues from documents whose labels were hidden.

        A logistic regression with the same weights for all labels.
        """
        scales = np.sqrt((clues**2).mean(axis=(0, 1))) + 1e-12
        scaled, right = clues / scales, 1.0 * wanted

        def loss(weights: Array) -> tuple[float, NDArray[np.float64]]:
            scores = scaled @ weights
            value = logsumexp(scores, axis=1).sum() - (scores * right).sum()
            missed = softmax(scores, axis=1) - right
            slope = np.tensordot(missed, scaled, axes=2) + 2 * CLUE_RIDGE * weights
            return float(value + CLUE_RIDGE * (weights @ weights)), slope

        ended = minimize(loss, np.zeros(len(scales)), jac=True, method="L-BFGS-B")
        self.clue_weights_ = ended.x / scales

    def weigh_clues_of_several(
        self,
        clues: Clues,
        wanted: NDArray[np.bool_],
        frequencies: NDArray[np.float64],
    ) -> None:
        """Learn what clues weigh where documents have several labels.

        This is a logistic regression with a row for every pair of a document and a
        label: does the document have the label? Its predictors are the clues, with the
        same weights for all labels, and the log odds of the label's share of documents
        (`frequencies`). Clues are NaN for labels that were all hidden.
        """
        odds = np.log(frequencies / (1 - frequencies))
        known = ~np.isnan(clues[:, :, 0])
        given = wanted[known]
        self.clue_weights_, self.label_odds_ = np.zeros(N_CLUES), odds
        if given.any() and not given.all():
            usual = np.broadcast_to(odds, wanted.shape)[known]
            rows = np.column_stack([clues[known], usual])
            found = LogisticRegression(max_iter=500).fit(rows, given)
            self.clue_weights_ = found.coef_[0, :N_CLUES].astype(np.float64)
            self.label_odds_ = found.intercept_[0] + found.coef_[0, N_CLUES] * odds

    def calibrate(self, shares: NDArray[np.float64], wanted: NDArray[np.bool_]) -> None:
        """Learn how likely a label is, given its share of documents' own topics.

        One logistic curve of the log share for all labels; `shares` are of documents
        with the labels that are `wanted`, found without them.
        """
        given = wanted.ravel()
        logs = np.log(shares + 1e-4).reshape(-1, 1)
        self.curve_ = np.array([0.0, 1.0])
        if given.any() and not given.all():
            curve = LogisticRegression(C=1e3).fit(logs, given)
            self.curve_ = np.r_[curve.intercept_, curve.coef_[0]]

    def probabilities(
        self, theta: Array, clues: Clues | None = None
    ) -> NDArray[np.float64]:
        """Return the probability of each label (D, C).

        One label per document: rows sum to one. Several: each label by itself.
        """
        if clues is not None and self.several_:
            return np.asarray(expit(clues @ self.clue_weights_ + self.label_odds_))
        if clues is not None:
            return np.asarray(softmax(clues @ self.clue_weights_, axis=1))
        shares = self.shares(theta)
        if not self.several_:
            return shares
        score = self.curve_[0] + self.curve_[1] * np.log(shares + 1e-4)
        return np.asarray(1.0 / (1.0 + np.exp(-score)))

    def predict(self, found: NDArray[np.float64]) -> NDArray[Any]:
        """Return labels, or rows of 0 and 1 where documents have several.

        `found` are probabilities; each document has at least its most likely label.
        """
        best = found.argmax(axis=1)
        if not self.several_:
            return np.asarray(self.classes_[best])
        several = (found >= 0.5).astype(np.int64)
        several[np.arange(len(found)), best] = 1
        return several

    _saved = saved.forms(
        topic_names_=saved.texts("K"),
        several_=saved.flag,
        curve_=saved.maybe(saved.numbers("2")),
        clue_weights_=saved.maybe(saved.numbers("W")),
        label_odds_=saved.maybe(saved.numbers("C")),
    )

    def _sizes(self, sizes: Mapping[str, int]) -> dict[str, int]:
        return {**sizes, "W": N_CLUES, "C": len(self.classes_)}

    def _check_fitted(self, sizes: Mapping[str, int]) -> None:
        super()._check_fitted(sizes)
        size = len(self.classes_) * self.topics_per_label + self.n_background
        if self.classes_.ndim != 1 or size != sizes["K"]:
            raise ValueError("classes_ are not those of its topics")


def read_labels(
    data: Any, n_documents: int
) -> tuple[sparse.csr_matrix, NDArray[Any], NDArray[np.bool_], bool]:
    """Return members (D, C), the labels, unknown documents, and whether some have
    several; see `Labels` for what is taken.
    """
    names, data = getattr(data, "columns", None), without_mask(data)
    table = data.toarray() if sparse.issparse(data) else data
    if hasattr(table, "to_numpy"):  # a column of whole numbers stays one beside gaps
        column = len(getattr(table, "shape", ())) == 1
        table = np.asarray(table, dtype=object) if column else table.to_numpy()
    if not isinstance(table, _LISTS) and hasattr(table, "__array__"):
        table = np.asarray(table)
    if isinstance(table, np.ndarray) and table.ndim == 2 and table.shape[1] == 1:
        table = column_or_1d(table, warn=True)
    if isinstance(table, np.ndarray) and table.ndim == 2 and table.shape[1] > 1:
        members, classes = indicator_members(table, n_documents)
        unknown = (table == -1).any(axis=1)
        classes = classes if names is None else np.asarray([str(n) for n in names])
        known = members & ~unknown[:, None]
        return sparse.csr_matrix(1.0 * known), classes, unknown, True
    if not hasattr(table, "__iter__") or getattr(table, "ndim", 1) == 0:
        class_numbers(data, n_documents)  # says what is needed
    items = list(table)
    if not any(isinstance(item, _LISTS) for item in items):
        codes, classes = class_numbers(items, n_documents)
        rows = np.flatnonzero(codes >= 0)
        entries = (np.ones(len(rows)), (rows, codes[rows]))
        shape = n_documents, len(classes)
        return sparse.csr_matrix(entries, shape=shape), classes, codes < 0, False
    return _read_lists(items, n_documents)


def _read_lists(
    items: list[Any], n_documents: int
) -> tuple[sparse.csr_matrix, NDArray[Any], NDArray[np.bool_], bool]:
    if len(items) != n_documents:
        raise DataError(
            f"labels has {len(items)} entries for {n_documents} documents. Give a list "
            "of labels per document, None where they are not known."
        )
    lists = [list(item) if isinstance(item, _LISTS) else None for item in items]
    for row, (item, own) in enumerate(zip(items, lists, strict=True)):
        if own is None and not is_unknown(item, ()):
            raise DataError(
                f"labels has {item!r} in row {row}, and lists in other rows. Give a "
                "list in each, [] for no label and None for unknown ones."
            )
    flat = [label for own in lists if own is not None for label in own]
    codes, classes = class_numbers(flat, len(flat))
    if (codes < 0).any():
        raise DataError(
            f"labels has an unknown label ({flat[int(np.argmin(codes))]!r}) inside a "
            "list. Leave it out, or give None for the whole document."
        )
    sizes = [0 if own is None else len(own) for own in lists]
    rows = np.repeat(np.arange(n_documents), sizes)
    shape = n_documents, len(classes)
    members = sparse.csr_matrix((np.ones(len(codes)), (rows, codes)), shape=shape)
    members.data[:] = 1.0
    unknown = np.array([own is None for own in lists])
    several = bool((np.diff(members.indptr)[~unknown] != 1).any())
    return members, classes, unknown, several


def _numbered(names: Any, size: int) -> list[str]:
    if size == 1:
        return list(names)
    return [f"{name} {number + 1}" for name in names for number in range(size)]
