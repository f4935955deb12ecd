# SPDX-License-Identifier: BSD-3-Clause
"""``topicfold edit``: rename, merge, drop and split topics of a saved model."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from topicfold.cli import flags, inputs
from topicfold.cli.console import CommandError, counted
from topicfold.cli.flags import Flags, flag, takes_flags
from topicfold.cli.inputs import count_new_documents, refuse_unused
from topicfold.cli.sides import file_text, json_of
from topicfold.exceptions import DataError

_NO_EDIT = "no edit was given. Give --rename, --merge, --drop, --split or --apply."


class _Flags(Flags):
    output: Path = flags.output("Folder for the result.")
    rename: list[str] | None = flag(
        "Name a topic; may be repeated.", metavar="TOPIC=NAME"
    )
    merge: list[str] | None = flag(
        "Make one topic of several; may be repeated.", metavar="A,B,…"
    )
    drop: list[str] | None = flag(
        "Remove a topic or several; may be repeated.", metavar="A,B,…"
    )
    split: list[str] | None = flag("Split a topic into several.", metavar="TOPIC:PARTS")
    documents: str | None = flag(
        "The training documents, for --split, if the model did not keep them.",
        metavar="INPUT",
    )
    apply: Path | None = flag(
        "Apply edits saved in the report, or the log of another model.",
        metavar="LOG",
    )
    force: bool = flags.FORCE


@takes_flags(without=inputs.BESIDE)
def edit(
    folder: flags.ModelArgument, *, given: _Flags, options: inputs.TextOptions
) -> None:
    """Rename, merge, drop or split topics; the result is a new model and its report.

    Numbers are those that topicfold topics shows for DIR, for all edits of one command.
    A merged topic has the smallest of their numbers, the first part of a split keeps
    its topic's number and the others come last. In the new model, topics are numbered
    without gaps. It keeps a log of all edits, which topicfold info --log writes and
    --apply takes again.

    [bold]Examples[/bold]
      topicfold edit model -o edited --rename "3=space flight" --drop 7
      topicfold edit model -o edited --merge 1,4
      topicfold edit model -o edited --split 2:3
      topicfold edit model -o edited --apply edits.json    what the report exports
      topicfold edit model -o again --apply edited        what was done to another

    [bold]In Python[/bold]
      from topicfold import Topics
      topics = Topics.load("model").rename(3, "space flight").drop(7)
      topics.save("edited")
    """
    from topicfold.cli.report import save_and_report
    from topicfold.editing import apply_edits
    from topicfold.persistence.model_folder import (
        check_output_folder,
        load_model_folder,
    )

    edits = _in_order(given)
    if given.apply is not None and edits:
        raise CommandError(
            "--apply cannot be combined with other edits. Give either --apply or the "
            "others."
        )
    if given.apply is None and not edits:
        raise CommandError(_NO_EDIT)
    check_output_folder(given.output, replace=given.force)
    saved = load_model_folder(folder)
    if given.apply is not None:
        edits = read_edits(given.apply, saved.model)
    needs_documents = any(edit.get("action") == "split" for edit in edits)
    documents = given.documents
    if documents is not None and not needs_documents:
        raise CommandError("--documents is only used by --split. Leave it out.")
    refuse_unused(options, "--documents", documents)
    X = None
    if needs_documents:
        X = saved.counts
        if documents is not None:
            X, _ = count_new_documents(documents, saved, options)
        elif X is None:
            raise CommandError(
                "--split needs the training documents: --documents INPUT."
            )
    try:
        edited = apply_edits(saved.model, edits, X=X)
    except DataError as error:
        if given.apply is None:
            raise
        raise CommandError(f"{given.apply}: {error}") from error
    n_topics = counted(len(edited.components_), "topic")
    done = f"{counted(len(edits), 'edit')}, now {n_topics}"
    if any(edit["action"] in ("merge", "drop") for edit in edits):
        done += f", numbered anew: 0 to {len(edited.components_) - 1}"
    fact = ("Edited", done)
    save_and_report(dataclasses.replace(saved, model=edited), given.output, fact)


def read_edits(path: Path, model: Any) -> list[dict[str, Any]]:
    """Read edits for a model: a file that the report exported, or another model."""
    from topicfold.editing import edit_log, edits_of
    from topicfold.persistence.model_folder import load_model_folder

    if path.is_dir() or path.suffix == ".safetensors":
        log: Any = edit_log(load_model_folder(path).model)
    else:
        log = json_of(file_text(path), path, '{"format": "topicfold-edits", …}')
    edits = edits_of(log, model, str(path))
    if not edits:
        raise CommandError(f"{path} has no edits to apply.")
    return edits


def _in_order(given: _Flags) -> list[dict[str, Any]]:
    """Return the edits, names of the topics that stay last."""
    edits: list[dict[str, Any]] = []
    for text in given.split or ():
        topic, _, parts = text.partition(":")
        if not (topic.strip().isdecimal() and (parts or "2").strip().isdecimal()):
            raise CommandError(f"--split {text!r}: give TOPIC:PARTS, such as 2:3.")
        number = _topic(parts or "2")
        edits.append({"action": "split", "topic": _topic(topic), "n_topics": number})
    groups = [
        sorted({_topic(part) for part in text.split(",")}) for text in given.merge or ()
    ]
    drop = [_topic(part) for text in given.drop or () for part in text.split(",")]
    mentioned = [topic for group in groups for topic in group] + drop
    if len(mentioned) != len(set(mentioned)):
        raise CommandError(
            "a topic is named twice in --merge and --drop. Name it once."
        )
    edits += [{"action": "merge", "topics": group} for group in groups]
    if drop:
        edits.append({"action": "drop", "topics": drop})
    gone = {topic for group in groups for topic in group[1:]} | {*drop}
    names = [_name(text) for text in given.rename or ()]
    if len({name["topic"] for name in names}) < len(names):
        raise CommandError("a topic is named twice in --rename. Name it once.")
    for name in names:
        if name["topic"] in drop:
            raise CommandError(
                f"topic {name['topic']} is both renamed and dropped. Leave out "
                "--rename or --drop."
            )
    # A topic that is merged away gives its name to the whole.
    before = [edit for edit in names if edit["topic"] in gone]
    return before + edits + [edit for edit in names if edit["topic"] not in gone]


def _name(text: str) -> dict[str, Any]:
    topic, sign, name = text.partition("=")
    if not sign:
        raise CommandError(f"--rename {text!r}: give TOPIC=NAME, such as 3=space.")
    return {"action": "rename", "topic": _topic(topic), "name": name}


def _topic(text: str) -> int:
    if not text.strip().isdecimal():
        raise CommandError(
            f"{text.strip()!r} is not the number of a topic. Give numbers, several "
            "separated by commas: 1,4."
        )
    return int(text)
