# SPDX-License-Identifier: BSD-3-Clause
"""A fit that was killed goes on: only the unfinished pass is lost."""

from __future__ import annotations

import json
import logging
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from topicfold.exceptions import DataError, ModelFileError
from topicfold.learn.callbacks import Callback, check_every
from topicfold.persistence.atomic import write_atomically
from topicfold.persistence.bundle import read_bundle, write_bundle

if TYPE_CHECKING:
    from topicfold.learn.loop import IterationState

KIND = "fit_state"
POINTER = "current.json"
_logger = logging.getLogger("topicfold")


class Resume(Callback):
    """Save the state of a fit every few iterations; go on from it if it is there.

    The result is that of a fit that was never stopped, bit for bit. Give the same
    model, data and random seed again. A finished fit that is started again goes on
    too: with a higher `max_iter` it learns longer.

    Parameters
    ----------
    path : path-like
        Folder of the state; made when the first state is saved.
    every : int, default=1
        Iterations between two saves. Mixtures on disk are linked, not copied, where
        the folder is on the same file system as the storage of the corpus.

    Attributes
    ----------
    resumed_at_ : int or None
        Iteration at which the last fit went on; None if it began anew.

    Examples
    --------
    >>> import tempfile
    >>> from topicfold import PLSA
    >>> X = np.array([[5, 4, 0, 0], [4, 6, 0, 0], [0, 0, 3, 5], [0, 0, 6, 4]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     resume = Resume(Path(folder, "state"))
    ...     options = {"random_state": 0, "callbacks": [resume], "tol": 0}
    ...     _ = PLSA(2, max_iter=2, **options).fit(X)
    ...     model = PLSA(2, max_iter=5, **options).fit(X)
    >>> resume.resumed_at_, model.n_iter_
    (2, 5)
    """

    def __init__(self, path: Any, *, every: int = 1) -> None:
        self.path = Path(path)
        self.every = check_every(every)

    def on_start(self, state: IterationState) -> None:
        """Take up a saved state."""
        self.resumed_at_: int | None = None
        self._saved_at = -1
        algorithm: Any = state.algorithm
        if not hasattr(algorithm, "restore"):
            raise DataError(
                f"Resume cannot go on with {type(algorithm).__name__}: it is known for "
                "PLSA, OrthogonalPLSA, LDA and FSTM. Use Checkpoint to keep results."
            )
        folder = self._current()
        if folder is None:
            return
        bundle = read_bundle(folder / "state.safetensors", kind=KIND)
        mine, saved = _fingerprint(algorithm), bundle.meta["fingerprint"]
        if saved != mine:
            raise DataError(
                f"{self.path} has the state of another fit: {saved}, not {mine}. "
                "Remove the folder, or choose another for this fit."
            )
        values: dict[str, Any] = {**bundle.meta["values"], **bundle.arrays}
        if bundle.meta["documents"]:
            values["documents"] = _load_documents(algorithm.engine, folder)
        algorithm.restore(values)
        state.history[:] = bundle.meta["history"]
        state.iteration = self.resumed_at_ = self._saved_at = bundle.meta["iteration"]
        _logger.info("the fit goes on after iteration %d", state.iteration)

    def on_iteration(self, state: IterationState) -> None:
        """Save now and then."""
        if state.iteration % self.every == 0:
            self._save(state)

    def _current(self) -> Path | None:
        pointer = self.path / POINTER
        if not pointer.is_file():
            return None
        try:
            name = json.loads(pointer.read_text(encoding="utf-8"))["state"]
            folder = self.path / Path(name).name
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ModelFileError(
                f"{pointer} cannot be read: {error}. Remove {self.path} to begin anew."
            ) from error
        return folder

    def _save(self, state: IterationState) -> None:
        algorithm: Any = state.algorithm
        values = dict(algorithm.state())
        documents = values.pop("documents", None)
        folder = self.path / f"state-{state.iteration:06d}"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        if documents is not None:
            _save_documents(algorithm.engine, documents, folder)
        is_array = {k: isinstance(v, np.ndarray) for k, v in values.items()}
        write_bundle(
            folder / "state.safetensors",
            kind=KIND,
            arrays={k: v for k, v in values.items() if is_array[k]},
            meta={
                "fingerprint": _fingerprint(algorithm),
                "values": {k: v for k, v in values.items() if not is_array[k]},
                "history": list(state.history),
                "iteration": state.iteration,
                "documents": documents is not None,
            },
        )
        text = json.dumps({"state": folder.name})
        # From this moment on the new state counts; before, the old one does.
        write_atomically(self.path / POINTER, lambda to: _write_text(to, text))
        self._saved_at = state.iteration
        for old in self.path.glob("state-*"):
            if old != folder:
                shutil.rmtree(old, ignore_errors=True)


def _write_text(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def _fingerprint(algorithm: Any) -> dict[str, Any]:
    known: dict[str, Any] = algorithm.fingerprint()
    return {"algorithm": type(algorithm).__name__, **known}


def _save_documents(engine: Any, documents: Any, folder: Path) -> None:
    link = getattr(documents, "link_to", None)
    if link is not None:
        link(folder)
    else:
        np.save(folder / "documents.npy", engine.unpack_documents(documents))


def _load_documents(engine: Any, folder: Path) -> Any:
    adopt = getattr(engine, "adopt_documents", None)
    if adopt is not None:
        return adopt(folder)
    return engine.pack_documents(np.load(folder / "documents.npy"))
