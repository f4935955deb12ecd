# SPDX-License-Identifier: BSD-3-Clause
"""Rows in a file: whole cells or none, and a run that goes on."""

import csv
import json
import signal

import numpy as np
import pytest
from benchmarks.papers.experiments.results import (
    COLUMNS,
    ResultFile,
    Results,
    run_cells,
)
from scipy import sparse

from topicfold import PLSA
from topicfold.choosing.evaluation import data_fingerprint
from topicfold.exceptions import DataError
from topicfold.learn import Callback

CELLS = [{"corpus": "c", "model": "m", "n_components": k, "seed": 0} for k in range(5)]


def measure(data, cell):
    """Two rows a cell; note the call."""
    data.append(cell["n_components"])
    k = cell["n_components"]
    return [
        {"metric": "a", "value": k + 0.5},
        {"metric": "b", "value": np.nan if k == 0 else float(k)},
    ]


def stop_at_two(data, cell):
    if cell["n_components"] == 2:
        raise KeyboardInterrupt
    return measure(data, cell)


def fail_at_two(data, cell):
    if cell["n_components"] == 2:
        raise ValueError("no such luck")
    return measure(data, cell)


def interrupt_fit_at_two(data, cell):
    """Ctrl-C inside a fit: the model warns and goes on with what it has."""
    if cell["n_components"] == 2:
        model = PLSA(2, callbacks=[PressCtrlC()], random_state=0)
        model.fit(np.ones((4, 3)))
    return measure(data, cell)


class PressCtrlC(Callback):
    def on_iteration(self, state):
        signal.raise_signal(signal.SIGINT)


def without_data(data, cell):
    return [{"metric": "a", "value": float(cell["n_components"])}]


def test_an_interrupted_run_goes_on_and_nothing_is_lost(tmp_path):
    file, calls = tmp_path / "deep" / "rows.jsonl", []
    with pytest.raises(KeyboardInterrupt):
        run_cells(CELLS, stop_at_two, calls, results=file)
    assert calls == [0, 1]
    results = run_cells(CELLS, measure, calls, results=file)
    assert calls == [0, 1, 2, 3, 4]
    assert results.values("a") == [0.5, 1.5, 2.5, 3.5, 4.5]
    again = run_cells(CELLS, measure, calls, results=file)
    assert len(calls) == 5
    assert again.values("a") == results.values("a")
    assert np.isnan(again.values("b")[0])


def test_half_a_fit_is_no_result(tmp_path):
    file = tmp_path / "rows.jsonl"
    with pytest.raises(KeyboardInterrupt):
        run_cells(CELLS, interrupt_fit_at_two, [], results=file)
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    assert {row["n_components"] for row in rows} == {0, 1}


@pytest.mark.parametrize("cut", [1, 30, -40])
def test_a_cell_cut_while_it_was_written_is_done_again(tmp_path, cut):
    file, calls = tmp_path / "rows.jsonl", []
    run_cells(CELLS, measure, calls, results=file)
    whole = file.read_bytes()
    lines = whole.splitlines(keepends=True)
    rest = len(whole) - len(lines[-1]) - len(lines[-2])
    # Inside the first or the second line of the last cell.
    file.write_bytes(whole[: rest + cut] if cut > 0 else whole[:cut])
    calls.clear()
    results = run_cells(CELLS, measure, calls, results=file)
    assert calls == [4]
    assert results.values("a") == [0.5, 1.5, 2.5, 3.5, 4.5]
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    assert len(rows) == 10


def test_a_failed_cell_is_told_and_tried_again(tmp_path, caplog):
    file, calls = tmp_path / "rows.jsonl", []
    results = run_cells(CELLS, fail_at_two, calls, results=file)
    assert len(results.values("a")) == 4
    assert results.failures == ["c, m, K=2, seed 0: ValueError: no such luck"]
    assert "no such luck" in caplog.text
    calls.clear()
    assert len(run_cells(CELLS, measure, calls, results=file).values("a")) == 5
    assert calls == [2]


def test_other_settings_are_other_cells(tmp_path):
    file, calls = tmp_path / "rows.jsonl", []
    run_cells(CELLS, measure, calls, results=file)
    changed = [{**cell, "settings": {"svm_c": 2}} for cell in CELLS]
    results = run_cells(changed, measure, calls, results=file)
    assert len(calls) == 10
    assert len(results.rows) == 10
    assert {row["settings"] for row in results.rows} == {'{"svm_c": 2}'}


def test_processes_give_the_same_rows(tmp_path):
    one = run_cells(CELLS, without_data, None)
    two = run_cells(CELLS, without_data, None, results=tmp_path / "rows", n_jobs=2)
    assert one.values("a") == two.values("a")


def test_progress_and_budget():
    seen = []
    run_cells(
        CELLS,
        measure,
        [],
        on_progress=lambda done, total, cell: seen.append((done, total)),
    )
    assert seen == [(i, 5) for i in range(1, 6)]
    assert run_cells(CELLS, measure, [], time_budget=-1.0).rows == []


def test_rows_are_tidy(tmp_path):
    results = run_cells(CELLS[:2], measure, [])
    for row in results.rows:
        assert {"corpus", "model", "n_components", "seed", "metric", "value"} <= set(
            row
        )
        assert row["seconds"] >= 0
    results.to_csv(tmp_path / "rows.csv")
    with (tmp_path / "rows.csv").open() as stream:
        read = list(csv.DictReader(stream))
    assert tuple(read[0]) == COLUMNS
    assert [r["value"] for r in read if r["metric"] == "a"] == ["0.5", "1.5"]


def test_tables_have_mean_and_deviation():
    rows = [
        {"model": m, "labels": n, "metric": "accuracy", "value": v}
        for m, n, v in (("A", 1, 0.2), ("A", 1, 0.4), ("B", 5, 0.5))
    ]
    lines = Results(rows).to_markdown("accuracy", columns="labels").splitlines()
    assert lines[0] == "| model | labels 1 | labels 5 |"
    assert lines[2:] == ["| A | 0.300 ± 0.100 |  |", "| B |  | 0.500 |"]
    assert np.isnan(Results(rows).mean("accuracy", model="C"))
    assert Results(rows).std("accuracy", model="A") == pytest.approx(0.1)
    assert np.isnan(Results(rows).std("accuracy", model="C"))


def test_fingerprints_tell_data_apart():
    X = sparse.csr_matrix(np.eye(3))
    assert data_fingerprint(X) == data_fingerprint(X.astype(np.float32))
    other = sparse.csr_matrix(np.eye(3) + np.eye(3, k=1))
    assert data_fingerprint(X) != data_fingerprint(other)
    assert data_fingerprint(X, [0, 1]) != data_fingerprint(X, [1, 0])
    names = np.array(["a", None], dtype=object)
    assert data_fingerprint(names) == data_fingerprint(names.copy())
    assert data_fingerprint(names) != data_fingerprint(names[::-1])


def test_files_that_are_no_results_are_left_alone(tmp_path):
    file = tmp_path / "notes.txt"
    file.write_text("my notes\n")
    with pytest.raises(DataError, match="not a file of results"):
        ResultFile(file)
    assert file.read_text() == "my notes\n"
    with pytest.raises(DataError, match="is a folder"):
        ResultFile(tmp_path)


def test_cells_that_two_runs_did_count_once(tmp_path):
    file = tmp_path / "rows.jsonl"
    results = run_cells(CELLS, measure, [], results=file)
    file.write_bytes(file.read_bytes() * 2)
    again = run_cells(CELLS, stop_at_two, [], results=file)
    assert again.values("a") == results.values("a")


def test_a_frozen_file_is_read_and_nothing_is_run(tmp_path):
    file = tmp_path / "rows.jsonl"
    before = run_cells(CELLS[1:2], measure, [], results=file)
    seen = []
    after = run_cells(
        CELLS,
        measure,
        seen,
        results=ResultFile(file, frozen=True),
        on_progress=lambda *_: pytest.fail("a cell was run"),
    )
    assert after.rows == before.rows
    assert seen == []


def test_rows_are_packed_and_read_again(tmp_path):
    file = tmp_path / "rows.jsonl"
    store = ResultFile(file)
    store.add("one", [{"metric": "a", "value": 1.0}, {"metric": "b", "value": 2.0}])
    store.pack()
    assert [found.name for found in tmp_path.iterdir()] == ["rows.jsonl.xz"]
    again = ResultFile(file)
    assert again.get("one") == store.get("one")
    again.add("two", [{"metric": "a", "value": 3.0}])
    assert set(ResultFile(file)._cells) == {"one", "two"}
    ResultFile(file).pack()
    assert set(ResultFile(file)._cells) == {"one", "two"}
    assert not file.exists()
