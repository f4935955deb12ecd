# SPDX-License-Identifier: BSD-3-Clause
"""What was fitted, found and written stays as it was, unless it changes on purpose."""

import json
from pathlib import Path

import numpy as np
import pytest
from golden.golden_fits import (
    arrays,
    command_outputs,
    fits,
    index_hits,
)

from topicfold.search import TopicIndex

STORED = Path(__file__).parent / "stored"
# Sums are made in another order on other machines; a few iterations carry it on.
TOLERANCE = {"rtol": 1e-4, "atol": 1e-6}
# A new document stops when its mixture changes by at most 1e-4, perhaps one update
# earlier or later when the last digits of the topics differ.
STOPPED = {"rtol": 1e-3, "atol": 1e-3}
# Frank-Wolfe moves along flat directions until it stops: on another kind of CPU it ends
# elsewhere, at the same objective. A model that has changed is much farther away.
FRANK_WOLFE = {"rtol": 1e-2, "atol": 5e-2}
BY_FRANK_WOLFE = ("fstm", "fstm_c", "plsa_c")


def tolerance(name, key):
    """How close the array of a fit is to the stored one on any kind of CPU."""
    if name in BY_FRANK_WOLFE:
        return FRANK_WOLFE
    return STOPPED if key.endswith("/transform") else TOLERANCE


@pytest.fixture(scope="module")
def stored():
    with np.load(STORED / "fits.npz") as file:
        return dict(file)


@pytest.fixture(scope="module")
def fitted():
    return fits()


def names():
    with np.load(STORED / "fits.npz") as file:
        return sorted({key.split("/")[0] for key in file})


def test_every_model_is_here(fitted):
    assert names() == sorted(fitted)


@pytest.mark.parametrize("name", names())
def test_a_fit_gives_what_it_gave(fitted, stored, name):
    for key, array in arrays(name, fitted[name]).items():
        near = tolerance(name, key)
        np.testing.assert_allclose(array, stored[key], **near, err_msg=key)


def test_a_saved_index_finds_what_it_found():
    found = index_hits(TopicIndex.load(STORED / "index.safetensors"))
    stored = json.loads((STORED / "index_hits.json").read_text(encoding="utf-8"))
    for mix, hits in stored.items():
        assert [name for name, _ in found[mix]] == [name for name, _ in hits]
        np.testing.assert_allclose(
            [score for _, score in found[mix]], [score for _, score in hits], rtol=1e-5
        )


def test_commands_write_what_they_wrote(tmp_path):
    old = json.loads((STORED / "commands.json").read_text(encoding="utf-8"))
    new = command_outputs(tmp_path)
    assert new["counts"] == old["counts"]
    assert new["counts.vocab"] == old["counts.vocab"]
    old_topics = json.loads(old["topics.json"])
    new_topics = json.loads(new["topics.json"])
    assert [sorted(t) for t in new_topics] == [sorted(t) for t in old_topics]
    # Later versions start PLSA elsewhere: the same topics, in another order.
    place = {frozenset(topic["words"]): topic for topic in new_topics}
    order = []
    for old_topic in old_topics:
        new_topic = place[frozenset(old_topic["words"])]
        assert new_topic["words"] == old_topic["words"]
        assert new_topic["share"] == pytest.approx(old_topic["share"], rel=1e-3)
        order.append(new_topic["topic"])
    assert _table(new["transform.csv"])[:, order] == pytest.approx(
        _table(old["transform.csv"]), abs=1e-4
    )


def _table(text):
    lines = text.strip().splitlines()
    return np.array(
        [[float(cell) for cell in line.split(",")[1:]] for line in lines[1:]]
    )
