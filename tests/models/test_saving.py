# SPDX-License-Identifier: BSD-3-Clause
import numpy as np
import pytest

import topicfold
from topicfold import LDA, PLSA
from topicfold.exceptions import ModelFileError
from topicfold.persistence import read_bundle, write_bundle
from topicfold.persistence.model_folder import load_model_folder


def test_wrong_shapes_are_refused(tmp_path, planted):
    path = tmp_path / "model"
    PLSA(3, max_iter=2, random_state=0).fit(planted[0]).save(path)
    bundle = read_bundle(path)
    name = next(n for n in bundle.arrays if "components_" in n)
    arrays = {**bundle.arrays, name: bundle.arrays[name][:, :-1]}
    write_bundle(
        path,
        kind=bundle.kind,
        arrays=arrays,
        strings=bundle.strings,
        meta=bundle.meta,
    )
    with pytest.raises(ModelFileError, match=r"shape \(3, 119\), not \(3, 120\)"):
        topicfold.load(path)


def test_topic_data_of_training_and_new_documents(planted):
    X = planted[0]
    model = PLSA(3, max_iter=3, random_state=0).fit(X)
    data = model.topic_data(labels=["a"] * 300)
    assert data.n_documents == 300
    assert data.vocabulary[:2] == ("w0", "w1")
    assert data.settings["model"] == "PLSA"
    new = model.topic_data([f"term{i}" for i in range(120)], X=X[:5])
    np.testing.assert_array_equal(new.doc_topics, model.transform(X[:5]))
    np.testing.assert_allclose(new.doc_lengths, X[:5].sum(axis=1).A1)


def test_a_model_of_a_stream_has_topic_data(tmp_path, planted):
    model = PLSA(3, random_state=0).partial_fit(planted[0])
    model.save(tmp_path / "stream")
    for data in (
        topicfold.load(tmp_path / "stream").topic_data(),
        load_model_folder(tmp_path / "stream").topic_data(),
    ):
        assert data.doc_topics is None
        assert data.n_topics == 3
        assert data.settings["model"] == "PLSA"


def test_the_record_has_the_priors_that_were_used():
    """Not None, which only says that they were left to the model."""
    X = np.random.default_rng(0).poisson(0.5, (50, 30))
    fixed = LDA(3, learn_priors=False, random_state=0, max_iter=3).fit(X)
    found = fixed.topic_data().settings
    assert found["doc_topic_prior"] == pytest.approx(fixed.doc_topic_prior_[0])
    assert found["topic_word_prior"] == pytest.approx(fixed.topic_word_prior_)
    learned = LDA(3, doc_topic_prior=0.7, learn_priors=True, random_state=0).fit(X)
    low, high = learned.doc_topic_prior_.min(), learned.doc_topic_prior_.max()
    said = learned.topic_data().settings["doc_topic_prior"]
    assert said == f"0.7 at the start, {low:.3g} to {high:.3g} learned"
    free = LDA(3, learn_priors=True, random_state=0).fit(X)
    said = free.topic_data().settings["doc_topic_prior"]
    assert said.endswith(", one per topic")
    assert free.topic_data().settings["tol"] is None
