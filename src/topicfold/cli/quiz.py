# SPDX-License-Identifier: BSD-3-Clause
"""``topicfold quiz``: find what does not belong, and see how clear the topics are."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from topicfold.cli import flags
from topicfold.cli.console import CommandError, show_fact, stdout_console
from topicfold.cli.flags import Flags, flag, takes_flags
from topicfold.core.tables import printable

if TYPE_CHECKING:
    from topicfold.metrics.intrusion import IntrusionItem, IntrusionScore
    from topicfold.topic_data import TopicData


class Kind(StrEnum):
    """What to ask about."""

    words = "words"
    topics = "topics"


class _Flags(Flags):
    kind: Kind = flag(
        "What to ask about: words of topics, or topics of documents.", Kind.words
    )
    items: int | None = flag(
        "Largest number of questions.",
        None,
        "--items -n",
        min=1,
        show_default="10; on a sheet one per topic, or 40 for documents",
    )
    sheet: Path | None = flag(
        "Write the questions to a CSV file for raters, without the answers.",
        metavar="FILE",
    )
    score: list[Path] | None = flag(
        "Score a sheet that a rater has filled in; may be repeated.", metavar="FILE"
    )
    seed: int = flags.SEED


@takes_flags()
def quiz(folder: flags.ModelArgument, *, given: _Flags) -> None:
    """Test how clear the topics of a saved model are to a person.

    Each question shows the top words of a topic and one word of another topic (or the
    top topics of a document and one that it does not have). If you can find the
    intruder, the topic makes sense. Answer with its number, s to skip, q to end.

    [bold]Examples[/bold]
      topicfold quiz reviews-model
      topicfold quiz reviews-model --kind topics -n 5
      topicfold quiz reviews-model --sheet sheet.csv
      topicfold quiz reviews-model --score ann.csv --score ben.csv

    [bold]In Python[/bold]
      from topicfold.metrics import word_intrusion, score_intrusion
      items = word_intrusion(data, random_state=0)
      score_intrusion(items, answers).precision
    """
    from rich.text import Text

    from topicfold.metrics.intrusion import score_intrusion, write_intrusion_sheet
    from topicfold.persistence.model_folder import load_model_folder

    if given.sheet is not None and given.score:
        raise CommandError(
            "--sheet writes questions, and --score reads answers. Give one of them."
        )
    data = load_model_folder(folder).topic_data()
    questions = _questions(data, given)
    if given.score:
        _show_raters(questions, given.score, data, given.kind)
        return
    if given.sheet is not None:
        texts = data.texts if given.kind is Kind.topics else None
        write_intrusion_sheet(questions, given.sheet, documents=texts)
        show_fact("Sheet", f"{given.sheet}, {len(questions)} questions")
        show_fact("Raters", "write the number of the intruder into the column answer")
        show_fact("Next", f"topicfold quiz {folder} --score {given.sheet}")
        return
    answers: list[int | None] = []
    for number, item in enumerate(questions, 1):
        _show_question(item, data, number, len(questions))
        answer = _ask(len(item.choices))
        if answer == "q":
            break
        answers.append(answer if isinstance(answer, int) else None)
        if isinstance(answer, int):
            right = answer == item.answer
            text = f"No, it was {printable(item.choices[item.answer])}."
            style = "green" if right else "red"
            stdout_console().print(Text("Right." if right else text, style=style))
    answers += [None] * (len(questions) - len(answers))
    _show_score(score_intrusion(questions, answers), data, given.kind)


def _questions(data: TopicData, given: _Flags) -> list[IntrusionItem]:
    """Make the questions; those of a sheet are the first of a longer list."""
    from topicfold.metrics.intrusion import topic_intrusion, word_intrusion

    on_paper = given.sheet is not None or bool(given.score)
    more: dict[str, Any] = {"random_state": given.seed}
    if given.kind is Kind.words:
        size = min(5, max(1, data.n_terms // 2))
        number = given.items or (None if on_paper else 10)
        questions = word_intrusion(data, n_words=size, n_items=number, **more)
    else:
        shown = min(3, max(1, data.n_topics - 1))
        number = given.items or (40 if on_paper else 10)
        if given.score:
            number = data.n_documents
        questions = topic_intrusion(data, n_topics=shown, n_items=number, **more)
    if not questions:
        raise CommandError(
            f"the model ({data.n_topics} topics, {data.n_terms} words) has too few "
            "topics, or too similar ones, for a question with an intruder."
        )
    return questions


def _show_raters(
    questions: list[IntrusionItem], files: list[Path], data: TopicData, kind: Kind
) -> None:
    """Score the sheets of raters, one by one and together."""
    from topicfold.metrics.intrusion import (
        rater_agreement,
        read_intrusion_sheet,
        score_intrusion,
    )

    for file in files:
        if not file.is_file():
            raise CommandError(f"there is no file {file}.")
    raters = [read_intrusion_sheet(questions, file) for file in files]
    for file, answers in zip(files, raters, strict=True):
        own = score_intrusion(questions, answers)
        found = "no question was answered"
        if own.n_answered:
            found = f"{_found(own)} of {own.n_answered} found"
        show_fact(file.stem, found)
    if len(raters) > 1:
        agreement = rater_agreement(questions, raters)
        show_fact("Agreement", f"kappa {agreement:.2f} between {len(raters)} raters")
    every = [answer for answers in raters for answer in answers]
    _show_score(score_intrusion(questions * len(raters), every), data, kind)


def _show_question(
    item: IntrusionItem, data: TopicData, number: int, total: int
) -> None:
    from rich.text import Text

    console = stdout_console()
    what = "Which word does not belong?"
    if item.kind == "topic":
        name = str(item.subject) if data.doc_ids is None else data.doc_ids[item.subject]
        what = f"Which topic is not in the document {printable(name)}?"
        if data.texts is not None:
            console.print(
                Text(printable(" ".join(data.texts[item.subject].split())[:300]))
            )
    console.print(Text(f"\n{number}/{total}  {what}", style="bold"))
    for place, choice in enumerate(item.choices, 1):
        console.print(Text(f"  {place}  {printable(choice)}"))


def _ask(n_choices: int) -> int | str:
    """Return the place of the answer from 0, ``"s"`` or ``"q"``; the end is q."""
    while True:
        try:
            text = input(f"1 to {n_choices}, s to skip, q to end: ").strip().lower()
        except EOFError:
            return "q"
        if text in ("s", "q"):
            return text
        if text.isdecimal() and 1 <= int(text) <= n_choices:
            return int(text) - 1


def _found(score: IntrusionScore) -> int:
    return round(score.precision * score.n_answered)


def _show_score(score: IntrusionScore, data: TopicData, kind: Kind) -> None:
    stdout_console().print()
    if not score.n_answered:
        show_fact("Score", "no question was answered")
        return
    show_fact(
        "Score",
        f"{_found(score)} of {score.n_answered} found ({score.precision:.0%}); "
        f"guessing would find {score.chance:.0%}",
    )
    missed = sorted(topic for topic, share in score.by_subject.items() if share <= 0.5)
    if missed and kind is Kind.words:
        names = ", ".join(f"{topic} ({data.name(topic)})" for topic in missed)
        show_fact("Unclear", f"topics {names}")
