# SPDX-License-Identifier: BSD-3-Clause
"""Save and load estimators without pickle.

Saved are the constructor's parameters and the fitted attributes (those ending in
``_``), of the estimator and of every topicfold object inside it. Loading calls the
constructor and sets the attributes; classes are looked up only inside topicfold, so
a file from a stranger cannot run code.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from topicfold.exceptions import ModelFileError
from topicfold.persistence._values import ValueReader, ValueWriter
from topicfold.persistence.bundle import Bundle, read_bundle, write_bundle

KIND = "estimator"
_EXTRA = "extra/"
_NONSENSE = (
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
    OverflowError,
    RecursionError,
)
logger = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class SavedEstimator:
    """An estimator read from a file, with what was saved beside it.

    Attributes
    ----------
    model : object
        The estimator.
    arrays, strings, meta : dict
        The extras given to `save_estimator`.
    unsaved_parameters : tuple of str
        Parameters that could not be saved and are None now, as ``"step.callback"``.
    topicfold_version : str
        Version of topicfold that wrote the file.
    """

    model: Any
    arrays: dict[str, NDArray[Any]]
    strings: dict[str, list[str]]
    meta: dict[str, Any]
    unsaved_parameters: tuple[str, ...]
    topicfold_version: str


def save_estimator(
    model: Any,
    path: str | os.PathLike[str],
    *,
    extra_arrays: Mapping[str, NDArray[Any]] | None = None,
    extra_strings: Mapping[str, Sequence[str]] | None = None,
    extra_meta: Mapping[str, Any] | None = None,
) -> Path:
    """Save an estimator of topicfold, fitted or not, to one file.

    A parameter that no file can hold (a function, a random generator) is an error
    that names it, unless the class lists it in ``_unsaved_parameters``: then None is
    saved in its place, which is logged and noted in the file.

    Parameters
    ----------
    model : estimator
        An object of a class of topicfold with ``get_params``.
    path : str or path
        A file ending in ``.safetensors``, or a folder; see `write_bundle`.
    extra_arrays, extra_strings, extra_meta : mapping, optional
        More to keep beside the model, for example its vocabulary.

    Returns
    -------
    Path
        The file written.

    Raises
    ------
    ModelFileError
        If something cannot be saved; nothing is written then.

    Examples
    --------
    >>> from sklearn.decomposition import PCA
    >>> save_estimator(PCA(), "pca.safetensors")
    Traceback (most recent call last):
    topicfold.exceptions.ModelFileError: Cannot save the PCA. ...
    """
    writer = ValueWriter()
    # An estimator that holds another package's objects gives a copy without them.
    model = model._to_save() if hasattr(model, "_to_save") else model
    node = writer.encode_estimator(model, "", type(model).__name__)
    if writer.unsaved:
        logger.warning(
            "%s is saved without the parameters %s; they are None after loading.",
            type(model).__name__,
            ", ".join(writer.unsaved),
        )
    return write_bundle(
        path,
        kind=KIND,
        arrays={**writer.arrays, **_as_extras(extra_arrays)},
        strings={**writer.strings, **_as_extras(extra_strings)},
        meta={
            "model": node,
            "unsaved_parameters": writer.unsaved,
            "extra": dict(extra_meta or {}),
        },
    )


def load_estimator(path: str | os.PathLike[str]) -> Any:
    """Load an estimator saved by `save_estimator`.

    Parameters
    ----------
    path : str or path
        The file, or the folder that has it.

    Returns
    -------
    estimator
        Ready to use, without a new fit if it was fitted. A parameter that the file
        does not have yet (it came with a later version) has its default.

    Raises
    ------
    ModelFileError
        If the file cannot be read, is damaged or not consistent, or names a class
        outside topicfold.

    See Also
    --------
    read_estimator : The same with the extras.

    Examples
    --------
    >>> import tempfile
    >>> import topicfold
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = topicfold.PLSA(n_components=3).fit([[2, 1], [1, 3]]).save(folder)
    ...     topicfold.load(folder)
    PLSA(n_components=3)
    """
    return read_estimator(path).model


def read_estimator(path: str | os.PathLike[str]) -> SavedEstimator:
    """Load an estimator and what was saved beside it.

    Parameters
    ----------
    path : str or path
        The file, or the folder that has it.

    Returns
    -------
    SavedEstimator
        The estimator, the extras, and the parameters that were not saved.
    """
    bundle = read_bundle(path, kind=KIND)
    try:
        return _restore(bundle)
    except ModelFileError as error:
        raise ModelFileError(f"Cannot load {Path(path)}: {error}") from error
    except _NONSENSE as error:
        raise ModelFileError(
            f"Cannot load {Path(path)}: what it says of the estimator makes no sense "
            f"({error!r}). Save the model again, with this version of topicfold."
        ) from error


def _restore(bundle: Bundle) -> SavedEstimator:
    reader = ValueReader(bundle.arrays, bundle.strings)
    meta = bundle.meta
    return SavedEstimator(
        model=reader.decode_estimator(meta["model"]),
        arrays=_extras(bundle.arrays),
        strings=_extras(bundle.strings),
        meta=dict(meta["extra"]),
        unsaved_parameters=tuple(meta["unsaved_parameters"]),
        topicfold_version=bundle.topicfold_version,
    )


def _as_extras(items: Mapping[str, Any] | None) -> dict[str, Any]:
    return {_EXTRA + name: value for name, value in (items or {}).items()}


def _extras(items: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name.removeprefix(_EXTRA): value
        for name, value in items.items()
        if name.startswith(_EXTRA)
    }
