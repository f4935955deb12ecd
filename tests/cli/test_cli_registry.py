# SPDX-License-Identifier: BSD-3-Clause
import inspect
import sys
import types
from importlib import import_module

import pytest

import topicfold
from topicfold.cli.console import CommandError
from topicfold.cli.fit import make_model
from topicfold.cli.main import COMMANDS
from topicfold.registry import ModelEntry, models, register


def test_names_are_unique_and_lower_case():
    names = [n for entry in models() for n in (entry.name, *entry.aliases)]
    assert len(names) == len(set(names))
    assert names == [name.lower() for name in names]


@pytest.mark.parametrize("entry", models(), ids=lambda entry: entry.name)
def test_every_model_can_be_made(entry):
    for name in (entry.name, entry.name.upper(), *entry.aliases):
        size = {"n_components": 3} if entry.sized else {}
        model = make_model(name, {**size, "random_state": 1})
        assert type(model) is getattr(topicfold, entry.class_name)
        if entry.sized:
            assert getattr(model, "base", model).n_components == 3


def test_none_is_the_default_of_the_model():
    model = make_model("plsa", {"max_iter": None, "algorithm": None})
    assert model.get_params() == topicfold.PLSA().get_params()


class Bare:
    def __init__(self, n_components=2):
        self.n_components = n_components

    @classmethod
    def _get_param_names(cls):
        return ["n_components"]

    def _validate_params(self):
        pass


def test_common_defaults_are_no_options(monkeypatch):
    module = types.ModuleType("bare_models")
    module.Bare = Bare
    monkeypatch.setitem(sys.modules, "bare_models", module)
    options = {"n_components": 4, "random_state": 0, "n_jobs": -1, "device": "cpu"}
    with register(ModelEntry("bare", "bare_models:Bare", "nothing but topics")):
        assert make_model("bare", options).n_components == 4
        with pytest.raises(CommandError, match="no option --seed, --device"):
            make_model("bare", {"random_state": 1, "device": "cuda"})


@pytest.mark.parametrize("command", COMMANDS)
def test_examples_fit_into_a_terminal(command):
    name = command.replace("-", "_")
    text = inspect.getdoc(getattr(import_module(f"topicfold.cli.{name}"), name))
    lines = [line for line in text.splitlines() if line.startswith("  ")]
    assert lines
    assert max(map(len, lines)) <= 78
