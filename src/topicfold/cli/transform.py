# SPDX-License-Identifier: BSD-3-Clause
"""``topicfold transform``: topic mixtures of new documents."""

from __future__ import annotations

import csv
import functools
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TextIO

from topicfold.cli import flags, inputs
from topicfold.cli.console import CommandError, tell
from topicfold.cli.flags import Flags, check_folder, takes_flags
from topicfold.cli.sides import (
    SideOptions,
    check_languages,
    read_embeddings,
)
from topicfold.core.lazy import optional
from topicfold.known import taken_by, with_times

_SUFFIXES = (".csv", ".parquet", ".npz")


class _Flags(Flags):
    output: str = flags.output(
        "File to write, ending in .csv, .parquet or .npz (arrays ids and doc_topics); "
        "- prints CSV.",
        *(flags.STDOUT, "FILE"),
    )
    embeddings: str | None = flags.EMBEDDINGS


@takes_flags(without=inputs.WORD_OPTIONS)
def transform(
    folder: flags.ModelArgument,
    source: flags.InputArgument,
    *,
    given: _Flags,
    options: inputs.TextOptions,
    sides: SideOptions,
) -> None:
    """Write the topic mixtures of new documents.

    Every row sums to 1. A topic that was named (topicfold edit --rename) has its name
    as column, others are topic0, topic1, …. Words outside the model's vocabulary
    are ignored; a document with no word of it gets the same share of every topic.

    What else is known is named as in topicfold fit. For a model of several languages,
    --language names the columns to read, and --text that of the first language if it is
    to be read too; a file without columns has one language.

    [bold]Examples[/bold]
      topicfold transform reviews-model new.txt > mixtures.csv
      topicfold transform reviews-model new.jsonl -o mixtures.parquet

    [bold]In Python[/bold]
      from topicfold import Topics
      Topics.load("reviews-model").transform("new.txt")
    """
    output = given.output
    suffix = Path(output).suffix.lower()
    if output != flags.STDOUT and suffix not in _SUFFIXES:
        raise CommandError(
            f"--output is {output!r}. Give a name ending in .csv, .parquet or .npz."
        )
    if output != flags.STDOUT:
        check_folder(Path(output))
    if suffix == ".parquet":
        need, install = "Parquet needs pyarrow", "'topicfold[parquet]'"
        optional("pyarrow", need, install, "or write .csv")  # before the work

    from topicfold.models.base import topic_columns
    from topicfold.persistence.atomic import write_atomically
    from topicfold.persistence.model_folder import load_model_folder

    saved = load_model_folder(folder)
    if not hasattr(saved.model, "transform"):
        raise CommandError(
            f"{folder} holds {type(saved.model).__name__}, which predicts classes, "
            f"not topic mixtures. Use topicfold classify {folder} {source}."
        )
    counts, found, languages = _read(source, saved, options, sides)
    known = {**sides.data(found), **languages}
    taken = {side.keyword for side in getattr(saved.model, "sides_", ())}
    taken |= taken_by(saved.model)
    known = with_times(saved.model, known, found.times)
    strange = [f"--{name}" for name in known if name not in taken]
    if strange:
        raise CommandError(
            f"the model in {folder} was fitted without {', '.join(strange)}. "
            "Leave it out here too."
        )
    if given.embeddings is not None:
        if not any(hasattr(saved.model, n) for n in ("sharing_", "embeddings_")):
            raise CommandError(
                f"the model in {folder} was fitted without --embeddings. Leave it "
                "out here too."
            )
        known["embeddings"] = read_embeddings(given.embeddings, source, counts.shape[0])
    unused = [f"--{name}" for name in _of_new_documents(saved.model) - {*known}]
    if unused:
        tell(
            "note",
            f"the fit had {' and '.join(sorted(unused))}. Give it here too to use "
            "what is known of new documents; without, they are taken as the mean ones.",
        )
    mixtures = saved.model.transform(counts, **known)
    names = found.ids or [str(row) for row in range(len(mixtures))]
    columns = topic_columns(
        saved.model, [f"topic{k}" for k in range(mixtures.shape[1])]
    )
    table = (names, columns, mixtures)
    if output == flags.STDOUT:
        _write_csv(sys.stdout, *table)
    else:
        write_atomically(Path(output), lambda to: _write(to, suffix, *table))


def _of_new_documents(model: Any) -> set[str]:
    """Return what the fit learned from that new documents may have, too."""
    names = {side.keyword for side in getattr(model, "sides_", ()) if side.known_later}
    if len(getattr(model, "prevalence_names_", ())) > 1:
        names.add("prevalence")
    if getattr(model, "content_groups_", ()):
        names.add("content")
    return names & {"prevalence", "content", "features"}


def _read(
    source: str, saved: Any, options: inputs.TextOptions, sides: SideOptions
) -> tuple[Any, Any, dict[str, Any]]:
    """Return the counts of new documents, what is known of them, and languages."""
    from topicfold.session.languages import known_languages

    wanted, extra = list(sides.languages()), sides.columns()
    if not wanted:
        return (*inputs.count_new_documents(source, saved, options, extra), {})
    check_languages(sides, saved)
    kind = options.text_format(source)
    if kind is None:
        raise CommandError(
            f"{source} holds counts, which have no languages. Give texts."
        )
    if kind in ("files", "lines"):
        if len(extra) > 1 or options.text:
            raise CommandError(
                f"{source} has no columns, so its texts are in one language. Give "
                "--language only once."
            )
        counts, found = inputs.count_new_documents(source, saved, options, words=False)
        found = found._replace(extra={wanted[0]: found.texts})
    else:
        first = bool(options.text)
        if not first:  # no column of it is needed then
            options = options.replace(text=wanted[:1])
        counts, found = inputs.count_new_documents(
            source, saved, options, extra, words=first
        )
    count = functools.partial(inputs.count_known, options=options)
    return counts, found, known_languages(saved, wanted, found.extra, count)


def _write_csv(
    stream: TextIO, names: Sequence[str], columns: Sequence[str], mixtures: Any
) -> None:
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(["id", *columns])
    for name, row in zip(names, mixtures, strict=True):
        writer.writerow([name, *(f"{value:.6g}" for value in row.tolist())])


def _write(
    file: Path, suffix: str, names: Sequence[str], columns: Sequence[str], mixtures: Any
) -> None:
    if suffix == ".csv":
        with file.open("w", encoding="utf-8", newline="") as text:
            _write_csv(text, names, columns, mixtures)
    elif suffix == ".npz":
        import numpy as np

        with file.open("wb") as stream:
            np.savez_compressed(stream, ids=np.array(names, str), doc_topics=mixtures)
    else:
        import pyarrow.parquet

        values = dict(zip(columns, mixtures.T, strict=True))
        table = pyarrow.table({"id": list(names), **values})
        pyarrow.parquet.write_table(table, file)
