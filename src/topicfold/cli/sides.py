# SPDX-License-Identifier: BSD-3-Clause
"""What else is known of documents: flags, and the small files that flags name."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from topicfold.cli.console import CommandError, tell
from topicfold.cli.flags import Flags, flag
from topicfold.cli.inputs import stop_words_of, with_function
from topicfold.exceptions import DataError
from topicfold.known import (
    BETWEEN,
    columns_in,
    is_formula,
    known_data,
    model_for,
    names_in,
    numbers_in,
)

_side = functools.partial(flag, rich_help_panel="What else is known")
_column = functools.partial(_side, metavar="COLUMN")
_KINDS = ("real", "classes", "counts")


class SideOptions(Flags):
    """Flags that name columns and files with more than words; none by default."""

    authors: str | None = _column(
        f"Column with the authors; several are separated by {BETWEEN!r} if several."
    )
    response: str | None = _column(
        "Column that the topics should predict: numbers or classes."
    )
    response_kind: str | None = _side(
        "What the response is: real, classes or counts.",
        metavar="KIND",
        show_default="real if all are numbers, otherwise classes",
    )
    features: list[str] | None = _column(
        "Column with a feature that predicts topics; may be repeated."
    )
    prevalence: list[str] | None = _column(
        "Column with a covariate of topic shares (structural topic model); may be "
        "repeated. Or a formula: '~ party * s(day)'."
    )
    content: str | None = _column(
        "Column with groups that use different words for the same topics."
    )
    label_topics: bool = _side(
        "Learn one topic per label, and one that all documents share if it "
        "improves the model.",
        False,
    )
    links: Path | None = _side(
        "File of links: on each line the numbers of two documents, counted from 0.",
        metavar="FILE",
    )
    language: list[str] | None = _column(
        "Column with the text in another language, or with tags; it gets its own "
        "vocabulary; may be repeated. COLUMN=german leaves out the stop words of that "
        "language."
    )

    def columns(self) -> list[str]:
        """Return the columns to read beside the text, each once."""
        return list(dict.fromkeys([*columns_in(self._named()), *self.languages()]))

    def _named(self) -> dict[str, Any]:
        """Return the columns of what is known, by its keyword."""
        named: dict[str, Any] = {"authors": self.authors, "features": self.features}
        named |= {"prevalence": self._prevalence() or None, "content": self.content}
        named["response"] = self.response
        return {keyword: names for keyword, names in named.items() if names is not None}

    def _prevalence(self) -> str | list[str]:
        """Return the formula, or the columns."""
        given = self.prevalence or []
        if not any(is_formula(text) for text in given):
            for text in given:
                if any(sign in text for sign in "+*("):
                    raise CommandError(
                        f"--prevalence {text!r}: a formula begins with ~. Give "
                        f"--prevalence '~ {text}'."
                    )
            return given
        if len(given) > 1:
            raise CommandError(
                "--prevalence has a formula and other columns. Put all in one formula."
            )
        return given[0]

    def languages(self) -> dict[str, str | None]:
        """Return the columns of other languages, each with what its stop words are."""
        pairs = (text.partition("=") for text in self.language or ())
        return {column: words or None for column, _, words in pairs}

    def model_name(self) -> str:
        """Return the model for what is known; LDA if it is nothing."""
        asked = {k: v for k, v in vars(self).items() if v not in (None, False, [])}
        if self.label_topics:
            asked["labels"] = True
        return model_for(asked)

    def check(self) -> None:
        """Refuse flags that are invalid, before anything is read."""
        if self.response_kind is not None and self.response is None:
            raise CommandError("--response-kind needs --response, the column.")
        if self.response_kind not in (None, *_KINDS):
            raise CommandError(
                f"--response-kind is {self.response_kind!r}. Give one of "
                f"{', '.join(_KINDS)}."
            )
        if self.language:
            from topicfold.session.languages import languages_named

            languages_named(self.languages())

    def data(self, corpus: Any) -> dict[str, Any]:
        """Return what `fit` and `transform` take, by keyword; without languages."""
        extra = getattr(corpus, "extra", None) or {}
        found = known_data(self._named(), extra)
        if self.response is not None and self.response_kind is not None:
            self._check_response(found, extra[self.response])
        if self.links is not None:
            found["links"] = read_links(self.links, "--links")
        if self.label_topics:
            if corpus.labels is None:
                raise CommandError(
                    "--label-topics needs labels. Name their column with --label."
                )
            found["labels"] = [names_in(label) or None for label in corpus.labels]
        return found

    def _check_response(self, found: dict[str, Any], texts: list[str]) -> None:
        """Make the response what its kind says, or refuse it."""
        numbers = isinstance(found["response"][0], float)
        if self.response_kind == "classes" and numbers:
            found["response"][:] = [text or None for text in texts]
        elif self.response_kind != "classes" and not numbers:
            raise CommandError(
                f"--response-kind is {self.response_kind}, but the column "
                f"{self.response!r} has {_first_text(texts)!r}, which is not a number."
            )


def count_languages(
    sides: SideOptions, corpus: Any, text: Mapping[str, Any] | None, first: str
) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """Return the counts of every language, and how the texts of each were split."""
    named = sides.languages()
    if not named:
        return {}, None
    from topicfold.session import languages

    tokens = (text or {}).get("tokens")
    wanted = {}
    for name, words in named.items():
        try:
            wanted[name] = stop_words_of(words or "none", tokens)
        except CommandError as error:
            text_of = str(error).replace("--stop-words ", "")
            raise CommandError(f"--language {name}: {text_of}") from error
    extra = getattr(corpus, "extra", None)
    cut = with_function(dict(text or {}))
    found, cutting = languages.count_languages(first, corpus, wanted, extra, cut)
    for name in cutting or ():  # a model keeps the name of a function, not itself
        if tokens is not None and (cutting or {})[name] is not None:
            (cutting or {})[name]["tokens"] = tokens
    return found, cutting


def check_languages(sides: SideOptions, saved: Any) -> None:
    """Refuse languages that a saved model does not have."""
    from topicfold.session.languages import check_language

    for name, words in sides.languages().items():
        check_language(saved, name)
        if words is not None:
            raise CommandError(
                f"--language {name}={words}: the stop words were chosen in the fit. "
                "Give only the column."
            )


def _first_text(values: Sequence[str]) -> str:
    return next(value for value in values if numbers_in([value]) is None)


def file_text(path: Path, named: str = "") -> str:
    """Return the text of a small file that a flag names, its lines ended by one sign.

    It is read as UTF-8, or else as Western European, with a note. `named` says, for the
    error where there is none, what the file is to have.
    """
    from topicfold.corpus.lines import read_whole

    if not path.exists():
        raise CommandError(f"there is no file {path}. {named}".rstrip())
    try:
        text, guessed = read_whole(path)
    except DataError as error:
        problem = str(error).partition(". ")[0].rstrip(".")
        raise CommandError(f"{problem}. Save it as text in UTF-8.") from error
    if guessed:
        tell("note", f"{path} is not UTF-8; read as Western European (cp1252)")
    return text


def json_of(text: str, path: Path, form: str, **options: Any) -> Any:
    """Return the value of a file's JSON, which is to have a `form`."""
    try:
        return json.loads(text, **options)
    except (ValueError, RecursionError) as error:
        raise CommandError(
            f"{path} is not valid JSON ({error}). Write {form}."
        ) from error


def read_links(path: Path, flag: str = "--graph") -> Any:
    """Read the links that a flag names."""
    import numpy as np

    from topicfold.corpus.files import links_of

    named = (
        f"{flag} names a file of links: on each line the numbers of two documents, "
        "counted from 0, and optionally a weight."
    )
    links = links_of(file_text(path, named), path)
    if not len(links):
        raise CommandError(f"{path} has no links.")
    if len(links) == links.shape[1]:  # never to be taken for a matrix of all documents
        links = np.vstack([links, links[-1]])
    return links


def read_embeddings(name: str | None, source: str, n_documents: int) -> Any:
    """Read the vectors that --embeddings names: of a file, or a column of the input.

    None if the flag is not given.
    """
    if name is None:
        return None

    path = Path(name)
    own_file = path.suffix.lower() == ".npy"
    if not own_file and Path(source).suffix.lower() != ".parquet":
        raise CommandError(
            f"--embeddings {name}: give a NumPy file, FILE.npy, with a row per "
            "document, or the name of a column if INPUT is a Parquet file."
        )
    if own_file:
        return read_vectors(name, n_documents, "--embeddings", "document")
    try:
        from pyarrow.parquet import read_table

        rows = read_table(source, columns=[name])[name].to_pylist()
        if any(isinstance(row, str | bytes) for row in rows):
            raise TypeError("it has texts")  # noqa: TRY301
        sizes = [None if row is None else len(row) for row in rows]
    except (OSError, ValueError, KeyError, TypeError) as error:
        why = f" ({error})" if isinstance(error, OSError) else ""
        raise CommandError(
            f"--embeddings {name} cannot be read{why}. Name a column of {source} with "
            "a list of numbers per document."
        ) from error
    usual = next((size for size in sizes if size), None)
    for row, size in enumerate(sizes):
        if size is None or size != usual:
            has = "no vector" if not size else f"{size} numbers, others have {usual}"
            raise CommandError(
                f"--embeddings {name}: row {row} of {source} has {has}. Encode its "
                f"text, or write {usual or 'the'} zeros where nothing is known."
            )
    return _checked(rows, n_documents, f"--embeddings {name}")


def read_vectors(name: str, n_rows: int, flag: str, what: str) -> Any:
    """Read a file of NumPy with a vector for each document, or for each of others."""
    import numpy as np

    from topicfold.corpus.lines import DAMAGE

    try:
        found = np.load(name, allow_pickle=False)
    except DAMAGE as error:
        # NumPy takes any other file for a pickle, and advises to trust it.
        why = f" ({error})" if isinstance(error, OSError) else ""
        raise CommandError(
            f"{flag} {name} cannot be read{why}. Write the vectors with numpy.save, a "
            f"row per {what}."
        ) from error
    if n_rows == 1 and found.ndim == 1:  # what an encoder makes of one text
        found = found[None]
    return _checked(found, n_rows, f"{flag} {name}", what)


def _checked(found: Any, n_rows: int, given: str, what: str = "document") -> Any:
    import numpy as np

    from topicfold.graph.embedding import check_embeddings

    if what != "document" and np.ndim(found) and len(found) != n_rows:
        raise CommandError(
            f"{given} has {len(found)} rows. Give {n_rows}, one per {what}."
        )
    try:
        return check_embeddings(found, n_rows)
    except DataError as error:
        raise CommandError(f"{given}: {error}") from error


def read_about(path: Path) -> list[str]:
    """Read the names of described topics: a line for each, up to its colon."""
    text = file_text(path, "--about names a file with a line for each topic.")
    lines = [line.strip() for line in text.split("\n")]
    names = [line.partition(":")[0].strip() for line in lines if line]
    twice = [name for name in names if names.count(name) > 1]
    if not names or "" in names or twice:
        problem = f"has the topic {twice[0][:80]!r} twice" if twice else "has no names"
        problem = "has a line without a name" if "" in names else problem
        raise CommandError(f"{path} {problem}. Write a line for each topic.")
    return names


def read_seeds(path: Path) -> dict[str, list[str]]:
    """Read seed words: a line for each topic, ``name: word, word``, or JSON.

    Spaces separate the words of a line without commas.
    """
    text = file_text(
        path,
        "--seeds names a file with a line for each topic, such as space: orbit, "
        "launch, moon.",
    )
    found: Iterable[tuple[str, str, Any]]
    if text.lstrip().startswith("{"):
        form, empty = '{"space": ["orbit", "moon"]}', "has no list of words"
        pairs = json_of(text, path, form, object_pairs_hook=list)
        found = [(str(path), *pair) for pair in pairs]
    else:
        form, empty = "its name, a colon and words separated by commas", "has no words"
        found = _seed_lines(text, path)
    seeds: dict[str, list[str]] = {}
    for place, name, words in found:
        right = isinstance(words, list) and all(isinstance(word, str) for word in words)
        if not right or not words or not name.strip() or name in seeds:
            problem = "comes twice" if name in seeds else empty
            problem = problem if name.strip() else "has no name"
            raise CommandError(
                f"{place}: the topic {name[:80]!r} {problem}. Write {form}."
            )
        seeds[name] = [word.lower() for word in words]
    if not seeds:
        raise CommandError(f"{path} has no seed words.")
    return seeds


def _seed_lines(text: str, path: Path) -> Iterator[tuple[str, str, list[str]]]:
    """Yield place, topic and words of every line that has some."""
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip() and not line.lstrip().startswith("#"):
            name, _, rest = line.partition(":")
            words = rest.split(",") if "," in rest else rest.split()
            named = [word.strip() for word in words if word.strip()]
            yield f"{path}, line {number}", name.strip(), named
