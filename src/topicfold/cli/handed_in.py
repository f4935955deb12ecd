# SPDX-License-Identifier: BSD-3-Clause
"""Small files that flags name: links, seed words, edits and answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from topicfold.cli.messages import CommandError, tell
from topicfold.exceptions import DataError


def file_text(path: Path) -> str:
    """Return the text of a small file that a flag names, its lines ended by one sign.

    It is read as UTF-8, or else as Western European, with a note.
    """
    from topicfold.corpus.lines import read_whole

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

    from topicfold.corpus.folder import links_of

    if not path.is_file():
        raise CommandError(
            f"there is no file {path}. {flag} names a file of links: two document "
            "numbers per line, from 0, and a weight if you like."
        )
    links = links_of(file_text(path), path)
    if not len(links):
        raise CommandError(f"{path} has no links.")
    if len(links) == links.shape[1]:  # never to be taken for a matrix of all documents
        links = np.vstack([links, links[-1]])
    return links


def read_embeddings(name: str, source: str, n_documents: int) -> Any:
    """Read the vectors that --embeddings names: of a file, or a column of the input."""
    import numpy as np

    path = Path(name)
    own_file = path.suffix.lower() == ".npy"
    if not own_file and Path(source).suffix.lower() != ".parquet":
        raise CommandError(
            f"--embeddings {name}: give a file of NumPy, FILE.npy, with a row per "
            "document, or the name of a column where INPUT is a Parquet file."
        )
    if own_file:
        return read_vectors(name, n_documents, "--embeddings", "document")
    try:
        from pyarrow.parquet import read_table

        found = np.array(read_table(source, columns=[name])[name].to_pylist())
    except (OSError, ValueError, KeyError) as error:
        why = f" ({error})" if isinstance(error, OSError) else ""
        raise CommandError(
            f"--embeddings {name} cannot be read{why}. Name a column of {source} with "
            "a list of numbers per document."
        ) from error
    return _checked(found, n_documents, f"--embeddings {name}")


def read_vectors(name: str, n_rows: int, flag: str, what: str) -> Any:
    """Read a file of NumPy with a vector for each document, or for each of others."""
    import numpy as np

    try:
        found = np.load(name, allow_pickle=False)
    except (OSError, ValueError) as error:
        # NumPy takes any other file for a pickle, and advises to trust it.
        why = f" ({error})" if isinstance(error, OSError) else ""
        raise CommandError(
            f"{flag} {name} cannot be read{why}. Write the vectors with numpy.save, a "
            f"row per {what}."
        ) from error
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
    if not path.is_file():
        raise CommandError(
            f"there is no file {path}. --about names a file with a line for each topic."
        )
    lines = [line.strip() for line in file_text(path).split("\n")]
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
    if not path.is_file():
        raise CommandError(
            f"there is no file {path}. --seeds names a file with a line for each "
            "topic, such as space: orbit, launch, moon."
        )
    text = file_text(path)
    if text.lstrip().startswith("{"):
        return _json_seeds(path, text)
    seeds: dict[str, list[str]] = {}
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        name, _, rest = line.partition(":")
        parts = rest.split(",") if "," in rest else rest.split()
        words = [word.strip().lower() for word in parts if word.strip()]
        if not words or not name.strip() or name.strip() in seeds:
            problem = "comes twice" if words else "has no words"
            problem = problem if name.strip() else "has no name"
            raise CommandError(
                f"{path}, line {number}: the topic {name.strip()[:80]!r} {problem}. "
                "Write its name, a colon and words separated by commas."
            )
        seeds[name.strip()] = words
    if not seeds:
        raise CommandError(f"{path} has no seed words.")
    return seeds


def _json_seeds(path: Path, text: str) -> dict[str, list[str]]:
    """Return the seed words of ``{"space": ["orbit", "moon"]}``."""
    form = '{"space": ["orbit", "moon"]}'
    seeds: dict[str, list[str]] = {}
    for name, words in json_of(text, path, form, object_pairs_hook=list):
        right = isinstance(words, list) and all(isinstance(word, str) for word in words)
        if not right or not words or not name.strip() or name in seeds:
            problem = "comes twice" if name in seeds else "has no list of words"
            problem = problem if name.strip() else "has no name"
            raise CommandError(
                f"{path}: the topic {name[:80]!r} {problem}. Write {form}."
            )
        seeds[name] = [word.lower() for word in words]
    return seeds
