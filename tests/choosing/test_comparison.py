# SPDX-License-Identifier: BSD-3-Clause
"""Comparisons and the number of topics."""

import dataclasses
import itertools
import sys
import warnings

import numpy as np
import pytest
from protocols_support import planted_corpus
from scipy import sparse

import topicfold
from topicfold import FSTM, PLSA, TwoPhase, compare, select_n_components
from topicfold.choosing.comparison import (
    _PILOT,
    _TO_COMPILE,
    LABELLED_MODELS,
    Comparison,
    ModelScore,
    recommend,
)
from topicfold.choosing.evaluation import ScoreFile
from topicfold.choosing.selection import Selection, SelectionRecord
from topicfold.exceptions import (
    DataError,
    FitInterruptedWarning,
    MissingDependencyError,
)

NAN = float("nan")


def score(model, accuracy=NAN, coherence=0.1, **more):
    values = {"perplexity": 100.0, "diversity": 0.5, "stability": NAN, **more}
    return ModelScore(
        model=model,
        n_components=None if model == "tf-idf" else 5,
        accuracy=accuracy,
        coherence=coherence,
        seconds=1.0,
        memory_mb=2.0,
        **values,
    )


def said(scores, n_test):
    return recommend(scores, n_test)[0]


def test_compare_with_labels(corpus):
    seen = []
    found = compare(
        corpus,
        n_components=4,
        on_progress=lambda model, done, total, seconds: seen.append((model, done)),
    )
    assert [s.model for s in found.scores] == list(LABELLED_MODELS)
    assert seen == [(m, i) for i, m in enumerate(LABELLED_MODELS, 1)]
    by_name = {s.model: s for s in found.scores}
    assert by_name["LDA"].accuracy > 0.8
    assert 1 < by_name["LDA"].perplexity < 30
    assert np.isnan(by_name["tf-idf"].coherence)
    assert found.n_test == 12
    assert found.recommendation.startswith("Take ")
    assert found.taken in by_name
    assert "12 test labels are too few" in found.recommendation
    for s in found.scores:  # what pairs are compared by
        assert (len(s.hits), s.hits.count("1")) == (12, round(12 * s.accuracy))
    table = found.to_markdown()
    assert "| LDA | 4 |" in table
    assert table.count("\n| ") == len(LABELLED_MODELS)


def test_perplexity_is_of_the_same_counts_or_none(corpus):
    """Weighted words, and the words of few labelled documents, are easier to tell."""
    labels = [y if d % 2 else "" for d, y in enumerate(corpus.labels)]
    found = compare(
        dataclasses.replace(corpus, labels=labels),
        ["LDA", "LDA^c", "MedLDA", "FSTM"],
        n_components=4,
    )
    known = {s.model: not np.isnan(s.perplexity) for s in found.scores}
    assert known == {"LDA": True, "LDA^c": False, "MedLDA": False, "FSTM": True}


def test_a_word_cache_is_for_all_models_but_the_one_that_has_repetitions(corpus):
    names, size = ["LDA", "BurstyLDA"], {"n_components": 3}
    X = sparse.csr_matrix(corpus.counts)
    plain = compare(X, names, **size).scores
    cached = compare(X, names, cache=0.5, **size).scores
    assert cached[0].perplexity != plain[0].perplexity
    assert cached[1].perplexity == plain[1].perplexity
    assert cached[0].coherence == plain[0].coherence


def test_compare_without_labels(corpus):
    found = compare(sparse.csr_matrix(corpus.counts), ["PLSA", "LDA"], n_components=3)
    columns = ["perplexity", "coherence", "diversity", "copies", "stability"]
    assert found.columns() == columns
    for s in found.scores:
        assert np.isnan(s.accuracy)
        assert 0 <= s.stability <= 1
    # One class says as much as none.
    labels = ["x"] * corpus.n_documents
    same = compare((corpus.counts, labels), ["PLSA", "LDA"], n_components=3)
    assert [s.perplexity for s in same.scores] == [s.perplexity for s in found.scores]


def test_partly_labelled_documents_count(corpus):
    y, _ = corpus.encoded_labels()
    y = np.where(np.arange(60) % 3 == 0, -1, y)
    found = compare((corpus.counts, y), ["PLSA", "FSTM^c", "MedLDA"], n_components=4)
    assert found.left_out == ()
    assert min(s.accuracy for s in found.scores) > 0.7


def test_models_without_time_are_left_out(corpus, monkeypatch):
    seconds = {"PLSA": 0.0, "LDA": 1e6}
    monkeypatch.setattr(
        "topicfold.choosing.comparison._expected_seconds",
        lambda data, cell: seconds[cell["model"]],
    )
    found = compare(corpus, ["LDA", "PLSA"], n_components=2, time_budget=100)
    assert [s.model for s in found.scores] == ["PLSA"]
    assert found.left_out == ("LDA: no time left for it (about 1000000 s)",)
    assert "left out: LDA" in found.to_markdown()
    with pytest.raises(DataError, match="no model could be compared"):
        compare(corpus, ["LDA"], n_components=2, time_budget=100)


def test_time_is_foreseen_from_a_few_documents(corpus, monkeypatch):
    """A large corpus is tried on a sample first; a small one is quick enough."""
    sizes, fit = [], PLSA.fit

    def watched(self, X, y=None):
        sizes.append(X.shape[0])
        return fit(self, X, y)

    monkeypatch.setattr(PLSA, "fit", watched)
    large = planted_corpus(per_class=300)
    found = compare(large, ["PLSA"], n_components=3, time_budget=1e5)
    assert found.left_out == ()
    assert sizes == [_PILOT, _PILOT, 720]  # the first may compile
    sizes.clear()
    compare(corpus, ["PLSA"], n_components=3, time_budget=1e5)
    assert sizes == [_TO_COMPILE, 48]


def test_what_is_known_takes_no_time(corpus, monkeypatch, tmp_path):
    """Scores that were kept count whatever time is left, and nothing is fitted."""
    first = compare(corpus, ["PLSA"], n_components=3, results=tmp_path / "r.jsonl")
    clock = itertools.count(step=1000)
    monkeypatch.setattr(
        "topicfold.choosing.comparison.time.monotonic", lambda: next(clock)
    )
    monkeypatch.setattr(PLSA, "fit", None)
    again = compare(
        corpus, ["PLSA"], n_components=3, time_budget=1, results=tmp_path / "r.jsonl"
    )
    assert again.left_out == ()
    # One fit has no stability: NaN, which equals itself only for `assert_equal`.
    assert len(first.scores) == 1
    np.testing.assert_equal(
        dataclasses.asdict(again.scores[0]), dataclasses.asdict(first.scores[0])
    )


def test_a_line_that_was_cut_counts_for_nothing(tmp_path):
    file = tmp_path / "new" / "r.jsonl"
    ScoreFile(file).add("a", {"accuracy": 0.5, "perplexity": NAN})
    file.write_bytes(file.read_bytes() + b'{"settings": "b", "scores": {"accu')
    again = ScoreFile(file)
    assert list(again.scores) == ["a"]
    again.add("c", {"accuracy": 0.7})
    found = ScoreFile(file).scores
    assert list(found) == ["a", "c"]
    assert np.isnan(found["a"]["perplexity"])
    file.write_text("Dear diary,\n")
    with pytest.raises(DataError, match="is not a file of results"):
        ScoreFile(file)
    with pytest.raises(DataError, match="is a folder"):
        ScoreFile(tmp_path)


def test_a_model_that_fails_on_a_few_documents_is_told_too(monkeypatch):
    def broken(self, X, y=None):
        raise RuntimeError("out of luck")

    monkeypatch.setattr(PLSA, "fit", broken)
    large = planted_corpus(per_class=300)
    found = compare(large, ["tf-idf", "PLSA"], n_components=2, time_budget=1e5)
    assert [s.model for s in found.scores] == ["tf-idf"]
    assert "out of luck" in found.left_out[0]


def test_an_interrupt_on_a_few_documents_ends_it(corpus, monkeypatch):
    def interrupted(self, X, y=None):
        warnings.warn("interrupted", FitInterruptedWarning, stacklevel=1)

    monkeypatch.setattr(PLSA, "fit", interrupted)
    with pytest.raises(KeyboardInterrupt):
        compare(corpus, ["PLSA"], n_components=2)


def test_failures_are_told(corpus, monkeypatch, caplog):
    def broken(self, X, y=None):
        raise RuntimeError("out of luck")

    monkeypatch.setattr(PLSA, "fit", broken)
    found = compare(corpus, ["tf-idf", "PLSA"], n_components=2)
    assert "out of luck" in found.left_out[0]
    assert "out of luck" in caplog.text


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        (
            [score("tf-idf", 0.7, NAN), score("LDA", 0.9)],
            r"Take LDA.*\+0.200 compared with plain tf-idf\)",
        ),
        ([score("tf-idf", 0.89, NAN), score("LDA", 0.9)], "may be chance"),
        ([score("tf-idf", 0.91, NAN), score("LDA", 0.9)], "Take LDA.*can be read"),
        (
            [score("tf-idf", 0.95, NAN), score("LDA", 0.6)],
            r"Take tf-idf if only accuracy.*LDA \(0.600\) if you want to read",
        ),
        ([score("tf-idf", 0.95, NAN)], "Take tf-idf"),
    ],
)
def test_recommendation_with_labels(scores, expected):
    import re

    assert re.search(expected, said(scores, 100))


def test_recommendation_without_labels():
    a = score("LDA", perplexity=90.0, coherence=0.3, stability=0.9)
    b = score("PLSA", perplexity=80.0, coherence=0.2, stability=0.8)
    assert recommend([a, b], None) == (
        "Take LDA: it ranks best overall (mean rank 1.4; PLSA 1.6: too close to tell "
        "apart). It leads in coherence and stability.",
        "LDA",
    )
    assert said([a], None) == "Take LDA. No other model could be scored."
    bare = dataclasses.replace(a, perplexity=NAN, coherence=NAN, diversity=NAN)
    bare = dataclasses.replace(bare, stability=NAN)
    text, taken = recommend([bare, bare], None)
    assert "no score is defined for any" in text
    assert taken == ""


def test_the_lead_is_that_of_the_whole_table():
    """On headlines WNTM was "the best in diversity", which an unreadable model was."""
    scores = [
        score("LDA", coherence=-0.3, diversity=0.61, perplexity=636.0),
        score("WNTM", coherence=-0.06, diversity=0.812, perplexity=683.0),
        score("OTM", coherence=-0.537, diversity=0.992, perplexity=10_100.0),
    ]
    text = said(scores, None)
    assert "WNTM: it ranks best of those that can be read (mean rank 1.3; LDA" in text
    assert "It leads in coherence." in text
    assert (
        "Left out because their topics cannot be read: OTM (coherence -0.54)." in text
    )
    less = [dataclasses.replace(s, perplexity=NAN) for s in scores[:1]] + scores[1:]
    assert "WNTM: it ranks best of those that can be read (mean rank 1.0; LDA 2.0" in (
        said(less, None)
    )


def test_a_wider_model_does_not_make_the_others_unreadable():
    """On manual pages only OTM could "be read", where LDA was best in the rest."""
    lda = score("LDA", coherence=0.119, diversity=0.406, perplexity=527.0, copies=0.0)
    otm = score("OTM", coherence=0.09, diversity=0.956, perplexity=745.0, copies=0.0)
    fstm = score("FSTM", coherence=0.087, diversity=0.294, perplexity=561.0, copies=3.0)
    text, taken = recommend([lda, otm, fstm], None)
    assert taken == "LDA"
    assert text.endswith("cannot be read: FSTM (3 of 5 topics are copies of others).")


def test_coherence_is_low_in_short_texts():
    """On snippets LDA, with clear topics, "could not be read": WNTM had -0.49."""
    lda = score("LDA", 0.673, coherence=-0.503)
    wntm = score("WNTM", 0.721, coherence=-0.492)
    bad = score("FSTM", 0.8, coherence=-0.8)
    assert "cannot be read: LDA" in said([lda, wntm], 500)
    text, taken = recommend([lda, wntm, bad], 500, short=True)
    assert taken == "WNTM"
    assert "every model has a low coherence" in text
    assert text.endswith("cannot be read: FSTM (coherence -0.80, accuracy 0.800).")


def test_copies_do_not_rule_out_the_most_coherent_model():
    best = score("PLSA", coherence=0.3, copies=1.0, perplexity=50.0)
    text = said([score("OTM", copies=0.0), best], None)
    assert text.startswith("Take PLSA")
    assert "But 1 of 5 topics are copies of others." in text


def test_few_labels_tell_nothing():
    scores = [
        score("tf-idf", 0.0, NAN, perplexity=NAN, diversity=NAN),
        score("LSI", 0.375, NAN, perplexity=NAN, diversity=NAN),
        score("LDA", 0.25, perplexity=50.0),
        score("FSTM", 0.375),
    ]
    text, taken = recommend(scores, 8)
    assert taken == "LDA"  # by ranks
    assert "8 test labels are too few to rank models by accuracy." in text
    assert "0.375" not in text
    text, taken = recommend(scores[:2], 8)
    assert taken == ""
    assert "8 test labels are too few" in text
    assert "too few" not in said(scores, 30)


def test_accuracies_of_the_same_documents_are_compared_in_pairs():
    """A small difference is none by chance if one model finds all the other does."""
    lsi, lda = score("LSI", 0.422, NAN), score("LDA", 0.383)
    assert "may be chance" in said([lsi, lda], 1000)
    hits = {"hits": "1" * 422 + "0" * 578}, {"hits": "1" * 383 + "0" * 617}
    pair = [dataclasses.replace(s, **h) for s, h in zip((lsi, lda), hits, strict=True)]
    assert said(pair, 1000).startswith("Take LSI if only accuracy counts")
    other = dataclasses.replace(lda, hits="0" * 617 + "1" * 383)
    assert "the difference from LSI (0.422) may be chance" in said(
        [pair[0], other], 1000
    )


def test_a_model_with_much_clearer_topics_is_named():
    """On headlines LDA^c was the one "to be read", with no word of WNTM."""
    words = score("tf-idf", 0.636, NAN)
    scores = [words, score("LDA^c", 0.586, -0.31), score("WNTM", 0.397, -0.13)]
    text, taken = recommend(scores, 1000)
    assert taken == "LDA^c"
    assert (
        "LDA^c's words may not belong together (its coherence is -0.31): read them"
        in text
    )
    assert "WNTM has clearer topics (coherence -0.13, accuracy 0.397)." in text
    assert "clearer" not in said([words, score("LDA^c", 0.586, -0.2), scores[2]], 1000)


def test_pictures(corpus, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    scores = (score("LDA", 0.9), score("tf-idf", 0.8, NAN))
    found = Comparison(scores, "Take LDA.", (), 10)
    panels = found.plot(tmp_path / "compare.svg").axes
    assert [len(axes.patches) for axes in panels] == [2] * len(panels)  # in line
    assert len({axes.get_ylim() for axes in panels}) == 1
    assert "<svg" in (tmp_path / "compare.svg").read_text()
    chosen = select_n_components(PLSA(), corpus.counts, [2, 3], n_restarts=1)
    chosen.plot(tmp_path / "topics.png")
    assert (tmp_path / "topics.png").stat().st_size > 1000
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingDependencyError, match=r"topicfold\[plot\]"):
        chosen.plot()


def test_selection_finds_the_planted_number(corpus):
    seen = []
    found = select_n_components(
        PLSA(),
        corpus.counts,
        [6, 2, 3],
        n_words=6,
        n_restarts=3,
        on_progress=lambda done, total: seen.append((done, total)),
    )
    assert [r.n_components for r in found.records] == [2, 3, 6]
    assert seen == [(i, 9) for i in range(1, 10)]
    assert found.best("coherence") == 3
    assert found.records[1].stability > 0.98
    assert found.suggested() == 3
    assert "accuracy" not in found.to_markdown()
    assert found.to_markdown().splitlines()[0].startswith("| topics | perplexity |")
    with pytest.raises(DataError, match="accuracy is not defined"):
        found.best("accuracy")
    with pytest.raises(DataError, match=r"no score 'beauty'. Scores: perplexity"):
        found.best("beauty")


@pytest.mark.parametrize(
    ("perplexity", "coherence", "stability", "expected"),
    [
        # The scores disagree on the stable ones: the middle one.
        ([90, 80, 70, 60, 50], [5, 4, 3, 2, 1], [0.9, 0.8, 0.7, 0.6, 0.5], 10),
        ([90, 80, 70, 60, 50], [5, 4, 3, 2, 1], [0.9] * 5, 20),
        # More stable topics that are worse in both are not taken.
        ([90, 70, 75, 76, 77], [1, 4, 3, 2, 1], [1, 0.9, 0.8, 0.7, 0.6], 10),
        ([90, 80, 70, 60, 50], [1, 2, 3, 4, 5], [0.9, 0.8, 0.7, 0.7, 0.6], 40),
        # None is stable, or one fit each.
        ([90, 80, 70, 60, 50], [1, 2, 3, 4, 5], [0.3, 0.5, 0.4, 0.2, 0.1], 10),
        ([90, 80, 70, 60, 50], [1, 2, 3, 4, 5], [np.nan] * 5, 80),
    ],
)
def test_the_suggestion_is_stable_and_a_compromise(
    perplexity, coherence, stability, expected
):
    nan = float("nan")
    scores = zip((5, 10, 20, 40, 80), perplexity, coherence, stability, strict=True)
    records = [SelectionRecord(k, p, c, nan, s, nan, 0.1) for k, p, c, s in scores]
    assert Selection(tuple(records), "LDA").suggested() == expected


@pytest.mark.parametrize(
    ("stability", "stable", "reason"),
    [
        ([0.9, 0.8], [5, 10], " by perplexity and coherence"),
        ([0.9, 0.6], [5], "of those with a stability of 0.68 or more"),
        ([0.5, 0.6], [], ", the most stable ones; other seeds"),
        ([np.nan] * 2, [5, 10], " by perplexity and coherence"),
    ],
)
def test_the_reason_of_a_suggestion(stability, stable, reason):
    nan = float("nan")
    pairs = zip((5, 10), stability, strict=True)
    records = [SelectionRecord(k, 90 - k, 0.1, nan, s, nan, 0.1) for k, s in pairs]
    found = Selection(tuple(records), "LDA")
    assert found.stable() == stable
    assert reason in found.reason()
    assert ("stability" in found.reason()) == (len(stable) == 1)


def test_selection_with_labels_goes_by_accuracy(corpus):
    found = select_n_components(
        PLSA(), corpus.counts, [1, 3], corpus.labels, n_restarts=1, test_size=0.3
    )
    one, three = found.records
    assert three.accuracy > 0.9 > one.accuracy
    assert found.suggested() == 3
    assert np.isnan(one.stability)  # one start
    partly = [label if i % 4 else "" for i, label in enumerate(corpus.labels)]
    nested = select_n_components(
        TwoPhase(FSTM()), corpus.counts, [3], partly, n_restarts=1, test_size=0.3
    )
    assert nested.records[0].accuracy > 0.5


def test_selection_leaves_the_model_alone(corpus):
    model = PLSA(7)
    first = select_n_components(model, corpus.counts, [2], n_restarts=2)
    assert model.n_components == 7
    assert not hasattr(model, "components_")
    again = select_n_components(model, corpus.counts, [2], n_restarts=2)
    assert first.records[0].perplexity == again.records[0].perplexity


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda X: select_n_components(PLSA(), X, []), "candidates"),
        (lambda X: select_n_components(PLSA(), X, [0]), "1 or more"),
        (lambda X: select_n_components(PLSA(), X, [2], n_restarts=0), "n_restarts"),
        (lambda X: select_n_components(PLSA(), X, [2], test_size=1), "test_size=1"),
        (lambda X: select_n_components(PLSA(), X[:2], [2]), "too few"),
        (lambda X: select_n_components(PLSA(), X, [2], [-1] * 60), "no known label"),
        (lambda X: select_n_components(TwoPhase(), X, [2]), r"TwoPhase\(FSTM\(\)\)"),
        (lambda X: compare(X, time_budget=0), "time_budget=0"),
        (lambda X: compare(X, cache="much"), "cache='much'; give a weight"),
        (lambda X: compare(X, cache=2), "cache=2; give a weight from 0 to 1"),
        (lambda X: compare(X, ["k-means"]), "no model 'k-means'"),
        (lambda X: compare(X, ["FSTM^c"]), "learns from labels"),
        (lambda X: compare(X, ["PLSA"], test_size=3), "test_size=3"),
        (lambda X: compare(X[:5]), "5 documents are too few"),
        (lambda X: compare("corpus.txt"), "Read the file first"),
    ],
)
def test_errors(corpus, call, message):
    with pytest.raises(DataError, match=message):
        call(sparse.csr_matrix(corpus.counts))


def test_they_are_public():
    assert topicfold.compare is compare
    assert "select_n_components" in dir(topicfold)


def test_labels_of_another_length_are_refused(corpus):
    with pytest.raises(DataError, match="59 labels for 60 documents"):
        compare((corpus.counts, corpus.labels[1:]), ["PLSA"], n_components=3)


UNREADABLE = score("MedLDA", 0.95, -0.8, diversity=0.19, copies=3.0)


def test_topics_of_loosely_related_words_are_not_called_readable():
    words = score("tf-idf", 0.72, NAN)
    text = said([words, score("LDA", 0.7, coherence=-0.34, copies=0.0)], 100)
    assert "LDA's words may not belong together (its coherence is -0.34)" in text
    assert "can be read" not in text
    tight = said([words, score("LDA", 0.7, coherence=0.1, copies=0.0)], 100)
    assert "in 5 topics that can be read" in tight
    assert "may not belong" not in tight


def test_unreadable_topics_are_never_recommended():
    others = [score("tf-idf", 0.7, NAN), score("LDA", 0.6, copies=0.0)]
    text = said([UNREADABLE, *others], 1000)
    assert text.startswith("Take tf-idf if only accuracy counts (0.700 ± 0.029), LDA")
    assert (
        "Left out because their topics cannot be read: MedLDA (coherence -0.80," in text
    )
    assert "3 of 5 topics are copies of others, accuracy 0.950)." in text
    assert "the best of those that can be read" in said([UNREADABLE, others[1]], 1000)
    assert "the best of the rest" in said([UNREADABLE, others[0]], 1000)
    alone = said([UNREADABLE], 1000)
    assert alone.startswith(
        "No model is recommended, because the topics cannot be read"
    )
    ranked = dataclasses.replace(UNREADABLE, accuracy=NAN, perplexity=1.0)
    readable = score("LDA", copies=0.0, perplexity=50.0)
    assert said([ranked, readable], None).startswith("Take LDA")


@pytest.mark.parametrize(
    "change",
    [
        {"coherence": -0.6},
        {"copies": 1.0},
    ],
)
def test_each_measure_of_readability_counts(change):
    good = score("LDA", 0.6, copies=0.0)
    other = dataclasses.replace(score("OTM", 0.9, copies=0.0), **change)
    assert said([good, other], 100).startswith("Take LDA")
    fine = score("OTM", 0.9, copies=0.0)
    assert said([good, fine], 100).startswith("Take OTM")


def test_low_coherence_of_all_models_is_that_of_the_texts():
    pair = [score("LDA", 0.6, -0.2), score("PLSA", 0.7, -0.25)]
    assert said(pair, 100).startswith("Take PLSA")


def test_the_only_readable_model_is_taken_with_the_reason():
    scores = [score("LDA", coherence=-0.57), score("WNTM", coherence=0.19)]
    assert said(scores, None) == (
        "Take WNTM: only its topics can be read. Left out because their topics cannot "
        "be read: LDA (coherence -0.57)."
    )


def test_short_texts_have_a_model_for_them():
    rng = np.random.default_rng(0)
    y = np.arange(120) % 3
    X = rng.poisson(np.kron(np.eye(3), np.ones(6))[y] + 0.05)
    X = X[X.any(axis=1)]
    names = [s.model for s in compare(X, n_components=3).scores]
    assert names[names.index("LDA") + 1] == "WNTM"
    names = [s.model for s in compare(X * 9, n_components=3).scores]
    assert "WNTM" not in names


def test_copies_are_counted():
    from topicfold.choosing.comparison import _copies

    own = np.eye(6)[[0, 1, 2]].repeat(5, axis=1)
    assert _copies(own) == 0
    assert _copies(own[[0, 1, 0, 0]]) == 2


def test_a_close_decision_says_so():
    a = score("LDA", perplexity=90.0, coherence=0.3, stability=0.9)
    b = score("PLSA", perplexity=80.0, coherence=0.4, stability=0.8)
    assert "too close to tell apart" in said([a, b], None)
    clear = score("PLSA", perplexity=95.0, coherence=0.2, stability=0.8)
    assert "too close" not in said([a, clear], None)


def test_a_picture_of_another_kind_is_refused(tmp_path, corpus):
    pytest.importorskip("matplotlib")
    found = compare(corpus, ["PLSA"], n_components=3)
    with pytest.raises(DataError, match=r"ending in \.png"):
        found.plot(tmp_path / "scores.docx")
    assert not list(tmp_path.iterdir())


def test_results_without_any_diversity_are_judged_by_the_rest():
    found = [
        score("PLSA", 0.8, diversity=NAN),
        score("tf-idf", 0.7, NAN, diversity=NAN),
    ]
    assert said(found, 40).startswith("Take PLSA")


def test_factors_have_topics_to_score(corpus):
    """NMF was left out: "it has no topics"."""
    found = compare(corpus.counts, ["LDA", "nmf", "pca"], n_components=3)
    assert [s.model for s in found.scores] == ["LDA", "NMF"]
    nmf = found.scores[1]
    assert np.isnan(nmf.perplexity)
    assert 0 < nmf.coherence < 1
    assert 0 < nmf.diversity <= 1
    assert 0 < nmf.stability <= 1
    assert found.left_out[0].startswith("PCA: it has no topics")
    assert "ranks best overall" in found.recommendation
