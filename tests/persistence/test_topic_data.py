# SPDX-License-Identifier: BSD-3-Clause
"""TopicData: checks, derived numbers, and a file format that cannot drift."""

import dataclasses
import datetime
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from topicfold.core.side_table import SideTable
from topicfold.exceptions import DataError, ModelFileError
from topicfold.persistence import read_bundle, write_bundle
from topicfold.topic_data import TopicData

GOLDEN = Path(__file__).parent / "golden" / "topic_data_v1.safetensors"


def golden_fields() -> dict:
    return {
        "topics": np.array([[0.5, 0.25, 0.25, 0], [0, 0, 0.125, 0.875]], np.float32),
        "vocabulary": ("cat", "naïve ψ", "", "line\nbreak"),
        "doc_topics": np.array([[1, 0], [0.25, 0.75], [0.5, 0.5]], np.float64),
        "doc_lengths": np.array([4, 0, 7], np.int32),
        "labels": ("news", None, ""),
        "doc_ids": ("d0", "d1", "d2"),
        "texts": ("A cat.", "", "🐈"),
        "times": np.array(["2020-01-31", "NaT", "1969-07-20"], "datetime64[D]"),
        "topic_names": ("pets", ""),
        "history": (-math.inf, -10.5, -9.25),
        "settings": {"model": "PLSA", "tol": 1e-4, "limit": math.inf, "n": [1, None]},
    }


def write_golden() -> None:
    """Make the golden file; run by hand once for each version of the format."""
    TopicData(**golden_fields()).save(GOLDEN)


def assert_fields(data: TopicData, expected: dict) -> None:
    assert data.sides == ()
    expected = {"embeddings": None, **expected}
    names = [f.name for f in dataclasses.fields(data) if f.name != "sides"]
    assert sorted(names) == sorted(expected)
    for name in names:
        value, wanted = getattr(data, name), expected[name]
        if isinstance(wanted, np.ndarray):
            assert value.dtype == wanted.dtype
            np.testing.assert_array_equal(value, wanted)
        else:
            assert value == wanted
            assert type(value) is type(wanted)


def make(**changes) -> TopicData:
    content = {
        "topics": [[0.5, 0.3, 0.2, 0.0], [0.0, 0.2, 0.2, 0.6]],
        "vocabulary": ["a", "b", "c", "d"],
        "doc_topics": [[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]],
        "doc_lengths": [2, 4, 2],
    }
    return TopicData(**{**content, **changes})


def test_golden_file_of_version_1():
    assert read_bundle(GOLDEN).format_version == 1
    assert_fields(TopicData.load(GOLDEN), golden_fields())
    assert GOLDEN.stat().st_size < 5000


def test_golden_file_has_the_names_that_are_written_now(tmp_path):
    now = read_bundle(TopicData(**golden_fields()).save(tmp_path))
    then = read_bundle(GOLDEN)
    assert list(now.arrays) == list(then.arrays)
    assert now.strings == then.strings
    assert now.meta == then.meta


@pytest.mark.parametrize("name", ["folder", "file.safetensors"])
def test_round_trip(tmp_path, name):
    fields = golden_fields()
    fields["embeddings"] = np.arange(2.0 * len(fields["doc_ids"])).reshape(-1, 2)
    TopicData(**fields).save(tmp_path / name)
    assert_fields(TopicData.load(tmp_path / name), fields)


@pytest.mark.parametrize("rows", [[[1.0, 2.0]], [1.0, 2.0, 3.0], [[np.nan]] * 3])
def test_embeddings_that_do_not_fit(rows):
    with pytest.raises(DataError, match=r"embeddings must|number of documents"):
        make(embeddings=rows)


def side_tables():
    return [
        SideTable(
            name="authors",
            kind="shares",
            rows=["Ann", "Bob"],
            values=[[0.9, 0.1], [0.2, 0.8]],
            sizes=[7, 3],
        ),
        SideTable(
            name="year",
            kind="effects",
            rows=["year"],
            values=[[1.5, -2.0]],
            errors=[[0.5, 0.1]],
            note="what it means",
            middle=0.5,
        ),
        SideTable(name="seed words", kind="terms", terms=[["a", "b c"], []]),
        SideTable(name="links", kind="links", pairs=[[0, 2], [1, 0]]),
    ]


def test_round_trip_of_side_tables(tmp_path):
    data = make(doc_topics=[[0.5, 0.5]] * 3, sides=side_tables())
    back = TopicData.load(data.save(tmp_path))
    assert [side.name for side in back.sides] == [s.name for s in side_tables()]
    for side, wanted in zip(back.sides, side_tables(), strict=True):
        assert (side.kind, side.rows, side.terms) == (
            wanted.kind,
            wanted.rows,
            wanted.terms,
        )
        assert (side.note, side.middle) == (wanted.note, wanted.middle)
        for part in ("values", "errors", "pairs", "sizes"):
            found, expected = getattr(side, part), getattr(wanted, part)
            assert (found is None) == (expected is None)
            if found is not None:
                np.testing.assert_array_equal(found, expected)


def test_a_side_table_has_a_size_per_row():
    with pytest.raises(DataError, match="sizes of the side table 'authors'"):
        SideTable(
            name="authors", kind="shares", rows=["Ann"], values=[[1.0]], sizes=[1, 2]
        )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"kind": "odd"}, "one of shares"),
        ({"kind": "shares", "rows": ["a"]}, "lacks its values"),
        ({"kind": "shares", "rows": ["a"], "values": [[1, 0], [0, 1]]}, "1 rows"),
        ({"kind": "effects", "rows": ["a"], "values": [[np.nan, 0]]}, "finite"),
    ],
)
def test_side_tables_that_do_not_fit(content, message):
    with pytest.raises(DataError, match=message):
        SideTable(name="x", **content)


def test_side_tables_of_other_topics_or_documents():
    wide = SideTable(name="wide", kind="shares", rows=["a"], values=[[1, 0, 0]])
    far = SideTable(name="far", kind="links", pairs=[[0, 9]])
    with pytest.raises(DataError, match=r"has 3 topics(.|\n)*links documents that"):
        make(doc_topics=[[0.5, 0.5]] * 3, sides=[wide, far])
    with pytest.raises(DataError, match="sequence of SideTable"):
        make(sides=["no"])


def test_round_trip_of_the_least(tmp_path):
    data = TopicData(topics=np.ones((1, 1), np.float16), vocabulary=["x"])
    back = TopicData.load(data.save(tmp_path))
    assert back.topics.dtype == np.float16
    for name in ("doc_topics", "doc_lengths", "labels", "doc_ids", "texts", "times"):
        assert getattr(back, name) is None
    assert back.topic_names is None
    assert (back.history, back.settings, back.n_documents) == ((), {}, 0)


@given(words=st.lists(st.text(), min_size=1, unique=True), data=st.data())
@settings(
    max_examples=30,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_any_text_survives(tmp_path, words, data):
    labels = data.draw(st.lists(st.none() | st.text()))
    topics = np.full((2, len(words)), 1 / len(words))
    record = TopicData(topics=topics, vocabulary=words, labels=labels)
    back = TopicData.load(record.save(tmp_path))
    assert back.vocabulary == tuple(words)
    assert back.labels == tuple(labels)
    np.testing.assert_array_equal(back.topics, topics)


def test_arrays_are_read_only_and_nobody_elses(tmp_path):
    topics = np.array([[0.5, 0.5]])
    view = topics.view()
    view.flags.writeable = False
    for given_array in (topics, view):
        data = TopicData(topics=given_array, vocabulary=["a", "b"], doc_lengths=[1])
        topics[0] = [0.0, 1.0]
        assert data.topics.tolist() == [[0.5, 0.5]]
        topics[0] = [0.5, 0.5]
    for record in (data, TopicData.load(data.save(tmp_path))):
        for array in (record.topics, record.doc_lengths):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 0
    with pytest.raises(dataclasses.FrozenInstanceError):
        data.topics = topics


def test_replace_shares_arrays():
    data = make()
    named = dataclasses.replace(data, topic_names=["x", "y"])
    assert named.topics is data.topics
    assert named.name(1) == "y"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"topics": None}, "topics is missing"),
        ({"topics": [0.5, 0.5]}, r"topics must have two dimensions.*\(2,\)"),
        ({"topics": np.empty((0, 4)), "doc_topics": None}, "topics are empty"),
        ({"topics": [["a"]]}, "topics cannot be used: its dtype"),
        ({"topics": np.eye(2, 4) * 1j}, "topics cannot be used: its dtype"),
        ({"topics": [[1, 0, 0, 0], [0.5, 0, 0, 0]]}, "to 1: 1 .*row 1 sums to 0.5"),
        (
            {"topics": [[1, np.nan, 0, 0]] * 2},
            "not finite: 2 .first at row 0, column 1",
        ),
        ({"topics": [[1, np.inf, -np.inf, 0]] * 2}, "entries that are not finite: 4"),
        ({"topics": [[1.5, -0.5, 0, 0]] * 2}, "entries that are negative: 2"),
        ({"doc_topics": [[1.0]] * 3}, "1 columns, but there are 2 topics"),
        (
            {"doc_topics": [[0.5, 0.4]] * 3},
            "doc_topics has rows that do not sum to 1: 3",
        ),
        ({"doc_topics": [1.0, 0.0]}, "doc_topics must have two dimensions"),
        ({"vocabulary": ["a"]}, "vocabulary has 1 items; topics need 4"),
        ({"vocabulary": ["a", "b", "a", "a"]}, "2 repeated .*'a' at 0 and 2"),
        ({"vocabulary": "abcd"}, "vocabulary cannot be used: it is one str"),
        ({"vocabulary": [1, 2, 3, 4]}, "item 0 is 1, of type int; use str"),
        ({"topic_names": ["x"]}, "topic_names has 1 items; topics need 2"),
        ({"doc_lengths": [1, 2]}, "documents differs: doc_topics 3, doc_lengths 2"),
        ({"doc_lengths": [[1, 2, 3]]}, "doc_lengths must have one dimension"),
        ({"doc_lengths": [1, 2, -3]}, "doc_lengths must be numbers"),
        ({"doc_lengths": [1, 2, np.nan]}, "doc_lengths must be numbers"),
        ({"doc_lengths": [1, 2, 1e300]}, "from 0 to 1e30"),
        ({"labels": ["x"]}, "documents differs: .*labels 1"),
        ({"labels": [1, 2, 3]}, "use str or None"),
        ({"doc_ids": ["x"]}, "documents differs"),
        ({"texts": ["x", None, "y"]}, "texts cannot be used: item 1"),
        ({"times": [1, 2]}, "documents differs"),
        ({"times": [1, 2, np.inf]}, "times must be finite"),
        ({"times": ["yesterday"] * 3}, "times cannot be used"),
        ({"times": np.float64(3)}, "times must have one dimension"),
        ({"history": ["x"]}, "history cannot be used"),
        ({"settings": {"f": len}}, r"settings cannot be used: settings\['f'\]"),
        ({"settings": 3}, "settings cannot be used"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_problems(changes, message):
    with pytest.raises(DataError, match=message):
        make(**changes)


def test_all_problems_are_told_at_once():
    with pytest.raises(DataError) as caught:
        make(
            topics=[[0.5, 0.5, 0.5, 0.0], [-1.0, 2.0, 0.0, 0.0]],
            vocabulary=["a", "a"],
            doc_lengths=[1],
            history=["x"],
            labels=[3, 4, 5],
        )
    message = str(caught.value)
    assert "7 problems" in message
    for part in ("history", "labels", "sum to 1", "negative", "vocabulary has 2"):
        assert part in message
    assert "repeated" in message
    assert "documents differs" in message


def test_rows_within_tolerance_are_accepted():
    assert make(topics=[[1.0009, 0, 0, 0], [0.9991, 0, 0, 0]]).n_topics == 2


def test_counts_and_repr():
    data = make()
    assert (data.n_topics, data.n_terms, data.n_documents) == (2, 4, 3)
    assert repr(data) == "TopicData(n_topics=2, n_terms=4, n_documents=3)"
    assert make(doc_topics=None, doc_lengths=None, labels=["x"]).n_documents == 1


def test_topic_sizes():
    np.testing.assert_allclose(
        make(doc_lengths=[2, 4, 0]).topic_sizes(), [2 / 3, 1 / 3]
    )
    mean = make(doc_topics=[[1, 0], [1, 0], [0, 1]], doc_lengths=None).topic_sizes()
    np.testing.assert_allclose(mean, [2 / 3, 1 / 3])
    np.testing.assert_allclose(make(doc_lengths=[0, 0, 0]).topic_sizes(), [0.5, 0.5])
    np.testing.assert_allclose(
        make(doc_topics=None, doc_lengths=None).topic_sizes(), [0.5, 0.5]
    )
    empty = make(doc_topics=np.empty((0, 2)), doc_lengths=[])
    np.testing.assert_allclose(empty.topic_sizes(), [0.5, 0.5])


def test_term_frequencies():
    data = make(doc_lengths=[2, 4, 0])
    expected = data.topic_sizes() @ data.topics
    np.testing.assert_allclose(data.term_frequencies(), expected)
    single = make(topics=np.array(data.topics, np.float32), doc_lengths=[2, 4, 0])
    assert single.term_frequencies().dtype == np.float64
    np.testing.assert_allclose(single.term_frequencies(), expected, rtol=1e-6)


def relevance_by_hand(data: TopicData, weight: float) -> list[list[int]]:
    frequency = data.topic_sizes() @ data.topics
    rows = []
    for row in data.topics:
        score = [
            -math.inf
            if p == 0
            else weight * math.log(p) + (1 - weight) * math.log(p / frequency[w])
            for w, p in enumerate(row)
        ]
        rows.append(
            sorted(range(len(row)), key=lambda w, s=score: (-round(s[w], 10), w))
        )
    return rows


@pytest.mark.parametrize("weight", [0.0, 0.3, 0.6, 1.0])
def test_top_terms_by_relevance(weight):
    rng = np.random.default_rng(0)
    topics = rng.dirichlet(np.full(30, 0.2), size=4)
    topics[topics < 1e-3] = 0
    topics /= topics.sum(axis=1, keepdims=True)
    data = TopicData(
        topics=topics,
        vocabulary=[f"w{i}" for i in range(30)],
        doc_topics=rng.dirichlet(np.ones(4), size=9),
        doc_lengths=rng.integers(1, 50, size=9),
    )
    expected = relevance_by_hand(data, weight)
    for n in (1, 7, 30, 99):
        ids = data.top_term_ids(n, relevance=weight)
        assert ids.tolist() == [row[:n] for row in expected]
        terms = data.top_terms(n, weight)
        assert terms[2] == tuple(f"w{i}" for i in ids[2])


def test_ties_are_in_order_and_zeros_last():
    data = make(topics=[[0.0, 0.5, 0.0, 0.5], [0.25, 0.25, 0.25, 0.25]])
    assert data.top_terms(3) == (("b", "d", "a"), ("a", "b", "c"))
    assert data.top_terms(4, relevance=0.0)[0] == ("b", "d", "a", "c")


def test_a_topic_of_size_zero_has_terms_in_order_of_probability():
    data = make(doc_topics=[[1.0, 0.0]] * 3, topics=[[1, 0, 0, 0], [0, 0.3, 0, 0.7]])
    assert data.top_terms(4, relevance=0.5)[1][:2] == ("d", "b")
    assert data.top_terms(4, relevance=0.5)[0][0] == "a"


@pytest.mark.parametrize("arguments", [(0,), (3, -0.1), (3, 1.1), (3, math.nan)])
def test_wrong_ranking_arguments(arguments):
    with pytest.raises(DataError, match="Got"):
        make().top_terms(*arguments)


def test_names():
    # By relevance: b is common in both topics, c is not.
    assert make().name(1) == ", ".join(make().top_terms(3, relevance=0.6)[1])
    assert make().name(1) == "d, c, b"
    assert make(topic_names=["own", ""]).name(0) == "own"
    assert make(topic_names=["own", ""]).name(1) == "d, c, b"
    for topic in (-1, 2):
        with pytest.raises(DataError, match="topics are 0 to 1"):
            make().name(topic)


def test_class_topics():
    classes, mixtures = make(labels=["z", "a", "z"]).class_topics()
    assert classes == ("a", "z")
    np.testing.assert_allclose(mixtures, [[0.5, 0.5], [0.5, 0.5]])
    classes, mixtures = make(labels=["z", None, None]).class_topics()
    assert classes == ("z",)
    np.testing.assert_allclose(mixtures, [[1.0, 0.0]])
    classes, mixtures = make(labels=[None] * 3).class_topics()
    assert (classes, mixtures.shape) == ((), (0, 2))
    with pytest.raises(DataError, match="needs labels"):
        make().class_topics()


def test_main_classes_weigh_tokens():
    data = make(labels=["x", "y", None])
    # Topic 0 has 2 tokens of x and 2 of y: the first by name. Topic 1 has 2 of y.
    assert data.main_classes() == (("x", 0.5), ("y", 1.0))
    long = make(labels=["x", "y", None], doc_lengths=[2, 12, 2])
    assert long.main_classes() == (("y", pytest.approx(6 / 8)), ("y", 1.0))
    equal = make(labels=["x", "y", "y"], doc_lengths=None)
    assert equal.main_classes() == (("x", pytest.approx(1 / 1.5)), ("y", 1.0))
    assert make(labels=[None] * 3).main_classes() == ()
    with pytest.raises(DataError, match="main_classes needs labels"):
        make().main_classes()


@pytest.mark.parametrize(
    ("times", "dtype"),
    [
        ([1999, 2000, 2001], "int64"),
        ([0.5, math.nan, 1.0], "float64"),
        (["2020-01-01", "", "2021-05"], "datetime64[D]"),
        ([datetime.date(2020, 1, 1)] * 3, "datetime64[D]"),
        ([datetime.datetime(2020, 1, 1, 12), None, None], "datetime64[us]"),
    ],
)
def test_times(tmp_path, times, dtype):
    data = make(times=times)
    assert data.times.dtype == dtype
    back = TopicData.load(data.save(tmp_path)).times
    assert back.dtype == dtype
    np.testing.assert_array_equal(back, data.times)


def test_settings_are_a_copy_in_json_form():
    own = {"shape": (1, np.int64(2))}
    data = make(settings=own)
    own["shape"] = None
    assert data.settings == {"shape": [1, 2]}


@pytest.mark.parametrize(
    "change",
    [
        {"arrays": {"topics": np.ones((2, 4))}},
        {"arrays": {"unknown": np.ones(1)}},
        {"arrays": {"labels_known": np.ones(7, bool)}},
        {"strings": {"vocabulary": ["a"]}},
        {"meta": {"settings": 3}},
        {"meta": {"times_dtype": "object"}},
        {"meta": {"times_dtype": "datetime64[centuries]"}},
    ],
    ids=repr,
)
def test_well_formed_files_without_sense_are_refused(tmp_path, change):
    bundle = read_bundle(GOLDEN)
    parts = {name: getattr(bundle, name) for name in ("arrays", "strings", "meta")}
    for name, items in change.items():
        parts[name] = {**parts[name], **items}
    write_bundle(tmp_path, kind="topic_data", **parts)
    with pytest.raises(ModelFileError, match="no valid TopicData"):
        TopicData.load(tmp_path)


def test_other_kinds_are_refused(tmp_path):
    write_bundle(tmp_path, kind="estimator")
    with pytest.raises(ModelFileError, match="saved 'estimator'"):
        TopicData.load(tmp_path)


def test_long_texts_take_no_more_memory_than_their_letters():
    """An array of strings would have room for the longest in every place."""
    import tracemalloc

    texts = ["a" * 3_000_000, *["b"] * 2999]
    tracemalloc.start()
    try:
        make(
            doc_topics=np.full((3000, 2), 0.5),
            doc_lengths=np.ones(3000),
            texts=texts,
            **dict.fromkeys(("labels", "doc_ids", "times")),
        )
        assert tracemalloc.get_traced_memory()[1] < 100e6
    finally:
        tracemalloc.stop()


def test_a_tree_of_topics_is_kept_and_checked(tmp_path):
    table = SideTable(
        name="tree", kind="tree", rows="012", pairs=[[0, 1], [1, 2]], sizes=[9, 5, 5]
    )
    data = TopicData(topics=np.eye(3), vocabulary=list("abc"), sides=[table])
    data.save(tmp_path / "data")
    (kept,) = TopicData.load(tmp_path / "data").sides
    assert kept.n_topics == 3
    assert kept.pairs.tolist() == table.pairs.tolist()
    for pairs in ([[0, 1]], [[2, 1], [1, 2]], [[0, 1], [0, 1]], [[-1, 1], [0, 2]]):
        with pytest.raises(DataError, match="parent"):
            SideTable(name="tree", kind="tree", rows="012", pairs=pairs)
