# SPDX-License-Identifier: BSD-3-Clause
"""``topicfold info``: what a saved model is and how it was made."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import typer

from topicfold.cli import flags
from topicfold.cli.console import CommandError, counted, one_line, show_fact
from topicfold.cli.flags import Flags, flag, takes_flags
from topicfold.core.tables import printable


class _Flags(Flags):
    json: bool = flag("Write JSON.", False)
    describe: bool = flag(
        "Print a paragraph on methods for a paper, and BibTeX.", False
    )
    log: bool = flag("Print only the log of edits, for topicfold edit --apply.", False)


@takes_flags()
def info(folder: flags.ModelArgument, *, given: _Flags) -> None:
    """Show what a saved model is: settings, size, documents, edits.

    [bold]Examples[/bold]
      topicfold info reviews-model
      topicfold info reviews-model --json | jq .settings
      topicfold info reviews-model --describe
      topicfold info edited-model --log > edits.json

    [bold]In Python[/bold]
      import topicfold
      topicfold.load("reviews-model").get_params()
    """
    from topicfold.editing import edit_in_words, edit_log
    from topicfold.persistence.model_folder import load_model_folder

    asked = [name for name in ("json", "describe", "log") if getattr(given, name)]
    if len(asked) > 1:
        raise CommandError(
            f"give one of {' and '.join(f'--{name}' for name in asked)}."
        )
    if given.describe:
        from topicfold.session.describing import describe

        saved = load_model_folder(folder)
        text = str(describe(saved, saved.topic_data()))
        typer.echo("\n".join(map(printable, text.splitlines())))
        return
    if given.log:
        log = edit_log(load_model_folder(folder).model)
        if not log["edits"]:
            raise CommandError(f"the topics of {folder} have not been edited.")
        typer.echo(json.dumps(log, indent=2, ensure_ascii=False))
        return
    facts = model_facts(folder)
    if given.json:
        typer.echo(json.dumps(facts, indent=2, ensure_ascii=False))
        return
    fit = facts["fit"]
    show_fact("Model", f"{facts['model']}, {counted(facts['topics'], 'topic')}")
    if facts["besides"]:
        show_fact("Used", f"words, {', '.join(facts['besides'])}")
    show_fact("Words", f"{facts['terms']:,} different ones")
    show_fact("Corpus", _corpus_line(facts))
    if fit["iterations"] is not None:
        show_fact("Fit", _fit_line(fit))
    settings = (f"{k}={v}" for k, v in facts["settings"].items() if v is not None)
    show_fact("Settings", one_line(", ".join(settings)))
    if facts["text"] is not None:
        own = {k: v for k, v in facts["text"].items() if k != "left_out"}
        show_fact("Text", ", ".join(f"{k}={v}" for k, v in own.items()) or "defaults")
        line = _left_out_line(facts["text"].get("left_out"))
        if line:
            show_fact("Left out", line)
    for edit in facts["edits"]:
        show_fact("Edit", one_line(edit_in_words(edit)))
    show_fact("File", f"{_size(facts['bytes'])}, topicfold {facts['version']}")


def model_facts(folder: Path) -> dict[str, Any]:
    """Return what is known of a saved model, as JSON can hold it."""
    from topicfold.persistence.bundle import bundle_file
    from topicfold.persistence.model_folder import load_model_folder
    from topicfold.session.describing import beside_words

    saved = load_model_folder(folder)
    model = saved.model
    history = list(getattr(model, "objective_history_", ()))
    theta = getattr(model, "doc_topics_", None)
    labels = {label for label in saved.labels or () if label}
    plain = bool | int | float | str | None
    return {
        "model": type(model).__name__,
        "topics": int(model.components_.shape[0]),
        "besides": beside_words(model),
        "terms": int(model.components_.shape[1]),
        "corpus": saved.corpus,
        "documents": None if theta is None else len(theta),
        "classes": len(labels) or None,
        "fit": {
            "iterations": getattr(model, "n_iter_", None),
            "converged": getattr(model, "converged_", None),
            "sampled": hasattr(model, "n_samples_"),
            "objective": float(history[-1]) if history else None,
        },
        "settings": {
            name: value if isinstance(value, plain) else repr(value)
            for name, value in model.get_params(deep=False).items()
        },
        "text": saved.text,
        "edits": list(getattr(model, "edits_", ())),
        "bytes": bundle_file(folder).stat().st_size,
        "version": saved.topicfold_version,
    }


def _left_out_line(found: Any) -> str:
    """Return which frequent words were left out, and how much of all words they are;
    "" if none were, or if the file says something else.
    """
    known = found if isinstance(found, dict) else {}
    number, share, most = (known.get(name) for name in ("words", "share", "most"))
    if not isinstance(number, int) or not isinstance(share, float):
        return ""
    if not isinstance(most, list):
        return ""
    more = ", …" if number > len(most) else ""
    words = ", ".join(map(str, most))
    return (
        f"{counted(number, 'frequent word')}, {share:.0%} of all words: {words}{more}"
    )


def _fit_line(fit: dict[str, Any]) -> str:
    """Return how a fit went; a sampler does so many sweeps, whatever it has reached."""
    if fit["sampled"]:
        text, value = counted(fit["iterations"], "sweep"), "log-likelihood"
    else:
        end = "converged" if fit["converged"] else "not converged"
        text, value = f"{counted(fit['iterations'], 'iteration')}, {end}", "objective"
    number = fit["objective"]
    return text if number is None else f"{text}, {value} {number:.6g}"


def _corpus_line(facts: dict[str, Any]) -> str:
    if facts["documents"] is None:
        text = "mixtures of its documents are not kept"
    else:
        text = counted(facts["documents"], "document")
    if facts["corpus"]:
        text = f"{facts['corpus']}: {text}"
    if facts["classes"]:
        text += f", {counted(facts['classes'], 'class', 'classes')}"
    return text


def _size(n_bytes: int) -> str:
    """Return a size in the unit that shows it, such as 7 kB or 36.4 MB."""
    if n_bytes < 1_000_000:
        return f"{max(1, round(n_bytes / 1000))} kB"
    return f"{n_bytes / 1e6:,.1f} MB"
