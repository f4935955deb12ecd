# SPDX-License-Identifier: BSD-3-Clause
"""Kill every command that writes at every step of its writing.

A scenario prepares a folder and changes it by one command. The command runs once to
count its steps: every rename, fsync, link, removal, folder made and file opened for
writing. Then it runs once per step in a child that is killed there, with its buffers
unwritten. What is found afterwards must be the old state, the new one, or an error of
topicfold's own, and the same command given again must succeed.

``make crash-points`` runs all; ``--only NAME ...`` some. The result is one JSON line.
Children are forked, so OMP_NUM_THREADS must be 1.
"""

from __future__ import annotations

import argparse
import builtins
import contextlib
import hashlib
import io
import json
import os
import shutil
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

from topicfold import LDA, PLSA, TopicData, corpus
from topicfold.choosing import fit_many
from topicfold.choosing.evaluation import ScoreFile
from topicfold.cli.label import with_answers
from topicfold.cli.main import app
from topicfold.corpus.blocks import BlockMatrix
from topicfold.exceptions import TopicfoldError
from topicfold.learn import Checkpoint, Resume
from topicfold.persistence.model_folder import load_model_folder, report_file
from topicfold.search import TopicIndex
from topicfold.session import Topics

KILLED = 77
FAILED = 78
STEPS = ("replace", "rename", "fsync", "link", "unlink", "remove", "mkdir", "rmdir")
SMALL = ("--max-iter", 2, "--min-df", 1, "--max-df", "1.0", "--jobs", 1, "--quiet")
OLD_LINES = ["red fox red forest", "fox wolf forest", "blue fish sea", "sea water fish"]
NEW_LINES = ["tax law court", "court judge law law", "ball goal team", "team goal win"]


@dataclass(frozen=True)
class Scenario:
    """One command: what is there before, what it does, what a reader finds."""

    prepare: Callable[[Path], Any]
    act: Callable[[Path], Any]
    read: Callable[[Path], Any]


def command(*args: Any) -> None:
    """Run the command line in this process, without its output."""
    with (
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(io.StringIO()),
    ):
        app([str(arg) for arg in args], standalone_mode=False)


def run_scenario(scenario: Scenario) -> dict[str, int]:
    """Kill the command of a scenario at every step; return how often what was found."""
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        (root / "before").mkdir()
        scenario.prepare(root / "before")
        place = root / "place"
        place.mkdir()
        old = _found(scenario, _restore(root))
        scenario.act(place)  # compiles what children would compile otherwise
        counted = root / "steps"
        code = _in_child(lambda: scenario.act(place), _restore(root), counted=counted)
        n_steps = len(counted.read_bytes())
        new = _found(scenario, place)
        if code or not n_steps:
            raise AssertionError(f"the command ended with {code} after {n_steps} steps")
        found = {"points": n_steps, "old": 0, "new": 0, "error": 0}
        for step in range(1, n_steps + 1):
            code = _in_child(lambda: scenario.act(place), _restore(root), kill_at=step)
            if code != KILLED:
                raise AssertionError(f"step {step} of {n_steps} ended with {code}")
            state = _found(scenario, place)
            if state not in (old, new) and not str(state).startswith("error"):
                raise AssertionError(f"mixed state at step {step}: {state}")
            kind = "old" if state == old else "new" if state == new else "error"
            found[kind] += 1
            if _in_child(lambda: scenario.act(place), place) != 0:
                raise AssertionError(f"no second attempt after step {step}")
            if _found(scenario, place) != new:
                raise AssertionError(f"the second attempt after step {step} differs")
            left = [p.name for p in place.rglob("*") if p.name.startswith(".")]
            if left:
                raise AssertionError(f"left after step {step}: {left}")
    return found


def _restore(root: Path) -> Path:
    place = root / "place"
    shutil.rmtree(place)
    shutil.copytree(root / "before", place)
    return place


def _found(scenario: Scenario, place: Path) -> str:
    try:
        return repr(scenario.read(place))
    except TopicfoldError as error:
        return f"error: {error}"


@contextlib.contextmanager
def _steps(call: Callable[[], None]) -> Iterator[None]:
    """Call a function before every step of writing."""
    saved = {name: getattr(os, name) for name in STEPS}
    plain_open, plain_os_open = io.open, os.open

    def stepping(function: Callable[..., Any]) -> Callable[..., Any]:
        def step(*args: Any, **kwargs: Any) -> Any:
            call()
            return function(*args, **kwargs)

        return step

    def open_file(file: Any, mode: str = "r", *args: Any, **kwargs: Any) -> Any:
        if any(letter in mode for letter in "wax+"):
            call()
        return plain_open(file, mode, *args, **kwargs)

    def open_descriptor(path: Any, flags: int, *args: Any, **kwargs: Any) -> int:
        if flags & (os.O_WRONLY | os.O_RDWR):
            call()
        return plain_os_open(path, flags, *args, **kwargs)

    for name, function in saved.items():
        setattr(os, name, stepping(function))
    io.open = builtins.open = open_file  # type: ignore[assignment]
    os.open = open_descriptor
    try:
        yield
    finally:
        for name, function in saved.items():
            setattr(os, name, function)
        io.open = builtins.open = plain_open
        os.open = plain_os_open


def _in_child(
    act: Callable[[], Any],
    place: Path,
    *,
    kill_at: int = 0,
    counted: Path | None = None,
) -> int:
    """Run in a forked child, killed before step `kill_at`, or with steps counted."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    left = kill_at
    tally = None if counted is None else os.open(counted, os.O_WRONLY | os.O_CREAT)

    def call() -> None:
        nonlocal left
        left -= 1
        if tally is not None:
            os.write(tally, b".")
        if left == 0:
            os._exit(KILLED)

    try:
        os.chdir(place)
        with _steps(call):
            act()
    except BaseException:
        traceback.print_exc()
        os._exit(FAILED)
    os._exit(0)


# What commands find there before, and what readers find afterwards


def _lines(place: Path, name: str = "old.txt", lines: list[str] = OLD_LINES) -> Path:
    (place / name).write_text("\n".join(lines) + "\n")
    return place / name


def _both(place: Path) -> None:
    _lines(place)
    _lines(place, "new.txt", NEW_LINES)


def _fitted(place: Path, name: str = "model") -> None:
    _both(place)
    command("fit", place / "old.txt", "-k", 2, "-o", place / name, *SMALL)


def _arrays(*arrays: Any) -> str:
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()[:12]


def _model(place: Path, name: str = "model") -> Any:
    """The model, and whether its report, if there is one, is of this model."""
    saved = load_model_folder(place / name)
    data = saved.topic_data()
    page = report_file(place / name)
    state = (_arrays(data.topics, data.doc_topics), tuple(saved.vocabulary or ()))
    if page.is_file():
        html = page.read_text(encoding="utf-8")
        plural = "" if data.n_topics == 1 else "s"
        if f"{data.n_topics} topic{plural}" not in html:
            raise AssertionError("the report is of another model")
    return state


def _corpus(name: str) -> Callable[[Path], Any]:
    def read(place: Path) -> Any:
        found = corpus.read(place / name)
        texts = getattr(found, "texts", None)
        return _arrays(found.counts.toarray()), found.vocabulary, found.labels, texts

    return read


def _labelled(place: Path, name: str, lines: list[str]) -> None:
    rows = [{"text": t, "label": t.split()[0], "id": t[:9]} for t in lines]
    (place / name).write_text("".join(json.dumps(row) + "\n" for row in rows))


def _converting(name: str) -> Scenario:
    options = ("--min-df", 1, "--max-df", "1.0", "--force", "--quiet")

    def prepare(place: Path) -> None:
        _labelled(place, "old.jsonl", OLD_LINES)
        _labelled(place, "new.jsonl", NEW_LINES)
        command("convert", place / "old.jsonl", place / name, *options)

    def act(place: Path) -> None:
        command("convert", place / "new.jsonl", place / name, *options)

    return Scenario(prepare, act, _corpus(name))


def _to_blocks() -> Scenario:
    options = ("--to", "blocks", "--min-df", 1, "--max-df", "1.0", "--force", "-q")

    def act(place: Path) -> None:
        command("convert", place / "new.txt", place / "out", *options)

    def prepare(place: Path) -> None:
        _both(place)
        command("convert", place / "old.txt", place / "out", *options)

    def read(place: Path) -> Any:
        found = corpus.open_disk_corpus(place / "out")
        return _arrays(found.counts[:].toarray()), found.vocabulary

    return Scenario(prepare, act, read)


def _counts(seed: int) -> sparse.csr_matrix:
    return sparse.csr_matrix(np.random.default_rng(seed).poisson(1.0, size=(12, 6)))


def _transform(name: str) -> Scenario:
    def act(place: Path) -> None:
        command("transform", place / "model", place / "new.txt", "-o", place / name)

    def prepare(place: Path) -> None:
        _fitted(place)
        command("transform", place / "model", place / "old.txt", "-o", place / name)

    return Scenario(prepare, act, lambda place: _arrays(_bytes(place / name)))


def _bytes(file: Path) -> Any:
    return np.frombuffer(file.read_bytes(), np.uint8) if file.is_file() else []


def _resumed(*, in_blocks: bool = False, model: Any = None) -> Scenario:
    def data(place: Path) -> Any:
        return BlockMatrix.open(place / "blocks") if in_blocks else _counts(0)

    def prepare(place: Path) -> None:
        BlockMatrix.write(place / "blocks", _counts(0), block_size=5)

    def act(place: Path) -> None:
        fit = clone(model or PLSA(2)).set_params(
            max_iter=3, tol=0, random_state=0, callbacks=[Resume(place / "state")]
        )
        X = data(place)
        if in_blocks:
            X.storage = place / "scratch"
        fit.fit(X).topic_data().save(place / "result")

    def read(place: Path) -> Any:
        if not (place / "result").exists():
            return "nothing"
        return _arrays(TopicData.load(place / "result").topics)

    return Scenario(prepare, act, read)


def _index(place: Path, seed: int) -> None:
    X = _counts(seed)
    model = PLSA(2, max_iter=2, random_state=0).fit(X)
    words = [f"w{i}{seed}" for i in range(6)]
    TopicIndex(model, vocabulary=words).add(X).save(place / "index")


def _fit_many(place: Path, n_seeds: int) -> None:
    """Fit into a folder; what is there already is not fitted again."""
    model, X = LDA(max_iter=2, init="random"), _counts(0)
    fits = fit_many(model, X, 2, n_seeds=n_seeds, folder=place / "fits")
    fits.best(2).topic_data().save(place / "result")


def _effects(place: Path) -> None:
    (place / "sides.csv").write_text("side\n" + "left\nright\n" * 2, encoding="utf-8")
    options = ("-F", "~ side", "--draws", 2, "--jobs", 1, "--plot", place / "a.svg")
    command("effects", place / "model", place / "sides.csv", *options)


def _train(place: Path, name: str) -> None:
    words = ("--min-df", 1, "--max-df", "1.0")
    options = ("--train", "--no-check", "--force", "-k", 2, "--jobs", 1, *words)
    command("classify", place / "model", place / name, *options)


def _fitted_classifier(place: Path) -> None:
    _labelled(place, "old.jsonl", OLD_LINES)
    _labelled(place, "new.jsonl", NEW_LINES)
    _train(place, "old.jsonl")


def _checkpointed(place: Path, k: int) -> None:
    callbacks = [Checkpoint(place / "kept", every=2)]
    PLSA(k, max_iter=2, random_state=0, callbacks=callbacks).fit(_counts(0))


def _edit(place: Path) -> None:
    out = place / "model"
    if len(load_model_folder(out).model.components_) == 3:
        command("edit", out, "-o", out, "--drop", 1, "--force")
    else:  # the model was saved, its report perhaps not
        command("report", out)


def _three(place: Path) -> None:
    _both(place)
    command("fit", place / "old.txt", "-k", 3, "-o", place / "model", *SMALL)


def _fit(*options: Any, name: str = "model") -> Callable[[Path], None]:
    def act(place: Path) -> None:
        args = ("-k", 3, "-o", place / name, "--force", *options, *SMALL)
        command("fit", place / "new.txt", *args)

    return act


def _label(place: Path) -> None:
    """Give one answer, if it is not there."""
    file = place / "labels.csv"
    if "fish" not in _labels(place):
        sys.stdin = io.StringIO("+fish\n")
        words = ("--min-df", 1, "--max-df", "1.0", "--jobs", 1)
        command("label", place / "old.txt", file, "-n", 1, *words)


def _labels(place: Path) -> list[str]:
    names = [str(d) for d in range(len(OLD_LINES))]
    return sorted(with_answers(None, place / "labels.csv", names))


def _answered(place: Path) -> None:
    _lines(place)
    (place / "labels.csv").write_text("id,label\n0,land\n")


def _update(place: Path) -> None:
    """Add documents, if they are not there; else only the report may be missing."""
    saved = load_model_folder(place / "model")
    if saved.counts.shape[0] == len(OLD_LINES):
        command("update", place / "model", place / "new.txt", "--quiet")
    else:
        command("report", place / "model")


def _authors(place: Path) -> None:
    for name, lines in (("old.csv", OLD_LINES), ("new.csv", NEW_LINES)):
        rows = [f'"{text}",{text.split()[0]};Bob' for text in lines]
        (place / name).write_text("text,author\n" + "\n".join(rows) + "\n")
    _fit_authors(place, "old.csv")


def _fit_authors(place: Path, name: str) -> None:
    flags = ("--authors", "author", "--force", *SMALL)
    command("fit", place / name, "-k", 2, "-o", place / "model", *flags)


def _authors_of(place: Path) -> Any:
    side = load_model_folder(place / "model").model.sides_[0]
    return _model(place), side.names_.tolist(), _arrays(side.entity_topics_)


def _topics(place: Path, lines: list[str]) -> None:
    model = LDA(2, max_iter=2, random_state=0)
    topics = Topics(2, model, min_df=1, max_df=1.0).fit(lines)
    topics.save(place / "model")
    topics.report(place / "model" / "report.html")


def _ten(place: Path) -> None:
    _lines(place, "ten.txt", [*OLD_LINES, *NEW_LINES] * 2)


def _compare(place: Path) -> None:
    words = ("--min-df", 1, "--max-df", "1.0", "--jobs", 1, "--quiet", "-k", 2)
    file = place / "scores.jsonl"
    command("compare", place / "ten.txt", "--models", "plsa", "-o", file, *words)


def _choose(place: Path) -> None:
    words = ("--min-df", 1, "--max-df", "1.0", "--quiet", "--restarts", 1)
    picture = ("--plot", place / "k.png", "--topics", "2,3")
    command("choose-k", place / "ten.txt", *picture, *words)


def _classify(place: Path) -> None:
    command("classify", place / "model", place / "new.jsonl", "-o", place / "out.csv")


SCENARIOS: dict[str, Scenario] = {
    "fit": Scenario(_both, _fit(), _model),
    "fit --authors": Scenario(
        _authors, lambda place: _fit_authors(place, "new.csv"), _authors_of
    ),
    "label": Scenario(_answered, _label, _labels),
    "label, first answer": Scenario(_lines, _label, _labels),
    "update": Scenario(_fitted, _update, _model),
    "Topics.save": Scenario(
        lambda place: _topics(place, OLD_LINES),
        lambda place: _topics(place, NEW_LINES),
        _model,
    ),
    "compare -o": Scenario(
        _ten,
        _compare,
        lambda place: sorted(ScoreFile(place / "scores.jsonl").scores),
    ),
    "choose-k --plot": Scenario(
        _ten, _choose, lambda place: _arrays(_bytes(place / "k.png"))
    ),
    "classify -o": Scenario(
        _fitted_classifier, _classify, lambda place: _arrays(_bytes(place / "out.csv"))
    ),
    "fit --force": Scenario(_fitted, _fit(), _model),
    "fit --force --no-report": Scenario(_fitted, _fit("--no-report"), _model),
    "fit --force, one file": Scenario(
        lambda place: _fitted(place, "m.safetensors"),
        _fit(name="m.safetensors"),
        lambda place: _model(place, "m.safetensors"),
    ),
    "edit": Scenario(
        _three,
        lambda p: command("edit", p / "model", "-o", p / "new", "--drop", 1, "--force"),
        lambda place: _model(place, "new"),
    ),
    "edit --force": Scenario(_three, _edit, _model),
    "report": Scenario(
        _fitted,
        lambda p: command("report", p / "model", "--title", "other"),
        lambda place: _arrays(_bytes(place / "model" / "report.html")),
    ),
    **{f"transform -o .{end}": _transform(f"out.{end}") for end in ("csv", "npz")},
    **{
        f"convert to {name}": _converting(name)
        for name in (
            "out.ldac",
            "out.uci",
            "out.mtx",
            "out.svmlight",
            "out.mallet",
            "out.npz",
            "out",
            "out.jsonl",
        )
    },
    "convert to blocks": _to_blocks(),
    "fit_many": Scenario(
        lambda place: None,
        lambda place: _fit_many(place, 2),
        lambda place: (
            _arrays(TopicData.load(place / "result").topics)
            if (place / "result").exists()
            else "nothing"
        ),
    ),
    "effects --plot": Scenario(
        _fitted,
        _effects,
        lambda place: _bytes(place / "a.svg")[:5],
    ),
    "quiz --sheet": Scenario(
        _three,
        lambda p: command("quiz", p / "model", "--sheet", p / "sheet.csv"),
        lambda place: _arrays(_bytes(place / "sheet.csv")),
    ),
    "index": Scenario(
        lambda place: _index(place, 0),
        lambda place: _index(place, 1),
        lambda place: TopicIndex.load(place / "index").vocabulary,
    ),
    "resume": _resumed(),
    "resume LDA": _resumed(model=LDA(2)),
    "resume LDA in batches": _resumed(model=LDA(2, batch_size=5)),
    "resume in blocks": _resumed(in_blocks=True),
    "classify --train": Scenario(
        _fitted_classifier,
        lambda place: _train(place, "new.jsonl"),
        lambda place: load_model_folder(place / "model").vocabulary,
    ),
    "checkpoint": Scenario(
        lambda place: _checkpointed(place, 2),
        lambda place: _checkpointed(place, 3),
        lambda place: [
            (file.name, _arrays(TopicData.load(file).topics))
            for file in sorted((place / "kept").glob("*.safetensors"))
        ],
    ),
}


def main() -> int:
    """Run scenarios; print what was found as one JSON line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", choices=list(SCENARIOS))
    chosen = parser.parse_args().only or list(SCENARIOS)
    warnings.simplefilter("ignore")
    results: dict[str, Any] = {}
    for name in chosen:
        try:
            results[name] = run_scenario(SCENARIOS[name])
        except AssertionError as error:
            results[name] = str(error)
        sys.stderr.write(f"{name}: {results[name]}\n")
    points = sum(r["points"] for r in results.values() if isinstance(r, dict))
    failed = {name: r for name, r in results.items() if isinstance(r, str)}
    summary = {"points": points, "failed": failed, "results": results}
    sys.stdout.write(json.dumps(summary) + "\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
