# SPDX-License-Identifier: BSD-3-Clause
"""What a comparison of models found: a table, a sentence, a picture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

METRICS = ("accuracy", "perplexity", "coherence", "diversity", "stability")


@dataclass(frozen=True)
class ModelScore:
    """One row of a comparison; NaN where a score is not defined.

    Attributes
    ----------
    model : str
        Name of the model.
    n_components : int or None
        Number of topics.
    accuracy : float
        On test documents; higher is better.
    perplexity : float
        Of held-out words of test documents; lower is better.
    coherence, diversity, stability : float
        See `topicfold.metrics`; higher is better.
    seconds : float
        Time to learn.
    memory_mb : float
        Peak of memory above what was there before.
    """

    model: str
    n_components: int | None
    accuracy: float
    perplexity: float
    coherence: float
    diversity: float
    stability: float
    seconds: float
    memory_mb: float


@dataclass(frozen=True)
class Comparison:
    """What `compare` found.

    Attributes
    ----------
    scores : tuple of ModelScore
        In the order they were run.
    recommendation : str
        One sentence.
    left_out : tuple of str
        Models that did not fit into the time, or failed, with the reason.
    n_test : int
        Test documents.
    """

    scores: tuple[ModelScore, ...]
    recommendation: str
    left_out: tuple[str, ...]
    n_test: int

    def columns(self) -> list[str]:
        """Return the metrics that at least one model has."""
        return [
            name
            for name in METRICS
            if not all(np.isnan(getattr(score, name)) for score in self.scores)
        ]

    def to_markdown(self) -> str:
        """Return the table and the recommendation."""
        names = self.columns()
        lines = [
            f"| model | topics | {' | '.join(names)} | seconds | memory, MB |",
            "|---" * (len(names) + 4) + "|",
        ]
        for score in self.scores:
            cells = [format_score(name, getattr(score, name)) for name in names]
            lines.append(
                f"| {score.model} | {score.n_components or ''} | {' | '.join(cells)} | "
                f"{score.seconds:.1f} | {format_score('memory', score.memory_mb)} |"
            )
        lines += ["", self.recommendation]
        lines += [f"- left out: {reason}" for reason in self.left_out]
        return "\n".join(lines)

    def plot(self, path: Any = None) -> Any:
        """Draw a bar a model for each metric, and the seconds.

        Parameters
        ----------
        path : str or path, optional
            File for the picture: .png, .svg or .pdf.

        Returns
        -------
        matplotlib.figure.Figure
        """
        from topicfold.choosing.selection import load_figure

        names = [*self.columns(), "seconds"]
        height = 1 + 0.35 * len(self.scores)
        figure = load_figure()(figsize=(2.6 * len(names), height), layout="constrained")
        models = [score.model for score in self.scores]
        for place, name in enumerate(names, 1):
            axes = figure.add_subplot(1, len(names), place)
            # A model without this score keeps its place, so that rows line up.
            values = np.nan_to_num([getattr(score, name) for score in self.scores])
            axes.barh(range(len(models)), values)
            axes.set_yticks(
                range(len(models)), models if place == 1 else [""] * len(models)
            )
            axes.set_ylim(len(models) - 0.5, -0.5)
            lower = " (less is better)" if name in ("perplexity", "seconds") else ""
            axes.set_title(f"{name}{lower}", fontsize=9)
        if path is not None:
            figure.savefig(path)
        return figure


def format_score(name: str, value: float | None) -> str:
    """Return a score with as many digits as it deserves; nothing for NaN.

    Examples
    --------
    >>> format_score("perplexity", 1234.5), format_score("accuracy", 0.98765)
    ('1,234', '0.988')
    """
    if value is None or np.isnan(value):
        return ""
    return f"{value:,.0f}" if name in ("perplexity", "memory") else f"{value:.3f}"
