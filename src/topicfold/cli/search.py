# SPDX-License-Identifier: BSD-3-Clause
"""``topicfold search``: find documents by meaning."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from topicfold.cli import flags, inputs
from topicfold.cli.console import (
    CommandError,
    one_line,
    stdout_console,
    tell,
)
from topicfold.cli.flags import Flags, Format, flag, takes_flags
from topicfold.cli.sides import read_embeddings, read_vectors
from topicfold.core.tables import csv_table, printable

if TYPE_CHECKING:
    from topicfold.search import TopicIndex

Measure = StrEnum("Measure", ["cosine", "inner", "hellinger", "kl"])
Lexical = StrEnum("Lexical", ["bm25", "tfidf"])
_Query = Annotated[
    str | None, typer.Argument(metavar="QUERY", help="Text or words to search for.")
]


class _Flags(Flags):
    topic: int | None = flag("Search for a topic instead of a text.", min=0)
    like: str | None = flag(
        "Search for documents similar to this one: its id or row.", metavar="DOC"
    )
    word: str | None = flag("Search for documents by the meaning of a word.")
    terms: bool = flag("With --word: list similar words instead of documents.", False)
    number: int = flag("Number of results.", 10, "--number -n", min=1)
    mix: float | None = flag(
        "Weight of shared words: 0 compares only by meaning, 1 only by words.",
        min=0,
        max=1,
        show_default="0.5 if the words of the documents are known",
    )
    lexical: Lexical | None = flag("Score of shared words.", show_default="bm25")
    measure: Measure | None = flag(
        "How to compare vectors.", show_default="cosine for lsi, otherwise hellinger"
    )
    documents: str | None = flag(
        "Search these documents instead of those of the model; they are read as "
        "in fit.",
        metavar="INPUT",
    )
    embeddings: str | None = flag(
        "Vectors of --documents: FILE.npy, or a column of a Parquet file.",
        metavar="FILE",
    )
    query_embeddings: Path | None = flag(
        "Vector of QUERY, from the same encoder as the documents' vectors: FILE.npy "
        "with one row.",
        metavar="FILE",
    )
    format: Format = flags.FORMAT


@takes_flags(without=inputs.BESIDE)
def search(
    folder: flags.ModelArgument,
    query: _Query = None,
    *,
    given: _Flags,
    options: inputs.TextOptions,
) -> None:
    """Find documents by meaning and by words with a saved model, best first.

    QUERY is any text. Documents are compared by their topics, or in LSI's latent space,
    so a document can be found that shares no word with the query; those that share
    words come first (--mix). Words that no topic has, because they were too frequent or
    too rare, are looked up in the saved texts; other words are ignored, and a note
    names them. The documents searched are those that the model was fitted on, or those
    of --documents.

    [bold]Examples[/bold]
      topicfold fit reviews.txt --model lsi -k 100 -o reviews-model
      topicfold search reviews-model "broken zip"
      topicfold search reviews-model --like 17 -n 5
      topicfold search reviews-model --topic 3
      topicfold search reviews-model --word zip --terms
      topicfold search reviews-model "broken zip" --documents new.txt --mix 0
      topicfold search reviews-model "broken zip" --query-embeddings query.npy

    [bold]In Python[/bold]
      from topicfold import Topics
      Topics.load("reviews-model").search("broken zip")
    """
    from topicfold.search.words import with_texts
    from topicfold.session.views import usual_mix

    word, mix, terms = given.word, given.mix, given.terms
    found = {"query": query, "topic": given.topic, "document": given.like, "word": word}
    asked: dict[str, Any] = {k: v for k, v in found.items() if v is not None}
    if len(asked) != 1:
        raise CommandError(
            "give exactly one of QUERY, --topic, --like and --word; got "
            f"{len(asked) or 'none'}."
        )
    if terms and word is None:
        raise CommandError("--terms lists words similar to a word. Give --word too.")
    if terms and mix:
        raise CommandError(
            "--mix is for searches for documents, not for --terms. Leave it out."
        )
    if given.lexical is not None and mix == 0:
        raise CommandError(
            "--lexical is only used with --mix. Give --mix, such as 0.3."
        )
    if given.topic is not None and mix:
        raise CommandError(
            "--mix compares the words of a query, and --topic has no query. Leave "
            "--mix out."
        )
    inputs.refuse_unused(options, "--documents", given.documents)
    if given.embeddings is not None and given.documents is None:
        raise CommandError("--embeddings are the vectors of --documents. Give both.")
    if given.query_embeddings is not None and query is None:
        raise CommandError("--query-embeddings is the vector of QUERY. Give both.")
    wanted = 0.0 if terms or given.topic is not None else mix
    index, known = _open_index(folder, given, wanted, options)
    if terms:
        hits = index.similar_terms(str(word), n=given.number)
        _write(
            [r | {"word": r.pop("document")} for r in hits.records()], given.format, ()
        )
        return
    if given.query_embeddings is not None:
        file = str(given.query_embeddings)
        asked["embeddings"] = read_vectors(file, 1, "--query-embeddings", "query")
    if wanted is None:
        wanted = usual_mix(index, vectors="embeddings" in asked)
    hits = index.query(**asked, n=given.number, mix=wanted)
    if hits.note:
        tell("note", hits.note)
    if known is not None and known.texts is not None:
        hits = with_texts(hits, known.texts, query or word)
    rows = hits.records()
    if known is not None and known.labels is not None:
        for row, place in zip(rows, hits.rows.tolist(), strict=True):
            row["label"] = known.labels[place]
    _write(rows, given.format, hits.words)


def _open_index(
    folder: Path, given: _Flags, mix: float | None, options: inputs.TextOptions
) -> tuple[TopicIndex, Any]:
    """Return the index to search, and what has its labels and texts (or None)."""
    from topicfold.persistence import read_estimator
    from topicfold.persistence.model_folder import load_model_folder
    from topicfold.search import TopicIndex
    from topicfold.search.index import has_index
    from topicfold.session.views import index_of, with_documents

    documents = given.documents
    if documents is None and has_index(read_estimator(folder)):
        chosen = {"--measure": given.measure, "--lexical": given.lexical}
        wrong = [flag for flag, value in chosen.items() if value is not None]
        if wrong:
            raise CommandError(
                f"{folder} holds an index with its own settings; {' and '.join(wrong)} "
                "only applies to a new index. Leave it out, or give --documents."
            )
        return TopicIndex.load(folder, n_jobs=-1), None
    saved = load_model_folder(folder)
    with_words = saved.counts is not None or documents is not None
    if mix and not with_words:
        raise CommandError(
            "--mix needs the words of the documents, which were not saved with the "
            "model. Give the documents with --documents."
        )
    index = index_of(
        saved,
        saved.text,
        measure=given.measure,
        lexical=(given.lexical or Lexical.bm25) if with_words and mix != 0 else None,
    )
    if documents is not None:
        counts, new = inputs.count_new_documents(documents, saved, options)
        rows = read_embeddings(given.embeddings, documents, counts.shape[0])
        return index.add(counts, ids=new.ids, texts=new.texts, embeddings=rows), new
    if not hasattr(saved.model, "doc_topics_"):
        raise CommandError(
            f"the model in {folder} was saved without documents. Give some with "
            "--documents."
        )
    return with_documents(index, saved), saved


def _write(rows: list[dict[str, Any]], format: Format, words: Sequence[str]) -> None:
    if format is Format.json:
        import json

        typer.echo(json.dumps(rows, ensure_ascii=False, indent=2))
    elif format is Format.csv:
        typer.echo(csv_table(rows), nl=False)
    elif rows and "title" in rows[0]:
        _print_results(rows, words)
    else:
        _print_table(rows)


def _print_results(rows: list[dict[str, Any]], words: Sequence[str]) -> None:
    """Print a title and a passage for every document, the words asked for in bold."""
    from rich.table import Table
    from rich.text import Text

    from topicfold.search.words import words_pattern

    console, pattern = stdout_console(), words_pattern(words)
    table = Table.grid(padding=(0, 2))
    table.add_column(justify="right", min_width=3)
    table.add_column(overflow="fold")
    for row in rows:
        name = row["document"] if row["document"] != row["title"] else ""
        score = f"{row['score']:.3f}"
        more = [str(part) for part in (name, row.get("label"), score) if part]
        text = Text(printable(row["title"]) or "(empty)", style="bold")
        about = Text(printable(" · ".join(more)), style="not bold cyan")
        in_one_line = 7 + text.cell_len + about.cell_len <= console.width
        text.append("  " if in_one_line else "\n").append_text(about)
        passage = Text(printable(row["snippet"]), style="not bold")
        if pattern is not None:
            passage.highlight_regex(pattern, "bold")
        if row["snippet"] not in ("", row["title"]):
            text.append("\n").append_text(passage)
        table.add_row(str(row["rank"]), text)
    console.print(table)


def _print_table(rows: list[dict[str, Any]]) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False)
    for name in rows[0]:
        justify: Any = "right" if name in ("rank", "score") else "left"
        table.add_column(name, justify=justify, overflow="fold")
    for row in rows:
        cells = (f"{v:.4f}" if isinstance(v, float) else str(v) for v in row.values())
        table.add_row(*(Text(printable(one_line(cell))) for cell in cells))
    stdout_console().print(table)
