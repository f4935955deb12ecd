# SPDX-License-Identifier: BSD-3-Clause
"""The data of sides in scikit-learn's metadata routing.

What a model takes depends on its sides, so its methods take ``**side_data``, and
scikit-learn finds no names there. The data of a side are asked for by default, by every
method that takes them; ``set_fit_request`` and its like change that.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sklearn import get_config

# Methods that take the data of sides, where a model has them.
METHODS = ("fit", "transform", "score", "predict", "predict_proba")


def with_sides(model: Any, request: Any) -> Any:
    """Return a request with the data of the model's sides.

    What is to be predicted is asked for in `fit` alone. What the user has set stays.
    """
    hidden = model._predicted()
    for keyword in model._keywords(model._all_sides()):
        for method in METHODS:
            own = getattr(request, method)
            if own.requests.get(keyword) is None and hasattr(model, method):
                wanted = method == "fit" or keyword not in hidden
                own.add_request(param=keyword, alias=wanted)
    # A pipeline hands its own None on, and refuses a score that has no such name.
    request.score.add_request(param="sample_weight", alias=None)
    if model._weighs_documents and "sample_weight" not in request.fit.requests:
        request.fit.add_request(param="sample_weight", alias=None)
    return request


def add_setters(cls: type) -> None:
    """Give a class ``set_fit_request`` and its like, which know its models' sides."""
    for method in METHODS:
        if callable(getattr(cls, method, None)):
            setattr(cls, f"set_{method}_request", _setter(method))


def _setter(method: str) -> Callable[..., Any]:
    def set_request(self: Any, **requests: Any) -> Any:
        if not get_config()["enable_metadata_routing"]:
            raise RuntimeError(
                f"set_{method}_request works with metadata routing. Enable it: "
                "sklearn.set_config(enable_metadata_routing=True)."
            )
        found = self._get_metadata_request()
        own = getattr(found, method)
        wrong = [name for name in requests if name not in own.requests]
        if wrong:
            raise TypeError(
                f"{type(self).__name__}.{method} takes no {wrong[0]!r}. It takes "
                f"{', '.join(sorted(own.requests)) or 'no data of sides'}."
            )
        for name, alias in requests.items():
            own.add_request(param=name, alias=alias)
        self._metadata_request = found
        return self

    set_request.__name__ = f"set_{method}_request"
    set_request.__qualname__ = f"SidedModel.set_{method}_request"
    set_request.__doc__ = f"""Say which data of sides routing gives to `{method}`.

        Parameters
        ----------
        **requests : bool, str or None
            By the keyword of a side: True to ask for its data, False not to, None to
            have scikit-learn raise an error if they are given, or the name that they
            have elsewhere.

        Returns
        -------
        self
            The model.
        """
    return set_request
