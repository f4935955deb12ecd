# SPDX-License-Identifier: BSD-3-Clause
"""Dates as people write them."""

import numpy as np
import pytest

from topicfold.core.times import parse_times


@pytest.mark.parametrize(
    "text",
    [
        "2001-05-03",
        "2001/05/03",
        "03.05.2001",
        "3 May 2001",
        "May 3, 2001",
        "2001-05-03T10:00:00+02:00",
        "Thu, 03 May 2001 10:00:00 +0200",
    ],
)
def test_dates(text):
    found = parse_times([text, ""])
    assert found[0].astype("datetime64[D]") == np.datetime64("2001-05-03")
    assert np.isnat(found[1])


def test_day_and_month_in_either_order():
    found = parse_times(["13/05/2001", "03/05/2001"])
    assert found[1] == np.datetime64("2001-05-03")
    assert parse_times(["05/13/2001", "05/03/2001"])[1] == found[1]
    assert parse_times(["03/05/2001"]) is None  # nobody can tell


def test_midnights_are_days():
    found = parse_times(["2001-05-03T00:00:00", "", "2001-05-04T00:00:00"])
    assert found.dtype == "datetime64[D]"
    assert (
        parse_times(["2001-05-03T00:00:00", "2001-05-03T06:00:00"])[1].item().hour == 6
    )
    assert parse_times(["2001-05"]).dtype == "datetime64[M]"


def test_numbers_and_nonsense():
    np.testing.assert_array_equal(parse_times(["1999", ""]), [1999, np.nan])
    assert parse_times(["soon"]) is None
    assert parse_times(None) is None
