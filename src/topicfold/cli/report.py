# SPDX-License-Identifier: BSD-3-Clause
"""``topicfold report``: one HTML file to look at the topics of a saved model."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from topicfold.cli import flags, inputs
from topicfold.cli.console import (
    CommandError,
    counted,
    show_fact,
    show_next,
    tell,
    working,
)
from topicfold.cli.flags import Flags, flag, takes_flags

if TYPE_CHECKING:
    from topicfold.persistence.model_folder import ModelFolder
    from topicfold.topic_data import TopicData

_Model = Annotated[
    Path,
    typer.Argument(metavar="MODEL", help="Folder of a model, or a saved TopicData."),
]


class _Flags(Flags):
    output: Path | None = flags.output(
        "File to write.", None, "FILE", "MODEL/report.html"
    )
    documents: str | None = flag(
        "The documents that the model was fitted on; the report then shows their "
        "texts.",
        metavar="INPUT",
    )
    against: Path | None = flag(
        "Another model to compare with this one.", metavar="MODEL"
    )
    figures: Path | None = flag(
        "Also write the figures as SVG and PDF, with their data as CSV.", metavar="DIR"
    )
    title: str | None = flag("Title of the page.")
    max_documents: int = flag(
        "Maximum number of documents; if there are more, a sample is shown.",
        100_000,
        min=1,
    )
    max_size: float = flag(
        "Maximum size in megabytes; texts are cut to fit.", 12.0, min=0.1
    )


@takes_flags(without=("format", "tokens", *inputs.WORD_OPTIONS))
def report(model: _Model, *, given: _Flags, options: inputs.TextOptions) -> None:
    """Write a report of a saved model: one HTML file that opens offline.

    It has the topics with their terms and most typical documents, a map of the
    documents, classes and times if they are known, similar topics, and how the model
    was fitted. Names that you give to topics in it can be saved as a file for topicfold
    edit. topicfold fit writes it too; with --documents it shows the texts of the
    documents. With --against it has a view of two models: which topics are the same,
    which words differ, and which documents moved.

    [bold]Examples[/bold]
      topicfold report reviews-model -o report.html
      topicfold report reviews-model --against other-model -o report.html
      topicfold report reviews-model --figures figures
      topicfold report reviews-model --documents reviews.txt -o report.html

    [bold]In Python[/bold]
      from topicfold import Topics
      Topics.load("reviews-model").report("report.html")
    """
    from topicfold.persistence.model_folder import report_file

    file = given.output or report_file(model)
    check_report_file(file)
    inputs.refuse_unused(options, "--documents", given.documents)
    data, name, text = _load(model)
    other = None if given.against is None else _load(given.against)[0]
    if given.documents is not None:
        with working(f"Reading {given.documents} …"):
            data = _with_documents(data, given.documents, options)
    _write(
        *(data, file, name, text),
        title=given.title or report_title(name, data),
        max_documents=given.max_documents,
        size_limit=int(given.max_size * 1_000_000),
        against=other,
    )
    if other is not None:
        _show_matching(data, other)
    show_fact("Report", str(file))
    if given.figures is not None:
        from topicfold.plotting import save_figures

        with working("Drawing …"):
            files = save_figures(data, given.figures)
        show_fact("Figures", f"{counted(len(files), 'file')} in {given.figures}")


def _show_matching(data: TopicData, other: TopicData) -> None:
    """Say how much of two models is the same."""
    from topicfold.report.against import match_models

    match = match_models(data, other)
    show_fact(
        "Matched",
        f"{len(match.pairs)} of {counted(data.n_topics, 'topic')} with one of "
        f"{counted(other.n_topics, 'topic')}",
    )
    if len(match.here):
        moved = sum(number for *_, number in match.moves())
        show_fact("Moved", f"{moved:,} of {counted(len(match.here), 'document')}")


def report_title(name: str, data: TopicData) -> str | None:
    """Return the title of a report: the corpus and the model; None for the default."""
    if not name:
        return None
    kind = data.settings.get("model", "Topic model")
    return f"{name}: {kind}, {counted(data.n_topics, 'topic')}"


def check_report_file(file: Path) -> None:
    """Refuse to write over anything but a report, before the work."""
    from topicfold.persistence.model_folder import is_report

    if file.is_dir():
        raise CommandError(f"{file} is a folder. Give the name of a file for --output.")
    if file.suffix.lower() not in ("", ".html", ".htm"):
        raise CommandError(f"{file} would be a page of HTML. Give a name with .html.")
    if file.is_file() and not is_report(file):
        raise CommandError(
            f"{file} exists and is not a report of topicfold. Choose another name."
        )


def report_fit(
    saved: ModelFolder, file: Path, corpus: Any = None, *, quiet: bool = False
) -> Path | None:
    """Write the report of a model that was just saved, with the texts of a corpus.

    Whatever goes wrong is one line on standard error, since the model is saved.
    """
    try:
        check_report_file(file)
        read_times(saved.times)  # for its note
        data = saved.topic_data()
        # A corpus on disk has no texts, and counts in blocks.
        if getattr(corpus, "texts", None) is not None:
            data = dataclasses.replace(data, texts=corpus.texts)
        counts = saved.counts if corpus is None else corpus.counts
        about = saved.corpus, saved.text
        return _write(data, file, *about, counts=counts, quiet=quiet)
    except Exception as error:
        tell(
            "warning",
            f"the model is saved, but not its report ({file}): {error} To try again: "
            "topicfold report.",
        )
        return None


def report_effects(saved: ModelFolder, found: Any, file: Path) -> None:
    """Write the report of a saved model with a view of effects."""
    data = saved.topic_data()
    data = dataclasses.replace(data, sides=(*data.sides, found.side_table()))
    _write(data, file, saved.corpus, saved.text, counts=saved.counts)


def _write(
    data: TopicData,
    file: Path,
    corpus: str,
    text: Mapping[str, Any] | None,
    *,
    counts: Any = None,
    quiet: bool = False,
    **options: Any,
) -> Path:
    from scipy import sparse

    from topicfold.report import write_report

    options = {"title": report_title(corpus, data), "term_of": _term_of(text)} | options
    if sparse.issparse(counts):
        options["counts"] = counts
    with working("Writing the report …", quiet=quiet):
        return write_report(data, file, **options)


def save_and_report(
    saved: ModelFolder,
    folder: Path,
    *facts: tuple[str, str],
    corpus: Any = None,
    report: bool = True,
    next_command: str = "topicfold topics {}",
    quiet: bool = False,
) -> None:
    """Save a model, write its report, and print what was done and what comes next."""
    from topicfold.persistence.model_folder import (
        place_to_save,
        report_file,
        save_folder,
    )

    asked, folder = folder, place_to_save(folder)
    if folder != asked:
        tell(
            "warning",
            f"another command saved a model in {asked} in the meantime, so this model "
            f"was saved in {folder}",
        )
    place = report_file(folder)
    replaced = place.is_file()
    save_folder(saved, folder)
    page = report_fit(saved, place, corpus, quiet=quiet) if report else None
    if quiet:
        return
    if replaced and not place.is_file():
        show_fact("Removed", f"{place}, of the model that was replaced")
    for fact in facts:
        show_fact(*fact)
    show_fact("Saved", str(folder))
    if page is not None:
        show_fact("Report", str(page))
    show_next(next_command, folder)


def read_times(values: Sequence[str] | None) -> Any:
    """Return times as numbers or dates; None, with a note, if they are neither."""
    known = [value.strip() for value in values or () if value.strip()]
    if not known:
        return None
    from topicfold.core.times import parse_times, unreadable

    found = parse_times(values)
    if found is None:
        tell(
            "note",
            f"the times (such as {unreadable(known)[:80]!r}) are not all numbers or "
            "all dates such as 2001-05-03, so the report has no topics over time",
        )
    return found


def _term_of(text: Mapping[str, Any] | None) -> Callable[[str], str] | None:
    """Return the function from a word to its stem, if the model counts stems."""
    language = (text or {}).get("stem")
    if not isinstance(language, str):
        return None
    from topicfold.corpus.tokens import stemmer

    return stemmer(language)


def _load(path: Path) -> tuple[TopicData, str, Mapping[str, Any] | None]:
    """Return the record of a saved model, its corpus, and how text became counts."""
    from topicfold.exceptions import ModelFileError
    from topicfold.persistence.model_folder import load_model_folder
    from topicfold.topic_data import TopicData

    try:
        saved = load_model_folder(path)
    except ModelFileError as error:
        try:
            return TopicData.load(path), "", None
        except ModelFileError:
            raise error from None
    return saved.topic_data(), saved.corpus, saved.text


def _with_documents(
    data: TopicData, source: str, options: inputs.TextOptions
) -> TopicData:
    """Return the record with the texts, times and labels of its documents."""
    from topicfold.corpus import load_docs, load_folder, read_texts

    found: Any
    if source == inputs.BUILT_IN:
        inputs.refuse_options(options, "the built-in corpus")
        found = load_docs()
    elif Path(source, "counts.npz").is_file():
        inputs.refuse_options(options, source)
        found = load_folder(source)
    else:
        found = read_texts(source, **options.reading())
    rows = _rows(data, found, source)
    fields: dict[str, Any] = {}
    if found.texts is not None:
        fields["texts"] = [found.texts[row] for row in rows]
    times = getattr(found, "times", None)
    if times is not None and (data.times is None or options.time):
        fields["times"] = read_times([times[row] for row in rows])
    if found.labels is not None and (data.labels is None or options.label):
        fields["labels"] = [found.labels[row].strip() or None for row in rows]
    if not fields:
        raise CommandError(
            f"{source} has no texts, and its labels and times are already in the "
            "model. Leave --documents out."
        )
    return dataclasses.replace(data, **fields)


def _rows(data: TopicData, found: Any, source: str) -> Sequence[int]:
    """Return the places of the model's documents in a source, by id or by order."""
    # Texts that were read have no counts.
    n_found = getattr(found, "n_documents", None) or len(found.texts)
    wrong = (
        f"{source} has {n_found:,} documents, the model was fitted on "
        f"{data.n_documents:,}"
    )
    if data.doc_ids is not None and found.ids is not None:
        place = {name: row for row, name in enumerate(found.ids)}
        missing = [name for name in data.doc_ids if name not in place]
        if not missing:
            return [place[name] for name in data.doc_ids]
        wrong = (
            f"{source} lacks {counted(len(missing), 'document')} of the model, first "
            f"{missing[0]!r}"
        )
    if n_found != data.n_documents:
        raise CommandError(f"{wrong}. Give those that it was fitted on.")
    return range(n_found)
