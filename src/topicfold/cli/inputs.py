# SPDX-License-Identifier: BSD-3-Clause
"""INPUT of the commands: raw text, a corpus folder, or the built-in corpus."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from topicfold.cli.messages import CommandError, tell

if TYPE_CHECKING:
    from topicfold.corpus import Corpus
    from topicfold.persistence.model_folder import ModelFolder

BUILT_IN = "docs"


@dataclass(frozen=True)
class TextOptions:
    """Options for raw text as they were given; None where one was not.

    Attributes
    ----------
    min_df, max_df : str or None
        A number of documents (``"5"``) or a share of them (``"0.5"``).
    max_features : int or None
        Most words to keep.
    stop_words : str or None
        ``"english"`` (also if None), ``"none"``, or a file with a word a line.
    encoding : str or None
        How files are written.
    """

    min_df: str | None = None
    max_df: str | None = None
    max_features: int | None = None
    stop_words: str | None = None
    encoding: str | None = None

    def given(self) -> dict[str, Any]:
        """Return the options that were given, by their flags."""
        return {
            "--" + name.replace("_", "-"): value
            for name, value in vars(self).items()
            if value is not None
        }

    def frequency_bounds(self) -> dict[str, Any]:
        """Return `min_df` and `max_df` as numbers, where they were given."""
        bounds = {"min_df": self.min_df, "max_df": self.max_df}
        return {
            name: _number("--" + name.replace("_", "-"), text)
            for name, text in bounds.items()
            if text is not None
        }

    def vectorizing(self) -> dict[str, Any]:
        """Return the options of `topicfold.corpus.vectorize`."""
        options = self.frequency_bounds()
        if self.max_features is not None:
            options["max_features"] = self.max_features
        return {**options, "stop_words": _stop_words(self.stop_words)}


def read_corpus(
    source: str, options: TextOptions
) -> tuple[Corpus, dict[str, Any] | None]:
    """Read the documents to fit.

    Parameters
    ----------
    source : str
        What `topicfold.corpus.read_texts` reads, a folder with counts.npz, or
        ``"docs"`` for the built-in corpus.
    options : TextOptions
        One that does not apply to the source is an error.

    Returns
    -------
    corpus : Corpus
    text : dict or None
        How raw text became counts; None if the source has counts.
    """
    from topicfold.corpus import Corpus, load_docs, load_folder, read_texts

    if source == BUILT_IN:
        _warn_ambiguous()
        _refuse(options, "the built-in corpus", allowed=("--min-df", "--max-df"))
        bounds = options.frequency_bounds()
        return load_docs(**bounds), bounds
    if _has_counts(source):
        _refuse(options, f"{source}, which holds counts")
        return load_folder(source), None
    settings = options.vectorizing()
    found = read_texts(source, encoding=options.encoding)
    corpus = Corpus.from_texts(
        found.texts,
        labels=found.labels,
        ids=found.ids,
        name=Path(source).stem,
        **settings,
    )
    return corpus, settings


def read_new_documents(
    source: str, saved: ModelFolder, *, encoding: str | None = None
) -> tuple[Any, list[str] | None]:
    """Read documents in the columns of a saved model.

    Words of raw text that the model does not know are left out, which is said once
    on standard error. Counts must have the model's vocabulary.

    Parameters
    ----------
    source : str
        As in `read_corpus`.
    saved : ModelFolder
        The model.
    encoding : str, optional
        How raw text is written.

    Returns
    -------
    counts : CSR matrix
    ids : list of str or None
    """
    from topicfold.corpus import load_docs, load_folder, read_texts

    options = TextOptions(encoding=encoding)
    if source == BUILT_IN:
        _warn_ambiguous()
        _refuse(options, "the built-in corpus")
        own = (saved.text or {}) if saved.corpus == BUILT_IN else {}
        bounds = {key: own[key] for key in ("min_df", "max_df") if key in own}
        corpus = load_docs(**bounds)
    elif _has_counts(source):
        _refuse(options, f"{source}, which holds counts")
        corpus = load_folder(source)
    else:
        found = read_texts(source, encoding=encoding)
        return _count_known(found.texts, saved), found.ids
    _check_vocabulary(corpus, saved, source)
    return corpus.counts, corpus.ids


def _count_known(texts: list[str], saved: ModelFolder) -> Any:
    """Count the model's words in raw texts; say how many other words there are."""
    from topicfold.corpus import vectorize, words_of

    if saved.vocabulary is None:
        raise CommandError(
            "the model was saved without its vocabulary, so it cannot read raw text. "
            "Save it with topicfold fit, or with topicfold.persistence.model_folder."
            "save_model_folder(model, folder, vocabulary=words)."
        )
    counts, _ = vectorize(texts, vocabulary=saved.vocabulary)
    skipped = _skipped_words(saved)
    known = set(saved.vocabulary) | skipped
    unknown: set[str] = set()
    n_unknown = n_words = 0
    for text in texts:
        words = [word for word in words_of(text) if word not in skipped]
        other = [word for word in words if word not in known]
        n_words += len(words)
        n_unknown += len(other)
        unknown.update(other)
    if n_unknown:
        tell(
            "note",
            f"{n_unknown:,} of {n_words:,} words ({len(unknown):,} different) are not "
            "in the model's vocabulary and are ignored",
        )
    return counts


def _skipped_words(saved: ModelFolder) -> set[str]:
    """Return the stop words of the model: leaving them out is no news."""
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    stop_words = (saved.text or {}).get("stop_words")
    if stop_words == "english":
        return set(ENGLISH_STOP_WORDS)
    return set(stop_words) if isinstance(stop_words, list) else set()


def _check_vocabulary(corpus: Corpus, saved: ModelFolder, source: str) -> None:
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


def _has_counts(source: str) -> bool:
    return Path(source, "counts.npz").is_file()


def _warn_ambiguous() -> None:
    if Path(BUILT_IN).exists():
        tell(
            "note",
            f"{BUILT_IN} is the built-in corpus; write ./{BUILT_IN} for the folder or "
            "file of that name",
        )


def _refuse(
    options: TextOptions, source: str, *, allowed: tuple[str, ...] = ()
) -> None:
    wrong = [flag for flag in options.given() if flag not in allowed]
    if wrong:
        raise CommandError(
            f"{', '.join(wrong)} applies to raw text, not to {source}. Leave it out."
        )


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


def _stop_words(value: str | None) -> str | list[str] | None:
    if value is None or value.lower() == "english":
        return "english"
    if value.lower() == "none":
        return None
    file = Path(value)
    if not file.is_file():
        raise CommandError(
            f"--stop-words is {value!r}. Give english, none, or a file with one word "
            "a line."
        )
    from topicfold.corpus import read_texts, words_of

    words = {word for line in read_texts(file).texts for word in words_of(line)}
    return sorted(words)
