# SPDX-License-Identifier: BSD-3-Clause
"""The parts of a report: packing, terms, documents, map, periods, texts."""

import dataclasses
import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import topicfold.report
from topicfold import TopicData
from topicfold.report import documents
from topicfold.report.content import (
    LAMBDAS,
    MOST_PARTS,
    N_SHOWN,
    index_terms,
    topic_tree,
)
from topicfold.report.documents import (
    MAX_PERIODS,
    N_COLORS,
    PALETTE,
    borders,
    find_classes,
    find_periods,
    map_documents,
    map_topics,
    nearest_documents,
    pack_mixtures,
    pick_colors,
    shown_documents,
    typical_documents,
)
from topicfold.report.page import WordMarker, lead, pack_array, pack_strings, shorten
from topicfold.report.writing import report_html


def with_times(times):
    times = np.asarray(times)
    return TopicData(
        topics=[[0.5, 0.5], [0.1, 0.9]],
        vocabulary=["a", "b"],
        doc_topics=np.tile([[1.0, 0.0], [0.0, 1.0]], (len(times), 1))[: len(times)],
        times=times,
    )


def test_arrays_that_the_page_cannot_read_are_refused():
    with pytest.raises(TypeError, match="complex128"):
        pack_array(np.ones(2, complex))


@pytest.mark.parametrize(
    ("numbers", "kind"),
    [([0, 255], "uint8"), ([0, 1 << 32], "float64"), ([-1, 3], "float64")],
)
def test_whole_numbers_are_in_the_smallest_type(numbers, kind):
    assert pack_array(np.array(numbers))["type"] == kind


def test_separators_in_strings_are_replaced(page_data):
    packed = pack_strings(["a\x1eb", "\ud800", "c\nd"])
    html = f'<script type="application/json">{{"x": {packed}}}</script>'
    assert page_data(html.replace("'", '"'))["x"] == ["a\ufffdb", "\ufffd", "c\nd"]


def test_a_lone_surrogate_never_reaches_the_page(page_data):
    odd = "x\ud800"
    data = TopicData(
        topics=[[0.5, 0.5], [0.1, 0.9]],
        vocabulary=[odd, "b"],
        doc_topics=[[1.0, 0.0], [0.0, 1.0]],
        labels=[odd, None],
        doc_ids=[odd, "2"],
        texts=[odd, odd],
        topic_names=[odd, ""],
        settings={odd: odd},
    )
    html = report_html(data, title=odd)
    html.encode("utf-8")
    assert "\\ud8" not in html
    assert "x\ufffd" in str(page_data(html))


def test_a_link_takes_half_a_character():
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    module = Path(topicfold.report.__file__).parent / "static" / "dom.js"
    code = (
        f"import({json.dumps(module.as_uri())}).then((dom) =>"
        " console.log(dom.link({q: 'a\\ud83d', topic: 3, all: true})))"
    )
    done = subprocess.run(
        [node, "--input-type=module", "-e", code],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "#q=a%EF%BF%BD&topic=3&all"


@pytest.mark.parametrize("value", LAMBDAS)
def test_candidates_have_the_top_terms_of_every_stop(value):
    rng = np.random.default_rng(0)
    topics = rng.dirichlet([0.05] * 400, size=6)
    topics[2, 100:] = 0
    topics /= topics.sum(axis=1, keepdims=True)
    data = TopicData(
        topics=topics,
        vocabulary=[f"w{i}" for i in range(400)],
        doc_topics=rng.dirichlet([0.5] * 6, size=20),
    )
    index = index_terms(data, max_terms=5)
    for topic, wanted in enumerate(data.top_term_ids(N_SHOWN, value)):
        possible = [w for w in wanted if topics[topic, w] > 0]
        assert set(possible) <= set(index.columns[index.candidates[topic]])


def test_topics_of_a_term_follow_bayes(small):
    index = index_terms(small, 100)
    joint = small.topic_sizes()[:, None] * small.topics
    expected = joint / joint.sum(axis=0)
    for place, column in enumerate(index.columns):
        assert index.shares[place] == pytest.approx(
            expected[index.topics[place], column]
        )
    assert (np.diff(index.shares, axis=1) <= 0).all()
    assert (np.diff(index.frequencies) <= 0).all()


def test_typical_documents_are_long_and_pure():
    pure = [[0.9, 0.1]] * 9 + [[0.2, 0.8]]
    data = TopicData(
        topics=[[0.5, 0.5], [0.1, 0.9]],
        vocabulary=["a", "b"],
        doc_topics=[[1.0, 0.0], *pure],
        doc_lengths=[1] + [50] * 10,
    )
    # Eight of eleven: neither the one of a single word nor the one of another topic.
    assert set(typical_documents(data)[0]) <= set(range(1, 10))
    assert typical_documents(data)[1, 0] == 10


def test_typical_documents_are_in_the_order_of_their_shares(small):
    rng = np.random.default_rng(1)
    lengths = rng.integers(1, 500, 40)
    data = dataclasses.replace(small, doc_lengths=lengths)
    for topic, rows in enumerate(typical_documents(data)):
        assert (np.diff(data.doc_topics[rows, topic]) <= 0).all()


def test_a_documents_topic_is_that_of_its_mixture(page_data):
    # Rounded to 255ths the two largest are even in every document.
    theta = np.tile([[0.3310, 0.3320, 0.3370], [0.4990, 0.5001, 0.0009]], (30, 1))
    data = TopicData(
        topics=np.full((3, 2), 0.5), vocabulary=["a", "b"], doc_topics=theta
    )
    page = page_data(report_html(data))
    assert page["documents"]["main"].tolist() == [2, 1] * 30
    assert [topic["main"] for topic in page["topics"]] == [0, 30, 30]


def test_samples_have_what_is_wanted():
    wanted = np.arange(0, 900, 100)
    rows = shown_documents(1000, wanted, 50, seed=1)
    assert len(rows) == 50
    assert set(wanted) <= set(rows)
    assert (np.diff(rows) > 0).all()
    assert len(shown_documents(1000, np.arange(80), 50, seed=1)) == 80


def test_mixtures_are_within_a_step(page_data):
    theta = np.random.default_rng(0).dirichlet([0.05] * 40, size=30)
    packed = page_data(
        '<script type="application/json">'
        f"{str(pack_mixtures(theta)).replace(chr(39), chr(34))}</script>"
    )
    rows = np.repeat(np.arange(30), packed["counts"])
    found = np.zeros_like(theta)
    found[rows, packed["topics"]] = packed["weights"] / 255
    kept = found > 0
    assert np.abs(found - theta)[kept].max() <= 0.5 / 255 + 1e-9
    assert theta[~kept].max() < 1 / 16


def test_classes_beyond_the_limit_are_left_out(monkeypatch):
    monkeypatch.setattr("topicfold.report.documents.MAX_CLASSES", 2)
    data = with_times(np.arange(6))
    data = dataclasses.replace(data, labels=["a", "b", "b", "c", "c", None])
    classes = find_classes(data)
    assert classes.names == ["b", "c"]
    assert classes.codes.tolist() == [0, 1, 1, 2, 2, 0]
    assert classes.n_all == 3
    assert classes.mixtures.sum(axis=1) == pytest.approx([1, 1])


def test_nearest_documents_are_those_of_a_full_sort():
    roots = np.sqrt(np.random.default_rng(0).dirichlet([0.3] * 7, size=300))
    roots = roots.astype(np.float32)
    roots[50:60] = roots[0]
    scores = roots @ roots.T
    np.fill_diagonal(scores, -1)
    expected = np.argsort(-scores, axis=1, kind="stable")[:, :5]
    found = nearest_documents(roots, 5)
    reached = np.take_along_axis(scores, found, axis=1)
    assert reached == pytest.approx(np.take_along_axis(scores, expected, axis=1))
    assert (found != np.arange(300)[:, None]).all()


def test_map_keeps_groups_together():
    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(5), 60)
    theta = rng.dirichlet([0.1] * 5, size=300) * 0.1 + 0.9 * np.eye(5)[group]
    places = map_documents(theta)
    assert places.min() >= 0
    assert places.max() <= 1
    gaps = np.square(places[:, None] - places[None]).sum(axis=2)
    np.fill_diagonal(gaps, np.inf)
    near = np.argsort(gaps, axis=1)[:, :5]
    assert (group[near] == group[:, None]).mean() > 0.97
    assert np.array_equal(places, map_documents(theta))


def test_a_map_by_embeddings():
    rng = np.random.default_rng(0)
    kinds = np.repeat([0, 1, 2], 40)
    vectors = np.eye(3)[kinds] @ rng.normal(size=(3, 80))
    vectors += 0.1 * rng.normal(size=vectors.shape)
    theta = rng.dirichlet(np.ones(4), len(kinds))  # says nothing about the kinds
    places = map_documents(theta, vectors=vectors)
    gaps = np.linalg.norm(places[:, None] - places, axis=2) + 9.0 * np.eye(len(kinds))
    near = np.argsort(gaps, axis=1)[:, :5]
    assert (kinds[near] == kinds[:, None]).mean() > 0.95
    plain = map_documents(theta)
    gaps = np.linalg.norm(plain[:, None] - plain, axis=2) + 9.0 * np.eye(len(kinds))
    near = np.argsort(gaps, axis=1)[:, :5]
    assert (kinds[near] == kinds[:, None]).mean() < 0.6


@pytest.mark.parametrize("shape", [(1, 1), (2, 1), (3, 2), (60, 1), (100, 3)])
def test_map_of_documents_that_are_all_the_same(shape):
    places = map_documents(np.full(shape, 1 / shape[1]))
    assert places.shape == (shape[0], 2)
    assert np.isfinite(places).all()


def test_far_islands_do_not_squeeze_the_rest():
    rng = np.random.default_rng(0)
    near = rng.normal(0, 1, (500, 2))
    far = rng.normal([200, 0], 0.3, (40, 2))
    moved = documents._pull_in_islands(np.concatenate([near, far]))
    # Each island keeps its shape, and there is water between them.
    for part, before in ((moved[:500], near), (moved[500:], far)):
        shift = part - before
        assert np.abs(shift - shift[0]).max() < 1e-9
    gap = np.abs(moved[500:, None] - moved[None, :500]).max(axis=2).min()
    assert 0 < gap < 15
    assert np.ptp(moved[:, 0]) < 40


def test_many_documents_are_compared_with_a_sample(monkeypatch):
    monkeypatch.setattr(documents, "MOST_COMPARED", 300)
    theta = np.random.default_rng(0).dirichlet([0.1] * 8, size=600)
    theta[0] = 1 / 8
    roots = np.sqrt(theta).astype(np.float32)
    found = nearest_documents(roots, 5)
    assert (found != np.arange(600)[:, None]).all()
    assert all(len(set(row)) == 5 for row in found.tolist())
    scores = roots @ roots.T
    np.fill_diagonal(scores, -1)
    best = np.sort(scores, axis=1)[:, -5:].mean()
    assert np.take_along_axis(scores, found, axis=1).mean() > 0.97 * best


def test_topics_with_similar_words_lie_close():
    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(5), 6)
    topics = rng.dirichlet([0.05] * 200, size=5)[group]
    topics = 0.7 * topics + 0.3 * rng.dirichlet([0.05] * 200, size=30)
    places = map_topics(topics)
    gaps = np.square(places[:, None] - places[None]).sum(axis=2)
    np.fill_diagonal(gaps, np.inf)
    assert (group[gaps.argmin(axis=1)] == group).mean() > 0.9


# What linear RGB becomes without one kind of cone (Machado, Oliveira and Fernandes,
# 2009, https://doi.org/10.1109/TVCG.2009.113, severity 1).
_SIGHTS = (
    np.eye(3),
    np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
    np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
    np.array(
        [
            [1.255528, -0.076749, -0.178779],
            [-0.078411, 0.930809, 0.147602],
            [0.004733, 0.691367, 0.303900],
        ]
    ),
)
# Linear RGB to cones, and their cube roots to Oklab (Ottosson, 2020).
_CONES = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
_OKLAB = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)


def color_gaps(theme):
    """Return how far any two colours are, for the sight that sees it least."""
    codes = PALETTE[theme]
    values = [[int(code[at : at + 2], 16) / 255 for at in (1, 3, 5)] for code in codes]
    rgb = np.array(values)
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    gaps = []
    for sight in _SIGHTS:
        seen = np.clip(linear @ sight.T, 0, 1)
        lab = np.cbrt(seen @ _CONES.T) @ _OKLAB.T
        gaps.append(np.linalg.norm(lab[:, None] - lab[None], axis=2))
    return np.min(gaps, axis=0)


def test_colors_differ_for_every_sight():
    for theme in ("light", "dark"):
        gaps = color_gaps(theme) + np.eye(N_COLORS)
        assert gaps.min() > 0.07
    gaps = np.minimum(color_gaps("light"), color_gaps("dark"))
    np.testing.assert_array_equal(documents.GAPS, np.rint(100_000 * gaps))


def test_close_topics_have_other_colors():
    similarity = np.eye(12)
    similarity[0, 1] = similarity[1, 0] = 0.9
    colors = pick_colors(np.full(12, 1 / 12), similarity)
    assert colors[0] != colors[1]
    assert len(set(colors.tolist())) == N_COLORS


def test_topics_that_touch_on_the_map_have_other_colors():
    # Sixty topics on a grid: every one touches those beside it and nobody else.
    rng = np.random.default_rng(0)
    cells = np.stack(np.divmod(np.arange(60), 10), axis=1) / 10
    main = np.repeat(np.arange(60), 40)
    positions = cells[main] + 0.1 * rng.random((2400, 2))
    touching = borders(positions, main, 60)
    colors = pick_colors(np.full(60, 1 / 60), np.eye(60), touching)
    pairs = np.argwhere(np.triu(touching > 0.2))
    assert len(pairs) > 60
    assert (colors[pairs[:, 0]] != colors[pairs[:, 1]]).all()


def test_tree_has_every_topic_once_and_groups_similar_ones():
    rng = np.random.default_rng(0)
    group = np.arange(40) % 4
    base = rng.dirichlet([0.05] * 300, size=4)[group]
    topics = 0.6 * base + 0.4 * rng.dirichlet([0.05] * 300, size=40)
    data = TopicData(topics=topics, vocabulary=[f"w{i}" for i in range(300)])
    roots = np.sqrt(topics)
    tree, order = topic_tree(data, np.clip(roots @ roots.T, 0, 1))

    def leaves(parts):
        for part in parts:
            yield from [part] if isinstance(part, int) else leaves(part["parts"])

    assert sorted(leaves(tree)) == sorted(order) == list(range(40))
    assert list(leaves(tree)) == order
    assert len(tree) <= MOST_PARTS
    # The order has the four groups one after the other.
    assert np.count_nonzero(np.diff(group[order])) == 3
    assert all(len(part["terms"]) == 4 for part in tree if isinstance(part, dict))


@pytest.mark.parametrize("n_topics", [1, 2, 3])
def test_tree_of_few_topics(n_topics):
    data = TopicData(topics=np.full((n_topics, 2), 0.5), vocabulary=["a", "b"])
    tree, order = topic_tree(data, np.ones((n_topics, n_topics)))
    assert sorted(order) == list(range(n_topics))
    assert len(tree) == n_topics


@pytest.mark.parametrize(
    ("times", "first", "last"),
    [
        (np.arange(1790, 1850), "1790", "1849"),
        (np.arange(1790, 2021), "1790", "2020"),
        (np.arange(-3000, 2001, 50), "-3000", "2000"),
        (np.linspace(0, 1, 50), "0", "1"),
        (np.array(["2001-01-05", "2001-02-01"], "datetime64[D]"), "2001-01-05", None),
        (np.array(["2001-01", "2004-06"], "datetime64[M]"), "2001-01", "2004-06"),
        (np.array(["1801-01", "2004-06"], "datetime64[M]"), "1800", "2000"),
        (np.array(["0001", "2020"], "datetime64[Y]"), "0000", "2000"),
        (np.array(["0001-03", "0001-05"], "datetime64[M]"), "0001-03", "0001-05"),
        (np.array(["2001-01-01T03", "2001-01-01T23"], "datetime64[s]"), None, None),
    ],
    ids=[
        "years",
        "many-years",
        "millennia",
        "numbers",
        "days",
        "months",
        "centuries",
        "from-the-year-1",
        "in-the-year-1",
        "hours",
    ],
)
def test_periods(times, first, last):
    periods = find_periods(with_times(times))
    assert 2 <= len(periods.names) <= MAX_PERIODS
    assert len(set(periods.names)) == len(periods.names)
    assert first is None or periods.names[0] == first
    assert last is None or periods.names[-1] == last
    assert periods.documents.sum() == len(times)
    filled = periods.documents > 0
    assert periods.shares[filled].sum(axis=1) == pytest.approx(1)


def test_a_period_without_documents_has_no_shares():
    periods = find_periods(with_times([2001.0, 2004.0, 2004.0]))
    assert periods.documents.tolist() == [1, 0, 0, 2]
    assert np.isnan(periods.shares[1:3]).all()
    assert periods.shares[[0, 3]].sum(axis=1) == pytest.approx(1)


def test_unknown_times_are_left_out():
    periods = find_periods(with_times([1.0, np.nan, 2.0]))
    assert periods.documents.tolist() == [1, 1]
    assert np.isnan(periods.values[1])
    assert find_periods(with_times([1.0, 1.0])) is None
    assert find_periods(with_times([np.nan, np.nan])) is None


def test_words_have_their_most_likely_topic(small):
    texts = list(small.texts)
    marked = WordMarker(small).mark(texts, range(len(texts)))
    columns = {word: w for w, word in enumerate(small.vocabulary)}
    for row, text in enumerate(marked):
        pieces = text.split("\x01")[1:]
        assert len(pieces) == 30
        for piece in pieces:
            topic, _, rest = piece.partition("\x02")
            word = rest.partition("\x03")[0]
            joint = small.doc_topics[row] * small.topics[:, columns[word]]
            assert int(topic) == joint.argmax()
        plain = "".join(
            part.partition("\x02")[2] if i else part
            for i, part in enumerate(text.replace("\x03", "").split("\x01"))
        )
        assert plain == texts[row]


def test_words_are_found_as_they_are_counted():
    vocabulary = ["übung", "हिन्दी", "new york", "york", "fi", "stem"]
    data = TopicData(
        topics=np.full((1, 6), 1 / 6), vocabulary=vocabulary, doc_topics=[[1.0]]
    )
    text = "ÜBUNG, हिन्दी! New York; york ﬁ stems"
    marked = WordMarker(data).mark([text], [0])[0]
    assert marked.count("\x01") == 5
    assert "\x02New York\x03" in marked
    stems = WordMarker(data, lambda word: word.rstrip("s")).mark(["Stems"], [0])
    assert stems == ["\x010\x02Stems\x03"]


def test_phrases_joined_by_underscores_are_found():
    data = TopicData(
        topics=[[0.5, 0.3, 0.2]], vocabulary=["new_york", "york", "a"], doc_topics=[[1]]
    )
    marked = WordMarker(data).mark(["In New York, or York: new_york"], [0])[0]
    assert marked.count("\x01") == 3
    assert "\x02New York\x03" in marked
    assert "\x02new_york\x03" in marked


def test_long_messages_begin_after_their_header():
    mail = "From: a@b.c\nSubject: Foxes\nLines: 3\n\n" + "It runs. " * 100
    assert shorten(mail, 60).startswith("… It runs.")
    assert len(shorten(mail, 60)) <= 62
    assert shorten("From: a@b.c\n\nHi", 60) == "From: a@b.c\n\nHi"
    assert lead("x" * 500).endswith("…")
    assert lead("") == ""


@pytest.mark.parametrize(
    "text",
    ["a: b\n" + " \t \t \t \n" * 3000 + "x", "a: b\n" * 5000, " \n" * 9000 + "x"],
    ids=["blank-headers", "headers", "blanks"],
)
def test_odd_texts_take_no_time(text):
    # Backtracking over these would take longer than anybody waits.
    assert len(shorten(text, 50)) <= 52
    assert len(lead(text)) <= 92
