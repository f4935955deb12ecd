# SPDX-License-Identifier: BSD-3-Clause
import io
import os
import signal
import sys
import threading
from types import SimpleNamespace

import numpy as np
import pytest
from rich.console import Console

from topicfold import PLSA, SupervisedLDA, TopicData, TwoPhase
from topicfold.corpus.blocks import BlockMatrix
from topicfold.engine.cpu import CpuEngine
from topicfold.exceptions import DataError, FitInterruptedWarning
from topicfold.learn import (
    Callback,
    Checkpoint,
    EarlyStopping,
    MetricTracker,
    ProgressBar,
    Resume,
    run_em,
)
from topicfold.learn.fstm import FstmLearning, InferenceOptions
from topicfold.learn.learner import Cvb0, Learner
from topicfold.learn.loop import _has_settled
from topicfold.models.side_by_side import SideBySide
from topicfold.models.supervised import choose_weight
from topicfold.phi import PhiStep
from topicfold.theta import ThetaStep


class Descent:
    """An algorithm whose objective halves its distance to zero."""

    def __init__(self):
        self.value = -1.0

    def start(self):
        return self.value

    def iterate(self):
        self.value /= 2
        return self.value

    def topics(self):
        return np.full((1, 2), 0.5)

    def doc_topics(self):
        return np.ones((3, 1))


class StopAfter(Callback):
    def __init__(self, n):
        self.n = n
        self.events = []

    def on_start(self, state):
        self.events.append("start")

    def on_iteration(self, state):
        self.events.append(state.iteration)
        return state.iteration == self.n

    def on_end(self, state):
        self.events.append("end")


class PressCtrlC(Callback):
    def __init__(self, at):
        self.at = at

    def on_iteration(self, state):
        if state.iteration == self.at:
            os.kill(os.getpid(), signal.SIGINT)


def test_history_has_the_start_and_every_iteration():
    result = run_em(Descent(), max_iter=3, tol=0)
    assert result.history == (-1.0, -0.5, -0.25, -0.125)
    assert (result.n_iter, result.converged, result.interrupted) == (3, False, False)


def test_tolerance_is_relative():
    result = run_em(Descent(), max_iter=10, tol=0.5)
    assert (result.n_iter, result.converged) == (1, True)


def test_a_callback_can_stop():
    callback = StopAfter(2)
    result = run_em(Descent(), max_iter=10, tol=0, callbacks=[callback])
    assert result.n_iter == 2
    assert callback.events == ["start", 1, 2, "end"]


def test_callbacks_end_also_after_an_error():
    class Broken(Descent):
        def iterate(self):
            raise ValueError("broken")

    callback = StopAfter(1)
    with pytest.raises(ValueError, match="broken"):
        run_em(Broken(), max_iter=3, tol=0, callbacks=[callback])
    assert callback.events == ["start", "end"]


def test_ctrl_c_keeps_what_was_reached(planted):
    before = signal.getsignal(signal.SIGINT)
    model = PLSA(3, max_iter=50, tol=0, random_state=0, callbacks=[PressCtrlC(4)])
    with pytest.warns(FitInterruptedWarning, match="after 4 of 50 iterations"):
        model.fit(planted[0])
    assert model.n_iter_ == 4
    four = PLSA(3, max_iter=4, tol=0, random_state=0).fit(planted[0])
    np.testing.assert_array_equal(model.components_, four.components_)
    assert signal.getsignal(signal.SIGINT) is before


def test_second_ctrl_c_aborts():
    class Twice(PressCtrlC):
        def on_iteration(self, state):
            super().on_iteration(state)
            super().on_iteration(state)

    with pytest.raises(KeyboardInterrupt):
        run_em(Descent(), max_iter=5, tol=0, callbacks=[Twice(1)])


def test_ctrl_c_aborts_a_fit_that_is_part_of_more(planted):
    X, press = planted[0], [PressCtrlC(1)]
    y = np.arange(X.shape[0]) % 2
    with pytest.raises(KeyboardInterrupt):
        TwoPhase(PLSA(2, callbacks=press, random_state=0)).fit(X, y)
    with pytest.raises(KeyboardInterrupt):
        SideBySide(PLSA(2, callbacks=press, random_state=0), 2).fit(X)


def test_ctrl_c_aborts_a_choice_of_weights(planted, monkeypatch):
    X = planted[0]
    fits = []

    def interrupted(model, counts, **given):
        fits.append(run_em(Descent(), max_iter=5, tol=0, callbacks=[PressCtrlC(1)]))

    monkeypatch.setattr("topicfold.models.supervised.LDA.fit", interrupted)
    model = SupervisedLDA(2, random_state=0)
    model.sides_, model.weight_scores_ = [], []
    with pytest.raises(KeyboardInterrupt):
        choose_weight(model, X, {}, (0.1, 1.0))
    assert fits == []


def test_fit_in_a_thread(planted):
    models = [PLSA(2, max_iter=3, random_state=0, n_jobs=2) for _ in range(4)]
    threads = [threading.Thread(target=m.fit, args=(planted[0],)) for m in models]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for model in models[1:]:
        np.testing.assert_array_equal(model.components_, models[0].components_)


def test_early_stopping_on_held_out_perplexity(planted):
    X = planted[0]
    stopper = EarlyStopping(X[200:], every=2, patience=2)
    options = {"init": "random", "random_state": 0, "callbacks": [stopper]}
    model = PLSA(20, max_iter=300, tol=0, **options)
    model.fit(X[:200])
    assert model.n_iter_ < 300
    iterations, values = zip(*stopper.perplexities_, strict=True)
    assert iterations[-1] == model.n_iter_
    assert min(values) < values[0]
    assert min(values[:-2]) * (1 - 1e-3) <= min(values[-2:])


def test_checkpoint_can_be_opened(tmp_path, planted):
    checkpoint = Checkpoint(tmp_path / "state", every=2)
    model = PLSA(3, max_iter=5, tol=0, random_state=0, callbacks=[checkpoint])
    model.fit(planted[0])
    data = TopicData.load(tmp_path / "state")
    assert data.settings["checkpoint_iteration"] == 5
    np.testing.assert_array_equal(data.topics, model.components_)
    resumed = PLSA(3, init=data.topics, max_iter=1).fit(planted[0])
    assert resumed.objective_history_[-1] > model.objective_history_[0]


def test_metric_tracker(planted):
    tracker = MetricTracker(lambda state: state.topics().shape, every=2)
    PLSA(3, max_iter=5, tol=0, random_state=0, callbacks=[tracker]).fit(planted[0])
    assert tracker.values_ == [(2, (3, 120)), (4, (3, 120))]


def test_progress_bar_shows_objective_and_count():
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=True, width=100)
    run_em(Descent(), max_iter=4, tol=0, callbacks=[ProgressBar("x", console)])
    assert "4/4" in stream.getvalue()
    assert "objective -0.0625" in stream.getvalue()


def test_progress_bar_is_silent_when_piped():
    stream = io.StringIO()
    bar = ProgressBar("x", Console(file=stream))
    run_em(Descent(), max_iter=2, tol=0, callbacks=[bar])
    assert stream.getvalue().strip() == ""


@pytest.mark.parametrize("verbose", [True, False])
def test_verbose_adds_a_bar_on_standard_error(planted, capsys, monkeypatch, verbose):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    PLSA(2, max_iter=2, random_state=0, verbose=verbose).fit(planted[0])
    found = capsys.readouterr()
    assert ("PLSA" in found.err and "2/2" in found.err) == verbose
    assert found.out == ""


def test_ignored_ctrl_c_stays_ignored():
    """A fit in the background of a shell is not to catch its signals."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        result = run_em(Descent(), max_iter=3, tol=0, callbacks=[PressCtrlC(1)])
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)
    assert (result.n_iter, result.interrupted) == (3, False)


@pytest.mark.parametrize("kind", ["plsa", "cvb0", "fstm"])
def test_an_iteration_before_the_start_is_an_error(planted, tmp_path, kind):
    X = planted[0].astype(float)
    engine = CpuEngine(X, 2, dtype=np.float64)
    phi = np.full((2, X.shape[1]), 1 / X.shape[1])
    options = {"doc_updates": 1, "doc_tol": 0, "learn_priors": False}
    if kind == "plsa":
        learner = Learner(engine, phi, ThetaStep(), PhiStep())
    elif kind == "cvb0":
        learner = Cvb0(engine, phi, alpha=np.ones(2), eta=0.1, **options)
    else:
        blocks = BlockMatrix.write(tmp_path / "x", X, block_size=99)
        learner = FstmLearning(blocks, phi, InferenceOptions())
    with pytest.raises(RuntimeError, match=r"call start\(\) before iterate\(\)"):
        learner.iterate()
    first = learner.start()
    assert learner.iterate() > first


def test_what_is_no_callback_is_refused_before_the_work():
    with pytest.raises(DataError, match=r"built-in function print.* has no on_start"):
        PLSA(2, callbacks=[print]).fit(np.ones((3, 4)))


@pytest.mark.parametrize("make", [EarlyStopping, Checkpoint, MetricTracker, Resume])
def test_callbacks_work_every_iteration_or_less_often(make, tmp_path):
    with pytest.raises(DataError, match="every=0 must be a whole number"):
        make(str(tmp_path / "x"), every=0)


@pytest.mark.parametrize(
    ("history", "settled"),
    [
        ([-100.0, -60.0, -50.0, -50.1, -50.0, -50.0], False),
        ([-100.0, -50.2, -60.0, -60.0, -60.0, -60.0, -50.0], True),
        ([-50.0, -50.0, -50.0], False),
    ],
)
def test_an_objective_has_settled_over_a_window(history, settled):
    """Between the last and that of five iterations before, 0.001 per iteration."""
    assert _has_settled(history, 1e-3, 5) == settled


def test_early_stopping_waits_for_a_relative_fall(monkeypatch):
    values = iter([100.0, 89.0, 89.0 * (1 - 0.1), 81.0, 50.0])
    monkeypatch.setattr(
        "topicfold.infer.fold_in.document_completion", lambda *_, **__: next(values)
    )
    stopper = EarlyStopping(None, every=1, patience=2, min_gain=0.1)
    state = SimpleNamespace(iteration=0, topics=lambda: None)
    stopper.on_start(state)
    asked = []
    for state.iteration in range(1, 5):
        asked.append(stopper.on_iteration(state))
    # 89 is a fall by more than a tenth, the next one by exactly a tenth is none.
    assert asked == [False, False, False, True]


@pytest.mark.parametrize(("max_iter", "saves"), [(4, [2, 4]), (5, [2, 4, 5])])
def test_the_end_is_saved_once(tmp_path, planted, max_iter, saves, monkeypatch):
    saved = []
    plain = Checkpoint._save

    def save(self, state):
        saved.append(state.iteration)
        plain(self, state)

    monkeypatch.setattr(Checkpoint, "_save", save)
    callbacks = [Checkpoint(tmp_path / "state", every=2)]
    PLSA(3, max_iter=max_iter, tol=0, random_state=0, callbacks=callbacks).fit(
        planted[0]
    )
    assert saved == saves
