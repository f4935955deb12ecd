# SPDX-License-Identifier: BSD-3-Clause
"""AnnData, the annotated matrix of single-cell biology: counts in, topics out.

A cell is a document and a gene is a word. Nothing of anndata is imported: all that has
``X``, ``layers``, ``obs``, ``var``, ``obsm`` and ``varm`` is taken.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from topicfold.core.counts import check_counts
from topicfold.corpus.record import Corpus
from topicfold.exceptions import DataError, DataWarning

_PARTS = ("X", "layers", "obs", "var", "obsm", "varm")
# Where counts are kept, by custom, once X is normalised.
_COUNTS = "counts"


def is_anndata(value: Any) -> bool:
    """Tell whether something is an AnnData object, or looks like one."""
    return all(hasattr(value, part) for part in _PARTS)


def from_anndata(
    data: Any,
    *,
    layer: str | None = None,
    label: str | None = None,
    time: str | None = None,
    id: str | None = None,
    extra: Sequence[str] = (),
) -> Corpus:
    """Return the counts of an AnnData object as a corpus.

    Parameters
    ----------
    data : AnnData
        Cells × genes.
    layer : str, optional
        Layer with the counts, or "X"; by default the layer "counts" if there is one,
        else ``data.X``.
    label, time, id : str, optional
        Columns of ``data.obs`` with the class, the time and the name of a cell; by
        default cells have no class and no time, and the names are ``data.obs_names``.
    extra : sequence of str, optional
        Other columns of ``data.obs`` to keep.

    Returns
    -------
    Corpus
        Its words are ``data.var_names``.

    See Also
    --------
    to_anndata : The way back, for topics.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> names = {"obs_names": ["cell1", "cell2"], "var_names": ["gene1", "gene2"]}
    >>> parts = {"layers": {}, "obs": {}, "var": {}, "obsm": {}, "varm": {}}
    >>> from_anndata(SimpleNamespace(X=[[3, 0], [1, 2]], **names, **parts))
    Corpus(2 documents, 2 terms)
    """
    layers = list(data.layers)
    if layer is None:
        layer = _COUNTS if _COUNTS in layers else "X"
    if layer != "X" and layer not in layers:
        there = ", ".join(["'X'", *map(repr, layers)])
        raise DataError(f"there is no layer {layer!r}. Give one of {there}.")
    values = data.X if layer == "X" else data.layers[layer]
    if hasattr(values, "to_memory"):  # of a file that is only opened
        values = values.to_memory()
    where = "X of the AnnData object" if layer == "X" else f"the layer {layer!r}"
    advice = "Give the layer with the counts, such as layer='counts'."
    counts = check_counts(values, where, advice=advice)
    if counts.dtype.kind == "f" and (counts.data != np.rint(counts.data)).any():
        warnings.warn(
            f"{where} holds weights instead of whole counts. If they are normalised or "
            f"logarithms, topics are better learned from counts. {advice}",
            DataWarning,
            stacklevel=2,
        )
    named = {"labels": label, "times": time, "ids": id}
    known: dict[str, Any] = {"ids": [str(name) for name in data.obs_names]}
    known |= {field: _column(data, name) for field, name in named.items() if name}
    if extra:
        known["extra"] = {name: _column(data, name) for name in extra}
    return Corpus(counts, [str(name) for name in data.var_names], **known)


def to_anndata(data: Any, topics: Any, *, key: str = "topics") -> None:
    """Store topics in the AnnData object that they were learned from.

    ``data.obsm["X_topics"]`` gets the mixtures, a row per cell, as scanpy's plots and
    neighbours use them; ``data.varm["topics"]`` the topics, a row per gene.

    Parameters
    ----------
    data : AnnData
        The object that the model was fitted on; it is changed.
    topics : Topics, TopicData or estimator
        What was fitted.
    key : str, default="topics"
        The name in ``varm``, and with ``X_`` before it in ``obsm``.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from topicfold import LDA
    >>> X = [[3, 0], [1, 2], [0, 4]]
    >>> cells = SimpleNamespace(shape=(3, 2), obsm={}, varm={})
    >>> to_anndata(cells, LDA(2, random_state=0).fit(X))
    >>> cells.obsm["X_topics"].shape, cells.varm["topics"].shape
    ((3, 2), (2, 2))
    """
    record = getattr(topics, "data_", topics)
    mixtures = getattr(record, "doc_topics_", getattr(record, "doc_topics", None))
    words = getattr(record, "components_", getattr(record, "topics", None))
    if mixtures is None or words is None:
        raise DataError(
            "topics are needed that were fitted and keep the mixtures of their "
            f"documents. Got a {type(topics).__name__} instead."
        )
    shape = len(mixtures), np.shape(words)[1]
    if tuple(data.shape) != shape:
        raise DataError(
            f"the topics are of {shape[0]} documents and {shape[1]} words, and the "
            f"AnnData object has {data.shape[0]} cells and {data.shape[1]} genes. Give "
            "the one that the model was fitted on."
        )
    data.obsm[f"X_{key}"] = np.array(mixtures)
    data.varm[key] = np.array(words).T


def _column(data: Any, name: str) -> list[str]:
    """Return a column of what is known of the cells; "" where it is missing."""
    columns = [str(column) for column in data.obs]
    if name not in columns:
        shown = ", ".join(map(repr, columns[:12])) or "none"
        raise DataError(f"obs has no column {name!r}. It has {shown}.")
    values = list(data.obs[name])
    return ["" if v is None or v != v else str(v) for v in values]
