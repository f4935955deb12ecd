# SPDX-License-Identifier: BSD-3-Clause
"""Times of documents as they stand in files."""

from __future__ import annotations

import datetime
import email.utils
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Dates that are written in one way only; of two that can be taken for each other, such
# as 03/05/2001, that which fits every document.
_PATTERNS = (
    *("%Y/%m/%d", "%d.%m.%Y", "%d %B %Y", "%d %b %Y", "%B %d, %Y", "%b %d, %Y"),
    *("%B %Y", "%b %Y"),
)
# After a time of day: 10:00Z, 10:00+02:00, 10:00 +0200.
_ZONE = re.compile(r"(?<=\d:\d\d)(:[\d.]+)? ?(?:Z|[+-]\d\d:?\d\d)$")
_TURNED = ("%m/%d/%Y", "%d/%m/%Y")


def parse_times(values: Sequence[str] | None) -> NDArray[Any] | None:
    """Return times as numbers or dates; None if they are neither, or all unknown.

    Dates are in ISO 8601, as in mails (RFC 5322), or such as 2001/05/03, 3 May 2001,
    May 3, 2001 and 03.05.2001; ``""`` is unknown and becomes NaN or NaT. Dates such as
    03/05/2001 are taken if only one order of day and month fits all of them.
    """
    texts = [value.strip() for value in values or ()]
    if not any(texts):
        return None
    try:
        numbers = np.array([float(text) if text else np.nan for text in texts])
    except ValueError:
        pass
    else:
        return None if np.isinf(numbers).any() else numbers
    try:
        # NumPy knows no time zones; a day more or less does not matter here.
        plain = [_ZONE.sub(r"\1", text) for text in texts]
        known = np.array([np.datetime64(text) for text in plain if text])
    except ValueError:
        return _parse_dates(texts)
    # In the finest unit that occurs; a missing time has none of its own.
    found = np.array([text or "NaT" for text in plain], dtype=known.dtype)
    days = found.astype("datetime64[D]")
    # Spreadsheets and data frames write days as midnights.
    midnights = (
        known.dtype > np.dtype("datetime64[D]")
        and not ((found != days) & ~np.isnat(found)).any()
    )
    return days if midnights else found


def unreadable(texts: Sequence[str]) -> str:
    """Return the first of some times that is neither a number nor a date on its own.

    The first of all, if they only do not go together.
    """
    known = [text for text in texts if text.strip()] or [""]
    return next((text for text in known if parse_times([text]) is None), known[0])


def _parse_dates(texts: list[str]) -> NDArray[Any] | None:
    """Return the days of dates that are not in NumPy's form."""
    readers: list[Callable[[str], datetime.datetime]] = [
        datetime.datetime.fromisoformat,
        email.utils.parsedate_to_datetime,
        *(_reader(pattern) for pattern in _PATTERNS),
    ]
    for read in readers:
        days = _days(texts, read)
        if days is not None:
            return days
    turned = [_days(texts, _reader(pattern)) for pattern in _TURNED]
    fitting = [days for days in turned if days is not None]
    return fitting[0] if len(fitting) == 1 else None


def _reader(pattern: str) -> Callable[[str], datetime.datetime]:
    return lambda text: datetime.datetime.strptime(text, pattern)


def _days(
    texts: list[str], read: Callable[[str], datetime.datetime]
) -> NDArray[Any] | None:
    try:
        days = [read(text).date().isoformat() if text else "NaT" for text in texts]
    except (ValueError, TypeError, IndexError):
        return None
    return np.array(days, dtype="datetime64[D]")
