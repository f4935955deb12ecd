# SPDX-License-Identifier: BSD-3-Clause
"""``topicfold label``: label documents by hand, those that teach the most first."""

from __future__ import annotations

import contextlib
import csv
import io
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from topicfold.cli import flags, inputs
from topicfold.cli.console import (
    CommandError,
    counted,
    show_fact,
    stdout_console,
    working,
)
from topicfold.cli.flags import Flags, flag, takes_flags
from topicfold.cli.sides import file_text
from topicfold.core.tables import printable
from topicfold.exceptions import DataError

if TYPE_CHECKING:
    from topicfold.corpus import Corpus

BATCH = 10  # answers between two choices of documents
SHOWN = 1000  # characters of a text
_HEAD = ("id", "label")

_File = Annotated[
    Path, typer.Argument(metavar="LABELS", help="CSV file for the answers.")
]


class _Flags(Flags):
    classes: list[str] | None = flag(
        "Names of the classes, if you know them; may be repeated.", metavar="A,B,…"
    )
    number: int = flag(
        "Largest number of documents to ask about.", 50, "--number -n", min=1
    )
    seed: int = flags.SEED
    jobs: int = flags.JOBS


@takes_flags(without=("time", "tokens"))
def label(
    source: flags.InputArgument,
    file: _File,
    *,
    given: _Flags,
    options: inputs.TextOptions,
) -> None:
    """Label documents by hand, those that teach a classifier the most first.

    Shows a text and asks for its class: a number, + and the name of a new class, s to
    skip it, q to end. Every answer is saved in LABELS at once; call it again to go on.

    [bold]Examples[/bold]
      topicfold label mails.csv labels.csv --text body --classes work,family
      topicfold classify model mails.csv --train --text body --labels labels.csv

    [bold]In Python[/bold]
      from topicfold import TopicClassifier
      TopicClassifier().fit(X, labels).suggest_labels(10)
    """
    corpus, _ = inputs.read_in_memory(source, options)
    for name in document_names(corpus):
        if name != printable(name):  # the file would not give it back
            raise CommandError(
                f"the id {name!r} has characters that cannot be written in one line. "
                "Name another column with --id."
            )
    labels = with_answers(corpus.labels, file, document_names(corpus))
    known = [*flags.listed(given.classes), *sorted(set(labels) - {""})]
    names = list(dict.fromkeys(known))
    skipped: set[int] = set()
    queue: list[int] = []
    n_before = sum(map(bool, labels))
    for asked in range(given.number):
        if not queue:
            seed = given.seed + asked
            queue = _next_documents(corpus.counts, labels, skipped, seed, given.jobs)
        if not queue:
            break
        document = queue.pop(0)
        _show(corpus, document, asked + 1, given.number)
        answer = _ask(names)
        if answer is None:
            break
        if not answer:
            skipped.add(document)
            continue
        labels[document] = answer
        _append(file, document_names(corpus)[document], answer)
    n_known = sum(map(bool, labels))
    show_fact("Labels", f"{n_known:,} of {len(labels):,}, {n_known - n_before:,} new")
    if n_known > n_before:
        show_fact("Saved", str(file))
        train = ["--train", "--labels", str(file), *options.typed()]
        show_fact(
            "Next", shlex.join(["topicfold", "classify", "MODEL", source, *train])
        )


def document_names(corpus: Corpus) -> list[str]:
    """Return the ids of documents, or their numbers."""
    n_documents = corpus.counts.shape[0]
    return corpus.ids or [str(number) for number in range(n_documents)]


def with_answers(
    labels: Sequence[str | None] | None, file: Path, names: Sequence[str]
) -> list[str]:
    """Return the labels of documents with the answers in a file, later ones last."""
    known = [(label or "").strip() for label in labels or [""] * len(names)]
    if not file.exists():
        return known
    place = {name: number for number, name in enumerate(names)}
    rows = csv.reader(io.StringIO(file_text(file)), strict=True)
    try:
        head, *answers = [row for row in rows if row] or [[]]
    except csv.Error as error:
        raise CommandError(
            f"{file}, line {rows.line_num}: {error}. Correct the line."
        ) from error
    if tuple(head) != _HEAD:
        raise CommandError(
            f"{file} does not begin with the columns id,label. Give the file that "
            "topicfold label wrote."
        )
    odd = [row for row in answers if len(row) != len(_HEAD)]
    if odd:
        raise CommandError(
            f"{file} has the line {','.join(odd[0])[:80]!r}, which is not an id and a "
            "label. Correct it."
        )
    strange = [name for name, _ in answers if name not in place]
    if strange:
        raise CommandError(
            f"{file} has labels for {counted(len(strange), 'document')} that the input "
            f"does not have (first: {strange[0]!r}). Give the input it was made with."
        )
    for name, answer in answers:
        known[place[name]] = answer.strip()
    return known


def _append(file: Path, name: str, answer: str) -> None:
    """Save one answer at the end of the file, which is there whole at any time."""
    from topicfold.persistence.atomic import write_atomically

    old = file_text(file).rstrip("\n") if file.exists() else ",".join(_HEAD)
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerow((name, answer))
    content = f"{old}\n{stream.getvalue()}".encode()
    write_atomically(file, lambda to: to.write_bytes(content))


def _next_documents(
    counts: Any, labels: list[str], skipped: set[int], seed: int, jobs: int
) -> list[int]:
    """Return documents without a label, random ones until two classes are known."""
    import numpy as np

    from topicfold import TopicClassifier

    unlabelled = [d for d, label in enumerate(labels) if not label and d not in skipped]
    order = np.random.default_rng(seed).permutation(unlabelled)
    if len(order) and len(set(labels) - {""}) > 1:
        # If words do not distinguish the classes yet, choose at random.
        with working("Choosing documents …"), contextlib.suppress(DataError):
            model = TopicClassifier(cv=0, n_jobs=jobs).fit(counts, labels)
            order = model.suggest_labels(BATCH + len(skipped))
    return [int(document) for document in order if document not in skipped][:BATCH]


def _show(corpus: Corpus, document: int, number: int, total: int) -> None:
    from rich.text import Text

    console = stdout_console()
    name = document_names(corpus)[document]
    console.print(Text(f"\n{number}/{total}  {printable(name)}", style="bold"))
    if corpus.texts is not None:
        text = " ".join(corpus.texts[document].split())
    else:  # counts alone: the most frequent words
        row = corpus.counts[[document]]
        order = (-row.data).argsort(kind="stable")[:40]
        text = " ".join(corpus.vocabulary[w] for w in row.indices[order])
    more = " …" if len(text) > SHOWN else ""
    console.print(Text(printable(text[:SHOWN]) + more))


def _ask(names: list[str]) -> str | None:
    """Return a class, "" to skip or None to end; a new class is added to the names."""
    choices = "  ".join(f"{place} {name}" for place, name in enumerate(names, 1))
    prompt = "Class number, +new class, s = skip, q = quit: "
    while True:
        try:
            text = input(f"{printable(choices)}\n{prompt}".lstrip()).strip()
        except EOFError:
            return None
        if text in ("s", "q"):
            return "" if text == "s" else None
        if text.startswith("+") and text[1:].strip():
            name = text[1:].strip()
            if name not in names:
                names.append(name)
            return name
        if text.isdecimal() and 1 <= int(text) <= len(names):
            return names[int(text) - 1]
        if text in names:
            return text
        stdout_console().print(
            "Give the number of a class, + and the name of a new one, s to skip this "
            "document, or q to end."
        )
