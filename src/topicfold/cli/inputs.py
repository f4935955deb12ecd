# SPDX-License-Identifier: BSD-3-Clause
"""INPUT of the commands: the options of raw text, and reading what INPUT names."""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from topicfold.cli.console import CommandError, show_fact, tell
from topicfold.cli.flags import Flags, flag
from topicfold.exceptions import DataError

if TYPE_CHECKING:
    from topicfold.corpus import Corpus, DiskCorpus, Texts
    from topicfold.corpus.lines import Progress
    from topicfold.persistence.model_folder import ModelFolder

BUILT_IN = "docs"
# Texts of more characters than this are not saved with a model.
_MOST_TEXT = 300_000_000

_raw = functools.partial(flag, rich_help_panel="Raw text")
_words = functools.partial(flag, rich_help_panel="Words")


def _column(what: str, default: str) -> Any:
    text = f"Column with {what}."
    return _raw(text, metavar="COLUMN", show_default=default)


class TextOptions(Flags):
    """How raw text is read and counted; None where a flag was not given."""

    format: str | None = _raw(
        "Format of INPUT: files, lines, csv, tsv, json, jsonl, parquet, xlsx, ldac, "
        "uci, mm, svmlight, mallet, npz, folder.",
        None,
        "--from",
        metavar="FORMAT",
        show_default="inferred from its name",
    )
    text: list[str] | None = _raw(
        "Column with the text, or its number if the file has no column names; use dots "
        "for nested JSON fields (body.text); repeat the option to join columns.",
        metavar="COLUMN",
        show_default="text, body, content …, together with title if there is one",
    )
    label: str | None = _column("the class", "label, if there is one")
    id: str | None = _column("the name of a document", "id, if there is one")
    time: str | None = _column(
        "its date or time", "time, date, year …, if there is one"
    )
    sheet: str | None = _raw(
        "Sheet of an .xlsx file: its title, or its number from 1.",
        metavar="SHEET",
        show_default="the first",
    )
    encoding: str | None = _raw(
        "Encoding of text files, such as latin-1.", show_default="detected"
    )
    skip_bad_lines: bool = _raw(
        "Leave out lines that cannot be read, and report how many.", False
    )
    min_df: str | None = _words(
        "Keep words that are in at least this many documents, or this share of them.",
        metavar="N",
        show_default="2; docs: 3",
    )
    max_df: str | None = _words(
        "Keep words that are in at most this many documents, or this share of them.",
        metavar="N",
        show_default="words in more than half of the documents are left out if all "
        "documents use them about equally; docs: 0.3",
    )
    max_features: int | None = _words(
        "Keep only this many of the most frequent words.", min=1
    )
    stop_words: str | None = _words(
        "Words to leave out: a language (english, german, french …) or several "
        "(english,german), none, or a file with one word per line.",
        show_default="english, or the language of the texts",
    )
    ngrams: str | None = _words(
        "How many words a term may have: 2 for words and pairs, 2-3 for pairs "
        "and triples.",
        metavar="N",
        show_default="1",
    )
    phrases: bool = _words(
        "Count words that occur together more often than by chance as one term, such "
        'as "neural network".',
        False,
    )
    stem: str | None = _words(
        "Count words with the same stem as one; give the language, such as "
        "english (needs snowballstemmer).",
        metavar="LANGUAGE",
        show_default="none",
    )
    tokens: str | None = _words(
        "How to split text: words; spaces, if the text is already tokenised; or your "
        "own function as MODULE:FUNCTION.",
        metavar="HOW",
        show_default="words",
    )

    def reading(self) -> dict[str, Any]:
        """Return the options of `topicfold.corpus.read_texts` that were given."""
        names = (
            *("text", "label", "id", "time"),
            *("sheet", "encoding", "skip_bad_lines"),
        )
        return {name: value for name in names if (value := getattr(self, name))}

    def read_texts(
        self, source: str, kind: str, extra: Sequence[str], progress: Any
    ) -> Texts:
        """Read texts of a kind, with extra columns."""
        from topicfold.corpus.texts import read_texts

        how = {"format": kind, "extra": extra, "progress": progress}
        return read_texts(source, **self.reading(), **how)

    def frequency_bounds(self) -> dict[str, Any]:
        """Return `min_df` and `max_df` as numbers, where they were given."""
        bounds = {"min_df": self.min_df, "max_df": self.max_df}
        return {
            name: _number("--" + name.replace("_", "-"), text)
            for name, text in bounds.items()
            if text is not None
        }

    def vectorizing(self) -> dict[str, Any]:
        """Return the options of `topicfold.corpus.vectorize`, as a model saves them."""
        options = {
            "max_features": self.max_features,
            "ngram_range": None if self.ngrams is None else _lengths(self.ngrams),
            "stem": self.stem,
            "tokens": self.tokens,
            "phrases": self.phrases or None,
        }
        chosen = {name: value for name, value in options.items() if value is not None}
        stop_words = stop_words_of(self.stop_words, self.tokens)
        return {**self.frequency_bounds(), **chosen, "stop_words": stop_words}

    def text_format(self, source: str) -> str | None:
        """Return the format of raw text; None for counts and the built-in corpus."""
        from topicfold.corpus.files import (
            READ,
            check_format,
            format_of,
            is_block_folder,
        )
        from topicfold.corpus.texts import TEXT_FORMATS

        if self.format is None and (source == BUILT_IN or is_block_folder(source)):
            return None
        kind = self.format or format_of(Path(source))
        check_format(kind, READ)
        return kind if kind in TEXT_FORMATS else None


# Options of `vectorize` that are determined while counting.
FOUND = ("stop_words", "left_out")
# What decides on the words of a new model, and is fixed for a saved one.
WORD_OPTIONS = (
    *("min_df", "max_df", "max_features", "stop_words", "ngrams", "phrases", "stem"),
)
# What a command goes without where documents are only an option of it.
BESIDE = ("format", "label", "time", *WORD_OPTIONS)


def with_function(options: dict[str, Any]) -> dict[str, Any]:
    """Return options of `vectorize` with the function that ``tokens`` names."""
    import importlib

    name = options.get("tokens") or ""
    module, colon, attribute = name.partition(":")
    if not colon:
        return options
    sys.path.insert(0, "")  # as python -m does: modules of this folder
    try:
        function = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise CommandError(
            f"--tokens is {name!r}, but {error}. Give words, spaces, or a function as "
            "MODULE:FUNCTION."
        ) from error
    finally:
        sys.path.remove("")
    if not callable(function):
        raise CommandError(f"--tokens is {name!r}, which is not a function.")
    return {**options, "tokens": function}


def _number(flag: str, text: str) -> int | float:
    for convert in (int, float):
        try:
            return convert(text)
        except ValueError:
            continue
    raise CommandError(
        f"{flag} is {text!r}. Give a number of documents, such as 5, or a share of "
        "them, such as 0.5."
    )


def _lengths(text: str) -> list[int]:
    shortest, dash, longest = text.partition("-")
    try:
        lengths = [int(shortest), int(longest)] if dash else [1, int(shortest)]
    except ValueError:
        lengths = [0, 0]
    if not 1 <= lengths[0] <= lengths[1]:
        raise CommandError(
            f"--ngrams is {text!r}. Give the longest run of words, such as 2, or the "
            "shortest and the longest, such as 2-3."
        )
    return lengths


def stop_words_of(value: str | None, tokens: str | None) -> str | list[str] | None:
    """Return the stop words that a flag names: a language, a file, or none."""
    if value is None or value.lower() in ("english", "auto"):
        return (value or "auto").lower()
    if value.lower() == "none":
        return None
    from topicfold.corpus import read_texts, words_of
    from topicfold.corpus.tokens import stop_word_list

    file = Path(value)
    if not file.is_file():
        try:
            stop_word_list(value)
        except DataError as error:
            raise CommandError(
                f"--stop-words {value}: there is no such file, and {error}"
            ) from error
        return value.lower()

    # Cut like the texts; by another rule than ours, they are cut when they are used.
    cut = words_of if tokens in (None, "words") else str.split
    lines = read_texts(file, format="lines").texts
    return sorted({word for line in lines for word in cut(line)})


def read_corpus(
    source: str,
    options: TextOptions,
    *,
    extra: Sequence[str] = (),
    keep: Sequence[str] = (),
    embeddings: str | None = None,
    quiet: bool = False,
) -> tuple[Corpus | DiskCorpus, dict[str, Any] | None]:
    """Read the documents to fit, with extra columns; return also how text was cut.

    `keep` are words that are counted wherever they occur. `embeddings` may be the name
    of a column that is read elsewhere, so that it is not shown as one without use.
    """
    from topicfold.corpus.files import count_texts

    if is_built_in(source, options):
        bounds = options.frequency_bounds()
        return _read_counts(source, options, bounds, ("--min-df", "--max-df")), bounds
    kind = options.text_format(source)
    if kind is None:
        return _read_counts(source, options, {}), None
    settings = options.vectorizing() | ({"keep": list(keep)} if keep else {})
    with reading_progress(source, quiet=quiet) as progress:
        found = options.read_texts(source, kind, extra, progress)
        corpus = count_texts(found, Path(source), **with_function(settings))
    if not quiet and found.columns:
        show_fact("Columns", _columns_line(found.columns, found.times, embeddings))
    found_out = {k: v for k, v in (corpus.text or {}).items() if k in FOUND}
    return corpus, settings | found_out


def _columns_line(
    columns: Mapping[str, str], times: list[str] | None, embeddings: str | None = None
) -> str:
    """Return which columns were read, and from when to when the documents are."""
    shown = dict(columns)
    if "time" in shown:
        shown["time"] += _span_of(times)
    if "extra" in shown:
        shown["also"] = shown.pop("extra")
    left = shown.pop("not used", "").split(", ")
    if embeddings in left:
        shown["embeddings"] = embeddings
        left.remove(embeddings)
    if any(left):
        shown["not used"] = ", ".join(left)  # last
    return "; ".join(f"{field}: {names}" for field, names in shown.items())


def _span_of(times: list[str] | None) -> str:
    from topicfold.core.times import parse_times

    when = parse_times(times)
    if when is None:
        return ""
    known = when[when == when]  # neither NaN nor NaT
    first, last = known.min(), known.max()
    if when.dtype.kind == "f":
        first, last = f"{first:g}", f"{last:g}"
    else:  # hours say nothing of a span of days
        days = known.astype("datetime64[D]")
        if known.dtype > days.dtype and days.max() > days.min():
            first, last = days.min(), days.max()
    return f" ({first} to {last})"


def read_in_memory(
    source: str,
    options: TextOptions,
    *,
    embeddings: str | None = None,
    quiet: bool = False,
) -> tuple[Corpus, dict[str, Any] | None]:
    """Read documents as `read_corpus` does; refuse those in blocks."""
    from topicfold.corpus import Corpus

    found, text = read_corpus(source, options, embeddings=embeddings, quiet=quiet)
    if isinstance(found, Corpus):
        return found, text
    raise CommandError(
        f"{source} is kept in blocks, but this command needs all counts in memory. If "
        f"they fit into memory, run topicfold convert {source} counts.npz and give "
        "counts.npz instead."
    )


def count_new_documents(
    source: str,
    saved: ModelFolder,
    options: TextOptions,
    extra: Sequence[str] = (),
    *,
    unknown: str = "and are ignored",
    words: bool = True,
) -> tuple[Any, Any]:
    """Read documents in the columns of a saved model; return counts and the rest.

    Without `words`, texts are not counted: all counts are zero.

    The rest has texts, labels, ids, times and extra. Words of raw text outside the
    vocabulary are left out, with one note on standard error that ends in `unknown`.
    Counts must have the model's vocabulary.
    """
    kind = options.text_format(source)
    if kind is None:
        own = (saved.text or {}) if saved.corpus == BUILT_IN else {}
        bounds = {k: v for k, v in own.items() if k in ("min_df", "max_df")}
        found = _read_counts(source, options, bounds)
        _check_vocabulary(found.vocabulary, saved, source)
        return found.counts, found
    with reading_progress(source) as progress:
        known = options.read_texts(source, kind, extra, progress)
    if not words:
        from scipy import sparse

        shape = len(known.texts), int(saved.model.n_features_in_)
        return sparse.csr_matrix(shape), known
    vocabulary, cutting = saved.vocabulary, saved.text
    counts = count_known(known.texts, vocabulary, cutting, options, unknown=unknown)
    return counts, known


def is_built_in(source: str, options: TextOptions) -> bool:
    """Tell whether INPUT is the corpus that every installation has."""
    return source == BUILT_IN and options.format is None


def _read_counts(
    source: str,
    options: TextOptions,
    bounds: dict[str, Any],
    allowed: tuple[str, ...] = (),
) -> Corpus | DiskCorpus:
    """Read the built-in corpus, or counts that were made before."""
    from topicfold.core.counts import check_range
    from topicfold.corpus import Corpus, load_docs
    from topicfold.corpus.disk_corpus import open_corpus

    if not is_built_in(source, options):
        refuse_options(options, f"{source}, which holds counts")
        found = open_corpus(source, format=options.format)
        if isinstance(found, Corpus):  # blocks are checked as they are read
            check_range(found.counts, source)
        return found
    if Path(BUILT_IN).exists():
        tell(
            "note",
            f"{BUILT_IN} is the built-in corpus; write ./{BUILT_IN} for the folder or "
            "file of that name",
        )
    refuse_options(options, "the built-in corpus", allowed=allowed)
    return load_docs(**bounds)


def fitted_folder(
    model: Any, corpus: Any, *, documents: bool = False, **more: Any
) -> ModelFolder:
    """Return a fitted model with what is known of its documents, to save it.

    `documents` says whether their texts and counts are saved too; `more` are other
    attributes of a `ModelFolder`.
    """
    from topicfold.persistence.model_folder import ModelFolder, known_of

    known = known_of(corpus) | more
    size = sum(map(len, known.get("texts", ())))
    if documents and size > _MOST_TEXT:
        tell(
            "note",
            f"{size / 1e6:,.0f} MB of texts are not saved with the model, because they "
            "are large; where a command needs them, give them with --documents",
        )
    if not documents or size > _MOST_TEXT:
        known = {k: v for k, v in known.items() if k not in ("texts", "counts")}
    return ModelFolder(model=model, **known)


@contextlib.contextmanager
def reading_progress(source: str, *, quiet: bool = False) -> Iterator[Progress | None]:
    """Show how much of a file is read, with the time left; nothing when piped."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress as Bar
    from rich.progress import TimeElapsedColumn

    columns = (*Bar.get_default_columns(), TimeElapsedColumn())
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(f"Reading {Path(source).name}".replace("[", "\\["))

        def show(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total)

        yield show


def count_known(
    texts: list[str],
    vocabulary: list[str] | None,
    cutting: dict[str, Any] | None,
    options: TextOptions,
    language: str = "",
    unknown: str = "and are ignored",
) -> Any:
    """Count the model's words in raw texts; say how many other words there are."""
    from topicfold.session import languages

    if vocabulary is None:
        raise CommandError(
            "the model was saved without its vocabulary, so it cannot read raw text. "
            "Save it with topicfold fit, or in Python with model.save(folder, "
            "vocabulary=words)."
        )
    return languages.count_known(
        texts,
        vocabulary,
        _cutting(cutting or {}, options.tokens),
        language=language,
        note=functools.partial(tell, "note"),
        unknown=unknown,
    )


def _cutting(text: Mapping[str, Any], given: str | None) -> dict[str, Any]:
    """Return how to split new texts: a function only if the user names it here too."""
    from topicfold.corpus.vectorizing import saved_options

    tokens = saved_options(text).get("tokens") or "words"
    if ":" in tokens and given != tokens:
        raise CommandError(
            f"the model's texts were split by the function {tokens}, which is called "
            f"only with your permission: add --tokens {tokens}."
        )
    if given not in (None, tokens):
        raise CommandError(
            f"the model's texts were split with --tokens {tokens}, so new ones cannot "
            f"be split with {given}. Leave --tokens out."
        )
    return with_function(dict(text))


def _check_vocabulary(words: list[str], saved: ModelFolder, source: str) -> None:
    """Refuse counts whose columns are not those of the model."""
    own = saved.vocabulary
    if own is None:
        n_terms = int(saved.model.n_features_in_)
        if len(words) == n_terms:
            return
        raise CommandError(f"{source} has {len(words)} words, the model has {n_terms}.")
    if words == own:
        return
    known, given = set(own), set(words)
    missing = [word for word in own if word not in given]
    more = [word for word in words if word not in known]
    parts = []
    if missing:
        what = "of the model's words are missing"
        parts.append(f"{len(missing):,} {what} (such as {missing[0]!r})")
    if more:
        what = "words that the model does not have"
        parts.append(f"{len(more):,} {what} (such as {more[0]!r})")
    if not parts:
        pairs = enumerate(zip(words, own, strict=True))
        place, (word, expected) = next(item for item in pairs if len({*item[1]}) > 1)
        parts.append(
            f"the words are the same, but in another order (column {place} is "
            f"{word!r}, in the model {expected!r})"
        )
    raise CommandError(
        f"the vocabulary of {source} is not that of the model: {' and '.join(parts)}. "
        "Count the documents with the model's vocabulary, or give raw text."
    )


def refuse_unused(options: TextOptions, flag: str, value: object) -> None:
    """Refuse options of documents where the flag that names these is not given."""
    given = options.given()
    if given and value is None:
        raise CommandError(f"{', '.join(given)} applies to {flag}. Give both or none.")


def refuse_options(
    options: TextOptions, source: str, *, allowed: tuple[str, ...] = ()
) -> None:
    """Refuse options of raw text for a source that has none."""
    wrong = [flag for flag in options.given() if flag not in ("--from", *allowed)]
    if wrong:
        raise CommandError(
            f"{', '.join(wrong)} applies to raw text, not to {source}. Leave it out."
        )
