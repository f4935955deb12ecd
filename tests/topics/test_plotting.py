# SPDX-License-Identifier: BSD-3-Clause
"""Figures and what notebooks show."""

import dataclasses
import html

import numpy as np
import pytest

from topicfold import PLSA, TopicData, Topics, select_n_components
from topicfold.choosing import Comparison, ModelScore
from topicfold.corpus import Corpus
from topicfold.exceptions import DataError, MissingDependencyError
from topicfold.plotting import COLORS, plot

pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    topics = rng.dirichlet(np.full(20, 0.2), 12)
    mixtures = rng.dirichlet(np.full(12, 0.2), 60)
    return TopicData(
        topics=topics,
        vocabulary=[f"word{i}$" for i in range(20)],
        doc_topics=mixtures,
        labels=["a", "b", "c"] * 20,
        times=np.arange(60) % 6 + 2001,
        texts=[f"text {i}" for i in range(60)],
    )


@pytest.mark.parametrize("kind", ["words", "map", "time", "classes", "similarity"])
def test_every_figure_is_drawn_and_saved(data, kind, tmp_path):
    file = tmp_path / "figure.png"
    figure = plot(data, kind, file)
    assert file.stat().st_size > 5000
    assert len(figure.axes) >= 1


def test_words_are_those_of_the_topics(data):
    figure = plot(data, "words", n_topics=3, n_words=4)
    assert len(figure.axes) == 3
    largest = int(data.topic_sizes().argmax())
    shown = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert shown[::-1] == list(data.top_terms(4, 0.6)[largest])


def test_time_has_one_scale_for_all(data):
    figure = plot(data, "time", n_topics=5)
    assert len({axes.get_ylim() for axes in figure.axes[:5]}) == 1


def test_classes_and_times_that_are_not_there(data):
    plain = dataclasses.replace(data, labels=None, times=None, doc_topics=None)
    for kind in ("time", "classes", "map"):
        with pytest.raises(DataError):
            plot(plain, kind)
    with pytest.raises(DataError, match=r"no figure 'pie'. Give one of words, map"):
        plot(data, "pie")


def test_without_matplotlib(data, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "matplotlib.figure", None)
    with pytest.raises(MissingDependencyError, match=r"topicfold\[plot\]"):
        plot(data, "words")


def test_colours_differ():
    rgb = np.array([[int(c[i : i + 2], 16) for i in (1, 3, 5)] for c in COLORS])
    gaps = np.abs(rgb[:, None] - rgb[None]).sum(axis=2)
    assert gaps[~np.eye(len(rgb), dtype=bool)].min() > 60


def test_the_report_in_an_output_cell():
    texts = ["red fox wood", "fox wood", "blue sea fish", "sea fish"]
    page = Topics(2, min_df=1).fit(texts).explore(height=400)
    shown = page._repr_html_()
    assert shown.startswith('<iframe srcdoc="&lt;!DOCTYPE html&gt;')
    assert "height:400px" in shown
    assert html.unescape(shown).count("<!DOCTYPE html>") == 1
    assert "a notebook shows it" in repr(page)


def test_what_notebooks_show(data):
    assert "<table>" in data._repr_html_()
    corpus = Corpus.from_texts(
        ["<b>red</b> fox", "red sea"], labels=["x", "y"], min_df=1, max_df=1.0
    )
    assert "&lt;b&gt;red" in corpus._repr_html_()
    X = np.random.default_rng(0).poisson(1.0, (30, 12))
    found = select_n_components(PLSA(max_iter=5), X, [2, 3], n_words=3, n_restarts=2)
    assert "suggested" in found._repr_html_()
    nan = float("nan")
    score = ModelScore("LDA", 3, nan, 20.0, 0.1, 0.9, nan, 1.0, nan)
    assert "Take LDA." in Comparison((score,), "Take LDA.", (), 3)._repr_html_()


def test_names_on_the_map_do_not_cover_each_other(data):
    axes = plot(data, "map").axes[0]
    assert len(axes.texts) == 12
    axes.figure.canvas.draw()
    boxes = [text.get_window_extent() for text in axes.texts]
    pairs = [(a, b) for n, a in enumerate(boxes) for b in boxes[:n]]
    assert not any(a.overlaps(b) for a, b in pairs)
