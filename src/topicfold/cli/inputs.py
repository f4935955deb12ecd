# SPDX-License-Identifier: BSD-3-Clause
"""INPUT of the commands: raw text, counts in any format, or the built-in corpus."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from topicfold.cli.messages import CommandError, tell
from topicfold.cli.text_options import TextOptions, with_function

if TYPE_CHECKING:
    from topicfold.corpus import Corpus, DiskCorpus
    from topicfold.corpus.lines import Progress
    from topicfold.persistence.model_folder import ModelFolder

__all__ = [
    "TextOptions",
    "in_memory",
    "read_corpus",
    "read_links",
    "read_new_documents",
    "reading_progress",
    "refuse_options",
    "refuse_unused",
]

BUILT_IN = "docs"
BLOCKS = "blocks"


def read_corpus(
    source: str,
    options: TextOptions,
    format: str | None = None,
    *,
    quiet: bool = False,
) -> tuple[Corpus | DiskCorpus, dict[str, Any] | None]:
    """Read the documents to fit."""
    from topicfold import corpus

    if source == BUILT_IN and format is None:
        _warn_ambiguous()
        refuse_options(options, "the built-in corpus", allowed=("--min-df", "--max-df"))
        bounds = options.frequency_bounds()
        return corpus.load_docs(**bounds), bounds
    kind = _kind(source, format)
    if kind in (None, BLOCKS):
        refuse_options(options, f"{source}, which holds counts")
        return _read_counts(source, format), None
    settings = options.vectorizing()
    with reading_progress(source, quiet=quiet) as progress:
        found = corpus.read(
            source,
            format=kind,
            progress=progress,
            **options.reading(),
            **with_function(settings),
        )
    return found, settings


def in_memory(found: Corpus | DiskCorpus, source: str) -> Corpus:
    """Return a corpus whose counts are in memory; refuse one in blocks."""
    from topicfold.corpus import Corpus

    if isinstance(found, Corpus):
        return found
    raise CommandError(
        f"{source} is kept in blocks, and this command needs all counts in memory. If "
        f"they fit: topicfold convert {source} counts.npz, and give counts.npz."
    )


def read_new_documents(
    source: str,
    saved: ModelFolder,
    *,
    options: TextOptions | None = None,
    format: str | None = None,
) -> tuple[Any, list[str] | None]:
    """Read documents in the columns of a saved model.

    Words of raw text that the model does not know are left out, which is said once
    on standard error. Counts must have the model's vocabulary.
    """
    from topicfold import corpus

    options = options or TextOptions()
    found: Corpus | DiskCorpus
    kind = _kind(source, format) if source != BUILT_IN else None
    if source == BUILT_IN and format is None:
        _warn_ambiguous()
        refuse_options(options, "the built-in corpus")
        own = (saved.text or {}) if saved.corpus == BUILT_IN else {}
        bounds = {key: own[key] for key in ("min_df", "max_df") if key in own}
        found = corpus.load_docs(**bounds)
    elif kind in (None, BLOCKS):
        refuse_options(options, f"{source}, which holds counts")
        found = _read_counts(source, format)
    else:
        with reading_progress(source) as progress:
            texts = corpus.read_texts(
                source, format=kind, progress=progress, **options.reading()
            )
        return _count_known(texts.texts, saved, options), texts.ids
    _check_vocabulary(found, saved, source)
    return found.counts, found.ids


def read_links(path: Path) -> Any:
    """Read an edge list: two document numbers per line, and perhaps a weight."""
    import numpy as np

    rows = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        fields = line.replace(",", " ").split()
        if not fields or fields[0].startswith("#"):
            continue
        try:
            first, second = int(fields[0]), int(fields[1])
            rows.append((first, second, *(float(field) for field in fields[2:])))
        except (ValueError, IndexError):
            raise CommandError(
                f"{path}, line {number}: {line.strip()!r} is not a link. Give two "
                "document numbers, from 0, and a weight if you like."
            ) from None
    if len({len(row) for row in rows}) != 1 or len(rows[0]) > 3:
        raise CommandError(f"{path}: give every link a weight, or none of them.")
    return np.array(rows)


@contextlib.contextmanager
def reading_progress(source: str, *, quiet: bool = False) -> Iterator[Progress | None]:
    """Show how much of a file is read, with the time left; nothing when piped."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress as Bar
    from rich.progress import TimeElapsedColumn, TimeRemainingColumn

    columns = (*Bar.get_default_columns()[:-1], TimeRemainingColumn())
    bar = Bar(
        *columns, TimeElapsedColumn(), console=Console(stderr=True), transient=True
    )
    with bar:
        task = bar.add_task(f"Reading {Path(source).name}".replace("[", "\\["))

        def show(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total)

        yield show


def _kind(source: str, format: str | None) -> str | None:
    """Return the format of raw text; None for counts, or "blocks"."""
    from topicfold.corpus.blocks import is_block_folder
    from topicfold.corpus.files import format_of
    from topicfold.corpus.texts import TEXT_FORMATS

    if format == BLOCKS or (format is None and is_block_folder(source)):
        return BLOCKS
    kind = format or format_of(Path(source))
    return kind if kind in TEXT_FORMATS else None


def _read_counts(source: str, format: str | None) -> Corpus | DiskCorpus:
    from topicfold.corpus.disk_corpus import open_corpus

    return open_corpus(source, format=format)


def _count_known(texts: list[str], saved: ModelFolder, options: TextOptions) -> Any:
    """Count the model's words in raw texts; say how many other words there are."""
    from topicfold.corpus.vectorizing import saved_options, vectorize_known

    if saved.vocabulary is None:
        raise CommandError(
            "the model was saved without its vocabulary, so it cannot read raw text. "
            "Save it with topicfold fit, or with topicfold.persistence.model_folder."
            "save_model_folder(model, folder, vocabulary=words)."
        )
    names = ("stop_words", "ngram_range", "stem", "tokens")
    own = saved_options(saved.text)
    cutting = {name: own[name] for name in names if own.get(name) is not None}
    cutting = _with_own_function(cutting, options.tokens)
    counts, counter = vectorize_known(texts, saved.vocabulary, **cutting)
    if counter.n_unknown:
        tell(
            "note",
            f"{counter.n_unknown:,} of {counter.n_words:,} words "
            f"({counter.n_different_unknown:,} different) are not in the model's "
            "vocabulary and are ignored",
        )
    return counts


def _with_own_function(cutting: dict[str, Any], given: str | None) -> dict[str, Any]:
    """Return the options with the user's function, never one that a file names."""
    tokens = cutting.get("tokens", "words")
    if ":" not in tokens:
        if given not in (None, tokens):
            raise CommandError(
                f"the model's texts were cut with --tokens {tokens}, so new ones "
                f"cannot be cut with {given}. Leave --tokens out."
            )
        return cutting
    if given != tokens:
        raise CommandError(
            f"the model's texts were cut by the function {tokens}. It is called only "
            f"if you say so: add --tokens {tokens}."
        )
    return with_function(cutting)


def _check_vocabulary(
    corpus: Corpus | DiskCorpus, saved: ModelFolder, source: str
) -> None:
    """Refuse counts whose columns are not those of the model."""
    words, own = corpus.vocabulary, saved.vocabulary
    if own is None:
        n_terms = int(saved.model.n_features_in_)
        if len(words) == n_terms:
            return
        raise CommandError(f"{source} has {len(words)} words, the model has {n_terms}.")
    if words == own:
        return
    missing, more = (
        [w for w in a if w not in b] for a, b in ((own, set(words)), (words, set(own)))
    )
    if missing or more:
        parts = [
            f"{len(part):,} {what} (such as {part[0]!r})"
            for part, what in (
                (missing, "of the model's words are missing"),
                (more, "words are not the model's"),
            )
            if part
        ]
        detail = " and ".join(parts)
    else:
        first = next(
            i for i, (a, b) in enumerate(zip(words, own, strict=True)) if a != b
        )
        detail = (
            f"the words are the same, but in another order (column {first} is "
            f"{words[first]!r}, in the model {own[first]!r})"
        )
    raise CommandError(
        f"the vocabulary of {source} is not the model's: {detail}. Count the documents "
        "with the model's vocabulary, or give raw text."
    )


def _warn_ambiguous() -> None:
    if Path(BUILT_IN).exists():
        tell(
            "note",
            f"{BUILT_IN} is the built-in corpus; write ./{BUILT_IN} for the folder or "
            "file of that name",
        )


def refuse_unused(options: TextOptions, flag: str) -> None:
    """Refuse options of documents where the flag that names these is not given."""
    given = options.given()
    if given:
        raise CommandError(f"{', '.join(given)} applies to {flag}. Give both or none.")


def refuse_options(
    options: TextOptions, source: str, *, allowed: tuple[str, ...] = ()
) -> None:
    """Refuse options of raw text for a source that has none."""
    wrong = [flag for flag in options.given() if flag not in allowed]
    if wrong:
        raise CommandError(
            f"{', '.join(wrong)} applies to raw text, not to {source}. Leave it out."
        )
