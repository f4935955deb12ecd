# SPDX-License-Identifier: BSD-3-Clause
"""The benchmark runner on a small drawn corpus: real workers, few passes."""

import importlib.util
import json
from pathlib import Path

import pytest
from benchmarks.peers import modes, report
from benchmarks.peers.cli import main
from benchmarks.peers.corpora import hold_out, load_train, zipf_corpus


def _available(peer, package):
    found = importlib.util.find_spec(package) is not None
    mark = pytest.mark.skipif(not found, reason=f"{package} is not installed")
    return pytest.param(peer, marks=mark)


def _run(tmp_path, *arguments):
    small = ["--documents", "200", "-k", "4", "--threads", "1", "--passes", "2"]
    main([*small, "--out", str(tmp_path), "--name", "small", *arguments])
    results = json.loads((tmp_path / "small.json").read_text())
    return results, (tmp_path / "small.md").read_text()


def test_every_peer_gets_a_row(tmp_path):
    peers = ["sklearn_nmf", "sklearn_lda_batch", "topicfold_plsa"]
    results, text = _run(tmp_path, "--mode", "passes", "--peers", *peers)
    assert [row["peer"] for row in results["rows"]] == peers
    for row in results["rows"]:
        _check_row(row)
        assert f"| {row['peer']} | 1 |" in text
    assert str(tmp_path) not in text + json.dumps(results)
    assert set(results["machine"]) == {"cpu", "cores", "system", "python"}


@pytest.mark.parametrize(
    "peer",
    [
        _available("gensim_lda", "gensim"),
        _available("gensim_multicore", "gensim"),
        _available("tomotopy_lda", "tomotopy"),
        _available("topica_lda", "topica"),
    ],
)
def test_an_optional_peer_gets_a_row(tmp_path, peer):
    results, _ = _run(tmp_path, "--mode", "passes", "--peers", peer)
    (row,) = results["rows"]
    assert row["status"] == "ok", row
    _check_row(row)


def _check_row(row):
    assert row["status"] in ("ok", "missing"), row
    if row["status"] == "missing":
        assert "is not in this version" in row["note"]
        return
    assert row["passes"] == 3
    assert row["seconds_a_pass"] > 0
    assert 1 < row["perplexity"] < 5000
    assert row["peak_bytes"] >= 0


def test_target_mode_records_a_curve(tmp_path):
    results, text = _run(
        tmp_path, "--mode", "target", "--peers", "sklearn_nmf", "--target", "1e9"
    )
    (row,) = results["rows"]
    assert row["status"] == "ok", row
    assert row["passes_to_target"] == 1
    assert row["passes"] == 200
    seconds = [point[1] for point in row["curve"]]
    assert seconds == sorted(seconds)
    assert row["best_perplexity"] == min(point[2] for point in row["curve"])
    assert "To the target: zipf_200, K = 4" in text


def test_memory_mode_compares_with_the_arrays_needed(tmp_path, monkeypatch):
    def run_job(job):
        return {"status": "ok", "peak_bytes": 3 * load_train(Path(job["train"])).nnz}

    monkeypatch.setattr(modes, "run_job", run_job)
    split = hold_out(zipf_corpus(80, 50, 4, 30))
    corpus = modes.Corpus("zipf", split, tmp_path)
    settings = modes.Settings(peers=("topicfold_plsa", "sklearn_nmf"), topics=(2,))
    rows = list(modes.memory(corpus, settings))
    assert [row["documents"] for row in rows] == [8, 15, 30, 60]
    for row in rows:
        needed = 12 * row["nnz"] + 8 * 2 * (row["documents"] + 50)
        assert row["ratio"] == pytest.approx(3 * row["nnz"] / needed)


def test_the_default_passes_of_peers_are_compared_with_ours():
    shared = {"mode": "target", "corpus": "c", "k": 5, "threads": 2, "status": "ok"}
    peer = {"peer": "sklearn_lda_batch", "curve": [(1, 5.0, 900.0), (10, 50.0, 700.0)]}
    ours = {"peer": "topicfold_plsa", "curve": [(1, 0.5, 800.0), (2, 1.0, 650.0)]}
    rows = [{**shared, **row, "target": None} for row in (peer, ours)]
    results = {
        "machine": dict.fromkeys(("cpu", "cores", "system", "python"), "x"),
        "date": "",
        "seed": 0,
        "corpora": {},
        "peers": {},
        "rows": rows,
    }
    expected = "| sklearn_lda_batch | 10 | 10 | 700.0 | 50.00 | 1.00 | 50.0 |"
    assert expected in report.markdown(results)


def test_a_corpus_needs_its_folder(capsys):
    with pytest.raises(SystemExit):
        main(["--corpus", "oh0"])
    assert "--corpora" in capsys.readouterr().err
