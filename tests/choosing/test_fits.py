# SPDX-License-Identifier: BSD-3-Clause
"""Many fits: the same as one by one, kept over a stop, matched and averaged."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from topicfold import LDA, PLSA, FeatureLDA, StructuralLDA
from topicfold.choosing import fit_many, select_n_components
from topicfold.choosing import fits as module
from topicfold.exceptions import DataError, ModelFileError, TopicfoldError


@pytest.fixture(scope="module")
def planted():
    rng = np.random.default_rng(0)
    phi = rng.dirichlet(np.full(120, 0.05), 9)
    theta = rng.dirichlet(np.full(9, 0.2), 150)
    X = np.array([rng.multinomial(80, row @ phi) for row in theta])
    return sparse.csr_matrix(X), phi


def test_fits_are_those_of_the_model_alone_for_any_number_of_threads(planted):
    X, _ = planted
    told = []
    options = {"n_seeds": 2, "random_state": 3}
    fits = fit_many(
        LDA(max_iter=8), X, [9, 4, 9], on_progress=lambda *n: told.append(n), **options
    )
    assert told == [(1, 4), (2, 4), (3, 4), (4, 4)]
    pairs = [(fit.n_components, fit.random_state) for fit in fits.fits]
    assert pairs == [(4, 3), (4, 4), (9, 3), (9, 4)]
    for fit in fits.fits:
        alone = LDA(fit.n_components, max_iter=8, random_state=fit.random_state).fit(X)
        np.testing.assert_array_equal(fit.model.components_, alone.components_)
        assert fit.objective == alone.objective_history_[-1]
    two = fit_many(LDA(max_iter=8), X, [4, 9], n_jobs=2, **options)
    for one, other in zip(fits.fits, two.fits, strict=True):
        np.testing.assert_array_equal(one.model.doc_topics_, other.model.doc_topics_)
    best = fits.best(9)
    assert best.objective_history_[-1] == max(f.objective for f in fits.of(9))
    assert "| 9 " in str(fits)
    assert "stability" in fits._repr_html_()


def test_consensus_finds_the_planted_topics_and_says_what_is_stable(planted):
    X, phi = planted
    fits = fit_many(LDA(), X, 9, n_seeds=4, n_jobs=2)
    found = fits.consensus(9)
    assert found.n_fits == 4
    np.testing.assert_allclose(found.topics.sum(axis=1), 1.0, rtol=1e-5)
    np.testing.assert_allclose(found.doc_topics.sum(axis=1), 1.0, rtol=1e-5)
    overlap = np.minimum(found.topics[:, None], phi[None]).sum(axis=2).max(axis=1)
    stable = found.stability > 0.8
    assert stable.sum() >= 5
    assert overlap[stable].min() > 0.7
    assert found.topic_spread[stable].max() < found.topics.max()
    # Mixtures in the order of the topics: those of the best fit are near the means.
    best = fits.best(9).doc_topics_
    assert np.abs(best - found.doc_topics)[:, stable].mean() < 0.05
    alone = fit_many(LDA(max_iter=3), X, 9, n_seeds=1).consensus(9)
    assert (alone.stability == 1).all()
    assert not alone.topic_spread.any()


def test_a_killed_run_goes_on_and_another_corpus_is_refused(
    planted, tmp_path, monkeypatch
):
    X, _ = planted
    model, options = PLSA(max_iter=4), {"n_seeds": 2, "folder": tmp_path / "fits"}

    def stop(done, total):
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit_many(model, X, [3, 5], on_progress=stop, **options)
    made = []
    fit_one = module._fit

    def counted(*args):
        made.append(args[2:4])
        return fit_one(*args)

    monkeypatch.setattr(module, "_fit", counted)
    fits = fit_many(model, X, [3, 5], **options)
    assert made == [(5, 1)]
    whole = fit_many(model, X, [3, 5], n_seeds=2)
    for one, other in zip(fits.fits, whole.fits, strict=True):
        np.testing.assert_array_equal(one.model.components_, other.model.components_)
    with pytest.raises(DataError, match="another model or corpus"):
        fit_many(model, X[:-1], [3, 5], **options)
    with pytest.raises(DataError, match="another model or corpus"):
        fit_many(PLSA(max_iter=5), X, [3, 5], **options)


@pytest.mark.parametrize("content", ["{", "[" * 100_000, None])
def test_a_list_of_fits_that_cannot_be_read_is_named(planted, tmp_path, content):
    X, _ = planted
    if content is None:
        (tmp_path / "fits.json").symlink_to("fits.json")
    else:
        (tmp_path / "fits.json").write_text(content)
    with pytest.raises(TopicfoldError, match=r"cannot be .*Give another folder"):
        fit_many(LDA(max_iter=2), X, 3, n_seeds=1, folder=tmp_path)


def test_a_file_of_another_fit_is_not_taken_up(planted, tmp_path):
    X, _ = planted
    folder = tmp_path / "fits"
    fit_many(LDA(max_iter=2), X, [3, 5], n_seeds=1, folder=folder)
    file = folder / "topics-0003-seed-0.safetensors"
    others = (PLSA(3), LDA(4), LDA(3)), (X, X, X[:-1])
    for other, counts in zip(*others, strict=True):
        other.set_params(max_iter=2, random_state=0).fit(counts).save(file)
        with pytest.raises(ModelFileError, match="not a fit of this model to these"):
            fit_many(LDA(max_iter=2), X, [3, 5], n_seeds=1, folder=folder)
    file.unlink()
    again = fit_many(LDA(max_iter=2), X, [3, 5], n_seeds=1, folder=folder)
    assert [fit.seconds > 0 for fit in again.fits] == [True, False]


def test_fits_with_other_data_of_the_documents_are_not_taken_up(planted, tmp_path):
    X, _ = planted
    years = np.arange(X.shape[0]) % 5
    options = {"n_seeds": 1, "folder": tmp_path / "fits"}
    model = FeatureLDA(max_iter=2)
    for features in ({"year": years}, pd.DataFrame({"year": years})):
        options["folder"] = tmp_path / type(features).__name__
        one = fit_many(model, X, 3, features=features, **options)
        same = fit_many(model, X, 3, features=features, **options)
        assert same.fits[0].seconds == 0 < one.fits[0].seconds
        other = {"year": years + (years == 2)}
        other = pd.DataFrame(other) if isinstance(features, pd.DataFrame) else other
        with pytest.raises(DataError, match="other data of the documents"):
            fit_many(model, X, 3, features=other, **options)


def test_a_fit_that_fails_is_noted_and_others_are_kept(planted, monkeypatch):
    X, _ = planted
    fit = PLSA.fit

    def sometimes(self, X, y=None, **data):
        if self.n_components == 4 and self.random_state == 1:
            raise FloatingPointError("it went wrong")
        return fit(self, X, y, **data)

    monkeypatch.setattr(PLSA, "fit", sometimes)
    fits = fit_many(PLSA(max_iter=2), X, [3, 4], n_seeds=2)
    assert fits.errors() == ["4 topics, seed 1: FloatingPointError: it went wrong"]
    assert [row["failed"] for row in fits.rows()] == [0, 1]
    assert len(fits.of(4)) == 1


@pytest.mark.parametrize("error", [RuntimeError, MemoryError, np.linalg.LinAlgError])
def test_all_fits_that_fail_are_an_error(planted, monkeypatch, error):
    def never(self, X, y=None, **data):
        raise error("no memory left")

    monkeypatch.setattr(PLSA, "fit", never)
    with pytest.raises(
        DataError, match=r"all 4 fits failed; with 2 topics, seed 0: \w+: no"
    ):
        fit_many(PLSA(), planted[0], [2, 3, 3], n_seeds=2)


def test_data_of_sides_and_bad_input(planted):
    X, _ = planted
    features = np.random.default_rng(0).normal(size=(X.shape[0], 1))
    fits = fit_many(FeatureLDA(max_iter=3), X, 4, n_seeds=2, features=features)
    assert len(fits.of(4)) == 2
    with pytest.raises(DataError, match=r"has 3 rows"):
        fit_many(FeatureLDA(max_iter=3), X, 4, features=features[:3])
    with pytest.raises(DataError, match="151 topics, but there are only 150 documents"):
        fit_many(PLSA(), X, [3, 151])
    with pytest.raises(DataError, match="must be 1 or more"):
        fit_many(PLSA(), X, [0, 3])
    with pytest.raises(DataError, match="must be an integer or a list of integers"):
        fit_many(PLSA(), X, [True, 3])
    with pytest.raises(DataError, match="no fit with 8 topics; sizes: 3"):
        fit_many(PLSA(max_iter=2), X, 3, n_seeds=1).best(8)


def test_choosing_a_size_is_the_same_for_any_number_of_threads(planted):
    X, _ = planted
    one, two = (
        select_n_components(LDA(max_iter=5), X, [3, 9], n_restarts=2, n_jobs=jobs)
        for jobs in (1, 2)
    )
    assert [r.perplexity for r in one.records] == [r.perplexity for r in two.records]


def test_sizes_are_chosen_with_what_is_known_of_documents(planted):
    X, _ = planted
    side = np.arange(X.shape[0]) % 2
    model = StructuralLDA(formula="~ side", max_iter=5)
    for table in ({"side": side}, pd.DataFrame({"side": side})):
        found = select_n_components(model, X, [3, 9], n_restarts=2, prevalence=table)
        assert found.records[1].perplexity < found.records[0].perplexity
    with pytest.raises(DataError, match="prevalence has 3 rows"):
        select_n_components(model, X, [3], prevalence={"side": side[:3]})
    with pytest.raises(DataError, match="links are between documents"):
        select_n_components(LDA(), X, [3], links=[(0, 1)])


def test_fits_that_are_the_same_have_no_stability(planted):
    """A spectral start has no random numbers: 1 would look like topics to trust."""
    X, _ = planted
    model = StructuralLDA(init="spectral", max_iter=3)
    found = select_n_components(model, X, [3], n_restarts=2)
    assert np.isnan(found.records[0].stability)
    assert "stability" not in found.to_markdown()
    assert np.isnan(fit_many(model, X, 3, n_seeds=2).rows()[0]["stability"])
    model.set_params(init="clusters")
    assert 0 < fit_many(model, X, 9, n_seeds=2).rows()[0]["stability"] < 1
