# SPDX-License-Identifier: BSD-3-Clause
"""Each value, array and list of a saved model in turn is each of many wrong ones.

    python -m fuzz.every --targets model-lda.safetensors      (from tests/)
    python -m fuzz.every --match "array|size" --share 0/4     every fourth of these

`fuzz.runner` draws what it spoils; this goes through it, one thing at a time: about a
million files for all models, of which `--share` takes some.
"""

from __future__ import annotations

import argparse
import copy
import functools
import importlib
import inspect
import json
import os
import pickle
import pkgutil
import re
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from fuzz import runner  # first: it says how many threads there are

# isort: split
import numpy as np
from fuzz.forgeries import (
    STRANGE_NAMES,
    Forgery,
    _copied,
    _estimators,
    catalogue,
    change_size,
)
from fuzz.mutations import JSON_VALUES, _places
from fuzz.targets import CANNOT, FORMAT_NAME, TARGETS, Sound, Target, _header, _opened
from safetensors.numpy import save

import topicfold
from topicfold.persistence.bundle import pack_tensors
from topicfold.persistence.estimators import _is_state, resolve_class

Change = Callable[[Forgery], None]
NEW = "made up"
ARRAYS: tuple[np.ndarray, ...] = (
    *(np.zeros(3), np.ones((3, 3)), np.full((3, 9), 1 / 9), np.array(1.5)),
    *(np.empty(0), np.empty((0, 3)), np.zeros(12, bool), np.arange(12), np.arange(3)),
    *(np.ones((12, 3), np.float32) / 3, np.ones((2, 2, 2))),
)
NODES: tuple[Any, ...] = (
    {"type": "strings", "key": NEW, "shape": [12], "object": True},
    *({"type": kind, "key": NEW} for kind in ("list", "tuple")),
    *({"type": "dict", "items": items} for items in ({}, {"a": 1})),
    *(
        {"type": "scalar", "dtype": dtype, "value": value}
        for dtype, value in (("float64", float("nan")), ("float32", 1.5), ("int64", 3))
    ),
    *(
        {"type": "list", "items": items}
        for items in ([], [1.5] * 3, [True, None, 1], [{"type": "list", "items": []}])
    ),
    {"type": "objects", "items": [1, "a", None] * 4, "shape": [12], "object": True},
)
FLOATS = (np.nan, np.inf, -np.inf, -1.0, 0.0, 0.5, 2.0, 1e-320, 1e-30, 1e30, 1e149)
WHOLE = (-(2**31), 2**31 - 1, -1, 0, 1, 2, 5, 8, 9, 12, 1 << 20)


def changes(parts: Forgery) -> Iterator[tuple[str, Change]]:
    """Yield all single changes of a file, with what each changes."""
    for path in _places(parts.meta):
        if path:
            for value in JSON_VALUES:
                yield f"value {path} {str(value)[:40]}", _putting(path, value)
            yield f"value {path} gone", lambda p, path=path: _leave_out(p, path)
    for number, estimator in enumerate(_estimators(parts.meta)):
        yield from _of_estimator(number, estimator)
    for key, array in parts.arrays.items():
        for label, new in _variants(array):
            yield (
                f"array {key} {label}",
                lambda p, k=key, a=new: p.arrays.update({k: a}),
            )
    for key, items in parts.strings.items():
        lists = ([], items[:-1], [*items, "new"], items[::-1], ["x"] * len(items))
        for number, new in enumerate((*lists, [""] * len(items))):
            yield (
                f"strings {key} {number}",
                lambda p, k=key, new=new: p.strings.update({k: list(new)}),
            )
    yield from _sizes(parts)


def _of_estimator(number: int, node: dict[str, Any]) -> Iterator[tuple[str, Change]]:
    cls = resolve_class(node["class"])
    for name in _classes():
        yield f"class {number} {name}", _setting(number, None, "class", name)
    own = {("fitted", name) for name in node["fitted"]}
    own |= {("params", name) for name in node["params"]}
    read = {n for n in (*catalogue(), *STRANGE_NAMES, *dir(cls)) if _is_state(n)}
    added = {("fitted", name) for name in read & _words_of_the_code()} - own
    for where, name in sorted(own | added):
        label = f"field {number} {where} {name}"
        for n, array in enumerate(ARRAYS):
            yield f"{label} array {n}", _setting(number, where, name, array)
        more = JSON_VALUES if (where, name) in added else ()
        for n, value in enumerate((*NODES, *more)):
            yield f"{label} node {n}", _setting(number, where, name, value)
        seen = set()
        for value in catalogue().get(name, []):
            shapes = [(a.shape, a.dtype.str) for a in value.arrays.values()]
            if (tag := json.dumps([value.node, shapes])) not in seen:
                seen.add(tag)
                yield (
                    f"{label} of another {len(seen)}",
                    _setting(number, where, name, value),
                )


class _First:
    """Draws the first of everything: what is copied is copied as it is."""

    def __init__(self, *choices: Any) -> None:
        self.choices, self.spared, self.asked = [*choices], -1, 0

    def choice(self, items: Any) -> Any:
        return self.choices.pop(0) if self.choices else items[0]

    def random(self) -> float:
        self.asked += 1
        return -1.0 if self.asked == self.spared else 0.0


def _setting(number: int, where: str | None, name: str, value: Any) -> Change:
    def change(parts: Forgery) -> None:
        estimator = _estimators(parts.meta)[number]
        place = estimator if where is None else estimator[where]
        if isinstance(value, np.ndarray):
            parts.arrays[NEW] = value
            place[name] = {"type": "array", "key": NEW}
        elif hasattr(value, "node"):
            place[name] = _copied(value, parts, _First())  # type: ignore[arg-type]
        else:
            parts.strings[NEW] = [f"word{i}" for i in range(12)]
            place[name] = copy.deepcopy(value)

    return change


def _inside(value: Any, path: tuple[Any, ...]) -> Any:
    return functools.reduce(lambda inner, key: inner[key], path, value)


def _putting(path: tuple[Any, ...], value: Any) -> Change:
    def change(parts: Forgery) -> None:
        _inside(parts.meta, path[:-1])[path[-1]] = copy.deepcopy(value)

    return change


def _leave_out(parts: Forgery, path: tuple[Any, ...]) -> None:
    del _inside(parts.meta, path[:-1])[path[-1]]


def _variants(array: np.ndarray) -> list[tuple[str, np.ndarray]]:
    with np.errstate(all="ignore"):  # infinite in float32
        return list(_each_variant(array))


def _each_variant(array: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    shapes = ((-1,), (1, -1), (-1, 1), (1, 1, -1))
    yield from ((f"shape {shape}", array.reshape(shape)) for shape in shapes)
    if array.ndim and len(array):
        yield "none", array[:0]
        yield "fewer", array[:-1]
        yield "more", np.concatenate([array, array[:1]])
        yield "reversed", array[::-1].copy()
        yield "transposed", array.T.copy()
    if array.ndim == 2 and array.size:
        yield "fewer columns", array[:, :-1].copy()
        yield "an empty row", np.vstack([0 * array[:1], array[1:]])
        yield "an empty column", np.hstack([0 * array[:, :1], array[:, 1:]])
    for kind in ("i1", "u1", "i4", "i8", "u8", "f2", "f4", "f8", "?"):
        if array.dtype != kind:
            yield f"as {kind}", array.astype(kind)
    if array.dtype.kind == "f":
        values: tuple[Any, ...] = FLOATS
    else:
        values = tuple(v for v in WHOLE if np.array(v).astype(array.dtype) == v)
    for value in values:
        yield f"all {value}", np.full_like(array, value)
        for at in sorted({0, array.size // 2, array.size - 1} & {*range(array.size)}):
            new = array.copy()
            new.reshape(-1)[at] = value
            yield f"at {at} {value}", new


def _sizes(parts: Forgery) -> Iterator[tuple[str, Change]]:
    """Yield changes of a size in all places, and in all but one."""
    sizes = {s for a in parts.arrays.values() for s in a.shape if s > 1}
    for old in sorted(sizes | {len(items) for items in parts.strings.values()} - {0}):
        for new in (old + 1, old - 1, 1, 2 * old, 0):
            probe, copied = _First(old, new, 0.0), copy.deepcopy(parts)
            change_size(copied, probe)  # type: ignore[arg-type]
            for spared in range(probe.asked + 1):

                def change(p: Forgery, own: Any = (old, new), at: int = spared) -> None:
                    draw = _First(*own, 0.0)
                    draw.spared = at
                    change_size(p, draw)  # type: ignore[arg-type]

                yield f"size {old} to {new}, spared {spared}", change


@functools.cache
def _words_of_the_code() -> set[str]:
    files = Path(topicfold.__file__).parent.rglob("*.py")
    return {w for f in files for w in re.findall(r"\w+", f.read_text("utf-8"))}


@functools.cache
def _classes() -> list[str]:
    """Return all classes of topicfold that a file may name."""
    found = set()
    for module in pkgutil.walk_packages(topicfold.__path__, "topicfold."):
        if re.search(r"\.cli|cuda|dask|__main__", module.name):
            continue
        for name, cls in vars(importlib.import_module(module.name)).items():
            if inspect.isclass(cls) and cls.__module__ == module.name:
                found |= (
                    {f"{module.name}:{name}"} if hasattr(cls, "get_params") else set()
                )
    return sorted(found)


class Every:
    """A target whose files are spoiled in every way, one after the other."""

    expected = None

    def __init__(self, target: Target, match: str, share: tuple[int, int]) -> None:
        self.name, self.target = target.name, target
        with tempfile.TemporaryDirectory() as work, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self._sound = target.sound(Path(work))
        self.bundle, self.meta = _opened(self._sound.files[""])
        chosen = [c for c in changes(self._parts()) if re.search(match, c[0])]
        self.changes = chosen[share[0] :: share[1]]

    def _parts(self) -> Forgery:
        arrays, strings = dict(self.bundle.arrays), dict(self.bundle.strings)
        return Forgery(arrays, strings, pickle.loads(self.meta))

    def sound(self, folder: Path) -> Sound:
        """Return the sound file."""
        return self._sound

    def use(self, place: Path) -> None:
        """Use a file as the target does."""
        self.target.use(place)

    def prepare(self, sound: Sound, folder: Path, seed: int) -> tuple[Path, str]:
        """Write the file with one change."""
        place = folder / "spoiled" / self.name
        place.parent.mkdir(exist_ok=True)
        label, change = self.changes[seed]
        parts = self._parts()
        try:
            change(parts)
            tensors = pack_tensors(parts.arrays, parts.strings)
            header = _header(self.bundle.kind, parts.meta, tensors)
            place.write_bytes(save(tensors, {FORMAT_NAME: header}))
        except (*CANNOT, topicfold.exceptions.ModelFileError):  # no file can hold it
            place.write_bytes(b"")
        return place, label.split()[0]


def main() -> int:
    """The command."""
    models = sorted(name for name in TARGETS if name.startswith("model-"))
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--targets", nargs="*", default=models)
    parser.add_argument("--match", default="", help="only changes whose label has it")
    parser.add_argument("--share", default="0/1", help="of the changes: A/N")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    os.fsync = lambda descriptor: None
    if os.access("/dev/shm", os.W_OK):
        tempfile.tempdir = "/dev/shm"
    first, step = map(int, options.share.split("/"))
    n_problems = 0
    for name in options.targets:
        every = Every(TARGETS[name], options.match, (first, step))
        size = len(every.changes)
        found = runner.run_round([every], most=size, jobs=options.jobs)  # type: ignore[list-item]
        refused, opened = found.total("refused"), found.total("opened", "compared")
        sys.stdout.write(f"{name}: {size} files, {refused} refused, {opened} opened\n")
        for problem in found.problems:
            label = every.changes[problem["seed"]][0]
            sys.stdout.write(f"  {label}: {problem['kind']}: {problem['what']}\n")
        sys.stdout.flush()
        n_problems += len(found.problems)
    return 1 if n_problems else 0


if __name__ == "__main__":
    sys.exit(main())
