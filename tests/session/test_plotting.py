# SPDX-License-Identifier: BSD-3-Clause
"""Figures and what notebooks show."""

import base64
import csv
import dataclasses
import html
import zlib

import numpy as np
import pytest

from topicfold import PLSA, TopicData, Topics, select_n_components
from topicfold.choosing import Comparison, ModelScore
from topicfold.corpus import Corpus
from topicfold.exceptions import DataError, MissingDependencyError
from topicfold.plotting import COLORS, plot, save_figures
from topicfold.report.content import page_content, topic_tree
from topicfold.report.documents import topic_similarity

to_hex = pytest.importorskip("matplotlib.colors").to_hex


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


def test_lines_pass_over_years_without_documents(data):
    years = np.where(np.arange(data.n_documents) % 2, 2004.0, 2001.0)
    figure = plot(dataclasses.replace(data, times=years), "time", n_topics=5)
    line = figure.axes[0].lines[0]
    assert line.get_xdata().tolist() == [0, 3]
    assert (line.get_ydata() > 0).all()


def test_ticks_of_time_are_exact_and_even(data):
    figure = plot(data, "time", n_topics=5)
    figure.canvas.draw()
    axes = figure.axes[0]
    labels = [float(label.get_text()[:-1]) for label in axes.get_yticklabels()]
    np.testing.assert_allclose(labels, 100 * axes.get_yticks(), atol=1e-9)
    assert len({round(step, 9) for step in np.diff(labels)}) == 1


def test_what_is_left_out_is_said(data):
    for kind, options in {
        "words": {"n_topics": 5},
        "time": {"n_topics": 5},
        "classes": {"n_topics": 5},
        "similarity": {"n_topics": 5},
        "map": {"n_labels": 5},
    }.items():
        what = "are named" if kind == "map" else "are shown"
        figure = plot(data, kind, **options)
        scale = ["bars: probability, each topic on its own scale"] * (kind == "words")
        assert figure.remarks == [*scale, f"the 5 largest of 12 topics {what}"]
        assert [*getattr(plot(data, kind), "remarks", ())] == scale
    figure = plot(data, "words", n_topics=1)
    assert figure.remarks[1] == "the largest of 12 topics is shown"
    # A narrow figure has it on several lines.
    assert figure._supxlabel.get_text().count("\n") == 1


def test_a_topic_has_one_colour_everywhere(data):
    content = page_content(
        data,
        title="",
        coherence=None,
        max_documents=1000,
        seed=0,
        against=None,
        start="",
    )[0]
    wanted = [COLORS[topic["color"]] for topic in content["topics"]]
    assert len({*wanted}) > 5
    largest = np.argsort(-data.topic_sizes(), kind="stable").tolist()
    bars = [axes.patches[0].get_facecolor() for axes in plot(data, "words").axes]
    lines = [axes.lines[0].get_color() for axes in plot(data, "time").axes]
    figure = plot(data, "map")
    names = [text.get_color() for text in figure.axes[0].texts]
    assert [to_hex(bar) for bar in bars] == [wanted[k] for k in largest]
    assert lines == names == [wanted[k] for k in largest]
    dots = figure.axes[0].collections[0].get_facecolors()
    main = data.main_topics()
    assert [to_hex(dot) for dot in dots] == [wanted[k] for k in main]


def test_the_map_is_that_of_the_report(data):
    """The page has y from the top, the figure from the bottom."""
    content = page_content(
        data,
        title="",
        coherence=None,
        max_documents=1000,
        seed=0,
        against=None,
        start="",
    )[0]
    raw = zlib.decompress(base64.b64decode(content["documents"]["y"]["data"]))
    from_top = np.frombuffer(raw, np.uint16) / 65535
    drawn = plot(data, "map").axes[0].collections[0].get_offsets()
    np.testing.assert_allclose(1 - drawn[:, 1], from_top, atol=1e-4)


def test_the_order_of_similar_topics_is_that_of_the_report(data):
    order = topic_tree(data, topic_similarity(data))[1]
    axes = plot(data, "similarity").axes[0]
    shown = [int(label.get_text().split()[0]) for label in axes.get_yticklabels()]
    assert shown == order
    image = axes.images[0]
    pairs = np.asarray(image.get_array())[~np.eye(12, dtype=bool)]
    # From the least similar pair to the most: not one shade.
    assert image.norm.vmin == pytest.approx(pairs.min())
    assert image.norm.vmax == pytest.approx(pairs.max())


@pytest.mark.slow
def test_all_figures_with_their_data(data, tmp_path):
    files = Topics.figures(_Fitted(data), tmp_path / "figures")
    kinds = ["words", "map", "time", "classes", "similarity"]
    assert [file.name for file in files] == [
        f"{kind}.{end}" for kind in kinds for end in ("svg", "pdf", "csv")
    ]
    assert all(file.stat().st_size > 100 for file in files)
    with (tmp_path / "figures" / "time.csv").open(encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    assert [row["period"] for row in rows] == [str(year) for year in range(2001, 2007)]
    assert plot(data, "words").data[0]["topic"] == int(data.topic_sizes().argmax())
    plain = dataclasses.replace(data, labels=None, times=None)
    assert len(save_figures(plain, tmp_path / "fewer")) == 9


class _Fitted:
    def __init__(self, data):
        self.data = data

    def _record(self):
        return self.data


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
