# SPDX-License-Identifier: BSD-3-Clause
import pytest

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
    check_error(cli("demo", "-o", tmp_path), "plsa", "not empty")
    assert not (tmp_path / "lda").exists()


def test_bad_options(cli, check_error):
    check_error(cli("demo", "--topics", 0), "--topics")
