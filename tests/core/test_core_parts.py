# SPDX-License-Identifier: BSD-3-Clause
"""Small parts that every room uses: each does what its sentence says."""

import os
import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse

from topicfold import LDA
from topicfold.core.counts import (
    OuterSum,
    bad_values,
    check_counts,
    checked_csr,
    normalize_rows,
    simplex_problems,
)
from topicfold.core.labels import class_members, class_numbers, encode_labels
from topicfold.core.lazy import lazy_names
from topicfold.core.tables import Table, html_table, markdown_table, shown
from topicfold.core.threads import balanced_ranges, n_threads
from topicfold.core.times import parse_times
from topicfold.exceptions import DataError


def test_times_are_numbers_dates_or_nothing():
    np.testing.assert_array_equal(parse_times(["1790", ""]), [1790, np.nan])
    dates = np.array(["2001-05-03", "NaT"], "datetime64[D]")
    np.testing.assert_array_equal(parse_times(["2001-05-03", ""]), dates)
    assert parse_times(["long ago"]) is None
    assert parse_times(["", ""]) is None


def test_labels_are_numbers_of_classes():
    codes, classes = class_numbers(["b", None, "a", -1], 4)
    assert codes.tolist() == [1, -1, 0, -1]
    assert classes.tolist() == ["a", "b"]
    assert class_numbers([9, 1, 9, 0], 4, 9)[0].tolist() == [-1, 1, -1, 0]
    assert encode_labels(["b", None, "a", -1], 4).tolist() == [1, -1, 0, -1]
    assert encode_labels([None, -1], 2) is None
    members, classes = class_members(["b", -1, "a"], 3)
    assert members.astype(int).tolist() == [[0, 1], [0, 0], [1, 0]]
    assert class_members(np.array([[1, 0], [1, 1]]), 2)[0].sum(axis=0).tolist() == [
        2,
        1,
    ]


def test_rows_on_the_simplex():
    rows = normalize_rows(np.array([[1.0, 3.0], [0.0, 0.0]]))
    np.testing.assert_array_equal(rows, [[0.25, 0.75], [0.5, 0.5]])
    (problem,) = simplex_problems("theta", np.array([[0.5, 0.5], [0.5, 0.25]]))
    assert "rows that do not sum to 1: 1 (row 1 sums to 0.75)" in problem
    outer = OuterSum(np.array([1.0, 2.0]), np.array([0.5, 0.0]))
    np.testing.assert_array_equal(np.asarray(outer[1:]), [[2.5, 2.0]])


def test_bad_counts_are_told_with_their_place():
    assert bad_values(sparse.csr_matrix([[np.nan, 1.0, -1.0]])) == (
        "1 NaN entry (first at row 0, column 0) and 1 negative entry (first at row 0, "
        "column 2)"
    )
    with pytest.raises(DataError, match=r"X has 1 negative entry \(first at row 0"):
        check_counts(sparse.csr_matrix([[1.0, -2.0]]), "X")
    one = np.ones(1)
    with pytest.raises(DataError, match=r"neg\.npz has an entry in column 7 of row 0"):
        checked_csr(one, np.array([7]), np.array([0, 1]), (1, 3), "neg.npz")


def test_threads_and_their_ranges():
    assert (n_threads(None), n_threads(3)) == (1, 3)
    assert balanced_ranges(np.array([0, 8, 9, 10, 11]), 2) == [(0, 1), (1, 4)]


def test_names_are_found_where_they_live():
    find = lazy_names("numbers", {"sqrt": "math:sqrt"})
    assert find("sqrt")(9.0) == 3.0
    with pytest.raises(AttributeError, match="module 'numbers' has no attribute 'cub"):
        find("cube")


def test_kernels_run_as_plain_python():
    """To debug them, and so that mutants need not be compiled."""
    code = (
        "from topicfold.engine.special import log_scalar;"
        "print(type(log_scalar).__name__, round(log_scalar(2.0), 6))"
    )
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    command = [sys.executable, "-W", "ignore", "-c", code]
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["function", "0.693147"]


def test_tables_show_themselves():
    rows = [{"topic": 0, "words": "sea <b>"}]
    assert repr(Table(rows)) == "topic  words\n    0  sea <b>"
    assert "sea &lt;b&gt;" in Table(rows)._repr_html_()
    assert html_table(rows, "a & b").startswith("<table><caption>a &amp; b</caption>")
    expected = "| topic | words |\n|---|---|\n| 0 | sea <b> |"
    assert markdown_table(rows) == expected
    assert [shown(value) for value in (0.12345, None, 3)] == ["0.123", "", "3"]
    assert repr(Table()) == "(none)"


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("num_topics", "n_components"),
        ("alpha", "doc_topic_prior"),
        ("max_it", "max_iter"),
    ],
)
def test_a_parameter_by_another_name_is_told_its_own(given, meant):
    with pytest.raises(TypeError, match=rf"argument '{given}'. Did you mean {meant}\?"):
        LDA(**{given: 5})
    with pytest.raises(TypeError, match=r"argument 'zzz'$"):
        LDA(zzz=5)
