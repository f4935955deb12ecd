# SPDX-License-Identifier: BSD-3-Clause
"""``topicfold effects``: does a feature of documents matter to their topics?"""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from topicfold.cli import flags
from topicfold.cli.console import CommandError, in_flags, show_fact, tell, working
from topicfold.cli.flags import Flags, Format, flag, takes_flags
from topicfold.cli.report import check_report_file, report_effects
from topicfold.cli.sides import file_text
from topicfold.core.tables import csv_table
from topicfold.exceptions import MissingDependencyError, TopicfoldError

if TYPE_CHECKING:
    from topicfold.effects import Effects
    from topicfold.persistence.model_folder import ModelFolder

_Table = Annotated[
    Path,
    typer.Argument(
        metavar="TABLE",
        help="Covariates, one row per document: .csv, .tsv, .jsonl, .xlsx, .parquet.",
    ),
]


class _Flags(Flags):
    formula: str = flag(
        "Formula of the covariates, such as '~ party + s(date) | speaker'.",
        ...,
        "--formula -F",
        metavar="TEXT",
    )
    topics: list[str] | None = flag(
        "Topics, or sums and differences of topics, separated by commas: 1,4,1+4,1-4.",
        metavar="A,B,…",
    )
    id: str | None = flag(
        "Column of TABLE with document ids; without it, rows are matched by order.",
        metavar="COLUMN",
    )
    sheet: str | None = flag(
        "Sheet of an .xlsx file: its title, or its number from 1.",
        metavar="SHEET",
        show_default="the first",
    )
    cluster: str | None = flag(
        "Column of clusters: documents in the same cluster are not independent.",
        metavar="COLUMN",
    )
    weights: str | None = flag(
        "Column with the weights of the documents.", metavar="COLUMN"
    )
    content: str | None = flag(
        "Column of the groups, for a model fitted with --content.", metavar="COLUMN"
    )
    adjust: str | None = flag(
        "Adjust p-values for all tests: holm or fdr.", metavar="holm|fdr"
    )
    method: str | None = flag(
        "How uncertainty is estimated: joint, fixed, bootstrap or posterior.",
        metavar="TEXT",
        show_default="joint, or fixed after topics were merged",
    )
    draws: int = flag("Number of draws.", 25, min=2)
    sentences: bool = flag("Print one sentence for each effect.", False)
    plot: Path | None = flags.PLOT
    covariate: str | None = flag("Covariate to plot.", metavar="COLUMN")
    report: Path | None = flag(
        "Write the model's report with a view of these effects.", metavar="FILE.html"
    )
    by: str | None = flag(
        "Second covariate for the plot: one curve for each of its levels.",
        metavar="COLUMN",
    )
    format: Format = flags.FORMAT
    seed: int = flags.SEED
    jobs: int = flags.JOBS


@takes_flags()
def effects(folder: flags.ModelArgument, table: _Table, *, given: _Flags) -> None:
    """Estimate effects of covariates on the shares of topics, with intervals.

    Shares are regressed on the covariates, over draws of the topics. s(x) is a
    smooth curve, a * b an interaction, and the column after | groups documents that
    are not independent. Rows of TABLE are in the order of the documents, or named by
    --id.

    [bold]Examples[/bold]
      topicfold effects model speeches.csv -F "~ party + s(date) | speaker"
      topicfold effects model mails.csv -F "~ sender" --topics 3,3-7 --plot a.png
      topicfold effects model mails.csv -F "~ sender" --adjust fdr --sentences
      topicfold effects model mails.csv -F "~ sender" --report effects.html

    [bold]In Python[/bold]
      from topicfold import Topics
      Topics.load("model").effects("~ sender", table).plot()
    """
    from topicfold.session import Topics

    for name in ("covariate", "by"):
        if getattr(given, name) is not None and given.plot is None:
            raise CommandError(f"--{name} chooses what --plot draws. Give --plot too.")
    flags.check_picture(given.plot)
    if given.report is not None:
        check_report_file(given.report)
    model = Topics.load(folder)
    saved = model.fitted_
    if saved.counts is None and given.method != "posterior":
        raise CommandError(
            f"{folder} was saved without its documents, whose counts are needed here. "
            "Fit it again with its documents, or give --method posterior."
        )
    data = _in_order(_read(table, given.sheet), given.id, saved, table)
    with working("Sampling topics …") as on_progress:
        found = model.effects(
            given.formula,
            data,
            topics=[_topic(name) for name in flags.listed(given.topics)] or None,
            method=given.method,
            n_draws=given.draws,
            cluster=given.cluster,
            weights=given.weights,
            content=given.content,
            random_state=given.seed,
            n_jobs=given.jobs,
            on_progress=on_progress,
        )
    _show(found, given)
    if given.plot is not None:
        _draw(found, given.plot, given)
    if given.report is not None:
        report_effects(saved, found, given.report)
        if given.format is Format.table:
            show_fact("Report", str(given.report))


def _topic(name: str) -> int | str:
    return int(name) if name.isdecimal() else name


def _read(path: Path, sheet: str | None) -> Any:
    """Return the table of covariates as a data frame, as `fit` would read it."""
    from topicfold.core.tables import load_pandas
    from topicfold.corpus.texts import plain_suffix

    pandas = load_pandas()
    if not path.is_file():
        raise CommandError(f"there is no file {path}. Give a table of covariates.")
    kind = plain_suffix(path)
    if sheet is not None and kind != ".xlsx":
        raise CommandError(f"{path} has no sheets. Leave --sheet out.")
    try:
        if kind in (".parquet", ".pq"):
            return pandas.read_parquet(path)
        if kind == ".xlsx":
            return _sheet(path, sheet)
        text = file_text(path)
        if kind in (".jsonl", ".ndjson"):
            lines = (line for line in text.split("\n") if line.strip())
            rows = [json.loads(line) for line in lines]
            return pandas.json_normalize(rows, sep="_")  # a formula has no points
        return _separated(text, "\t" if kind == ".tsv" else None)
    except (ValueError, AttributeError, ImportError, OSError) as error:
        if isinstance(error, TopicfoldError):
            raise
        reason = " ".join(str(error).split())
        raise CommandError(f"{path} cannot be read as a table: {reason}") from error


def _sheet(path: Path, wanted: str | None) -> Any:
    """Return a sheet of an Excel file, the first where none is named."""
    import pandas

    from topicfold.corpus.tables import sheet_place

    with pandas.ExcelFile(path) as book:
        titles = [str(title) for title in book.sheet_names]
        place = sheet_place(path, titles, wanted)
        if wanted is None and len(titles) > 1:
            others = ", ".join(map(repr, titles[1:]))
            tell("note", f"{path}: sheet {titles[0]!r}; it also has {others} (--sheet)")
        return book.parse(place)


def _separated(text: str, mark: str | None) -> Any:
    """Return the table of a CSV file, also as a spreadsheet in Europe writes it."""
    import pandas

    from topicfold.corpus.tables import delimiter_of
    from topicfold.known import numbers_in

    head = next((line for line in text.split("\n") if line.strip()), "")
    frame = pandas.read_csv(io.StringIO(text), sep=mark or delimiter_of(head))
    for name in frame.columns:
        if not pandas.api.types.is_numeric_dtype(frame[name]):
            numbers = numbers_in(frame[name].fillna("").astype(str).tolist())
            if numbers is not None and frame[name].notna().any():
                frame[name] = numbers
    return frame


def _in_order(frame: Any, column: str | None, saved: ModelFolder, path: Path) -> Any:
    """Return the table in the order of the documents, by a column of their ids."""
    if column is None:
        return frame
    if column not in frame.columns:
        raise CommandError(
            f"{path} has no column {column!r}. It has "
            f"{', '.join(map(str, frame.columns))}."
        )
    if saved.doc_ids is None:
        raise CommandError(
            "the model was saved without ids of documents, so --id has nothing to "
            "match. Leave it out, and give rows in the order of the documents."
        )
    ids = frame[column].astype(str)
    if ids.duplicated().any():
        twice = ids[ids.duplicated()].iloc[0]
        raise CommandError(f"{path} has the id {twice!r} twice. Remove a row.")
    missing = [name for name in saved.doc_ids if name not in set(ids)]
    if missing:
        raise CommandError(
            f"{path} has no row for {len(missing):,} documents (first: "
            f"{missing[0]!r}). Add them; a value may be empty."
        )
    return frame.set_axis(ids, axis=0).loc[saved.doc_ids].reset_index(drop=True)


def _show(found: Effects, given: _Flags) -> None:
    if given.format is Format.json:
        data = found.plot_data | {"sentences": found.sentences(adjust=given.adjust)}
        data["effects"] = [dict(row) for row in found.rows(adjust=given.adjust)]
        typer.echo(json.dumps(data, ensure_ascii=False, indent=1))
    elif given.format is Format.csv or given.sentences:
        for note in found.notes:  # of what is left out, and of topics
            tell("note", note)
        if given.format is Format.csv:
            typer.echo(csv_table(found.rows(adjust=given.adjust)), nl=False)
        else:
            typer.echo("\n".join(found.sentences(adjust=given.adjust)))
    else:
        typer.echo(in_flags(found.text(adjust=given.adjust)))


def _draw(found: Effects, plot: Path, given: _Flags) -> None:
    try:
        found.plot(given.covariate, path=plot, by=given.by)
    except MissingDependencyError as error:
        tell("note", error)
        return
    if given.format is Format.table:
        show_fact("Plot", str(plot))
