# SPDX-License-Identifier: BSD-3-Clause
"""Do people understand the topics? Questions with one choice that does not belong."""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import check_random_state

from topicfold.core.parameters import whole_number
from topicfold.corpus.lines import read_whole
from topicfold.exceptions import DataError
from topicfold.persistence.atomic import write_atomically

if TYPE_CHECKING:
    from topicfold.topic_data import TopicData


@dataclass(frozen=True)
class IntrusionItem:
    """One question: which of the choices does not belong?

    Attributes
    ----------
    kind : {"word", "topic"}
        Words of a topic, or topics of a document.
    subject : int
        The topic, or the row of the document.
    choices, choice_ids, weights : tuple
        The choices in random order: words with their columns and p(w|k), or topics'
        names with their numbers and θ_dk.
    answer : int
        Place of the intruder among the choices.
    """

    kind: str
    subject: int
    choices: tuple[str, ...]
    choice_ids: tuple[int, ...]
    answer: int
    weights: tuple[float, ...]


@dataclass(frozen=True)
class IntrusionScore:
    """How well the intruders were found.

    Attributes
    ----------
    precision : float
        Share of right answers, 0 to 1, higher is better; NaN without answers.
    chance : float
        The precision of guessing.
    n_answered : int
        Number of answers.
    by_subject : dict of int to float
        Precision for each topic (or document).
    log_odds : float
        Mean of ``log θ_intruder - log θ_chosen`` of topic questions: 0 if all answers
        are right, lower if topics of large weight were chosen as the intruder; NaN for
        words.
    """

    precision: float
    chance: float
    n_answered: int
    by_subject: dict[int, float]
    log_odds: float


def word_intrusion(
    data: TopicData,
    *,
    n_words: int = 5,
    n_items: int | None = None,
    random_state: int | np.random.RandomState | None = None,
) -> list[IntrusionItem]:
    """Make word intrusion questions: the top words of a topic, and one from another.

    The intruder is a top word of another topic that is improbable in this one: not
    above the median word of it.

    Parameters
    ----------
    data : TopicData
        The topics.
    n_words : int, default=5
        Top words shown of a topic.
    n_items : int or None, default=None
        Topics to ask about, drawn at random; None: all. Topics without enough words of
        positive weight, or without an intruder, have no question.
    random_state : int, RandomState or None, default=None
        Seed.

    References
    ----------
    .. [1] J. Chang, J. Boyd-Graber, S. Gerrish, C. Wang, D. Blei, "Reading tea leaves:
       how humans interpret topic models", NIPS 2009.

    Examples
    --------
    >>> from topicfold import TopicData
    >>> data = TopicData(topics=[[0.5, 0.4, 0.1, 0.0], [0.0, 0.1, 0.4, 0.5]],
    ...     vocabulary=["sea", "fish", "fox", "wolf"])
    >>> item = word_intrusion(data, n_words=2, random_state=0)[0]
    >>> sorted(item.choices), item.choices[item.answer]
    (['fish', 'fox', 'wolf'], 'fish')
    """
    whole_number(n_words, "n_words")
    rng = check_random_state(random_state)
    best = data.top_term_ids(n_words)
    items: list[IntrusionItem] = []
    for topic in rng.permutation(data.n_topics).tolist():
        if n_items is not None and len(items) >= n_items:
            break
        row = data.topics[topic]
        own = [w for w in best[topic].tolist() if row[w] > 0]
        if len(own) < n_words:
            continue
        others = np.setdiff1d(np.delete(best, topic, axis=0), own)
        # Improbable here, and a top word elsewhere.
        others = others[row[others] <= np.median(row)]
        others = others[data.topics[:, others].max(axis=0) > row[others]]
        if not len(others):
            continue
        ids = [*own, int(rng.choice(others))]
        words = [data.vocabulary[w] for w in ids]
        items.append(_shuffled("word", topic, words, ids, row[ids].tolist(), rng))
    return items


def topic_intrusion(
    data: TopicData,
    *,
    n_topics: int = 3,
    n_items: int = 10,
    random_state: int | np.random.RandomState | None = None,
) -> list[IntrusionItem]:
    """Make topic intrusion questions: topics of a document, and one it does not have.

    Topics are shown by their names, or by their first words. The intruder is drawn from
    the half of the topics with the smallest shares in the document.

    Parameters
    ----------
    data : TopicData
        Topics and mixtures.
    n_topics : int, default=3
        Top topics shown of a document.
    n_items : int, default=10
        Documents to ask about, drawn at random; fewer where too few documents have
        that many topics.
    random_state : int, RandomState or None, default=None
        Seed.

    Examples
    --------
    >>> from topicfold import TopicData
    >>> data = TopicData(
    ...     topics=[[0.9, 0.1], [0.5, 0.5], [0.1, 0.9]],
    ...     vocabulary=["red", "fox"],
    ...     doc_topics=[[0.6, 0.4, 0.0]],
    ...     topic_names=["colours", "both", "animals"],
    ... )
    >>> item = topic_intrusion(data, n_topics=2, n_items=1, random_state=0)[0]
    >>> sorted(item.choices), item.choices[item.answer]
    (['animals', 'both', 'colours'], 'animals')
    """
    whole_number(n_topics, "n_topics")
    if data.doc_topics is None or not data.n_documents:
        raise DataError(
            "topic intrusion needs the mixtures of documents (doc_topics). Give them, "
            "or use word_intrusion."
        )
    if data.n_topics < n_topics + 1:
        raise DataError(
            f"{data.n_topics} topics are too few to show {n_topics} and an intruder. "
            f"Give n_topics={max(1, data.n_topics - 1)} or less."
        )
    rng = check_random_state(random_state)
    items: list[IntrusionItem] = []
    for row in rng.permutation(data.n_documents).tolist():
        if len(items) >= n_items:
            break
        theta = data.doc_topics[row]
        order = np.argsort(-theta, kind="stable")
        own = order[:n_topics].tolist()
        least = order[max(n_topics, data.n_topics // 2) :]
        least = least[theta[least] < theta[own[-1]]]
        if not len(least):
            continue
        ids = [*own, int(rng.choice(least))]
        names = [data.name(topic) for topic in ids]
        items.append(_shuffled("topic", row, names, ids, theta[ids].tolist(), rng))
    return items


def score_intrusion(
    items: Sequence[IntrusionItem], answers: Sequence[int | None]
) -> IntrusionScore:
    """Score the answers to intrusion questions.

    Parameters
    ----------
    items : sequence of IntrusionItem
        The questions, all of one kind.
    answers : sequence of int or None
        Place of the choice that was named as the intruder; None: not answered.

    Examples
    --------
    >>> item = IntrusionItem("word", 3, ("a", "b", "c"), (0, 1, 2), 1, (0.5, 0.0, 0.4))
    >>> score = score_intrusion([item, item], [1, 0])
    >>> score.precision, round(score.chance, 2), score.by_subject
    (0.5, 0.33, {3: 0.5})
    """
    if len(items) != len(answers):
        raise DataError(f"there are {len(answers)} answers to {len(items)} questions.")
    right: dict[int, list[bool]] = {}
    chances, odds = [], []
    for number, (item, answer) in enumerate(zip(items, answers, strict=True)):
        if answer is None:
            continue
        if not 0 <= answer < len(item.choices):
            raise DataError(
                f"answer {number} is {answer}; choices are 0 to "
                f"{len(item.choices) - 1}."
            )
        right.setdefault(item.subject, []).append(answer == item.answer)
        chances.append(1 / len(item.choices))
        if item.kind == "topic":
            floor = np.finfo(np.float64).tiny
            least, taken = (item.weights[i] for i in (item.answer, answer))
            odds.append(np.log(max(least, floor)) - np.log(max(taken, floor)))
    every = [hit for hits in right.values() for hit in hits]
    return IntrusionScore(
        precision=_mean(every),
        chance=_mean(chances),
        n_answered=len(every),
        by_subject={subject: _mean(hits) for subject, hits in right.items()},
        log_odds=_mean(odds),
    )


def write_intrusion_sheet(
    items: Sequence[IntrusionItem],
    path: str | os.PathLike[str],
    *,
    documents: Sequence[str] | None = None,
) -> Path:
    """Write questions as a CSV file for a rater, without the answers.

    A row has the number of the question, the choices and an empty column ``answer``,
    in which the rater writes the number of the choice that does not belong. A sheet
    that a rater has begun is not overwritten.

    Parameters
    ----------
    items : sequence of IntrusionItem
        The questions.
    path : str or path
        The file.
    documents : sequence of str or None, default=None
        For topic questions: the texts of the documents, by row.

    Returns
    -------
    Path
        The file.
    """
    width = max((len(item.choices) for item in items), default=0)
    file = Path(path)
    if not file.parent.is_dir():
        raise DataError(f"there is no folder {file.parent}. Make it, or give another.")
    if file.suffix.lower() not in ("", ".csv", ".txt"):
        raise DataError(f"{file} would be a CSV file. Give a name with .csv.")
    if file.is_file() and any((row.get("answer") or "").strip() for row in _rows(file)):
        raise DataError(
            f"{file} has the answers of a rater, which would be lost. Choose another "
            "name, or remove the file."
        )

    def write(to: Path) -> None:
        with to.open("w", encoding="utf-8-sig", newline="") as stream:
            table = csv.writer(stream)
            text = ["document"] if documents is not None else []
            table.writerow(["question", *text, *range(1, width + 1), "answer"])
            for number, item in enumerate(items, 1):
                about = [documents[item.subject]] if documents is not None else []
                blank = [""] * (width - len(item.choices))
                table.writerow([number, *about, *item.choices, *blank, ""])

    write_atomically(file, write)
    return file


def _rows(file: Path) -> list[dict[str, Any]]:
    """Return the rows of a sheet, also as a spreadsheet of another country saves it."""
    text = read_whole(file)[0]
    head = text.partition("\n")[0]
    delimiter = max(",;\t", key=head.count)
    try:
        return list(csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter))
    except csv.Error as error:
        raise DataError(f"{file} is not a table of CSV ({error}).") from error


def read_intrusion_sheet(
    items: Sequence[IntrusionItem], path: str | os.PathLike[str]
) -> list[int | None]:
    """Read a rater's answers from a sheet of `write_intrusion_sheet`.

    Parameters
    ----------
    items : sequence of IntrusionItem
        The questions, which may be more than those of the sheet.
    path : str or path
        The file with the column ``answer`` filled in: numbers of choices from 1, or
        the choices themselves. Empty: not answered.

    Returns
    -------
    list of int or None
        The answers, for `score_intrusion`.
    """
    file = Path(path)
    rows = _rows(file)
    if rows and not {"question", "answer"} <= set(rows[0]):
        raise DataError(
            f"{file} has no columns question and answer. Give a sheet that "
            "write_intrusion_sheet wrote, filled in."
        )
    answers: list[int | None] = [None] * len(items)
    for line, row in enumerate(rows, 2):
        number = (row["question"] or "").strip()
        place = int(number) - 1 if re.fullmatch("[0-9]{1,9}", number) else -1
        choices = [row.get(str(i)) or "" for i in range(1, len(row))]
        if not 0 <= place < len(items) or tuple(filter(None, choices)) != (
            items[place].choices
        ):
            raise DataError(
                f"{file}, line {line}: question {number[:40]!r} is not one of this "
                "model and seed. Give the model and the seed of the sheet."
            )
        answers[place] = _answer(items[place], row["answer"], f"{file}, line {line}")
    return answers


def rater_agreement(
    items: Sequence[IntrusionItem], raters: Sequence[Sequence[int | None]]
) -> float:
    """Return how far raters agree beyond chance (Brennan and Prediger's kappa).

    1 if all pairs of raters gave the same answers, 0 if they agree as often as by
    guessing, NaN if no two raters answered the same question.

    Parameters
    ----------
    items : sequence of IntrusionItem
        The questions.
    raters : sequence of sequence of int or None
        The answers of each rater.

    Examples
    --------
    >>> item = IntrusionItem("word", 3, ("a", "b", "c"), (0, 1, 2), 1, (0.5, 0.0, 0.4))
    >>> rater_agreement([item, item], [[1, 0], [1, 2]])
    0.25
    """
    same, chance = [], []
    for item, *answers in zip(items, *raters, strict=True):
        given = [answer for answer in answers if answer is not None]
        for one, other in combinations(given, 2):
            same.append(one == other)
            chance.append(1 / len(item.choices))
    expected = _mean(chance)
    return (_mean(same) - expected) / (1 - expected)


def _answer(item: IntrusionItem, text: str | None, where: str) -> int | None:
    """Return the place that a rater wrote, by number or by the choice itself."""
    given = (text or "").strip()
    if not given:
        return None
    if given in item.choices:
        return item.choices.index(given)
    # Python converts no more than 4,300 digits.
    short = given.isdecimal() and len(given) < 10
    if short and 1 <= int(given) <= len(item.choices):
        return int(given) - 1
    raise DataError(
        f"{where}: the answer is {given[:40]!r}. Write a number from 1 to "
        f"{len(item.choices)}, or leave it empty."
    )


def _mean(values: list[Any]) -> float:
    return float(np.mean(values)) if values else float("nan")


def _shuffled(
    kind: str,
    subject: int,
    choices: list[str],
    ids: list[int],
    weights: list[float],
    rng: np.random.RandomState,
) -> IntrusionItem:
    """Return the question; the intruder is the last of the choices."""
    order = rng.permutation(len(ids)).tolist()
    return IntrusionItem(
        kind=kind,
        subject=int(subject),
        choices=tuple(choices[i] for i in order),
        choice_ids=tuple(int(ids[i]) for i in order),
        answer=order.index(len(ids) - 1),
        weights=tuple(float(weights[i]) for i in order),
    )
