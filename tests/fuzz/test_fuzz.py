# SPDX-License-Identifier: BSD-3-Clause
"""A short round of `make fuzz`: spoiled files end in topicfold's errors.

The round runs in a process of its own: its children are forked, and a process with
threads cannot be forked safely.
"""

import contextlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from random import Random

import numpy as np
import pytest
from fuzz.every import changes
from fuzz.forgeries import Forgery, add_attribute, change_size
from fuzz.models import MODELS, fitted
from fuzz.targets import change_several

import topicfold
from topicfold.exceptions import ModelFileError
from topicfold.persistence import read_bundle, write_bundle
from topicfold.registry import models

TESTS = Path(__file__).resolve().parents[1]
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


def fuzz(*options, module="runner"):
    path = os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")])
    return subprocess.run(
        [sys.executable, "-m", f"fuzz.{module}", *map(str, options)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": path},
    )


def test_spoiled_files_are_refused_or_read_as_others_read_them():
    # A busy machine may take long to compile a kernel for an odd type.
    options = ("--count", "1000", "--jobs", "2", "--seconds", "600", "--hang", "90")
    done = fuzz(*options)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "spoiled files" in done.stdout


def test_a_round_goes_on_where_its_record_ends(tmp_path):
    record, page = tmp_path / "record.jsonl", tmp_path / "page.md"
    options = ("--targets", "c.uci", "t.txt", "--record", record, "--page", page)
    assert fuzz(*options, "--count", "20").stdout.startswith("20 spoiled files")
    done = fuzz(*options, "--count", "50")
    assert done.stdout.startswith("30 spoiled files"), done.stdout + done.stderr
    lines = [json.loads(line) for line in record.read_text().splitlines()]
    for target in ("c.uci", "t.txt"):
        own = [line for line in lines if line["target"] == target]
        seeds = [s for line in own for s in range(line["first"], line["stop"])]
        assert sorted(seeds) == list(range(25))
        assert sum(n for line in own for *_, n in line["outcomes"]) == 25
    assert "**50 files, 0 findings.**" in page.read_text("utf-8")
    assert "| all | 50 |" in page.read_text("utf-8")
    # Another record: what the page has of other code stays, what it has of this is new.
    row = re.search(r"(?m)^\| [0-9a-f]{8} \| 50 \| 0 \|$", page.read_text("utf-8"))
    other = "| 0123abcd | 1,000 | 3 |"
    page.write_text(page.read_text("utf-8").replace(row[0], f"{other}\n{row[0]}"))
    record.unlink()
    fuzz(*options, "--count", "10")
    found = page.read_text("utf-8")
    assert "**1,010 files, 3 findings.**" in found
    own = row[0].replace("| 50 |", "| 10 |")  # a checksum may have a 50, too
    assert f"{other}\n{own}" in found
    assert "What became of the 10 files" in found


@pytest.fixture
def saved(tmp_path):
    def of(name):
        file = tmp_path / f"{name}.safetensors"
        if not file.exists():
            fitted(name).save(file)
        bundle = read_bundle(file)
        return Forgery(bundle.arrays, bundle.strings, bundle.meta)

    return of


def test_a_size_is_changed_wherever_it_is(saved, tmp_path):
    sound, seen = fitted("ltm"), set()
    for seed in range(60):
        parts = saved("ltm")
        change_size(parts, Random(seed))
        file = tmp_path / "forged.safetensors"
        options = {"arrays": parts.arrays, "strings": parts.strings}
        write_bundle(file, kind="estimator", meta=parts.meta, **options)
        with contextlib.suppress(ModelFileError):
            model = topicfold.load(file)
            seen |= {
                name
                for name in ("components_", "doc_topics_", "graph_", "n_features_in_")
                if np.shape(getattr(model, name)) != np.shape(getattr(sound, name))
                or (name == "n_features_in_" and model.n_features_in_ != 9)
            }
    assert seen == {"components_", "doc_topics_", "graph_", "n_features_in_"}


def test_attributes_are_added(saved):
    before = saved("plsa").meta["model"]
    added = set()
    for seed in range(1000):
        parts = saved("plsa")
        add_attribute(parts, Random(seed))
        after = parts.meta["model"]
        for where in ("params", "fitted"):
            added |= {(where, n) for n in after[where].keys() - before[where].keys()}
    names = {name for where, name in added if where == "fitted"}
    assert names >= {"feature_names_in_", "_sklearn_output_config", "coef_"}
    assert len(names) > 100
    assert len(added) - len(names) > 50  # parameters


def test_several_things_are_changed_at_once(saved):
    n_kinds = []
    for seed in range(40):
        before, parts = saved("plsa"), saved("plsa")
        change_several(parts, Random(seed))
        same = before.arrays.keys() == parts.arrays.keys() and all(
            np.array_equal(array, parts.arrays[key], equal_nan=array.dtype.kind == "f")
            for key, array in before.arrays.items()
        )
        kinds = (not same, before.strings != parts.strings, before.meta != parts.meta)
        n_kinds.append(sum(kinds))
    assert 5 < sum(n > 1 for n in n_kinds) < 40


def test_each_thing_in_turn_is_each_of_many_wrong_ones(saved):
    parts, found = saved("plsa"), {}
    for label, change in changes(parts):
        found.setdefault(label.split()[0], []).append((label, change))
    assert found.keys() == {"value", "class", "field", "array", "size"}
    model = parts.meta["model"]
    for where in ("params", "fitted"):
        for name in model[where]:
            assert sum(f"{where} {name} " in label for label, _ in found["field"]) > 20
    for key in parts.arrays:
        assert sum(f"array {key} " in label for label, _ in found["array"]) > 20
    for cases in found.values():
        forged = saved("plsa")
        cases[len(cases) // 2][1](forged)
        arrays = [(k, a.shape, a.tobytes()) for k, a in forged.arrays.items()]
        before = [(k, a.shape, a.tobytes()) for k, a in parts.arrays.items()]
        assert forged.meta != parts.meta or arrays != before


def test_every_two_hundredth_of_all_changes_is_refused_or_used():
    options = ("--targets", "model-plsa.safetensors", "--share", "0/200", "--jobs", 1)
    done = fuzz(*options, module="every")
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"files, \d\d+ refused, \d\d+ opened", done.stdout)


def test_all_models_are_fuzzed():
    inside = [fitted(name) for name in MODELS]
    inside += [getattr(model, "estimator", None) for model in inside]
    fuzzed = {type(model) for model in inside}
    for entry in models():
        assert entry.load() in fuzzed, entry.name
        assert entry.load_base() in (None, *fuzzed), entry.name


def test_the_runner_finds_what_it_is_for(tmp_path):
    # A reader that crashes, one with a foreign error, two that hang, one that lies.
    code = """
import ctypes, sys, time
from pathlib import Path
import fuzz.runner as runner
from fuzz.mutations import spoil_bytes
from fuzz.targets import Target

runner.HANG_SECONDS = 600.0
def target(name, use, expected=None):
    write = lambda path: path.write_bytes(b"sound")
    quiet = lambda path: use(path) if path.parent.name == "spoiled" else None
    return Target(name, write, (spoil_bytes,), quiet, expected)

targets = [
    target("crash", lambda path: ctypes.string_at(0)),
    target("foreign", lambda path: 1 / 0),
    target("misread", lambda path: "one", lambda path: "other"),
    target("sound", lambda path: "same", lambda path: "same"),
]
found = runner.run_round(targets, most=2, jobs=2)
runner.HANG_SECONDS = 0.3
def busy(path):
    while True:
        pass

idle = lambda path: time.sleep(3600)
hanging = [target("hang: busy", busy), target("hang: idle", idle)]
found.problems += runner.run_round(hanging, most=2, jobs=2).problems
print(sorted((p["target"], p["kind"], p["seed"]) for p in found.problems))
print(found.total(target="sound"), found.total("compared", target="sound"))
"""
    path = os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": path},
    )
    problems, counts = done.stdout.strip().splitlines()
    names = ("crash", "foreign", "hang: busy", "hang: idle", "misread")
    assert problems == str(
        [(n, n.split(":")[0], seed) for n in names for seed in (0, 1)]
    )
    assert counts == "2 2"
