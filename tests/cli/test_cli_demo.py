# SPDX-License-Identifier: BSD-3-Clause
import warnings

import pytest

import topicfold
from topicfold.exceptions import FitInterruptedWarning
from topicfold.persistence.model_folder import load_model_folder


@pytest.mark.usefixtures("fake_docs")
def test_demo(cli, tmp_path):
    folder = tmp_path / "demo"
    result = cli("demo", "-o", folder, "-k", 2)
    assert result.exit_code == 0, result.output
    assert "\x1b" not in result.output
    for part in (
        "54 to learn from, 6 to score",
        "The 2 topics of LDA",
        "main class",
        "perplexity",
        "no topics",
        "PLSA",
        f"Saved    {folder / 'lda'}",
        f"topicfold topics {folder / 'lda'}",
    ):
        assert part in result.stdout
    for name in ("lda", "plsa"):
        data = load_model_folder(folder / name).topic_data()
        assert data.n_documents == 54
        assert {"land", "sea"} == set(data.labels)
    # What it says to type next works, and so does the demo once more.
    assert cli("topics", folder / "lda", "-n", 15).exit_code == 0
    assert cli("transform", folder / "plsa", "docs").exit_code == 0
    assert cli("demo", "-o", folder, "-k", 2).exit_code == 0


@pytest.mark.usefixtures("fake_docs")
def test_demo_does_not_write_into_other_folders(cli, check_error, tmp_path):
    (tmp_path / "plsa").mkdir()
    (tmp_path / "plsa" / "thesis.tex").touch()
    check_error(cli("demo", "-o", tmp_path), "plsa", "no topicfold model")
    assert not (tmp_path / "lda").exists()


def test_bad_options(cli, check_error):
    check_error(cli("demo", "--topics", 0), "--topics")


@pytest.mark.usefixtures("fake_docs")
@pytest.mark.parametrize(
    ("documents", "said"),
    [(54, "warning: stopped\n"), (30, "error: interrupted\n")],
    ids=["in the fit", "while it compiles"],
)
def test_interrupted_demo_ends(cli, tmp_path, monkeypatch, documents, said):
    fit = topicfold.LDA.fit

    def interrupted(self, X):
        if X.shape[0] == documents:
            warnings.warn("stopped", FitInterruptedWarning, stacklevel=2)
        return fit(self, X)

    monkeypatch.setattr(topicfold.LDA, "fit", interrupted)
    result = cli("demo", "-o", tmp_path / "demo", "-k", 2)
    assert result.exit_code == 130
    assert result.stderr == said
    assert not (tmp_path / "demo" / "plsa").exists()
    assert "Report" not in result.stdout


@pytest.mark.usefixtures("fake_docs")
def test_compiling_is_no_part_of_the_time_of_a_fit(cli, tmp_path, monkeypatch):
    """Each model is fitted on a few documents first, in its own time."""
    clock, fit = [0.0], topicfold.LDA.fit

    def slow_at_first(self, X):
        clock[0] += 1.5 if clock[0] else 40.0
        return fit(self, X)

    monkeypatch.setattr(topicfold.LDA, "fit", slow_at_first)
    monkeypatch.setattr("topicfold.cli.fit.time.perf_counter", lambda: clock[0])
    shown = cli("demo", "-o", tmp_path / "demo", "-k", 2).stdout
    assert "Compile  LDA: 40.0 s, the first time only\n" in shown
    (line,) = (line for line in shown.splitlines() if line.startswith("Fit      LDA"))
    assert line.endswith("in 1.5 s")
    assert "Compile  PLSA" not in shown
