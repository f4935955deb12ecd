# SPDX-License-Identifier: BSD-3-Clause
"""Topics through time: slices share counts, words that change are found."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from topicfold import LDA, DynamicLDA, TimeStampedLDA, load
from topicfold.corpus.blocks import BlockMatrix
from topicfold.evidence import Features
from topicfold.evidence.times import checked_times
from topicfold.exceptions import DataError, DataWarning, ModelFileError
from topicfold.parts import Context
from topicfold.phi import Seeds
from topicfold.phi.slices import GroupedPhi, TimeSlices


def drifting(n_documents=360, n_slices=6, seed=0):
    """Topic 0 moves from words 0..4 to words 5..9; topics 1 and 2 stay."""
    rng = np.random.default_rng(seed)
    time = np.sort(rng.integers(0, n_slices, n_documents))
    stay = rng.dirichlet(np.full(20, 0.3), 2)
    rows = []
    for slot in time:
        share = slot / (n_slices - 1)
        moving = np.r_[np.full(5, (1 - share) / 5), np.full(5, share / 5), np.zeros(20)]
        topics = np.vstack([moving, np.hstack([np.zeros((2, 10)), stay])])
        rows.append(rng.multinomial(60, rng.dirichlet([0.4] * 3) @ topics))
    return sparse.csr_matrix(np.array(rows, dtype=np.float64)), time


@pytest.fixture(scope="module")
def fitted():
    X, time = drifting()
    options = {"random_state": 0, "decay": 0.5, "strength": 2.0}
    return X, time, DynamicLDA(3, **options).fit(X, time=1990 + time)


@pytest.mark.parametrize("n_topics", [1, 3, 9, 20])
@pytest.mark.parametrize("rho", [0.0, 0.5, 1.0])
def test_slices_are_those_of_the_equation(n_topics, rho):
    rng = np.random.default_rng(1)
    X = sparse.csr_matrix(rng.poisson(0.3, (30, 12)) * 1.0)
    slices = rng.integers(0, 5, 30)
    side = TimeSlices(rho, strength=7.0)
    wide = side.widen(X, slices, 6)  # a slice without documents, too
    assert wide.nnz == X.nnz
    assert_allclose(wide.sum(axis=1), X.sum(axis=1))
    counts = rng.gamma(1.0, size=(wide.shape[1], n_topics))
    side.take(counts, 0.1)
    full = np.zeros((6, 12, n_topics))
    full[side.pair_slices_, side.pair_words_] = counts
    common = full.sum(axis=0) + 0.1
    common /= common.sum(axis=0)
    t = np.arange(6)
    shared = np.einsum("ts,swk->twk", rho ** abs(t[:, None] - t), full)
    expected = shared + 0.1 + 7.0 * common
    expected /= expected.sum(axis=1, keepdims=True)
    for slot in range(6):
        assert_allclose(side.topics_of(slot).T, expected[slot], rtol=1e-10)
        if rho == 1:  # topics that do not change
            assert_allclose(side.topics_of(slot).T, common, rtol=1e-10)
    assert_allclose(side.common().T, common, rtol=1e-12)


def test_topics_are_those_of_lda_and_slices_cost_one_pass():
    X, time = drifting()
    plain = LDA(3, random_state=0).fit(X)
    model = DynamicLDA(3, random_state=0).fit(X, time=time)
    assert_allclose(model.components_, plain.components_, atol=2e-2)
    assert (model.doc_topics_ == plain.doc_topics_).all()
    side = model.sides_[0]
    assert_allclose(side.pair_counts_.sum(), X.sum(), rtol=1e-5)
    still = DynamicLDA(3, decay=1.0, random_state=0).fit(X, time=time)
    assert_allclose(still.topics_at(0), still.topics_at(5), rtol=1e-5)


def test_groups_share_nothing_but_the_common_topic():
    X = sparse.csr_matrix(np.eye(4) + 1.0)
    step = GroupedPhi(strength=3.0, eta=0.1)
    wide = step.widen(X, np.array([0, 0, 1, 1]), 2)
    step.take(np.ones((wide.shape[1], 2)), 0.1)
    one = np.full(4, 0.1)
    one[step.pair_words_[step.pair_slices_ == 0]] += 1.0
    expected = (one + 3.0 * step.common()[0]) / (one.sum() + 3.0)
    assert_allclose(step.topics_of(0)[0], expected)
    context = Context(4, 2, wide.shape[1], np.zeros(4), rows=slice(0, wide.shape[1]))
    topics = step.update(np.ones((wide.shape[1], 2)), None, context)
    here = step.pair_slices_ == 0
    assert_allclose(topics[here, 0], expected[step.pair_words_[here]])


def test_the_words_that_move_are_found(fitted):
    X, _, model = fitted
    assert model.slice_names_ == [str(year) for year in range(1990, 1996)]
    moving = int(model.components_[:, :10].sum(axis=1).argmax())
    first, last = model.topics_at(1990)[moving], model.topics_at("1995")[moving]
    assert_allclose(model.topics_at(1992).sum(axis=1), 1, rtol=1e-5)
    assert first[:5].sum() > 0.8 > 0.3 > first[5:10].sum()
    assert last[5:10].sum() > 0.8 > 0.3 > last[:5].sum()
    with pytest.raises(DataError, match=r"no topic 99. Give a number"):
        model.changed_words(99)
    rose, fell = model.changed_words(moving, n=5)
    assert {one.word for one in rose} == {f"w{w}" for w in range(5, 10)}
    assert {one.word for one in fell} == {f"w{w}" for w in range(5)}
    assert all(one.after > one.before for one in rose)
    after = model.topics_at(1996)[moving]
    assert after[5:10].sum() > 0.6
    assert model.prevalence_.shape == (6, 3)
    assert_allclose(model.prevalence_.sum(axis=1), 1)
    assert model.doc_topics_.shape == (X.shape[0], 3)


def test_the_record_has_the_words_of_slices(fitted):
    _, _, model = fitted
    words = [f"w{w}" for w in range(30)]
    tables = model.topic_data(words).sides
    assert [table.name for table in tables] == [str(y) for y in range(1990, 1996)]
    assert {table.note for table in tables} == {"words through time"}
    moving = int(model.components_[:, :10].sum(axis=1).argmax())
    first, last = tables[0].terms[moving], tables[-1].terms[moving]
    assert set(first[:5]) == {f"w{w}" for w in range(5)}
    assert set(last[:5]) == {f"w{w}" for w in range(5, 10)}


def test_new_documents_with_and_without_a_time(fitted):
    X, time, model = fitted
    known = model.transform(X, time=1990 + time)
    assert np.abs(known - model.doc_topics_).sum(axis=1).mean() < 0.1
    assert_allclose(model.transform(X[40:50], time=1990 + time[40:50]), known[40:50])
    mixed = [None if row % 2 else 1990 + t for row, t in enumerate(time)]
    some = model.transform(X, time=mixed)
    assert_allclose(some[::2], known[::2])
    assert_allclose(some[1::2], model.transform(X)[1::2])
    test, when = drifting(120, seed=0)
    told = model.perplexity(test, time=1990 + when)
    assert told < 0.97 * LDA(3, random_state=0).fit(X).perplexity(test)


def test_threads_and_seeds_do_not_matter(fitted):
    X, time, _ = fitted
    few = {"max_iter": 6, "tol": 0.0, "random_state": 0}
    one = DynamicLDA(3, **few).fit(X, time=time)
    two = DynamicLDA(3, n_jobs=3, **few).fit(X, time=time)
    assert (one.doc_topics_ == two.doc_topics_).all()


def test_saved_models_are_the_same(tmp_path, fitted):
    X, time, model = fitted
    model.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    known = {"time": 1990 + time}
    assert (loaded.transform(X, **known) == model.transform(X, **known)).all()
    assert (loaded.topics_at(1993) == model.topics_at(1993)).all()
    side = model.sides_[0]
    right, side.slice_starts_ = side.slice_starts_, side.slice_starts_[::-1].copy()
    model.save(tmp_path / "broken")
    side.slice_starts_ = right
    with pytest.raises(ModelFileError, match="slice_starts_"):
        load(tmp_path / "broken")


def test_dates_become_slices_of_equal_length():
    X, _ = drifting(200)
    dates = np.datetime64("2001-01-01") + np.arange(200) * 3
    few = {"max_iter": 3, "tol": 0.0, "random_state": 0}
    model = DynamicLDA(3, n_slices=4, **few).fit(X, time=[str(day) for day in dates])
    assert model.slice_names_[0] == "2001-01-01"
    places = model.sides_[0].positions(dates)
    assert np.unique(places).tolist() == [0, 1, 2, 3]
    later = model.sides_[0].positions(np.array(["2002-10-01"], dtype="datetime64[D]"))
    assert later[0] >= 4
    assert model.topics_at("2002-06-01").shape == (3, X.shape[1])
    with pytest.raises(DataError, match="a date in the fit"):
        model.topics_at(7)
    with pytest.raises(DataError, match="dates in the fit"):
        model.transform(X[:2], time=[1, 2])
    many = DynamicLDA(3, **few).fit(X, time=dates)
    assert len(many.slice_names_) == 20


def test_bad_times_are_refused():
    X = np.eye(4) + 1
    with pytest.raises(DataError, match="only one value"):
        DynamicLDA(2).fit(X, time=[1, 1, 1, 1])
    with pytest.raises(DataError, match="missing in row 2"):
        DynamicLDA(2).fit(X, time=[1, 2, np.nan, 1])
    with pytest.raises(DataError, match="'soon'"):
        DynamicLDA(2).fit(X, time=["soon", "2001", "2002", "2003"])
    with pytest.raises(DataError, match="2 rows, but X has 4"):
        DynamicLDA(2).fit(X, time=[1, 2])
    with pytest.raises(DataError, match="infinite in row 1"):
        checked_times([1.0, np.inf], 2)
    with pytest.raises(DataError, match="only one value"):
        TimeStampedLDA(2).fit(X, time=[1, None, None, 1])


@pytest.mark.parametrize("model", [DynamicLDA, TimeStampedLDA])
def test_without_times_it_is_lda_and_says_so(model):
    X, _ = drifting(60)
    few = {"max_iter": 5, "tol": 0.0, "random_state": 0}
    with pytest.warns(match="was fitted without time"):
        plain = model(3, **few).fit(X)
    assert_allclose(plain.transform(X).sum(axis=1), 1, rtol=1e-5)
    if model is DynamicLDA:
        assert_allclose(plain.topics_at(5), plain.components_, atol=1e-3)


def test_stamped_topics_have_their_times():
    rng = np.random.default_rng(0)
    early, late = rng.dirichlet(np.full(30, 0.3), 2)
    time = rng.integers(1980, 2020, 300)
    X = np.array([rng.multinomial(20, early if t < 2000 else late) for t in time])
    model = TimeStampedLDA(2, random_state=0).fit(X, time=time)
    first, last = np.sort(model.mean_times_)
    assert abs(first - time[time < 2000].mean()) < 2
    assert abs(last - time[time >= 2000].mean()) < 2
    # Words that say nothing leave what the time says.
    words = np.ones((2, 30))
    theta = TimeStampedLDA(2, weight=5.0, random_state=0).fit(X, time=time)
    said = theta.transform(words, time=[1985, 2015])
    order = np.argsort(theta.mean_times_)
    assert said[0, order[0]] > 0.55 > 0.45 > said[1, order[0]]
    unknown = theta.transform(words, time=[None, None])
    assert_allclose(unknown[0], unknown[1])


def seeded_documents(n_topics=20, n_documents=600, seed=0):
    """Topics of ten words each; of the first, the last five words come in later."""
    rng = np.random.default_rng(seed)
    time = np.arange(n_documents) * 6 // n_documents
    rows, main = [], []
    for slot in time:
        topics = np.kron(np.eye(n_topics), np.full(10, 0.1))
        topics[0, :10] = np.r_[np.full(5, 6 - slot), np.full(5, slot + 0.5)]
        topics[0] /= topics[0].sum()
        theta = rng.dirichlet(np.full(n_topics, 0.05))
        rows.append(rng.multinomial(80, 0.98 * theta @ topics + 0.02 / (10 * n_topics)))
        main.append(theta.argmax())
    return sparse.csr_matrix(np.array(rows, dtype=float)), 2000 + time, np.array(main)


def test_seeds_and_time_go_together(tmp_path):
    X, years, main = seeded_documents()
    words = [f"word{w}" for w in range(X.shape[1])]
    seeds = {f"t{k}": [f"word{10 * k}", f"word{10 * k + 1}"] for k in range(9)}
    options = {"seeds": seeds, "vocabulary": words, "random_state": 0}
    model = DynamicLDA(20, decay=0.3, strength=10.0, **options).fit(X, time=years)
    assert model.topic_names_ == [*seeds, *[""] * 11]
    assert list(model.topic_data().vocabulary) == words
    assert {one.word for one in model.changed_words(0)[0]} <= {*words}
    found, has_seeds = model.doc_topics_.argmax(axis=1), main < 9
    assert (found[has_seeds] == main[has_seeds]).mean() > 0.9
    early, late = model.topics_at(2000)[0], model.topics_at(2005)[0]
    assert early[5:10].sum() < 0.3
    assert late[5:10].sum() > 0.6
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.topic_names_ == model.topic_names_
    assert_allclose(
        again.transform(X[:9], time=years[:9]), model.transform(X[:9], time=years[:9])
    )
    with pytest.raises(DataError, match="are one string"):
        DynamicLDA(9, seeds={"a": "word1"}, vocabulary=words).fit(X, time=years)


def test_a_vocabulary_has_a_word_per_column(tmp_path):
    X, known = np.eye(6)[[0, 1, 2, 3] * 3], {"time": [1, 2, 3] * 4}
    options = {"max_iter": 2, "random_state": 0}
    with pytest.raises(DataError, match="2 words for 6 columns"):
        DynamicLDA(2, vocabulary=["a", "b"], **options).fit(X, **known)
    model = DynamicLDA(2, vocabulary=list("abcdef"), **options).fit(X, **known)
    model.save(tmp_path / "sound")
    assert load(tmp_path / "sound").vocabulary == list("abcdef")
    for words in (["a", "b"], [], 3, ["a"] * 5 + [3]):
        model.set_params(vocabulary=words).save(tmp_path / "model")
        with pytest.raises(ModelFileError, match="vocabulary"):
            load(tmp_path / "model")


def test_seeds_and_features_go_together():
    """Planted: even topics are in one group of documents, odd ones in the other."""
    X, _, main = seeded_documents()
    group = np.where(main % 2 == 0, "even", "odd")
    seeds = {f"t{k}": [10 * k, 10 * k + 1] for k in range(9)}
    model = LDA(20, sides=[Seeds(seeds), Features()], random_state=0)
    model.fit(X, features={"group": group})
    assert model.topic_names_[:9] == list(seeds)
    has_seeds = main < 9
    found = model.doc_topics_.argmax(axis=1)
    assert (found[has_seeds] == main[has_seeds]).mean() > 0.9
    one_word = np.eye(X.shape[1])[[-1, -1]]
    prior = model.transform(one_word, features={"group": ["even", "odd"]})
    assert (prior[0, :9:2] > prior[1, :9:2]).all()
    assert (prior[0, 1:9:2] < prior[1, 1:9:2]).all()


def test_blocks_are_as_one_matrix(tmp_path):
    X, time = drifting(n_documents=200)
    blocks = BlockMatrix.write(tmp_path / "blocks", X, block_size=60)
    wide, pairs = blocks.by_slice(time, 6)
    kept = GroupedPhi(1.0)
    memory = kept.widen(X, time, 6)
    np.testing.assert_array_equal(pairs, 6 * kept.pair_words_ + kept.pair_slices_)
    np.testing.assert_array_equal(wide[np.arange(200)].toarray(), memory.toarray())
    np.testing.assert_array_equal(wide.sum(axis=0), np.asarray(memory.sum(0)).ravel())
    np.testing.assert_array_equal(wide.document_frequencies, (memory > 0).sum(0).A1)
    few = {"max_iter": 15, "tol": 0.0, "random_state": 0}
    start = np.random.default_rng(0).dirichlet(np.ones(X.shape[1]), 9)
    one = DynamicLDA(9, init=start, **few).fit(X, time=time)
    many = DynamicLDA(9, init=start, **few).fit(blocks, time=time)
    assert_allclose(many.topics_at(2), one.topics_at(2), atol=1e-6)
    assert_allclose(many.prevalence_, one.prevalence_, atol=1e-6)
    new = many.transform(blocks, time=time)
    assert_allclose(new, one.transform(X, time=time), atol=1e-5)


def test_slices_without_documents_are_reported_and_have_no_prevalence(tmp_path):
    X = np.random.default_rng(0).poisson(1.0, (20, 8))
    time = np.repeat([0.0, 10.0], 10)
    model = DynamicLDA(2, n_slices=5, max_iter=3, random_state=0)
    with pytest.warns(DataWarning, match=r"3 of 5 slices have no documents \(first: 2"):
        model.fit(X, time=time)
    empty = np.isnan(model.prevalence_).all(axis=1)
    assert empty.tolist() == [False, True, True, True, False]
    assert_allclose(model.topics_at(5).sum(axis=1), 1, rtol=1e-5)
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert_allclose(again.prevalence_, model.prevalence_)


def test_the_time_that_is_no_time_is_named():
    X = np.ones((4, 3))
    with pytest.raises(DataError, match=r"time has 'yesterday', which is neither"):
        DynamicLDA(2).fit(X, time=["2001-05-03", "2001-05-04", "yesterday", ""])


def test_time_slices_are_a_part_of_this_model_alone():
    X, time = np.ones((6, 4)), [1, 1, 1, 2, 2, 2]
    DynamicLDA(2, max_iter=2).fit(X, time=time)
    with pytest.raises(DataError, match="Use DynamicLDA in place of"):
        LDA(2, max_iter=2, sides=[TimeSlices()]).fit(X, time=time)
