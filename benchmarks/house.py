# SPDX-License-Identifier: BSD-3-Clause
"""Count the house: lines and code of every room, files a fit walks through, options.

    python -m benchmarks.house --write

A line of code is a line with a token that is neither comment nor docstring. A fit walks
through a file if it calls a function of it, imports aside; files of kernels count, too.
Beside each room is what would go if its lines did.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import io
import sys
import tempfile
import threading
import tokenize
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import topicfold
from topicfold.registry import models

PACKAGE = Path(topicfold.__file__).parent
RESULT = Path(__file__).parent / "results" / "house.md"
# What a user would lose with a room; the folders of engine/ one by one.
FEATURES = {
    "the package itself": "editing, figures, the registry, `TopicData`, known columns",
    "choosing": "`compare`, `select_n_components`, `fit_many`, the number of topics",
    "cli": "the 15 commands",
    "core": "(the floor: threads, kernels, checks, parameters written once)",
    "corpus": "readers, 13 formats, vectorising, blocks, the built-in corpus",
    "effects": "effects of covariates on topic shares, with intervals",
    "engine": "(the floor: the CPU engine and its kernels, masks of topics)",
    "classify": "`TopicClassifier`, its recipes and explanations",
    "engine/blocks": "corpora larger than memory",
    "engine/cuda": "the GPU, and corpora larger than its memory (kernels in .cu aside)",
    "engine/dask": "clusters",
    "evidence": "features, labels, links, responses, times",
    "gibbs": "`GibbsLDA`, left-to-right likelihood",
    "graph": "exact neighbour search, label edges, trust in a graph",
    "infer": "fold-in, Frank-Wolfe (FSTM), the second phase of `TwoPhase`",
    "learn": "the loop, callbacks, `Resume`, starts, the learning algorithms",
    "lsi": "`LSI`",
    "metrics": "coherence, intrusion, agreement, labels of topics, perplexity",
    "models": "the estimators, half of it their docstrings",
    "persistence": "saving without pickle, files from strangers",
    "parts": "(the contract of θ, φ and what else is known)",
    "phi": "topics kept apart, of seeds, by slice of time or group; other counts",
    "report": "the page (scripts and styles aside)",
    "search": "`TopicIndex`, BM25, passages",
    "session": "`Topics`, one object for people",
    "theta": "graph models, DTM, authors, the logistic normal",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--write", action="store_true", help=f"write {RESULT.name}")
    text = report()
    if parser.parse_args().write:
        RESULT.write_text(text, encoding="utf-8")
    print(text)


def report() -> str:
    """Return the page."""
    return "\n".join([*_rooms(), "", *_walks(), "", *_options(), ""])


def _rooms() -> list[str]:
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    for file in PACKAGE.rglob("*.py"):
        parts = file.relative_to(PACKAGE).parts[:-1]
        room = "/".join(parts[: 2 if parts[:1] == ("engine",) else 1])
        source = file.read_text(encoding="utf-8")
        for i, number in enumerate([1, source.count("\n"), *code_lines(source)]):
            counts[room or "the package itself"][i] += number
    if counts.keys() != FEATURES.keys():
        raise SystemExit(f"FEATURES is not {sorted(counts)}")
    total = [sum(column) for column in zip(*counts.values(), strict=True)]
    rows = [(room, *counts[room], FEATURES[room]) for room in sorted(counts)]
    return [
        "# The size of the code",
        "",
        "By `python -m benchmarks.house --write`. A line of code has a token that is",
        "neither comment nor docstring; the rest is docstrings, comments and blank",
        "lines.",
        "",
        "| room | files | lines | code | docstrings | without it you lose |",
        "| --- | ---: | ---: | ---: | ---: | --- |",
        *("| {} | {} | {:,} | {:,} | {:,} | {} |".format(*row) for row in rows),
        "| **all** | {} | {:,} | {:,} | {:,} | |".format(*total),
    ]


def code_lines(source: str) -> tuple[int, int]:
    """Return how many lines have code, and how many are of docstrings."""
    documented: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        body = getattr(node, "body", None)
        first = body[0] if isinstance(body, list) and body else None
        text = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
        if text and isinstance(first.value.value, str):
            documented |= set(range(first.lineno, first.end_lineno + 1))
    aside = {
        tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT,
        tokenize.DEDENT, tokenize.ENDMARKER,
    }  # fmt: skip
    code: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in aside:
            code |= set(range(token.start[0], token.end[0] + 1))
    return len(code - documented), len(documented)


def _walks() -> list[str]:
    lines = [
        "| fit | files it walks through | at most | which |",
        "| --- | ---: | ---: | --- |",
    ]
    for name, bar in (("LDA", 11), ("PLSA", "–"), ("LaplacianPLSA", 16)):
        model = getattr(topicfold, name)(3, max_iter=5, random_state=0)
        files = sorted(walked(model))
        shown = " ".join(f"`{file.removesuffix('.py')}`" for file in files)
        lines.append(f"| `{name}` | {len(files)} | {bar} | {shown} |")
    with tempfile.TemporaryDirectory() as folder:
        files = sorted(command_walk(Path(folder)))
    rooms = sorted({file.partition("/")[0].removesuffix(".py") for file in files})
    lines.append(f"| `topicfold fit x.csv` | {len(files)} | 45 | {', '.join(rooms)} |")
    later = "Fits of five passes; LDA's looks at its topics, from the sixth on, are"
    return [*lines, "", later, "in `learn/rearranging` and `gibbs/pairs`."]


def walked(model: Any) -> set[str]:
    """Return the files of topicfold whose functions a second fit calls."""
    X = np.random.default_rng(0).poisson(1.0, (30, 20)) + np.eye(30, 20)
    return called_files(lambda: model.fit(X))


def command_walk(folder: Path) -> set[str]:
    """Return those of the command, which also writes the model and the report."""
    from topicfold.cli.main import app

    rng = np.random.default_rng(0)
    words = np.array([f"word{chr(97 + w)}" for w in range(24)])
    texts = [" ".join(rng.choice(words[d % 3 :: 3], 30)) for d in range(60)]
    (folder / "x.csv").write_text("\n".join(["text", *texts]), encoding="utf-8")
    arguments = ["fit", str(folder / "x.csv"), "--force", "-o", str(folder / "model")]
    with contextlib.redirect_stdout(io.StringIO()):
        return called_files(lambda: app(arguments, standalone_mode=False))


def called_files(call: Callable[[], Any]) -> set[str]:
    """Return the files of topicfold whose functions a second call calls."""
    files: set[str] = set()

    def note(frame: Any, event: str, argument: Any) -> None:
        path = Path(frame.f_code.co_filename)
        imported = frame.f_code.co_name == "<module>"
        if event == "call" and not imported and path.is_relative_to(PACKAGE):
            files.add(path.relative_to(PACKAGE).as_posix())

    call()  # imports and compiles
    threading.setprofile(note)
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return files


def _options() -> list[str]:
    classes = dict.fromkeys(entry.load() for entry in models())
    found = [(cls.__name__, len(cls._get_param_names())) for cls in classes]
    found.sort(key=lambda pair: (-pair[1], pair[0]))
    shown = ", ".join(f"`{name}` {number}" for name, number in found)
    return [f"Options of the constructors: {shown}."]


if __name__ == "__main__":
    main()
