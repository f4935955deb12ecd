# SPDX-License-Identifier: BSD-3-Clause
"""topicfold's own models, stopped and watched through its callbacks."""

from __future__ import annotations

from typing import Any, ClassVar

from benchmarks.peers.adapters.base import Adapter, normalise_rows


class _Ours(Adapter):
    package = "topicfold"
    default_passes = 60  # about; a fit of ours stops by itself
    estimator: ClassVar[str]
    options: ClassVar[dict[str, Any]] = {}

    def missing(self) -> str:
        """Say so where this version has no such model yet."""
        import topicfold

        try:
            getattr(topicfold, self.estimator)
        except (AttributeError, ImportError):
            return f"topicfold.{self.estimator} is not in this version"
        return ""

    def version(self) -> str:
        """Version of the package that runs, installed or not."""
        import topicfold

        return str(topicfold.__version__)

    def run(self, data, *, n_topics, threads, seed, max_passes, on_pass):
        """Fit once; every iteration calls back."""
        import topicfold

        model = getattr(topicfold, self.estimator)(
            n_topics,
            max_iter=max_passes,
            tol=0,
            random_state=seed,
            n_jobs=threads,
            callbacks=[_AfterPass(on_pass)],
            **self.options,
        )
        model.fit(data)


class OurPLSA(_Ours):
    """``topicfold.PLSA``."""

    name = "topicfold_plsa"
    import_line = "from topicfold import PLSA"
    pass_is = "one EM iteration: document pass and word pass, float32"
    estimator = "PLSA"


class OurCVB0(_Ours):
    """``topicfold.LDA(algorithm="cvb0")``."""

    name = "topicfold_cvb0"
    import_line = "from topicfold import LDA"
    pass_is = "one default CVB0 iteration: 1 document pass, 1 word pass, float32"
    estimator = "LDA"
    options: ClassVar[dict[str, Any]] = {"algorithm": "cvb0"}


class OurVariational(_Ours):
    """``topicfold.LDA(algorithm="variational")``."""

    name = "topicfold_variational"
    import_line = "from topicfold import LDA"
    pass_is = "one batch variational EM iteration, float32"
    estimator = "LDA"
    options: ClassVar[dict[str, Any]] = {"algorithm": "variational"}


class _AfterPass:
    """topicfold callback that hands every iteration to the runner."""

    def __init__(self, on_pass):
        self._on_pass = on_pass

    def on_start(self, state) -> None:
        """Nothing: what comes before the first iteration is part of its time."""

    def on_iteration(self, state) -> bool:
        """Stop the fit when the runner says so."""
        return self._on_pass(lambda: normalise_rows(state.topics()))

    def on_end(self, state) -> None:
        """Nothing: the last iteration has been seen."""
