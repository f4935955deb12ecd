# SPDX-License-Identifier: BSD-3-Clause
"""``topicfold update``: more documents for a saved model."""

from __future__ import annotations

from pathlib import Path

from topicfold.cli import flags, inputs
from topicfold.cli.console import counted, working
from topicfold.cli.flags import Flags, flag, takes_flags
from topicfold.cli.messages import CommandError


class _Flags(Flags):
    output: Path | None = flag(
        "Folder for the result.",
        None,
        "--output -o",
        metavar="DIR",
        show_default="the model's own",
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
    """Add documents to a saved model; its topics keep their numbers and names.

    The topics go on learning from the old and the new documents, from where they are.
    They learn new words too, if as many documents have them as --min-df asked for when
    the model was fitted. A model that cannot start from given topics, or that learned
    from more than words (classes, authors, links), keeps its topics and words; the new
    documents are only added.

    [bold]Examples[/bold]
      topicfold update reviews-model reviews-of-may.csv
      topicfold update reviews-model reviews-of-may.csv -o newer-model

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
    from topicfold.topics.fitting import learns_on, updated

    target = given.output or folder
    check_output_folder(target, replace=given.force or given.output is None)
    saved = load_model_folder(folder)
    if saved.counts is None or not hasattr(saved.model, "doc_topics_"):
        raise CommandError(
            f"the model in {folder} was saved without its documents, so it cannot go "
            "on learning. Fit it again: topicfold fit keeps them."
        )
    learns = learns_on(saved.model) and saved.texts is not None
    unknown = "yet" if learns else "and are ignored; to learn them, fit the model again"
    counts, found = inputs.count_new_documents(source, saved, options, unknown=unknown)
    new = Documents(
        found.texts,
        counts=counts,
        labels=found.labels,
        ids=found.ids,
        times=found.times,
    )
    with working("Learning …", quiet=given.quiet):
        result = updated(saved, new, counts)
    old, total = saved.counts.shape[0], result.counts.shape[0]
    text = f"{counted(total - old, 'new document')}, now {total:,}"
    n_words = len(result.vocabulary or ()) - len(saved.vocabulary or ())
    if learns:
        text += f"; {counted(n_words, 'new word')} learned"
    save_and_report(result, target, ("Updated", text), quiet=given.quiet)
