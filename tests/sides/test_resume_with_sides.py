# SPDX-License-Identifier: BSD-3-Clause
"""A fit with sides that was stopped goes on as if it had not been."""

import json

import numpy as np
import pytest
import sides_support as support

from topicfold import LDA, PLSA, FeatureLDA
from topicfold.corpus.blocks import BlockMatrix
from topicfold.evidence import Features, Labels, Links, Response
from topicfold.exceptions import DataError, ModelFileError
from topicfold.learn import Resume
from topicfold.learn.resume import POINTER
from topicfold.parts.side_rows import SideRows
from topicfold.persistence import read_bundle, write_bundle
from topicfold.phi import OtherCounts, Seeds
from topicfold.theta import (
    AuthorPriors,
    Authors,
    DirichletTheta,
    LocallyConsistentTheta,
)

X, THETA, _ = support.planted()
D = len(THETA)
BEST = THETA.argmax(axis=1)
DATA = {
    "authors": [["a", "b", "c"][d % 3 : d % 3 + 2] for d in range(D)],
    "response": (3 * THETA[:, 0]).round(),
    "links": [[d, e] for d in range(D) for e in range(d) if BEST[d] == BEST[e]][::9],
    "features": THETA[:, :2],
    "labels": [["x", "y", "z"][best % 3] for best in BEST],
    "more": X[:, ::-1],
}
SEEDS = Seeds({"a": [0, 1], "b": [5]}, {"a": [7]})
SIDES = {
    "authors": [Authors()],
    "author priors": [AuthorPriors()],
    "response": [Response()],
    "classes": [Response("classes"), Labels()],
    "links": [Links()],
    "features": [Features()],
    "labels": [Labels()],
    "seeds": [SEEDS],
    "counts": [OtherCounts("more")],
    "authors and response": [Authors(), Response()],
    "many": [Features(), Response(), Links(), OtherCounts("more"), SEEDS],
}
N_PASSES = 22  # features are learned in passes 10 and 20


def fit(
    sides, max_iter, path=None, *, cls=LDA, n_topics=4, where=X, more=None, **options
):
    data = {side.keyword: DATA[side.keyword] for side in sides if side.keyword}
    resume = [] if path is None else [Resume(path)]
    given = {"random_state": 0, "tol": 0.0, "callbacks": resume, **options}
    model = cls(n_topics, sides=sides, max_iter=max_iter, **given)
    return model.fit(where, **{**data, **(more or {})})


def numbers_of(model):
    """Return all that a fit has learned."""
    found = [model.components_, model.doc_topics_, model.objective_history_]
    for side in model.sides_:
        for _, value in sorted(vars(side).items()):
            if isinstance(value, float | np.ndarray) and np.asarray(value).dtype != "O":
                found.append(np.asarray(value))
    return found


def assert_same(one, other):
    for mine, theirs in zip(numbers_of(one), numbers_of(other), strict=True):
        np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("stopped_at", [1, 12])
@pytest.mark.parametrize("name", SIDES)
def test_it_has_the_same_bits(tmp_path, name, stopped_at):
    whole = fit(SIDES[name], N_PASSES)
    fit(SIDES[name], stopped_at, tmp_path / "state")
    going_on = fit(SIDES[name], N_PASSES, tmp_path / "state")
    assert going_on.callbacks[0].resumed_at_ == stopped_at
    assert_same(going_on, whole)


@pytest.mark.parametrize("n_topics", [3, 8, 9, 20, 50])
@pytest.mark.parametrize("name", SIDES)
def test_so_it_has_with_any_number_of_topics(tmp_path, name, n_topics):
    options = {
        "n_topics": n_topics,
        "where": X.astype([np.float32, float][n_topics % 2]),
    }
    if Labels in map(type, SIDES[name]):  # with a topic for each label, and one for all
        labels = [f"label {d % (n_topics - 1)}" for d in range(D)]
        options["more"] = {"labels": labels}
    fit(SIDES[name], 1, tmp_path / "state", **options)
    going_on = fit(SIDES[name], 3, tmp_path / "state", **options)
    assert going_on.callbacks[0].resumed_at_ == 1
    assert going_on.components_.shape[0] == n_topics
    assert_same(going_on, fit(SIDES[name], 3, **options))


@pytest.mark.parametrize("step", [None, DirichletTheta(1.2)], ids=str)
def test_so_it_has_with_plsa_and_a_step(tmp_path, step):
    options = {"cls": PLSA, "theta_step": step}
    sides = [SEEDS, Response()]
    fit(sides, 4, tmp_path / "state", **options)
    found = fit(sides, 9, tmp_path / "state", **options)
    assert_same(found, fit(sides, 9, **options))


def test_so_it_has_in_blocks(tmp_path):
    blocks = BlockMatrix.write(tmp_path / "blocks", X, block_size=50)
    sides = [Response(), OtherCounts("more")]
    fit(sides, 4, tmp_path / "state", where=blocks)
    found = fit(sides, 9, tmp_path / "state", where=blocks)
    assert_same(found, fit(sides, 9, where=blocks))


def test_changed_side_data_and_parameters_are_named(tmp_path):
    fit([Response(), Links()], 2, tmp_path / "state")
    other = {"response": DATA["response"][::-1]}
    with pytest.raises(DataError, match=r"another fit: data of Response was .*Give"):
        fit([Response(), Links()], 3, tmp_path / "state", more=other)
    other = {"links": DATA["links"][1:]}
    with pytest.raises(DataError, match=r"another fit: data of Links was .*Give"):
        fit([Response(), Links()], 3, tmp_path / "state", more=other)
    with pytest.raises(DataError, match=r"sides was .*weight=None.*is now .*weight=2"):
        fit([Response(weight=2.0), Links()], 3, tmp_path / "state")


def saved_state(folder):
    """Return the file of a state, and what is in it."""
    state = json.loads((folder / POINTER).read_text())["state"]
    file = folder / state / "state.safetensors"
    return file, read_bundle(file)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("side 0 coef_", np.ones(3)),
        ("side 0 coef_", np.full(4, np.nan)),
        ("side 0 carried", np.ones((D + 1, 1))),
        ("evidence_scale", np.ones((D, 3))),
        ("evidence_floor", -np.ones((D, 4))),
        ("own_scale", np.ones((2, 4))),
        ("own_floor", None),
    ],
    ids=str,
)
def test_a_forged_state_is_refused(tmp_path, name, value):
    sides = [Response(), SEEDS]
    fit(sides, 2, tmp_path)
    file, bundle = saved_state(tmp_path)
    old = bundle.arrays[name]
    arrays = {**bundle.arrays, name: np.full_like(old, np.nan)}
    if value is not None:
        arrays[name] = value.astype(old.dtype)
    write_bundle(file, kind=bundle.kind, arrays=arrays, meta=bundle.meta)
    with pytest.raises(ModelFileError, match=f"damaged .*{name}"):
        fit(sides, 3, tmp_path)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    ("name", "value"), [("side 1 _own", -1.0), ("own_floor", 3.7e307)]
)
def test_values_that_make_no_topics_together_end_the_fit(tmp_path, name, value):
    sides = [Response(), SEEDS]
    fit(sides, 2, tmp_path)
    file, bundle = saved_state(tmp_path)
    bundle.arrays[name].flat[:] = value
    write_bundle(file, kind=bundle.kind, arrays=bundle.arrays, meta=bundle.meta)
    with pytest.raises(ModelFileError, match=r"NaN or infinite.*Remove .* to start"):
        fit(sides, 5, tmp_path)


def test_what_cannot_be_kept_is_refused(tmp_path):
    slant = {"slant": np.log(THETA + 0.1)}
    with pytest.raises(DataError, match=r"Slant does not name what it carries"):
        LDA(4, sides=[support.Slant()], callbacks=[Resume(tmp_path)]).fit(X, **slant)
    step = LocallyConsistentTheta(weight=1.0)
    with pytest.raises(DataError, match="keeps a state between iterations"):
        fit([Response()], 2, tmp_path, cls=PLSA, theta_step=step)


def test_a_fit_that_ends_in_nothing_says_so(monkeypatch):
    counts, nothing = np.eye(6) + 1.0, np.full((6, 2), np.nan)
    monkeypatch.setattr(SideRows, "_last_counts", lambda *_: nothing)
    with pytest.raises(DataError, match="NaN or infinity"):
        FeatureLDA(2, max_iter=2, tol=0).fit(counts, features={"x": range(6)})
