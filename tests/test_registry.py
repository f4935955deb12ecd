# SPDX-License-Identifier: BSD-3-Clause
"""One list of models: every place has them all, and one entry adds a model."""

import importlib
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from protocols_support import planted_corpus
from scipy import sparse
from sklearn.base import BaseEstimator
from typer.testing import CliRunner

import topicfold
from topicfold import compare
from topicfold.choosing.evaluation import candidates
from topicfold.cli.fit import make_model
from topicfold.cli.main import app
from topicfold.exceptions import DataError, ModelFileError
from topicfold.registry import ModelEntry, find_model, models, register

MODELS = Path(topicfold.__file__).parent / "models"
GUIDE = Path(__file__).resolve().parent.parent / "docs/guide/which_model.md"
# Estimators on top of a model, not models of documents.
NOT_MODELS = {"TopicClassifier"}
TOY = '''
import numpy as np
from numbers import Integral
from sklearn.base import BaseEstimator, TransformerMixin


class WordsByTurns(TransformerMixin, BaseEstimator):
    """Topic k has every word whose column is k modulo the number of topics."""

    _parameter_constraints = {"n_components": [Integral]}

    def __init__(self, n_components=2):
        self.n_components = n_components

    def fit(self, X, y=None):
        own = np.arange(X.shape[1]) % self.n_components
        rows = (own == np.arange(self.n_components)[:, None]).astype(float)
        self.components_ = rows / rows.sum(axis=1, keepdims=True)
        self.n_features_in_ = X.shape[1]
        self.doc_topics_ = self.transform(X)
        return self

    def transform(self, X):
        theta = np.asarray(X @ self.components_.T) + 1e-9
        return theta / theta.sum(axis=1, keepdims=True)
'''


@pytest.fixture
def toy(tmp_path, monkeypatch):
    """A model of another package, registered."""
    (tmp_path / "words_by_turns.py").write_text(TOY)
    monkeypatch.syspath_prepend(tmp_path)
    entry = ModelEntry(
        "turns", "words_by_turns:WordsByTurns", "words by turns", "WBT", ("by-turns",)
    )
    with register(entry):
        yield entry
    sys.modules.pop("words_by_turns", None)


def test_every_estimator_of_models_is_registered():
    found = set()
    for file in MODELS.glob("*.py"):
        module = importlib.import_module(f"topicfold.models.{file.stem}")
        found |= {
            name
            for name, value in vars(module).items()
            if isinstance(value, type)
            and issubclass(value, BaseEstimator)
            and value.__module__ == module.__name__
            and not name.startswith("_")
            and hasattr(value, "fit")
        }
    registered = {entry.class_name for entry in models()}
    public = {name for name in found if name in topicfold.__all__}
    assert registered == public - NOT_MODELS


@pytest.mark.parametrize("entry", models(), ids=lambda entry: entry.name)
def test_every_place_has_the_model(entry):
    assert getattr(topicfold, entry.class_name) is entry.load()
    size = {"n_components": 2} if entry.sized else {}
    assert type(make_model(entry.name, size)) is entry.load()
    for name in (entry.name, entry.acronym, *entry.aliases, entry.acronym.upper()):
        assert find_model(name) is entry
        assert find_model(name, candidates()) is entry
    parameters = (entry.load_base() or entry.load())._get_param_names()
    assert entry.graph == ("graph" in parameters)
    assert set(entry.options) <= set(parameters)


@pytest.mark.skipif(not GUIDE.is_file(), reason="docs/ is not here")
@pytest.mark.parametrize("entry", models(), ids=lambda entry: entry.name)
def test_the_guide_has_the_model_and_its_acronym(entry):
    text = GUIDE.read_text(encoding="utf-8")
    assert f"`{entry.name}`" in text
    assert re.search(rf"\b{re.escape(entry.acronym.removesuffix('^c'))}\b", text, re.I)


def test_names_are_taken_once():
    names = [name for entry in models() for name in entry.all_names()]
    assert len(names) == len(set(names))


@pytest.mark.filterwarnings("ignore:.*was fitted without:UserWarning")
def test_every_model_can_be_compared():
    corpus = planted_corpus()
    names = [entry.acronym for entry in models()]
    found = compare(corpus, names, n_components=3)
    assert found.left_out == ()
    assert [score.model for score in found.scores] == names
    assert all(score.accuracy > 0.5 for score in found.scores)
    assert set(names) < {candidate.shown for candidate in candidates()}


def test_a_model_without_topics_needs_labels_to_be_scored():
    found = compare(planted_corpus().counts, ["PLSA", "LSI"], n_components=3)
    assert [score.model for score in found.scores] == ["PLSA"]
    assert found.left_out == (
        "LSI: it has no topics, and without labels nothing else can be scored",
    )


def test_a_model_from_outside_is_one_entry(toy, tmp_path):
    """It is found, compared, and named on the command line."""
    counts = tmp_path / "counts.npz"
    sparse.save_npz(counts, sparse.csr_matrix(planted_corpus().counts))
    assert find_model("WBT") is find_model("by-turns") is toy
    assert type(make_model("turns", {"n_components": 3})).__name__ == "WordsByTurns"
    found = compare(planted_corpus(), ["turns", "PLSA"], n_components=3)
    assert [score.model for score in found.scores] == ["WBT", "PLSA"]
    assert found.scores[0].accuracy > 0.9
    assert np.isnan(found.scores[0].perplexity)  # it has none
    shown = CliRunner().invoke(app, ["compare", str(counts), "-m", "turns", "-k", "3"])
    assert shown.exit_code == 0, shown.output
    assert "Take WBT" in shown.output
    helped = CliRunner().invoke(app, ["fit", str(counts), "-m", "tuns", "-o", "x"])
    assert "Did you mean turns?" in helped.output


TINY = """
from topicfold import PLSA


class TinyPLSA(PLSA):
    def __init__(self, n_components=2, *, random_state=None, device="cpu"):
        super().__init__(n_components, random_state=random_state, max_iter=3)
        self.device = device
"""


def test_a_model_from_outside_is_fitted_and_opened_again(tmp_path, monkeypatch):
    (tmp_path / "tiny_plsa.py").write_text(TINY)
    monkeypatch.syspath_prepend(tmp_path)
    corpus = planted_corpus()
    counts, folder = tmp_path / "counts.npz", tmp_path / "model"
    sparse.save_npz(counts, sparse.csr_matrix(corpus.counts))
    entry = ModelEntry("tiny", "tiny_plsa:TinyPLSA", "PLSA in three passes")
    with register(entry):
        done = CliRunner().invoke(
            app, ["fit", str(counts), "-m", "tiny", "-k", "3", "-o", str(folder)]
        )
        assert done.exit_code == 0, done.output
        shown = CliRunner().invoke(app, ["topics", str(folder)])
        assert shown.exit_code == 0, shown.output
        fitted = topicfold.load(folder / "model.safetensors")
        assert type(fitted).__name__ == "TinyPLSA"
        assert fitted.components_.shape == (3, 24)
    with pytest.raises(ModelFileError, match="'tiny_plsa:TinyPLSA' is refused"):
        topicfold.load(folder / "model.safetensors")
    sys.modules.pop("tiny_plsa", None)


def test_a_registered_model_goes_when_its_block_ends(toy):
    assert toy in models()
    with pytest.raises(DataError, match=r"'wbt' is taken by the model turns"):
        register(ModelEntry("other", toy.source, "other", "WBT"))
    with pytest.raises(DataError, match=r"'nowhere:Model' cannot be imported"):
        register(ModelEntry("other", "nowhere:Model", "other"))
    undo = register(ModelEntry("other", toy.source, "another name for it"))
    assert find_model("other").shown == "other"
    assert find_model("WordsByTurns") is toy  # the first of that class
    undo.close()
    with pytest.raises(DataError, match="no model 'other'"):
        find_model("other")
    assert "other" not in [entry.name for entry in models()]
