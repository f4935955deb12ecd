# SPDX-License-Identifier: BSD-3-Clause
from importlib import import_module

import pytest

import topicfold
from topicfold.cli import registry
from topicfold.cli.main import COMMANDS
from topicfold.cli.messages import CommandError


def test_names_are_unique_and_lower_case():
    names = [n for entry in registry.MODELS for n in (entry.name, *entry.aliases)]
    assert len(names) == len(set(names))
    assert names == [name.lower() for name in names]


@pytest.mark.parametrize("entry", registry.MODELS, ids=lambda entry: entry.name)
def test_every_model_can_be_made(entry):
    for name in (entry.name, entry.name.upper(), *entry.aliases):
        model = registry.make_model(name, {"n_components": 3, "random_state": 1})
        assert type(model) is getattr(topicfold, entry.class_name)
        assert getattr(model, "base", model).n_components == 3


def test_none_is_the_default_of_the_model():
    model = registry.make_model("plsa", {"max_iter": None, "algorithm": None})
    assert model.get_params() == topicfold.PLSA().get_params()


def test_common_defaults_are_no_options():
    class Bare:
        def __init__(self, n_components=2):
            self.n_components = n_components

        @classmethod
        def _get_param_names(cls):
            return ["n_components"]

        def _validate_params(self):
            pass

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(topicfold, "Bare", Bare, raising=False)
        patch.setattr(registry, "MODELS", (registry.ModelEntry("bare", "Bare", ""),))
        options = {"n_components": 4, "random_state": 0, "n_jobs": -1, "device": "cpu"}
        assert registry.make_model("bare", options).n_components == 4
        with pytest.raises(CommandError, match="no option --seed, --device"):
            registry.make_model("bare", {"random_state": 1, "device": "cuda"})


@pytest.mark.parametrize("command", COMMANDS)
def test_examples_fit_into_a_terminal(command):
    text = import_module(f"topicfold.cli.{command}").HELP
    lines = [line for line in text.splitlines() if line.startswith("  ")]
    assert lines
    assert max(map(len, lines)) <= 78
