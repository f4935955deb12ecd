# SPDX-License-Identifier: BSD-3-Clause
"""Several count matrices: topics in each, documents that lack some of them."""

import numpy as np
import pytest
from scipy import sparse
from sides_support import planted

import topicfold
from topicfold import LDA, MultimodalLDA
from topicfold.corpus import Corpus
from topicfold.corpus.blocks import BlockMatrix
from topicfold.corpus.disk_corpus import DiskCorpus
from topicfold.evidence import Response
from topicfold.exceptions import DataError, DataWarning, EmptyDocumentWarning

FEW = {"max_iter": 5, "tol": 0.0, "random_state": 0}


@pytest.fixture(scope="module")
def languages():
    """The same documents in two languages; every tenth is missing in one of them."""
    english, theta, _ = planted(300, seed=3)
    rng = np.random.default_rng(4)
    phi = rng.dirichlet(np.full(45, 0.05), 4)
    german = np.array([rng.multinomial(30, row) for row in theta @ phi], float)
    german[::10] = 0.0
    return {"en": english, "de": sparse.csr_matrix(german)}, theta


def test_one_language_finds_the_mixtures_of_the_other(languages):
    both, theta = languages
    model = MultimodalLDA(4, random_state=0).fit(both)
    assert model.group_names_ == ["en", "de"]
    for name, topics in model.group_components_.items():
        assert topics.shape == (4, both[name].shape[1])
        np.testing.assert_allclose(topics.sum(axis=1), 1.0)
    english = model.transform({"en": both["en"]})
    german = model.transform({"de": both["de"][1:10]})
    sharp = theta[1:10].max(axis=1) > 0.6
    assert (german.argmax(axis=1) == english[1:10].argmax(axis=1))[sharp].all()
    np.testing.assert_array_equal(english, model.transform(both["en"]))


def test_lists_and_dicts_are_the_same(languages):
    both, _ = languages
    by_name = MultimodalLDA(4, **FEW).fit(both)
    by_place = MultimodalLDA(4, **FEW).fit(list(both.values()))
    np.testing.assert_array_equal(by_name.doc_topics_, by_place.doc_topics_)
    np.testing.assert_array_equal(
        by_name.transform({"de": both["de"]}), by_place.transform([None, both["de"]])
    )


def test_one_matrix_is_lda(languages):
    both, _ = languages
    plain = LDA(4, **FEW).fit(both["en"])
    for X in (both["en"], [both["en"]], {"only": both["en"]}):
        with pytest.warns(DataWarning, match="fitted without a second matrix"):
            model = MultimodalLDA(4, **FEW).fit(X)
        np.testing.assert_array_equal(model.doc_topics_, plain.doc_topics_)


def test_weights_count_as_repetitions(languages):
    both, _ = languages
    heavy = MultimodalLDA(4, weights={"en": 2.0}, **FEW).fit(both)
    twice = MultimodalLDA(4, **FEW).fit({"en": 2 * both["en"], "de": both["de"]})
    np.testing.assert_allclose(heavy.doc_topics_, twice.doc_topics_, atol=1e-10)
    np.testing.assert_allclose(
        heavy.transform(both), twice.transform({**both, "en": 2 * both["en"]})
    )


def test_documents_of_one_language_alone_are_not_called_empty(languages):
    both, _ = languages
    english = both["en"].tolil()
    english[3] = 0
    english = english.tocsr()
    MultimodalLDA(4, **FEW).fit({"en": english, "de": both["de"]})
    german = both["de"].tolil()
    german[3] = 0
    with pytest.warns(EmptyDocumentWarning, match="1 of 300 documents has no word"):
        MultimodalLDA(4, **FEW).fit({"en": english, "de": german.tocsr()})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"de": sparse.csr_matrix((5, 45))}, "de has 5 rows, but X has 300 documents"),
        ({"de": -sparse.eye(300, 45, format="csr")}, "de has .*negative"),
        ({"de": sparse.csr_matrix((300, 45))}, "de has no count in any document"),
        ({"de": None}, "no counts of de"),
    ],
)
def test_bad_matrices_are_explained(languages, change, message):
    with pytest.raises(DataError, match=message):
        MultimodalLDA(4, **FEW).fit({**languages[0], **change})


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({"fr": 1.0}, "weights has 'fr'"),
        ([1.0], "weights has 1 numbers"),
        ({"de": 0.0}, "weight of 'de' is 0.0"),
        ({"de": "x"}, "weight of 'de' is 'x'"),
    ],
)
def test_bad_weights_are_explained(languages, weights, message):
    with pytest.raises(DataError, match=message):
        MultimodalLDA(4, weights=weights, **FEW).fit(languages[0])


@pytest.mark.parametrize("nothing", [None, {}, {"en": None}])
def test_no_matrix_at_all_is_explained(languages, nothing):
    model = MultimodalLDA(2, **FEW).fit(languages[0])
    with pytest.raises(DataError, match="at least one of en, de"):
        model.transform(nothing)


def test_unknown_languages_are_explained(languages):
    both, _ = languages
    model = MultimodalLDA(4, **FEW).fit(both)
    with pytest.raises(DataError, match="'fr' is not one of the matrices"):
        model.transform({"fr": both["de"]})
    with pytest.raises(DataError, match="de has 60 columns"):
        model.transform({"de": both["en"]})
    with pytest.raises(DataError, match="no counts of any matrix"):
        model.transform({"de": None})


def test_saved_and_loaded(languages, tmp_path):
    both, _ = languages
    model = MultimodalLDA(4, **FEW).fit(both)
    model.save(tmp_path / "model")
    again = topicfold.load(tmp_path / "model")
    np.testing.assert_array_equal(again.transform(both), model.transform(both))
    assert again.group_components_.keys() == {"en", "de"}


@pytest.fixture(scope="module")
def named(languages):
    """The languages with words: a corpus each."""
    return {
        name: Corpus(X, [f"{name}{w}" for w in range(X.shape[1])])
        for name, X in languages[0].items()
    }


def test_words_of_every_language_are_kept_and_saved(languages, named, tmp_path):
    both, _ = languages
    model = MultimodalLDA(4, weights={"en": 2.0}, **FEW).fit(named)
    plain = MultimodalLDA(4, weights={"en": 2.0}, **FEW).fit(both)
    np.testing.assert_array_equal(model.components_, plain.components_)
    assert plain.top_words(2)["de"][0][0].startswith("w")
    model.save(tmp_path / "model")
    for fitted in (model, topicfold.load(tmp_path / "model")):
        words = fitted.top_words(3)
        for name, topics in fitted.group_components_.items():
            best = [f"{name}{w}" for w in topics.argmax(axis=1)]
            assert [own[0] for own in words[name]] == best
            assert {len(own) for own in words[name]} == {3}
        (table,) = fitted.topic_data().sides
        assert (table.name, table.kind, len(table.terms)) == ("de", "terms", 4)
        np.testing.assert_array_equal(fitted.transform(named), plain.transform(both))
        only = {"de": named["de"]}
        np.testing.assert_array_equal(
            fitted.transform(only), plain.transform({"de": both["de"]})
        )


def test_columns_of_a_data_frame_are_words(languages):
    pandas = pytest.importorskip("pandas")
    both, _ = languages
    frame = pandas.DataFrame(both["de"].toarray()).rename(columns="de{}".format)
    model = MultimodalLDA(4, **FEW).fit({**both, "de": frame})
    assert model.top_words(1)["de"][0][0].startswith("de")


def test_other_words_than_those_of_the_fit_are_refused(named):
    model = MultimodalLDA(4, **FEW).fit(named)
    wrong = Corpus(named["de"].counts, [f"d{w}" for w in range(45)])
    with pytest.raises(DataError, match=r"words of de are not .* 'd0', not 'de0'"):
        model.transform({**named, "de": wrong})


def test_one_matrix_has_words_too(named):
    with pytest.warns(DataWarning, match="without a second matrix"):
        model = MultimodalLDA(4, **FEW).fit({"en": named["en"]})
    assert list(model.top_words()) == list(model.group_components_) == ["en"]


@pytest.mark.parametrize("weights", [None, {"en": 0.5, "de": 2.0}])
def test_matrices_in_blocks_are_fitted_as_in_memory(languages, weights, tmp_path):
    both, _ = languages
    english = BlockMatrix.write(tmp_path / "en", both["en"], block_size=70)
    german = BlockMatrix.write(tmp_path / "de", both["de"], block_size=110)
    files = [file.path for file in english.files]
    whole = MultimodalLDA(4, weights=weights, **FEW).fit(both)
    named = DiskCorpus(english, [f"en{w}" for w in range(english.shape[1])])
    pairs = (english, both["de"]), (english, german), (named, german), (files, german)
    for first, second in pairs:
        given = {"en": first, "de": second}
        parts = MultimodalLDA(4, weights=weights, **FEW).fit(given)
        np.testing.assert_allclose(parts.doc_topics_, whole.doc_topics_, atol=1e-8)
        for name, topics in whole.group_components_.items():
            np.testing.assert_allclose(parts.group_components_[name], topics, atol=1e-8)
        found, expected = parts.transform(given), whole.transform(both)
        np.testing.assert_allclose(found, expected, atol=1e-8)
    german_alone = whole.transform({"de": both["de"]})
    np.testing.assert_allclose(parts.transform({"de": german}), german_alone, atol=1e-8)


@pytest.fixture(scope="module")
def translated():
    """Return a model of 20 topics, its documents and 200 others, in two languages."""
    rng = np.random.default_rng(5)
    theta = rng.dirichlet(np.full(20, 0.1), 600)
    both = {}
    for name, n_terms in (("en", 400), ("de", 500)):
        phi = rng.dirichlet(np.full(n_terms, 0.05), 20)
        counts = np.array([rng.multinomial(100, row) for row in theta @ phi], float)
        both[name] = sparse.csr_matrix(counts)
    known = {name: counts[:400] for name, counts in both.items()}
    new = {name: counts[400:] for name, counts in both.items()}
    model = MultimodalLDA(20, weights={"de": 0.5}, random_state=0).fit(known)
    return model, known, new


def test_translations_of_new_documents_are_found(translated):
    model, known, new = translated
    own = np.arange(200)
    for one, other in (("en", "de"), ("de", "en")):
        given = {one: new[one]}, {other: new[other]}
        places, scores = model.translations(*given, known=known, n=5)
        assert places.shape == scores.shape == (200, 5)
        assert (np.diff(scores, axis=1) <= 0).all()
        assert (places[:, 0] == own).mean() > 0.94
        alone, _ = model.translations(*given)
        assert (alone[:, 0] == own).mean() > 0.8  # fewer without known pairs
        # One document finds what it finds among others.
        single, _ = model.translations({one: new[one][3]}, given[1], known=known)
        assert single[0, 0] == places[3, 0]


def test_known_documents_show_which_words_go_together():
    """Two topics cannot distinguish twenty subjects; words of known documents do."""
    rng = np.random.default_rng(0)
    subject = np.arange(100) % 20
    common = np.zeros((100, 2, 30))
    common[np.arange(100), subject % 2] = 1 / 30
    own = np.eye(20)[subject].repeat(3, axis=1) / 3

    def language():
        p = np.hstack([0.7 * common.reshape(100, 60), 0.3 * own])
        order = rng.permutation(120)
        return np.array([rng.multinomial(40, row) for row in p])[:, order]

    counts = {"one": language(), "other": language()}
    known = {name: X[:80] for name, X in counts.items()}
    model = MultimodalLDA(2, random_state=0, max_iter=30).fit(known)
    new, among = {"one": counts["one"][80:]}, {"other": counts["other"][80:]}
    places, _ = model.translations(new, among, known=known)
    assert (places[:, 0] == np.arange(20)).mean() > 0.9
    places, _ = model.translations(new, among)
    assert (places[:, 0] == np.arange(20)).mean() < 0.5


def test_candidates_are_compared_in_parts(translated, monkeypatch):
    model, known, new = translated
    given = {"en": new["en"]}, {"de": new["de"]}
    whole, scores = model.translations(*given, known=known)
    monkeypatch.setattr("topicfold.models.multimodal.AT_ONCE", 7)
    parts, again = model.translations(*given, known=known)
    np.testing.assert_array_equal(parts, whole)
    np.testing.assert_allclose(again, scores)
    monkeypatch.setattr("topicfold.models.multimodal.MOST_COMPARED", 67)
    some, _ = model.translations(*given, known=known)
    assert (some == whole).mean() > 0.9
    one, _ = model.translations(given[0], {"de": new["de"][:1]}, n=3)
    assert (one == 0).all()
    assert one.shape == (200, 1)


def test_translations_that_cannot_be_looked_for(translated, tmp_path):
    model, known, new = translated
    english, german = {"en": new["en"]}, {"de": new["de"]}
    with pytest.raises(DataError, match="one matrix of counts by its name"):
        model.translations(new, german)
    with pytest.raises(DataError, match="one matrix of counts by its name"):
        model.translations(new["en"], german)
    with pytest.raises(DataError, match="'fr' is not one of the matrices"):
        model.translations(english, {"fr": new["de"]})
    with pytest.raises(DataError, match="known has no counts of 'de'"):
        model.translations(english, german, known={"en": known["en"]})
    wrong = {**known, "de": known["de"][:9]}
    with pytest.raises(DataError, match="same documents"):
        model.translations(english, german, known=wrong)
    with pytest.raises(DataError, match="n is 0"):
        model.translations(english, german, n=0)
    blocks = BlockMatrix.write(tmp_path / "en", new["en"], block_size=70)
    with pytest.raises(DataError, match="in blocks"):
        model.translations({"en": blocks}, german)


def test_fit_transform_does_not_see_what_is_to_be_predicted():
    X, tags = np.eye(6) * 5 + 1, np.eye(6)[:, :3] + 1
    model = MultimodalLDA(2, sides=[Response()], random_state=0)
    theta = model.fit_transform([X, tags], response=np.arange(6.0))
    np.testing.assert_array_equal(theta, model.transform([X, tags]))
