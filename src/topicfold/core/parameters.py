# SPDX-License-Identifier: BSD-3-Clause
"""Constructor parameters: what is valid for them, and their descriptions, once.

Warnings name the line of the user, not one of the library.
"""

from __future__ import annotations

import difflib
import inspect
import re
import sys
import warnings
from collections.abc import Collection, Iterator, Mapping
from inspect import Parameter
from numbers import Integral, Real
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, get_args, get_origin

from sklearn.utils._param_validation import Interval

from topicfold.exceptions import DataError, DataWarning, MissingAttributeError

# Ranges of parameters.
NOT_NEGATIVE = Interval(Real, 0, None, closed="left")
POSITIVE = Interval(Real, 1e-12, 1e12, closed="both")  # squares stay finite
AT_LEAST_ONE = Interval(Real, 1, None, closed="left")
SHARE = Interval(Real, 0, 1, closed="both")
POSITIVE_SHARE = Interval(Real, 0, 1, closed="right")
MAX_TOPICS = 1_000_000  # more would only fill the memory, or the time
SHARE_BELOW_ONE = Interval(Real, 0, 1, closed="left")


class _Whole(Interval):
    """An interval of whole numbers; True and False are none of them."""

    def is_satisfied_by(self, value: Any) -> bool:
        return not isinstance(value, bool) and super().is_satisfied_by(value)


def whole(least: int, most: int | None = None) -> Interval:
    """Return the constraint that a parameter is a whole number between two."""
    return _Whole(Integral, least, most, closed="left" if most is None else "both")


def whole_number(value: Any, name: str, least: int = 1) -> int:
    """Return an argument of a function that must be a whole number, not too small."""
    if not whole(least).is_satisfied_by(value):
        raise DataError(f"{name}={value!r} must be a whole number, {least} or more.")
    return int(value)


def topic_number(topic: Any, n_topics: int) -> int:
    """Return an argument that must be the number of a topic."""
    if not whole(0).is_satisfied_by(topic) or topic >= n_topics:
        raise DataError(
            f"there is no topic {topic!r}. Give a number, 0 to {n_topics - 1}."
        )
    return int(topic)


def missing(self: Any, name: str) -> Any:
    """Raise the error for a name that is not found; properties keep theirs."""
    try:
        return object.__getattribute__(self, name)
    except AttributeError as error:
        fitted = name.endswith("_") and not name.startswith("_")
        if not fitted or error.name != name:
            raise
        raise MissingAttributeError(
            f"this {type(self).__name__} has no {name}: it is not fitted, was fitted "
            "with options that do not need it, or comes from a damaged file. Fit it "
            "again.",
            name=name,
            obj=self,
        ) from error


class FittedAttributes:
    """Mixin for what is saved: a sentence for a fitted attribute that is not there."""

    if not TYPE_CHECKING:  # else every name would pass for an attribute
        __getattr__ = missing


class DeclaredParameters:
    """Mixin for estimators: what is valid for parameters, described once.

    The constructor is written out in each class, ``self._store_parameters(locals())``
    its body. A class annotates the parameters that it adds: in ``weight:
    Annotated[float | None, POSITIVE]`` the rest says what is valid, by the constraints
    of scikit-learn; for a bool that is clear. A sub-class inherits constraints and
    entries in the docstring: it describes only what it adds or changes. Of parameters
    that are those of a step or a side, the `_part`, constraints and descriptions are
    taken from there. So does a method; what bases say of its parameters, or else
    `transform` or `fit`, is added. A sentence says which fitted attribute is missing.
    """

    if not TYPE_CHECKING:
        __getattr__ = missing

        def __new__(cls, *values: Any, **options: Any) -> Any:
            """Refuse a name that is not a parameter, with the one that is like it."""
            init: Any = cls.__init__
            if init is object.__init__ and (values or options):
                raise TypeError(f"{cls.__qualname__}() takes no arguments")
            known = inspect.signature(init).parameters
            strange = next((name for name in options if name not in known), None)
            if strange and not any(p.kind is p.VAR_KEYWORD for p in known.values()):
                raise TypeError(
                    f"{cls.__qualname__}.__init__() got an unexpected keyword argument "
                    f"{strange!r}{_meant(strange, known)}"
                )
            return super().__new__(cls)

    _part: ClassVar[Any] = None
    _parameter_constraints: dict[str, Any] = {}  # noqa: RUF012

    def __init_subclass__(cls, **options: Any) -> None:
        table = "_parameter_constraints"
        cls._parameter_constraints = dict(_own_constraints(cls)) | vars(cls).get(
            table, {}
        )
        merged: dict[str, Any] = dict(getattr(cls._part, table, {}))
        for base in reversed(cls.__mro__):
            merged |= vars(base).get(table, {})
        cls._parameter_constraints = merged
        _complete_docstring(cls)
        for name, method in vars(cls).items():
            if inspect.isfunction(method) and not name.startswith("_"):
                _complete_method(cls, name, method)
        super().__init_subclass__(**options)

    def _store_parameters(self, given: Mapping[str, Any]) -> None:
        """Store the arguments of a constructor as they are, its `locals()`."""
        for name, value in given.items():
            if name != "self":
                setattr(self, name, value)

    def _shared_with(self, cls: Any) -> dict[str, Any]:
        """Return the values here of the parameters that another class has, too."""
        own = self._get_param_names()  # type: ignore[attr-defined]
        return {n: getattr(self, n) for n in cls._get_param_names() if n in own}

    def _made_part(self) -> Any:
        """Return the part with the values that its parameters have here."""
        return self._part(**self._shared_with(self._part))


def _own_constraints(cls: type) -> Iterator[tuple[str, list[Any]]]:
    """Yield what is valid for the parameters that a class annotates with it."""
    for name, annotation in inspect.get_annotations(cls, eval_str=True).items():
        kind, limits = annotation, ["boolean"]
        origin: Any = get_origin(annotation)
        if origin is Annotated:
            kind, *limits = get_args(annotation)
        elif annotation is not bool and bool not in get_args(annotation):
            continue
        yield name, [*limits, None] if type(None) in get_args(kind) else limits


# Names of parameters in other libraries.
_ELSEWHERE = {
    **dict.fromkeys(("num_topics", "n_topics", "nr_topics", "k", "K"), "n_components"),
    **dict.fromkeys(("passes", "iterations", "n_iter", "num_iterations"), "max_iter"),
    **dict.fromkeys(("eta", "beta"), "topic_word_prior"),
    **dict.fromkeys(("workers", "num_workers"), "n_jobs"),
    "alpha": "doc_topic_prior",
    "seed": "random_state",
}


def _meant(strange: str, parameters: Collection[str]) -> str:
    """Return a hint for a name that is not a parameter, if one is like it."""
    near = [name for name in (_ELSEWHERE.get(strange, ""),) if name in parameters]
    near = near or difflib.get_close_matches(strange, parameters, n=1)
    return f". Did you mean {near[0]}?" if near else ""


def _complete_docstring(cls: Any) -> None:
    """Add what bases say of parameters and attributes that the docstring leaves out."""
    if vars(cls).get("__doc__") is None:
        return  # none, or python -OO
    parameters = dict(inspect.signature(cls.__init__).parameters)
    del parameters["self"]
    cls.__doc__ = doc = inspect.cleandoc(cls.__doc__ or "")
    place, other = (_section(t).search(doc) for t in ("Parameters", "Attributes"))
    if other and not place:
        first = other.start()
        cls.__doc__ = f"{doc[:first]}Parameters\n----------\n\n\n{doc[first:]}"
    if place and not other:
        heading = "\n\nAttributes\n----------\n"
        cls.__doc__ = doc[: place.end()] + heading + doc[place.end() :]
    bases = [
        b.__doc__ or "" for b in cls.__mro__[1:] if issubclass(b, DeclaredParameters)
    ]
    for title in ("Parameters", "Attributes"):
        own, inherited = _entries(cls.__doc__, title), dict[str, str]()
        if title == "Parameters":  # what a part has learned is not in the whole
            inherited |= _entries(getattr(cls._part, "__doc__", None) or "", title)
        for base in reversed(bases):
            inherited |= _entries(base, title)
        if title == "Parameters":
            usual = {
                name: _with_default(inherited[name], parameter.default)
                for name, parameter in parameters.items()
                if name in inherited
            }
            names = [*parameters, *own]
        else:
            usual, names = inherited, [*own, *inherited]
        told = dict.fromkeys((usual | own).get(name, "") for name in names)
        body = "\n".join(filter(None, told))
        cls.__doc__ = _section(title).sub(lambda found: found[1] + body, cls.__doc__)  # noqa: B023


def _complete_method(cls: type, name: str, method: Any) -> None:
    """Add what bases, or else `transform` or `fit`, say of a method's parameters."""
    doc = inspect.cleandoc(method.__doc__ or "")
    told: dict[str, str] = {}
    bases = [b for b in reversed(cls.__mro__) if issubclass(b, DeclaredParameters)]
    for source in ("fit", "transform", name):
        for base in bases:
            text = getattr(vars(base).get(source), "__doc__", None)
            told |= _entries(text or "", "Parameters")
    names = [
        f"**{n}" if p.kind is Parameter.VAR_KEYWORD else n
        for n, p in inspect.signature(method).parameters.items()
    ]
    own = _entries(doc, "Parameters")
    if not doc or all(n in own for n in names if n in told):
        return
    told |= own
    body = "\n".join(dict.fromkeys(told[n] for n in names if n in told))
    if own:
        method.__doc__ = _section("Parameters").sub(lambda found: found[1] + body, doc)
        return
    head, line, rest = doc.partition("\n\nReturns\n---")
    method.__doc__ = f"{head}\n\nParameters\n----------\n{body}{line}{rest}"


def _section(title: str) -> re.Pattern[str]:
    following = r"(?=\n\n\S[^\n]*\n---|\s*\Z)"
    return re.compile(rf"^({title}\n-+\n)(.*?){following}", re.MULTILINE | re.DOTALL)


def _entries(docstring: str, title: str) -> dict[str, str]:
    """Return the entries of a numpydoc section by name; several names may share one."""
    found = _section(title).search(inspect.cleandoc(docstring))
    texts = re.split(r"\n(?=\S)", found[2]) if found else []
    return {
        name.strip(): text
        for text in texts
        for name in text.partition("\n")[0].partition(" :")[0].split(",")
    }


def _with_default(entry: str, default: Any) -> str:
    value = f'"{default}"' if isinstance(default, str) else repr(default)
    return re.sub(r"default=.*", lambda found: f"default={value}", entry, count=1)


def warn_caller(text: str) -> None:
    """Warn of data at the line outside topicfold and scikit-learn."""
    warnings.warn(text, DataWarning, stacklevel=level_of_caller())


def level_of_caller() -> int:
    """Return the `stacklevel` of the line outside topicfold and scikit-learn."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None:
        room = frame.f_globals.get("__name__", "").partition(".")[0]
        if room not in ("topicfold", "sklearn", "joblib"):
            break
        frame, level = frame.f_back, level + 1
    return level


def few_topics(n_documents: int) -> int:
    """Return a number of topics that suits few documents, for advice.

    Examples
    --------
    >>> few_topics(15), few_topics(120), few_topics(9000)
    (2, 12, 20)
    """
    return min(20, max(n_documents // 10, min(2, n_documents)))
