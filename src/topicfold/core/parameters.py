# SPDX-License-Identifier: BSD-3-Clause
"""Constructor parameters of earlier versions: they warn, and still take effect.

scikit-learn's idiom (``name="deprecated"`` in the signature) would keep every name in
the signature, in `get_params` and in the documentation. Here the signature has only
today's parameters: its wrapper takes the earlier ones aside.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Self


class EarlierParameters:
    """Mixin for estimators whose constructor took more parameters once.

    A class lists the names that it no longer has in `_earlier_parameters`, each with
    what to do instead. A value given for one becomes an attribute of the instance,
    which hides the constant of that name of the class; `get_params` then has it, so
    that clones and saved files keep it.
    """

    _earlier_parameters: ClassVar[Mapping[str, str]] = {}

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "__init__" in vars(cls):
            cls.__init__ = _taking_earlier(vars(cls)["__init__"])  # type: ignore[method-assign]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters, with those of an earlier version that were given.

        Parameters
        ----------
        deep : bool, default=True
            Also return the parameters of estimators that are parameters.
        """
        parameters: dict[str, Any] = super().get_params(deep)  # type: ignore[misc]
        given = vars(self)
        return parameters | {
            name: given[name] for name in self._earlier_parameters if name in given
        }

    def set_params(self, **parameters: Any) -> Self:
        """Set parameters, also those of an earlier version, which warn.

        Parameters
        ----------
        **parameters
            Names and values; ``graph__n_neighbors`` is the `n_neighbors` of `graph`.
        """
        self._take_earlier(parameters)
        super().set_params(**parameters)  # type: ignore[misc]
        return self

    def _take_earlier(self, parameters: dict[str, Any]) -> None:
        """Take the earlier parameters out, warn of each and keep its value."""
        for name in [name for name in parameters if name in self._earlier_parameters]:
            warnings.warn(
                f"The parameter {name} of {type(self).__name__} will be gone in "
                f"version 0.3: {self._earlier_parameters[name]}.",
                FutureWarning,
                stacklevel=3,
            )
            setattr(self, name, parameters.pop(name))

    @classmethod
    def _of_saved(cls, parameters: Mapping[str, Any]) -> Self:
        """Return the estimator of a file's parameters, which may be earlier ones."""
        current = cls._current_parameters(dict(parameters))
        earlier = {n: current.pop(n) for n in cls._earlier_parameters if n in current}
        model = cls(**current)
        for name, value in earlier.items():
            setattr(model, name, value)
        return model

    @classmethod
    def _current_parameters(cls, parameters: dict[str, Any]) -> dict[str, Any]:
        """Leave out the earlier parameters that are what the class's constants are."""
        return {
            name: value
            for name, value in parameters.items()
            if name not in cls._earlier_parameters or value != getattr(cls, name, ...)
        }


def _taking_earlier(init: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(init)
    def __init__(self: Any, *values: Any, **parameters: Any) -> None:
        earlier = {n: v for n, v in parameters.items() if n in self._earlier_parameters}
        for name in earlier:
            del parameters[name]
        init(self, *values, **parameters)
        self._take_earlier(earlier)

    return __init__
