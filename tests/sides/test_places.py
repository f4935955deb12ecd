# SPDX-License-Identifier: BSD-3-Clause
"""What runs where: what the table says is what happens."""

from typing import get_args

import numpy as np
import pytest
import sides_support as support

from topicfold import LDA, PLSA
from topicfold.corpus.blocks import BlockMatrix
from topicfold.engine.blocks import engine
from topicfold.evidence import Response
from topicfold.exceptions import DataError
from topicfold.parts import side_rows
from topicfold.parts.sides import Hook
from topicfold.parts.together import REFUSED, check_place
from topicfold.phi import OrthogonalPhi, OtherCounts
from topicfold.theta import Authors, LocallyConsistentTheta

HOOKS = get_args(Hook)
FEW = {"max_iter": 3, "tol": 0.0, "random_state": 0}


@pytest.fixture(scope="module")
def cases():
    """A side of every hook with its data."""
    X, theta, _ = support.planted()
    only = theta >= np.sort(theta, axis=1)[:, [-2]]
    authors = [["a", "b", "c"][d % 3 : d % 3 + 2] for d in range(len(theta))]
    return X, {
        "mixing": (Authors(), {"authors": authors}),
        "evidence": (support.Slant(), {"slant": np.log(theta + 0.1)}),
        "prior": (support.OwnPrior(), {"alphas": 0.1 + theta}),
        "mask": (support.Only(), {"only": only}),
        "counts": (OtherCounts("more"), {"more": X}),
        "topics": (support.Banned(3), {}),
    }


@pytest.mark.parametrize("kind", ["real", "classes"])
def test_a_few_documents_at_a_time_give_the_same(cases, monkeypatch, kind):
    X, _ = cases
    y = np.arange(X.shape[0]) % 3
    side, data = (
        Response(kind, weight=5.0),
        {"response": y if kind == "classes" else 1.0 * y},
    )
    whole = LDA(4, sides=[side], **FEW).fit(X, **data)
    monkeypatch.setattr(side_rows, "ROWS", 7)
    found = LDA(4, sides=[side], **FEW).fit(X, **data)
    np.testing.assert_allclose(found.doc_topics_, whole.doc_topics_, atol=1e-8)
    np.testing.assert_allclose(found.sides_[0].coef_, whole.sides_[0].coef_, rtol=1e-6)


def test_blocks_keep_no_evidence_between_visits(cases, monkeypatch, tmp_path):
    X, sides = cases
    side, data = sides["evidence"]
    kept, evaluate = [], engine._evaluate_block

    def seen(block, *arguments):
        found = evaluate(block, *arguments)
        kept.append(block._collapsed)
        return found

    monkeypatch.setattr(engine, "_evaluate_block", seen)
    blocks = BlockMatrix.write(tmp_path / "b", X, block_size=50)
    LDA(4, sides=[side], **FEW).fit(blocks, **data)
    assert len(kept) > 3
    assert set(kept) == {None}


@pytest.mark.parametrize("hook", HOOKS)
@pytest.mark.parametrize("place", ["memory", "blocks"])
def test_what_the_table_says_is_so(cases, hook, place, tmp_path):
    X, sides = cases
    side, data = sides[hook]
    assert side.hook == hook
    where = (
        X if place == "memory" else BlockMatrix.write(tmp_path / "b", X, block_size=50)
    )
    model = LDA(4, sides=[side], **FEW)
    if (hook, place) in REFUSED:
        with pytest.raises(DataError, match=type(side).__name__):
            model.fit(where, **data)
        return
    whole = LDA(4, sides=[side], **FEW).fit(X, **data)
    found = model.fit(where, **data)
    np.testing.assert_allclose(found.doc_topics_, whole.doc_topics_, atol=1e-8)
    np.testing.assert_allclose(
        found.transform(where, **data), whole.transform(X, **data), atol=1e-8
    )


@pytest.mark.parametrize("hook", HOOKS)
def test_a_streamed_corpus_refuses_what_the_table_says(cases, hook):
    side, _ = cases[1][hook]
    if (hook, "streamed") not in REFUSED:
        check_place([side], "streamed")
        return
    with pytest.raises(DataError, match="as a whole: use device='cpu'"):
        check_place([side], "streamed")


@pytest.mark.parametrize("hook", HOOKS)
@pytest.mark.parametrize("step", ["theta_step", "phi_step"])
def test_steps_go_with_what_the_table_says(cases, hook, step):
    X, sides = cases
    side, data = sides[hook]
    given = (
        LocallyConsistentTheta(weight=1.0) if step == "theta_step" else OrthogonalPhi()
    )
    for cls in (PLSA, LDA) if step == "phi_step" else (PLSA,):
        model = cls(4, sides=[side], **{step: given}, **FEW)
        if (hook, step) in REFUSED:
            with pytest.raises(DataError, match=f"{type(side).__name__} .*{step}"):
                model.fit(X, **data)
            continue
        model.fit(X, **data)
        without = cls(4, sides=[side], **FEW).fit(X, **data)
        np.testing.assert_allclose(model.doc_topics_.sum(axis=1), 1.0)
        name = "doc_topics_" if step == "theta_step" else "components_"
        assert np.abs(getattr(model, name) - getattr(without, name)).max() > 1e-4
