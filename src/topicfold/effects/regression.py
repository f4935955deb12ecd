# SPDX-License-Identifier: BSD-3-Clause
"""Least squares of several outcomes on one design, and the pooling of draws.

Outcomes are shares of topics, their sums and differences. Every draw of the mixtures
gives coefficients and their covariance; Rubin's rules pool them: the total variance is
the mean within draws plus 1 + 1/m times that between.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from topicfold.core.threads import one_blas_thread
from topicfold.core.typing import Doubles
from topicfold.exceptions import DataError
from topicfold.topic_data import row_of


@dataclass(frozen=True)
class Outcome:
    """A weighted sum of topic shares."""

    name: str  # such as "3", "1 + 4" or one of the user
    words: str  # the topics' names or words
    weights: NDArray[np.float64]  # of the topics, (K,)


def make_outcomes(topics: Any, names: Mapping[int, str]) -> list[Outcome]:
    """Return the outcomes that `topics` asks for; `names` are those of the topics.

    Topics have numbers, which edits leave as they were; `names` are in their order.
    None is every topic; a number or name is one; ``"1 + 4"`` and ``"1 - 4"`` are a sum
    and a difference; a list has several of these. A mapping has names that you choose
    and lists of topics to add, or mappings from topics to weights.
    """
    if topics is None:
        return [_outcome(str(number), {number: 1.0}, names) for number in names]
    if isinstance(topics, Mapping):
        found = [_named(str(name), given, names) for name, given in topics.items()]
    elif isinstance(topics, str) or not hasattr(topics, "__iter__"):
        found = [_single(topics, names)]
    else:
        found = [_single(topic, names) for topic in topics]
    if not found:
        raise DataError("topics is empty. Give the numbers of topics, or None for all.")
    return found


def _named(name: str, given: Any, names: Mapping[int, str]) -> Outcome:
    if isinstance(given, Mapping):
        weights = {_number(k, names): _weight(w, name) for k, w in given.items()}
    elif isinstance(given, str) or not hasattr(given, "__iter__"):
        weights = _expression(given, names)
    else:
        numbers = [_number(k, names) for k in given]
        if len(set(numbers)) < len(numbers):
            raise DataError(f"{name!r} has a topic twice. Name each topic once.")
        weights = dict.fromkeys(numbers, 1.0)
    return _outcome(name, weights, names)


def _weight(given: Any, name: str) -> float:
    if not isinstance(given, int | float | np.number) or not np.isfinite(given):
        raise DataError(
            f"the outcome {name!r} gives a topic the weight {given!r}. Give a number."
        )
    return float(given)


def _single(given: Any, names: Mapping[int, str]) -> Outcome:
    weights = _expression(given, names)
    parts = [f"{'-' if w < 0 else '+'} {k}" for k, w in weights.items()]
    return _outcome(" ".join(parts).removeprefix("+ "), weights, names)


def _expression(given: Any, names: Mapping[int, str]) -> dict[int, float]:
    """Return the weights of a topic, or of a sum or difference such as "1 + 4"."""
    if isinstance(given, str) and given not in names.values():
        parts = re.findall(r"([+-]?)\s*(\d+)", given)
        if parts and re.fullmatch(r"\s*\d+(\s*[+-]\s*\d+)*\s*", given):
            signs = [(-1.0 if sign == "-" else 1.0) for sign, _ in parts]
            numbers = [_number(int(number), names) for _, number in parts]
            if len(set(numbers)) < len(numbers):
                raise DataError(f"{given!r} has a topic twice. Name each topic once.")
            return dict(zip(numbers, signs, strict=True))
    return {_number(given, names): 1.0}


def _number(topic: Any, names: Mapping[int, str]) -> int:
    named = [number for number, name in names.items() if name == topic]
    if len(named) > 1:
        listed = ", ".join(map(str, named))
        raise DataError(f"topics {listed} all have the name {topic!r}. Give a number.")
    if named:
        return named[0]
    whole = isinstance(topic, int | np.integer) and not isinstance(topic, bool)
    if not whole:
        raise DataError(
            f"there is no topic {topic!r}. Give its number, its name, or a sum or "
            "difference such as '1 + 4'."
        )
    numbers = list(names)
    return numbers[row_of(topic, numbers)]


def _outcome(
    name: str, weights: Mapping[int, float], names: Mapping[int, str]
) -> Outcome:
    row = np.array([weights.get(number, 0.0) for number in names])
    if np.ptp(row) == 0:
        raise DataError(
            f"the outcome {name!r} gives all topics the same weight, and their shares "
            "always have the same sum. Leave some topics out."
        )
    words = " | ".join(
        f"{'minus ' if weight < 0 else ''}"
        f"{'' if abs(weight) == 1 else f'{abs(weight):g} × '}{names[topic]}"
        for topic, weight in weights.items()
    )
    return Outcome(name, words, row)


COVARIANCES = ("HC3", "HC1", "classical")
# Coefficients times columns up to which pairs of clusters are looked at for the degrees
# of freedom: they matter where clusters are few, and so are the columns.
MOST_PAIRED = 1500
# Degrees of freedom below which an interval is the wider of HC3's and that of equal
# variances. Shares are skewed: the few documents of a small group often all lack a
# topic, and their own spread is then nearly nothing.
FEW_DOCUMENTS = 100


class LeastSquares:
    """Weighted least squares on a design (D, p) of full rank, with covariances.

    The covariance of coefficients is robust to unequal variances (HC3 also to few
    documents, HC1 is what most programs report), or "classical", with one variance for
    all. Documents of one cluster are not independent: HC3 is then the jackknife over
    clusters (CV3); otherwise scores are added up within clusters (CR1). `free` is the
    largest number of degrees of freedom that a covariance can have, `freedom` the
    number that it has.
    """

    def __init__(
        self,
        design: Doubles,
        *,
        weights: Doubles | None = None,
        covariance: str = "HC3",
        clusters: NDArray[np.integer] | None = None,
    ) -> None:
        self.design = design
        n, p = design.shape
        own = np.ones(n) if weights is None else weights
        root = np.sqrt(own)[:, None]
        with one_blas_thread():
            left, sizes, right = np.linalg.svd(design * root, full_matrices=False)
            self.solve = (right.T / sizes) @ (left * root).T
            self.bread = (right.T / sizes**2) @ right
            self.left, self.back = left * root, right.T / sizes
        self.rows = left
        self.leverage = (left**2).sum(axis=1)
        self.weights = own
        self.covariance, self.clusters = covariance, clusters
        self.n_clusters = 0 if clusters is None else len(np.unique(clusters))
        self.free = float(n - p if clusters is None else self.n_clusters - 1)
        self._freedoms: dict[bytes, float] = {}
        if clusters is not None:
            self.shares = cluster_shares(left, clusters, self.n_clusters)
            whole = np.broadcast_to(np.eye(p), self.shares.shape)
            decided = self.shares if covariance == "HC3" else 0.0
            self.without = np.linalg.inv(whole - decided)

    def fit(self, outcomes: Doubles) -> tuple[Doubles, Doubles]:
        """Return coefficients (p, R) and their covariances (R, p, p)."""
        with one_blas_thread():
            coefficients = self.solve @ outcomes
            rest = outcomes - self.design @ coefficients
            return coefficients, self._covariances(rest)

    def freedom(self, chosen: Doubles) -> float:
        """Return the degrees of freedom of the covariance of ``chosen @ b`` (k, p).

        Those of Satterthwaite, of several coefficients of Pustejovsky and Tipton
        (2018), as if errors were independent with equal variances. They are fewer than
        documents or clusters if a few of these decide the coefficients.
        """
        key = chosen.tobytes()
        if key not in self._freedoms:
            with one_blas_thread():
                self._freedoms[key] = self._freedom(np.atleast_2d(chosen))
        return self._freedoms[key]

    def _freedom(self, chosen: Doubles) -> float:
        back, k = chosen @ self.back, len(chosen)
        if (self.covariance == "classical" and self.clusters is None) or not back.any():
            return self.free
        if self.clusters is None:
            own = self.rows @ back.T
            left = 1 - self.leverage
            scale = 1 / left if self.covariance == "HC3" else left
            whole = (own.T * scale) @ own
            sizes = scale * (own * np.linalg.solve(whole, own.T).T).sum(axis=1)
            spread = 2 * float((sizes**2).sum())
        else:
            spread = self._cluster_spread(back)
        return min(k * (k + 1) / spread, self.free)

    def _cluster_spread(self, back: Doubles) -> float:
        """Return the summed variance of the covariance's entries, its mean being I."""
        each = back @ self.without
        inside = self.shares - self.shares @ self.shares
        whole = (each @ inside @ each.transpose(0, 2, 1)).sum(axis=0)
        each = np.linalg.solve(np.linalg.cholesky(whole), each)  # (clusters, k, p)
        own = each @ inside @ each.transpose(0, 2, 1)
        spread = _spread(own)
        k, p = back.shape
        if k * p <= MOST_PAIRED:
            # Residuals of two clusters have the covariance -U_g U_h'.
            left = each @ self.shares
            pairs = np.tensordot(left, left, (0, 0))  # (k, p, k, p)
            spread += float((pairs**2).sum() + (pairs * pairs.swapaxes(0, 2)).sum())
            spread -= _spread(left @ left.transpose(0, 2, 1))
        return spread

    def _covariances(self, rest: Doubles) -> Doubles:
        n, p = self.design.shape
        if self.clusters is not None:
            return self._clustered(rest, self.clusters)
        if self.covariance == "classical":
            variance = (self.weights[:, None] * rest**2).sum(axis=0) / (n - p)
            return variance[:, None, None] * self.bread
        if self.covariance == "HC3":
            rest = rest / (1 - self.leverage)[:, None]
            scale = 1.0
        else:
            scale = n / (n - p)
        return np.stack([scale * (self.solve * r**2) @ self.solve.T for r in rest.T])

    def _clustered(self, rest: Doubles, clusters: NDArray[np.integer]) -> Doubles:
        """Return covariances from what each cluster adds to the coefficients."""
        n, p = self.design.shape
        groups = self.n_clusters
        sums = np.zeros((rest.shape[1], groups, p))
        for column, own in zip(rest.T, sums, strict=True):
            np.add.at(own, clusters, self.left * column[:, None])
        # With HC3, what the coefficients lose if the cluster is left out.
        sums = np.einsum("gij,rgj->rgi", self.without, sums)
        scale = (groups - 1) / groups
        if self.covariance != "HC3":
            scale = groups / (groups - 1) * (n - 1) / (n - p)
        sums = sums @ self.back.T
        return np.asarray(scale * np.matmul(sums.transpose(0, 2, 1), sums))


def _spread(parts: Doubles) -> float:
    """Return ``Σ_g tr(C_g)² + tr(C_g²)``."""
    traces = np.trace(parts, axis1=1, axis2=2)
    return float((traces**2).sum() + (parts * parts.transpose(0, 2, 1)).sum())


def cluster_shares(left: Doubles, clusters: NDArray[Any], groups: int) -> Doubles:
    """Return U_g'U_g of each cluster's rows.

    An eigenvalue of 1 means that the cluster alone decides a coefficient.
    """
    own = np.zeros((groups, left.shape[1], left.shape[1]))
    for row, cluster in zip(left, clusters, strict=True):
        own[cluster] += np.outer(row, row)
    return own


@dataclass(frozen=True)
class Pooled:
    """Coefficients of R outcomes, pooled over draws."""

    coefficients: Doubles  # (p, R), means over draws
    # (R, p, p): mean covariance of a draw's coefficients, covariance of them over draws
    within: Doubles
    between: Doubles
    n_draws: int  # 1 for point estimates of mixtures: then there are no intervals
    # Degrees of freedom of one draw's covariance of combinations (k, p) of coefficients
    freedom: Callable[[Doubles], float]
    # The same with equal variances; see FEW_DOCUMENTS
    plain: Doubles | None = None
    plain_free: float = np.inf

    @property
    def total(self) -> Doubles:
        """Covariances of the coefficients, by Rubin's rules."""
        return self.within + (1 + 1 / self.n_draws) * self.between

    def combine(self, contrast: Doubles, outcome: int) -> tuple[float, float, float]:
        """Return c'b of one outcome, its standard error and degrees of freedom."""
        estimate = float(contrast @ self.coefficients[:, outcome])
        if self.n_draws < 2:
            return estimate, np.nan, np.nan
        added = (1 + 1 / self.n_draws) * float(
            contrast @ self.between[outcome] @ contrast
        )
        errors = []
        for covariances, own in self._covariances(contrast[None]):
            within = max(float(contrast @ covariances[outcome] @ contrast), 0.0)
            free = degrees_of_freedom(within, added, self.n_draws, own)
            errors.append((float(np.sqrt(within + added)), free))
        error, free = max(errors, key=lambda one: one[0] * stats.t.ppf(0.975, one[1]))
        return estimate, error, free

    def _covariances(
        self, rows: Doubles, curve: bool = False
    ) -> Iterator[tuple[Doubles, float]]:
        """Yield covariances of a draw's coefficients, and their degrees of freedom."""
        yield self.within, self.freedom(rows)
        if self.plain is not None and not curve:
            least = min(self.freedom(row[None]) for row in rows)
            if least < FEW_DOCUMENTS:
                yield self.plain, self.plain_free

    def joint_test(
        self, rows: Doubles, outcome: int, *, curve: bool = False
    ) -> tuple[float, float, float]:
        """Return F, its second degrees of freedom and p of ``rows @ b = 0``.

        Few documents decide at the ends of a `curve`, too, but all of them together
        decide whether it is flat, so equal variances are not tried.

        Li, Raghunathan and Rubin's pooling of several coefficients (their D1). By
        Hotelling's T², k coefficients leave k - 1 degrees of freedom fewer than their
        covariance has. NaN where none are left.
        """
        tried = self._covariances(rows, curve)
        tests = [self._tested(rows, outcome, *one) for one in tried]
        return max(tests, key=lambda test: test[2])

    def _tested(
        self, rows: Doubles, outcome: int, covariances: Doubles, own: float
    ) -> tuple[float, float, float]:
        k, m = len(rows), self.n_draws
        left = own - k + 1
        if m < 2 or left < 1:
            return np.nan, np.nan, np.nan
        values = rows @ self.coefficients[:, outcome]
        within = rows @ covariances[outcome] @ rows.T
        between = rows @ self.between[outcome] @ rows.T
        solved = np.linalg.solve(within, np.c_[values, between])
        r = (1 + 1 / m) * float(np.trace(solved[:, 1:])) / k
        f = float(values @ solved[:, 0]) / (k * (1 + r)) * left / own
        free = degrees_of_freedom(1.0, r, m, left)
        return f, free, float(stats.f.sf(f, k, free))


def degrees_of_freedom(within: float, added: float, m: int, complete: float) -> float:
    """Return Barnard and Rubin's degrees of freedom of m pooled draws."""
    total = within + added
    if total <= 0:
        return complete
    share = added / total
    observed = (complete + 1) / (complete + 3) * complete * (1 - share)
    if share <= 0:
        return observed
    drawn = (m - 1) / share**2
    return drawn * observed / (drawn + observed)


def pool(
    fits: Iterable[tuple[Doubles, ...]],
    freedom: Callable[[Doubles], float],
    plain_free: float = np.inf,
) -> Pooled:
    """Pool coefficients, covariances and any with equal variances of several draws."""
    coefficients, covariances, *plain = zip(*fits, strict=True)
    stacked = np.stack(coefficients)  # (m, p, R)
    m = len(stacked)
    centred = (stacked - stacked.mean(axis=0)).transpose(2, 1, 0)  # (R, p, m)
    between = np.matmul(centred, centred.transpose(0, 2, 1)) / max(m - 1, 1)
    return Pooled(
        stacked.mean(axis=0),
        np.mean(covariances, axis=0),
        between,
        m,
        freedom,
        np.mean(plain[0], axis=0) if plain else None,
        plain_free,
    )


def check_covariance(robust: Any) -> str:
    """Return the kind of covariance that `robust` means."""
    if isinstance(robust, bool | np.bool_):
        return "HC3" if robust else "classical"
    if robust in COVARIANCES:
        return str(robust)
    raise DataError(
        f"robust is {robust!r}. Give True (HC3), 'HC1', or False for one variance of "
        "all documents."
    )


def adjusted(p_values: Doubles, method: str | None) -> Doubles:
    """Return p-values for several tests: by Holm, by Benjamini-Hochberg, or as is."""
    if method is None or p_values.size == 0:
        return p_values
    order = np.argsort(p_values, kind="stable")
    n = len(p_values)
    raw = p_values[order]
    if method == "holm":
        steps = np.maximum.accumulate(raw * np.arange(n, 0, -1))
    elif method == "fdr":
        steps = np.minimum.accumulate((raw * n / np.arange(1, n + 1))[::-1])[::-1]
    else:
        raise DataError(f"adjust is {method!r}. Give 'holm', 'fdr' or None.")
    out = np.empty(n)
    out[order] = np.minimum(steps, 1.0)
    return out
