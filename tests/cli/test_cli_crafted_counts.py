# SPDX-License-Identifier: BSD-3-Clause
"""A crafted matrix ends the command in one sentence, not in a crash."""

import numpy as np
import pytest
from scipy import sparse

from topicfold import corpus
from topicfold.corpus.blocks import BlockMatrix
from topicfold.persistence.model_folder import load_model_folder


@pytest.mark.parametrize(
    ("indptr", "indices", "problem"),
    [([0, 2, -3], [0, 1, 0], "fall at row 1"), ([0, 2, 3], [0, 9, 0], "column 9")],
)
def test_fit_of_a_crafted_npz(cli, tmp_path, indptr, indices, problem):
    np.savez(
        tmp_path / "neg.npz",
        format=np.array(b"csr"),
        shape=np.array([2, 2]),
        data=np.ones(3),
        indices=np.array(indices),
        indptr=np.array(indptr),
    )
    result = cli("fit", tmp_path / "neg.npz", "--output", tmp_path / "model")
    assert result.exit_code == 2
    assert result.stderr.startswith("error: ")
    assert "neg.npz has" in result.stderr
    assert problem in result.stderr
    assert len(result.stderr.splitlines()) == 1


VALUES = [(name, "npz") for name in ("fit", "transform", "compare", "choose-k")]


@pytest.mark.parametrize(
    ("command", "kind"), [*VALUES, ("fit", "blocks"), ("transform", "blocks")]
)
def test_a_value_out_of_range_names_its_file(
    cli, check_error, model, tmp_path, monkeypatch, command, kind
):
    words = load_model_folder(model).vocabulary
    counts = sparse.csr_matrix(np.ones((8, len(words))))
    counts[5, 3] = 1e30
    file = tmp_path / f"big.{kind}"
    if kind == "npz":
        corpus.write(corpus.Corpus(counts, words), file)
    else:
        with monkeypatch.context() as unchecked:
            name = "topicfold.corpus.block_corpus.check_range"
            unchecked.setattr(name, lambda *_: None)
            BlockMatrix.write(file, counts, vocabulary=words)
    known = {"fit": (file, "-k", 2, "-o", tmp_path / "m"), "transform": (model, file)}
    result = cli(command, *known.get(command, (file,)))
    check_error(result, file, "the value 1e+30 (row 5, column 3)", "Scale the values")


def test_counts_that_are_not_whole_are_refused(cli, check_error, tmp_path):
    file = tmp_path / "half.npz"
    corpus.write(corpus.Corpus([[1, 0.5], [1, 1]], ["a", "b"]), file)
    result = cli("fit", file, "-m", "gibbs", "-k", 2, "-o", tmp_path / "m")
    check_error(result, "counts have 1 entry that is not a whole number")
