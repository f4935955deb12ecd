# SPDX-License-Identifier: BSD-3-Clause
"""Encoders of texts: any object or function that makes vectors of them.

None is a dependency and nothing is downloaded: sentence-transformers, model2vec and
others have a method ``encode(texts)``, and that is all that is used. A function of the
texts will do as well.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from topicfold.exceptions import DataError
from topicfold.graph.embedding import Rows, check_embeddings


def encode(encoder: Any, texts: Sequence[str] | None) -> Rows:
    """Return unit rows of what an encoder makes of texts, or say what is wrong.

    Examples
    --------
    >>> class Lengths:
    ...     def encode(self, texts):
    ...         return [[len(text), 1.0] for text in texts]
    >>> encode(Lengths(), ["", "abc"]).round(2).tolist()
    [[0.0, 1.0], [0.949999988079071, 0.3199999928474426]]
    """
    make = getattr(encoder, "encode", encoder)
    if isinstance(encoder, str) or not callable(make):
        raise DataError(
            f"the encoder is a {type(encoder).__name__}, which has no encode(texts). "
            "Give an object that has it, such as a SentenceTransformer, or a function "
            "of the texts; nothing is downloaded by name."
        )
    if texts is None:
        raise DataError(
            "an encoder needs the texts, and these documents are counts. Give their "
            "vectors with embeddings=."
        )
    made = make(list(texts))
    try:
        rows = list(made) if isinstance(made, Iterator) else made
        return check_embeddings(rows, len(texts))
    except DataError as error:
        method = "" if make is encoder else ".encode"
        raise DataError(
            f"{encoder_name(encoder)}{method} did not give a vector per text: {error}"
        ) from error


def encoder_name(encoder: Any) -> str:
    """Return what an encoder is called, for people; of a path its end."""
    try:  # a SentenceTransformer is a list of modules, and the first has the name
        inner = getattr(encoder[0], "auto_model", None)
    except (TypeError, LookupError):
        inner = None
    names = ("name_or_path", "base_model_name", "model_name", "__name__")
    for holder, name in product((encoder, inner), names):
        found = getattr(holder, name, None)
        if isinstance(found, str) and found:
            path = Path(found)
            return "/".join(path.parts[-2:]) if path.is_absolute() else found
    return type(encoder).__name__


def check_takes_embeddings(model: Any) -> None:
    """Refuse embeddings for a model whose `fit` has none."""
    if "embeddings" not in inspect.signature(model.fit).parameters:
        raise DataError(
            f"the model {type(model).__name__} takes no embeddings. Use for instance "
            '"lda", "short" or "ltm", or leave them out.'
        )
