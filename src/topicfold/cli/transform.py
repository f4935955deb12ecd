# SPDX-License-Identifier: BSD-3-Clause
"""``topicfold transform``: topic mixtures of new documents."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from topicfold.cli import text_options as texts
from topicfold.cli.messages import CommandError
from topicfold.cli.topics import ModelArgument

HELP = """Write the topic mixtures of new documents.

Every row sums to 1. Words that the model does not know are ignored; a document
without any known word gets the same share of every topic.

\b
[bold]Examples[/bold]
  topicfold transform reviews-model new.txt > mixtures.csv
  topicfold transform reviews-model new.jsonl -o mixtures.parquet

\b
[bold]In Python[/bold]
  import topicfold
  from topicfold import corpus
  from topicfold.persistence.model_folder import load_model_folder
  saved = load_model_folder("reviews-model")
  texts = corpus.read_texts("new.txt").texts
  X, _ = corpus.vectorize(texts, vocabulary=saved.vocabulary, **saved.text)
  saved.model.transform(X)
"""

STDOUT = "-"
_CHUNK = 1000
_Output = Annotated[
    str,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help="File ending in .csv, .parquet or .npz (arrays ids and doc_topics); - "
        "prints CSV.",
    ),
]


@texts.takes_text_options(without=("label", "time", *texts.WORD_OPTIONS))
def transform(
    folder: ModelArgument,
    source: texts.InputArgument,
    output: _Output = STDOUT,
    *,
    options: texts.TextOptions,
    format: str | None,
) -> None:
    """Write the topic mixtures of new documents."""
    suffix = Path(output).suffix.lower()
    if output != STDOUT and suffix not in _WRITERS:
        raise CommandError(
            f"--output is {output!r}. Give a name ending in .csv, .parquet or .npz."
        )
    if suffix == ".parquet":
        _pyarrow()  # before the work

    from topicfold.cli.inputs import read_new_documents
    from topicfold.persistence.atomic import write_atomically
    from topicfold.persistence.model_folder import load_model_folder

    saved = load_model_folder(folder)
    if not hasattr(saved.model, "transform"):
        raise CommandError(
            f"{folder} holds {type(saved.model).__name__}, which tells classes, not "
            f"topic mixtures. Use topicfold classify {folder} {source}."
        )
    counts, ids = read_new_documents(source, saved, options=options, format=format)
    mixtures = saved.model.transform(counts)
    names = ids or [str(row) for row in range(len(mixtures))]
    if output == STDOUT:
        for chunk in _csv_chunks(names, mixtures):
            typer.echo(chunk, nl=False)
    else:
        write = _WRITERS[suffix]
        write_atomically(Path(output), lambda file: write(file, names, mixtures))


def _csv_chunks(names: Sequence[str], mixtures: Any) -> Iterator[str]:
    """Yield the CSV in pieces, the header first."""
    header = ["id", *(f"topic{topic}" for topic in range(mixtures.shape[1]))]
    yield _csv_lines([header])
    for start in range(0, len(names), _CHUNK):
        part = slice(start, start + _CHUNK)
        yield _csv_lines(
            [name, *(f"{value:.6g}" for value in row)]
            for name, row in zip(names[part], mixtures[part].tolist(), strict=True)
        )


def _csv_lines(rows: Any) -> str:
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows(rows)
    return stream.getvalue()


def _pyarrow() -> Any:
    from topicfold.exceptions import MissingDependencyError

    try:
        import pyarrow.parquet
    except ImportError as error:
        raise MissingDependencyError(
            "Parquet needs pyarrow. Install it with pip install 'topicfold[parquet]', "
            "or write .csv."
        ) from error
    return pyarrow


def _write_csv(file: Path, names: Sequence[str], mixtures: Any) -> None:
    with file.open("w", encoding="utf-8", newline="") as stream:
        stream.writelines(_csv_chunks(names, mixtures))


def _write_npz(file: Path, names: Sequence[str], mixtures: Any) -> None:
    import numpy as np

    with file.open("wb") as stream:
        np.savez_compressed(stream, ids=np.array(names, str), doc_topics=mixtures)


def _write_parquet(file: Path, names: Sequence[str], mixtures: Any) -> None:
    pyarrow = _pyarrow()
    columns = {f"topic{k}": mixtures[:, k] for k in range(mixtures.shape[1])}
    pyarrow.parquet.write_table(pyarrow.table({"id": list(names), **columns}), file)


_WRITERS: dict[str, Callable[[Path, Sequence[str], Any], None]] = {
    ".csv": _write_csv,
    ".npz": _write_npz,
    ".parquet": _write_parquet,
}
