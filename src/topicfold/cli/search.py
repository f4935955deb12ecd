# SPDX-License-Identifier: BSD-3-Clause
"""``topicfold search``: find documents by meaning."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from topicfold.cli import inputs
from topicfold.cli.console import csv_table, stdout_console
from topicfold.cli.inputs import Format, read_new_documents, refuse_unused
from topicfold.cli.messages import CommandError, one_line, printable

if TYPE_CHECKING:
    from topicfold.search import Hits, TopicIndex

Measure = StrEnum("Measure", ["cosine", "inner", "hellinger", "kl"])
Lexical = StrEnum("Lexical", ["bm25", "tfidf"])
_SNIPPET = 50
_Query = Annotated[
    str | None, typer.Argument(metavar="QUERY", help="Words to search for.")
]
_Topic = Annotated[
    int | None, typer.Option(min=0, help="Search for a topic instead of a text.")
]
_Like = Annotated[
    str | None,
    typer.Option(metavar="DOC", help="Search for documents like this: name or row."),
]
_Word = Annotated[str | None, typer.Option(help="Search for the meaning of a word.")]
_Terms = Annotated[
    bool, typer.Option("--terms", help="With --word: list similar words instead.")
]
_Number = Annotated[int, typer.Option("--number", "-n", min=1, help="Results to list.")]
_Mix = Annotated[
    float,
    typer.Option(min=0, max=1, help="Weight of shared words; needs --documents."),
]
_Lexical = Annotated[
    Lexical | None,
    typer.Option(help="With --mix: score of shared words.", show_default="bm25"),
]
_Measure = Annotated[
    Measure | None,
    typer.Option(help="How to compare.", show_default="cosine for lsi, else hellinger"),
]
_Documents = Annotated[
    str | None,
    typer.Option(metavar="INPUT", help="Search these documents, read as by fit."),
]


@inputs.takes_text_options(without=inputs.BESIDE)
def search(
    folder: inputs.ModelArgument,
    query: _Query = None,
    topic: _Topic = None,
    like: _Like = None,
    word: _Word = None,
    terms: _Terms = False,
    number: _Number = 10,
    mix: _Mix = 0.0,
    lexical: _Lexical = None,
    measure: _Measure = None,
    documents: _Documents = None,
    format: inputs.FormatOption = Format.table,
    *,
    options: inputs.TextOptions,
) -> None:
    """Find documents by meaning with a saved model, best first.

    QUERY is any text. Documents are compared by their topics, or in LSI's latent space,
    so one can be found that shares no word with the query. The documents searched are
    those that the model was fitted on, or those of --documents.

    [bold]Examples[/bold]
      topicfold fit reviews.txt --model lsi -k 100 -o reviews-model
      topicfold search reviews-model "broken zip"
      topicfold search reviews-model --like 17 -n 5
      topicfold search reviews-model --topic 3
      topicfold search reviews-model --word zip --terms
      topicfold search reviews-model "broken zip" --documents new.txt --mix 0.3

    [bold]In Python[/bold]
      from topicfold.persistence.model_folder import load_model_folder
      from topicfold.search import TopicIndex
      saved = load_model_folder("reviews-model")
      index = TopicIndex(
          saved.model, vocabulary=saved.vocabulary, text=saved.text
      )
      index.add(vectors=saved.model.doc_topics_)
      index.query("broken zip", n=10)
    """
    asked = {"query": query, "topic": topic, "document": like, "word": word}
    given: dict[str, Any] = {k: v for k, v in asked.items() if v is not None}
    if len(given) != 1:
        raise CommandError(
            "give exactly one of QUERY, --topic, --like and --word; got "
            f"{len(given) or 'none'}."
        )
    if terms and word is None:
        raise CommandError("--terms lists words similar to a word. Give --word too.")
    if terms and mix:
        raise CommandError("--mix applies to documents, not to --terms. Leave it out.")
    if lexical is not None and not mix:
        raise CommandError("--lexical applies to --mix. Give --mix, such as 0.3.")
    if documents is None:
        refuse_unused(options, "--documents")
    index, known = _open_index(folder, measure, lexical, documents, mix, options)
    if terms:
        hits = index.similar_terms(str(word), n=number)
    else:
        hits = index.query(**given, n=number, mix=mix)
    rows = _table_rows(hits, "word" if terms else "document", {} if terms else known)
    _write(rows, format)


def _open_index(
    folder: Path,
    measure: Measure | None,
    lexical: Lexical | None,
    documents: str | None,
    mix: float,
    options: inputs.TextOptions,
) -> tuple[TopicIndex, dict[str, list[str]]]:
    """Return the saved index, or one of the model's or the given documents.

    With it come the labels and texts of its documents, where they are known.
    """
    from topicfold.persistence import read_estimator
    from topicfold.persistence.model_folder import load_model_folder
    from topicfold.search import TopicIndex
    from topicfold.search.index import has_index

    if documents is None and has_index(read_estimator(folder)):
        chosen = {"--measure": measure, "--lexical": lexical}
        wrong = [flag for flag, value in chosen.items() if value is not None]
        if wrong:
            raise CommandError(
                f"{folder} holds an index with its own settings; {' and '.join(wrong)} "
                "applies to a new one. Leave it out, or give --documents."
            )
        return TopicIndex.load(folder, n_jobs=-1), {}
    saved = load_model_folder(folder)
    if mix and documents is None:
        raise CommandError(
            "--mix needs the words of the documents, which the model does not keep. "
            "Give them with --documents."
        )
    index = TopicIndex(
        saved.model,
        vocabulary=saved.vocabulary,
        text=saved.text,
        measure=measure,
        lexical=(lexical or Lexical.bm25) if mix else None,
        n_jobs=-1,
    )
    if documents is not None:
        counts, ids = read_new_documents(documents, saved, options)
        return index.add(counts, ids=ids), {}
    if not hasattr(saved.model, "doc_topics_"):
        raise CommandError(
            f"the model in {folder} keeps no documents. Give some with --documents."
        )
    index.add(vectors=saved.model.doc_topics_, ids=saved.doc_ids)
    known = {"label": saved.labels, "text": getattr(saved, "texts", None)}
    return index, {name: values for name, values in known.items() if values is not None}


def _table_rows(
    hits: Hits, what: str, known: dict[str, list[str]]
) -> list[dict[str, Any]]:
    places = enumerate(zip(hits.rows.tolist(), hits, strict=True), 1)
    return [
        {"rank": rank, what: name, "score": round(score, 6)}
        | {field: values[place] for field, values in known.items()}
        for rank, (place, (name, score)) in places
    ]


def _write(rows: list[dict[str, Any]], format: Format) -> None:
    if format is Format.json:
        import json

        typer.echo(json.dumps(rows, ensure_ascii=False, indent=2))
    elif format is Format.csv:
        typer.echo(csv_table(rows), nl=False)
    else:
        _print_table(rows)


def _print_table(rows: list[dict[str, Any]]) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False)
    for name in rows[0]:
        justify: Any = "right" if name in ("rank", "score") else "left"
        table.add_column(name, justify=justify, overflow="fold")
    for row in rows:
        table.add_row(*(Text(_cell(name, value)) for name, value in row.items()))
    stdout_console().print(table)


def _cell(name: str, value: Any) -> str:
    text = f"{value:.4f}" if isinstance(value, float) else one_line(str(value))
    if name == "text" and len(text) > _SNIPPET:
        text = text[: _SNIPPET - 2].rstrip() + " …"
    return printable(text)
