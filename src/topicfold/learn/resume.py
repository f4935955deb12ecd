# SPDX-License-Identifier: BSD-3-Clause
"""A fit that was killed goes on: only the unfinished pass is lost.

A state is a folder ``state-<iteration>`` with one bundle and, for a corpus in blocks,
the blocks' mixtures beside it. ``current.json`` names the folder that counts. The state
knows the fit it belongs to (model, parameters, corpus, version) and the checksum of
every file, so neither another fit nor a damaged file is taken up.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
from collections.abc import Mapping
from dataclasses import is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from topicfold._version import __version__
from topicfold.core.parameters import whole_number
from topicfold.engine.blocks.executor import prepare_blocks
from topicfold.exceptions import DataError, ModelFileError
from topicfold.learn.callbacks import Callback
from topicfold.persistence.atomic import sync_folder, write_atomically
from topicfold.persistence.bundle import Bundle, checksum, read_bundle, write_bundle

if TYPE_CHECKING:
    from topicfold.learn.loop import IterationState

KIND = "fit_state"
POINTER = "current.json"
# Parameters that may differ when a fit goes on: they do not change an iteration.
_FREE = ("max_iter", "tol", "n_jobs", "verbose", "callbacks")
# Values that are packed documents.
_DOCUMENTS = ("documents", "documents_before")
# No value of a fit is larger: models take counts up to 1e15, and this is their sum over
# ten billion entries. Larger ones overflow in the arithmetic of a pass.
_LARGEST = 1e25
_logger = logging.getLogger("topicfold")


class Resume(Callback):
    """Save the state of a fit every few iterations; go on from it if it is there.

    The result is that of a fit that was never stopped, bit for bit. Give the same
    model, data and random seed again; another corpus, model, parameter or version of
    topicfold is an error that names the difference. Only `max_iter`, `tol`, `n_jobs`,
    `verbose` and `callbacks` may change. A finished fit that is started again goes on
    too: with a higher `max_iter` it learns longer.

    Parameters
    ----------
    path : path-like
        Folder of the state; made when the fit starts.
    every : int, default=1
        Iterations between two saves. Mixtures on disk are linked, not copied, where
        the folder is on the same file system as the storage of the corpus; they are
        read once for their checksums.

    Attributes
    ----------
    resumed_at_ : int or None
        Iteration at which the last fit went on; None if it started from scratch.

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
        if not isinstance(path, str | os.PathLike):
            raise DataError(f"path={path!r} is not the name of a folder.")
        self.path = Path(path)
        self.every = whole_number(every, "every")
        self._fit: dict[str, str] = {}

    def on_fit(self, model: Any, X: Any) -> None:
        """Note what the fit is: model, parameters, corpus."""
        self._fit = {"model": type(model).__name__, "corpus": _corpus_digest(X)}
        self._fit |= {k: described(v) for k, v in _parameters(model).items()}

    def on_start(self, state: IterationState) -> None:
        """Take up a saved state."""
        self.resumed_at_: int | None = None
        algorithm: Any = state.algorithm
        if not hasattr(algorithm, "restore"):
            raise DataError(
                f"Resume does not work with {type(algorithm).__name__}, only with "
                "PLSA, OrthogonalPLSA, LDA, FSTM and models with sides. Use "
                "Checkpoint to save results."
            )
        self._identity = {
            **self._fit,
            "algorithm": type(algorithm).__name__,
            **{key: described(v) for key, v in algorithm.fingerprint().items()},
        }
        self._fit = {}
        started = dict(algorithm.state())  # raises where a state cannot be kept
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise DataError(
                f"{self.path} cannot be the folder of a state: {error.strerror}. Give "
                "a folder that you may write to, or the name of a new one."
            ) from error
        folder = self._current()
        if folder is None:
            return
        try:
            bundle = read_bundle(folder / "state.safetensors", kind=KIND)
            self._check_identity(bundle)
            values = _checked_values(bundle, started)
            for name in (key for key in _DOCUMENTS if key in started):
                values[name] = _load_documents(
                    algorithm.engine, folder, values, bundle, (name, started[name])
                )
            iteration = int(bundle.meta["iteration"])
            history = _checked_history(bundle.meta["history"], iteration)
            _check_sound(state, algorithm.restore(values))
        except DataError:
            raise
        except (KeyError, TypeError, ValueError, OSError, ArithmeticError) as error:
            raise ModelFileError(
                f"The state in {folder} is damaged ({error}). Remove {self.path} to "
                "start afresh."
            ) from error
        state.history[:] = history
        state.iteration = self.resumed_at_ = iteration
        _logger.info("resuming after iteration %d", state.iteration)

    def on_iteration(self, state: IterationState) -> None:
        """Save now and then; a fit that went on from nonsense ends here."""
        saves = state.iteration % self.every == 0
        if self.resumed_at_ is not None and (
            saves or state.iteration == self.resumed_at_ + 1
        ):
            try:
                _check_sound(state, state.objective)
            except ValueError as error:
                raise ModelFileError(
                    f"The fit cannot go on from the state in {self.path}: {error}. "
                    f"Remove {self.path} to start afresh."
                ) from error
        if saves:
            self._save(state)

    def _current(self) -> Path | None:
        pointer = self.path / POINTER
        if not os.path.lexists(pointer):
            return None
        try:
            name = json.loads(pointer.read_text(encoding="utf-8"))["state"]
            return self.path / Path(name).name
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            raise ModelFileError(
                f"{pointer} cannot be read: {error}. Remove {self.path} to start "
                "afresh."
            ) from error

    def _check_identity(self, bundle: Bundle) -> None:
        """Refuse the state of another fit, and say what is different."""
        mine = {"version of topicfold": __version__, **self._identity}
        saved = {
            "version of topicfold": bundle.topicfold_version,
            **bundle.meta.get("fit", {}),
        }
        changes = [
            f"{name} was {saved.get(name, 'not recorded')} and is now "
            f"{mine.get(name, 'not given')}"
            for name in dict.fromkeys([*mine, *saved])
            if name != "corpus" and saved.get(name) != mine.get(name)
        ]
        if saved.get("corpus") != mine.get("corpus"):
            changes.append("it was another corpus")
        drawn = any(change.startswith("data of ") for change in changes)
        if drawn and saved.get("random_state") == mine.get("random_state") == "None":
            changes.append(
                "no random_state was given, so a side draws different random numbers "
                "in every fit"
            )
        if changes:
            raise DataError(
                f"{self.path} has the state of another fit: {'; '.join(changes)}. Give "
                "the same model and data again, or remove the folder to start afresh."
            )

    def _save(self, state: IterationState) -> None:
        algorithm: Any = state.algorithm
        values = dict(algorithm.state())
        packed = {name: values.pop(name) for name in _DOCUMENTS if name in values}
        folder = self.path / f"state-{state.iteration:06d}"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        arrays = {k: v for k, v in values.items() if isinstance(v, np.ndarray)}
        files: dict[str, int] = {}
        for name, documents in packed.items():
            if hasattr(documents, "link_to"):
                documents.link_to(folder, name)
                files |= {p: checksum(folder / p) for p in documents.names(name)}
            else:
                arrays[name] = algorithm.engine.unpack_documents(documents)
        write_bundle(
            folder / "state.safetensors",
            kind=KIND,
            arrays=arrays,
            meta={
                "fit": self._identity,
                "values": {k: v for k, v in values.items() if k not in arrays},
                "history": list(state.history),
                "iteration": state.iteration,
                "files": files,
            },
        )
        sync_folder(self.path)
        text = json.dumps({"state": folder.name}).encode()
        # From this moment on the new state counts; before, the old one does.
        write_atomically(self.path / POINTER, lambda to: to.write_bytes(text))
        for old in self.path.glob("state-*"):
            if old != folder:
                shutil.rmtree(old, ignore_errors=True)


def _checked_history(values: Any, iteration: int) -> list[float]:
    """Return the objectives: that of the start, and one per iteration."""
    history = [float(value) for value in values]
    if len(history) != iteration + 1:
        raise ValueError("its history and its iteration do not match")
    return history


def _checked_values(bundle: Bundle, started: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a state that have the form of those at the start."""
    values: dict[str, Any] = {**bundle.meta["values"], **bundle.arrays}
    # The form of documents is that of their engine: `_load_documents` checks them.
    checked = {name: now for name, now in started.items() if name not in _DOCUMENTS}
    missing = sorted(checked.keys() - values.keys())
    if missing:
        raise ValueError(f"it has no {', '.join(missing)}")
    for name, now in checked.items():
        if isinstance(now, np.ndarray):
            signed = name.startswith("side ")
            _check_array(name, values[name], now.shape, now.dtype, signed=signed)
        else:
            _check_numbers(name, values[name], now)
    return values


def _check_array(
    name: str, value: Any, shape: tuple[int, ...], dtype: Any, *, signed: bool = False
) -> None:
    if not isinstance(value, np.ndarray) or value.shape != shape:
        raise ValueError(f"{name} does not have the shape {shape}")
    least = -_LARGEST if signed else 0.0
    sound = (value >= least) & (value <= _LARGEST)
    if value.dtype != dtype or not sound.all():
        raise ValueError(f"{name} has another type, or values that are invalid")


def _check_numbers(name: str, value: Any, now: Any) -> None:
    """Refuse what is not a number, or a list of numbers, like that of the start."""
    whole = isinstance(now, int | np.integer)
    numbers = value if isinstance(now, list) else [value]
    if not isinstance(numbers, list) or not all(
        type(number) is int or (type(number) is float and not whole)
        for number in numbers
    ):
        raise ValueError(f"{name} is not of type {type(now).__name__}")
    signed = isinstance(now, list) or name.startswith("side ")
    least = -_LARGEST if signed else 0
    if not all(least <= number <= _LARGEST for number in numbers):
        raise ValueError(f"{name} has a value that is invalid")


def _check_sound(state: IterationState, objective: float) -> None:
    """Refuse values that each could be those of a fit, but together make no topics."""
    topics = state.topics()
    if np.isnan(objective) or not (np.isfinite(topics) & (topics >= 0)).all():
        raise ValueError("with its values topics become NaN or infinite")


def _load_documents(
    engine: Any,
    folder: Path,
    values: dict[str, Any],
    bundle: Bundle,
    asked: tuple[str, Any],
) -> Any:
    """Return packed documents: those of the bundle, or files beside it."""
    key, started = asked
    if not hasattr(started, "link_to"):
        if "documents" not in values:
            raise ValueError("it has no documents")
        shape = (engine.n_documents, engine.n_topics)
        _check_array(key, values[key], shape, engine.dtype)
        return engine.pack_documents(values[key])
    files = bundle.meta["files"]
    if not isinstance(files, dict):
        raise ValueError("files is not a table of checksums")  # noqa: TRY004
    names = started.names(key)
    if sorted(name for name in files if name.startswith(f"{key}-")) != names:
        raise ValueError(f"its files are not those of the {len(started.blocks)} blocks")
    for name, block in zip(names, started.blocks, strict=True):
        path = folder / name
        if _npy_form(path) != _npy_form(Path(block.path)):
            raise ValueError(f"{name} has another shape")
        if checksum(path) != files[name]:
            raise ValueError(f"{name} has another checksum")
        rows = np.load(path, mmap_mode="r", allow_pickle=False)
        _check_array(name, rows, rows.shape, engine.dtype)
        if rows[:, engine.n_topics :].any():
            raise ValueError(f"{name} has values for topics that do not exist")
    return engine.adopt_documents(folder, key)


def _npy_form(path: Path) -> tuple[bytes, int]:
    """Return the header of a ``.npy`` file as it stands, and the size of the file."""
    with path.open("rb") as stream:
        start = stream.read(10)
        header = stream.read(int.from_bytes(start[8:10], "little"))
    return start + header, path.stat().st_size


def _parameters(estimator: Any) -> dict[str, Any]:
    """Return the parameters that change an iteration."""
    given = estimator.get_params(deep=False)
    return {name: value for name, value in given.items() if name not in _FREE}


def described(value: Any) -> str:
    """Return a short text that is another one for another value."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return repr(value)
    if isinstance(value, np.ndarray) and value.dtype.kind != "O":
        return f"an array of shape {value.shape} ({checksum(value):08x})"
    if sparse.issparse(value):
        return f"a matrix of shape {value.shape} ({_corpus_digest(value.tocsr())})"
    if hasattr(value, "block_rows"):
        return f"blocks ({_corpus_digest(value)})"
    if is_dataclass(value) and not isinstance(value, type):
        return f"{checksum(described(vars(value))):08x}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(described, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{k!r}: {described(v)}' for k, v in value.items())}}}"
    if isinstance(value, np.random.RandomState):
        state: Any = value.get_state(legacy=True)
        return f"a RandomState ({checksum(repr(state[2:]), checksum(state[1])):08x})"
    if hasattr(value, "get_params") and not isinstance(value, type):
        own = (f"{k}={described(v)}" for k, v in _parameters(value).items())
        return f"{type(value).__name__}({', '.join(own)})"
    if hasattr(value, "__qualname__"):
        return f"{value.__module__}.{value.__qualname__}"
    return type(value).__name__


def _corpus_digest(X: Any) -> str:
    """Return the checksum of a matrix, in blocks or not.

    Of what is in the blocks, not of their files: a state may go on with the same blocks
    in other files, or on a cluster.
    """
    if sparse.issparse(X):
        parts = [X.indptr, X.indices, X.data]
    else:
        blocks = prepare_blocks(X, threads=1).collect(_block_checksum)
        parts = [X.block_rows, X.indptr, X.document_frequencies, blocks]
    crc = 0
    for part in parts:
        crc = checksum(np.asarray(part), crc)
    return f"{crc:08x}"


def _block_checksum(block: sparse.csr_matrix) -> int:
    """Return the checksum of columns and counts, whatever type the columns have."""
    index = np.int32 if block.shape[1] < 2**31 else np.int64
    return checksum(block.data, checksum(block.indices.astype(index, copy=False)))
