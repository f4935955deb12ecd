# SPDX-License-Identifier: BSD-3-Clause
"""``topicfold update``: more documents for a saved model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from topicfold.cli import flags, inputs
from topicfold.cli.console import CommandError, counted, working
from topicfold.cli.flags import Flags, flag, takes_flags
from topicfold.cli.sides import read_embeddings

if TYPE_CHECKING:
    from topicfold.persistence.model_folder import ModelFolder


class _Flags(Flags):
    output: Path | None = flags.output(
        "Folder for the result.", None, show_default="the folder of the model"
    )
    refit: bool = flag(
        "Learn from all documents again, starting from the present topics; edits "
        "may be undone.",
        False,
    )
    embeddings: str | None = flags.EMBEDDINGS
    new_topics: int = flag(
        "Number of topics to learn from the new documents, in addition to the "
        "old ones.",
        0,
        min=0,
    )
    force: bool = flags.FORCE
    quiet: bool = flags.QUIET


@takes_flags(without=inputs.WORD_OPTIONS)
def update(
    folder: flags.ModelArgument,
    source: flags.InputArgument,
    *,
    given: _Flags,
    options: inputs.TextOptions,
) -> None:
    """Add documents to a saved model; topics keep their numbers, names and edits.

    Documents that the model has keep their mixtures. The topics learn from the new
    documents and weigh them against all that they learned before. They learn new words
    too, if as many documents have them as --min-df asked for when the model was fitted.
    A model that learned from more than words (classes, authors, links, embeddings)
    keeps its topics and words; the new documents are only added. Documents whose ids
    the model has are left out. The output shows which topics drifted and how many
    documents moved.

    [bold]Examples[/bold]
      topicfold update reviews-model reviews-of-may.csv
      topicfold update reviews-model reviews-of-may.csv -o newer-model
      topicfold update reviews-model reviews-of-may.csv --new-topics 2
      topicfold update reviews-model reviews-of-may.csv --refit

    [bold]In Python[/bold]
      from topicfold import Topics
      Topics.load("reviews-model").update(texts).save("newer-model")
    """
    from topicfold.cli.report import save_and_report
    from topicfold.corpus.inputs import Documents
    from topicfold.persistence.model_folder import (
        check_output_folder,
        load_model_folder,
    )
    from topicfold.session.growing import learns, updated

    target = given.output or folder
    saved = load_model_folder(folder)
    check_output_folder(target, replace=given.force or given.output is None)
    with_words = learns(saved.model) and saved.texts is not None
    unknown = "and are ignored; fit the model again to learn these words"
    counts, found = inputs.count_new_documents(
        source, saved, options, unknown="yet" if with_words else unknown
    )
    if given.output is None:
        _check_columns(saved, found)
    new = Documents(
        found.texts,
        counts=counts,
        labels=found.labels,
        ids=found.ids,
        times=found.times,
        embeddings=read_embeddings(given.embeddings, source, counts.shape[0]),
    )
    with working("Learning …", quiet=given.quiet):
        done = updated(
            saved, new, counts, refit=given.refit, new_topics=given.new_topics
        )
    total = counted(done.folder.counts.shape[0], "document")
    text = f"{counted(done.n_added, 'new document')}, now {total}"
    if with_words:
        text += f"; {counted(done.n_words, 'new word')} learned"
    facts = [("Updated", text), *done.lines()]
    save_and_report(done.folder, target, *facts, quiet=given.quiet)


def _check_columns(saved: ModelFolder, found: Any) -> None:
    """Refuse to replace a model by one whose new documents lack a column by mistake.

    A column that has another name than the usual one must be named again. Afterwards it
    would be too late: the documents are in the model.
    """
    unused = (getattr(found, "columns", None) or {}).get("not used")
    for field in ("label", "time"):
        before, now = getattr(saved, f"{field}s"), getattr(found, f"{field}s")
        if unused and any(before or ()) and not any(now or ()):
            raise CommandError(
                f"the documents of the model have {field}s, and no column of the new "
                f"ones was read as a {field} (not used: {unused}). Name the column by "
                f"--{field}. If there is none, write the result to another folder with "
                "-o."
            )
