# SPDX-License-Identifier: BSD-3-Clause
"""Names of topics for people: by a function, or by typical phrases."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from topicfold.corpus.vectorizing import vectorize
from topicfold.exceptions import DataError
from topicfold.topic_data import NAME_RELEVANCE, TopicData

Ask = Callable[[list[str], list[str]], str]
# Documents whose texts are shown for a topic, and letters of each in a prompt.
N_DOCUMENTS, N_LETTERS = 5, 300
# Expected documents of a topic that have its phrase.
LEAST_DOCUMENTS = 2.0


def naming_prompt(words: Sequence[str], documents: Sequence[str]) -> str:
    """Return a question for a language model: what should this topic be called?

    Nothing is sent anywhere. Give it to the model of your choice, inside the function
    that :meth:`topicfold.Topics.rename` calls.

    Parameters
    ----------
    words : sequence of str
        Main words of the topic.
    documents : sequence of str
        Texts of its main documents, which are cut to 300 letters each.

    Examples
    --------
    >>> print(naming_prompt(["orbit", "launch"], ["The launch was delayed."]))
    A topic model found a topic in a collection of texts.
    Its main words: orbit, launch
    Texts that are mostly about it:
    - The launch was delayed.
    Give it a name of two to five words that a reader of these texts understands.
    Answer with the name alone.
    """
    texts = [" ".join(text.split())[:N_LETTERS] for text in documents]
    shown = ["Texts that are mostly about it:", *(f"- {text}" for text in texts)]
    lines = [
        "A topic model found a topic in a collection of texts.",
        f"Its main words: {', '.join(words)}",
        *(shown if texts else ()),
        "Give it a name of two to five words that a reader of these texts understands.",
        "Answer with the name alone.",
    ]
    return "\n".join(lines)


def names_by(data: TopicData, how: Any, text: Any = None) -> dict[int, str]:
    """Return a name for each topic by its number; `how` is a function or a word."""
    if callable(how):
        return _asked(data, how)
    if how == "words":
        return dict.fromkeys(map(int, data.numbers), "")
    if how == "phrases":
        return _phrases(data, dict(text or {}))
    raise DataError(
        f'topics cannot be named by {how!r}. Give "phrases", "words", a function of '
        "(words, documents), or names by topic such as {3: 'space'}."
    )


def _asked(data: TopicData, ask: Ask) -> dict[int, str]:
    try:
        inspect.signature(ask).bind([], [])
    except TypeError as error:
        raise DataError(
            f"the function that names topics is called with words and documents: "
            f"{error}. Give a function of (words, documents)."
        ) from error
    except ValueError:  # of a function in C nothing is known
        pass
    names = {}
    for place, words in enumerate(data.top_terms(10, NAME_RELEVANCE)):
        texts: list[str] = []
        if data.texts is not None and data.doc_topics is not None:
            shares = np.asarray(data.doc_topics)[:, place]
            best = np.argsort(-shares, kind="stable")[:N_DOCUMENTS]
            texts = [data.texts[row] for row in best.tolist()]
        name = ask(list(words), texts)
        if not isinstance(name, str) or not name.strip():
            raise DataError(
                f"the function returned {name!r} for topic {data.numbers[place]}. It "
                "must return a text."
            )
        names[int(data.numbers[place])] = " ".join(name.split())
    return names


def _phrases(data: TopicData, text: dict[str, Any]) -> dict[int, str]:
    """Return the most typical pair of words of each topic; "" where there is none.

    A phrase w has ``Σ_d θ_dk [w in d] log(p(w|k) / p(w))``, the most of all topics.
    """
    if data.texts is None or data.doc_topics is None:
        raise DataError(
            "phrases come from the texts, but the model has none. Fit it with texts, "
            'or rename by "words".'
        )
    options = {**text, "ngram_range": (2, 2), "min_df": 2, "max_df": 1.0}
    for name in ("phrases", "max_features", "keep", "vocabulary", "left_out"):
        options.pop(name, None)
    try:
        counts, phrases = vectorize(data.texts, **options)
    except DataError:  # no pair of words is in two documents
        return dict.fromkeys(map(int, data.numbers), "")
    theta = np.asarray(data.doc_topics, dtype=np.float64)
    having = (counts.sign().astype(np.float64).T @ theta).T
    sizes = np.maximum(theta.sum(axis=0), 1e-300)[:, None]
    usual = having.sum(axis=0) / len(theta)
    lift = np.log(np.maximum(having / sizes, 1e-300) / np.maximum(usual, 1e-300))
    typical = np.where(having >= LEAST_DOCUMENTS, having * lift, -np.inf)
    typical[np.arange(len(typical))[:, None] != typical.argmax(axis=0)] = -np.inf
    best = typical.argmax(axis=1)
    return {
        int(number): phrases[best[k]] if typical[k, best[k]] > 0 else ""
        for k, number in enumerate(data.numbers)
    }
