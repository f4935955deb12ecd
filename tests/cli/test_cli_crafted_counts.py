# SPDX-License-Identifier: BSD-3-Clause
"""A crafted matrix ends the command in one sentence, not in a crash."""

import numpy as np
import pytest


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
