# SPDX-License-Identifier: BSD-3-Clause
import numpy as np
import pytest

import topicfold
from topicfold import PLSA
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
