# SPDX-License-Identifier: BSD-3-Clause
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from topicfold import FSTM, LDA, PLSA, AuthorTopics, OrthogonalPLSA
from topicfold.learn import Callback

callback = pytest.importorskip("sklearn.callback", reason="scikit-learn before 1.9")
X = np.random.default_rng(0).poisson(1.0, (30, 12))


class Recorder:
    """A callback by scikit-learn's protocol, which ends the fit after `most` tasks."""

    def __init__(self, most=10**9):
        self.most, self.said, self.tasks = most, [], 0

    def setup(self, estimator, context):
        self.said.append("setup")

    def teardown(self, estimator, context):
        self.said.append("teardown")

    def on_fit_task_begin(self, estimator, context):
        self.said.append(f"begin {context.task_name}")

    def on_fit_task_end(self, estimator, context):
        self.tasks += context.task_name == "iteration"
        return context.task_name == "iteration" and self.tasks >= self.most


@pytest.mark.parametrize("kind", [LDA, PLSA, FSTM, OrthogonalPLSA])
def test_every_iteration_is_a_task(kind):
    recorder = Recorder()
    model = kind(3, random_state=0, max_iter=7).set_callbacks(recorder).fit(X)
    assert recorder.tasks == model.n_iter_
    assert recorder.said[:3] == ["setup", "begin fit", "begin iteration"]
    assert recorder.said[-1] == "teardown"
    plain = kind(3, random_state=0, max_iter=7).fit(X)
    np.testing.assert_array_equal(model.components_, plain.components_)


def test_a_callback_ends_the_fit_and_ours_run_beside_it():
    seen = []

    class Ours(Callback):
        def on_iteration(self, state):
            seen.append(state.iteration)

    model = LDA(3, random_state=0, callbacks=[Ours()]).set_callbacks(Recorder(4))
    assert model.fit(X).n_iter_ == 4
    assert seen == [1, 2, 3, 4]


def test_models_with_sides_and_copies():
    recorder = Recorder()
    names = [["ann"], ["ben"]] * 15
    model = AuthorTopics(3, random_state=0, max_iter=5).set_callbacks(recorder)
    assert clone(model).fit(X, authors=names).n_iter_ == recorder.tasks


def test_progress_bar_of_a_grid_search(capsys):
    search = GridSearchCV(
        LDA(max_iter=3, random_state=0), {"n_components": [2, 3]}, cv=2
    )
    search.set_callbacks(callback.ProgressBar()).fit(X)
    assert search.best_params_["n_components"] in (2, 3)
