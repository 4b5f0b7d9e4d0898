"""Window arithmetic against the definition: would catch a window too many or too few at its edges.

The compiled functions are those of Python, and are tried on the same times. Days of a zone begin
where dates do.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit

from hamlet.kernel import windowing
from hamlet.plan.clocks import CALENDAR_DAY_US, Clock
from hamlet.plan.local_times import DAY_US, HOUR_US, date
from hamlet.plan.windows import end_of_window, first_window, last_ended, last_window, overlap

lengths = st.tuples(st.integers(1, 60), st.integers(1, 60)).filter(lambda pair: pair[1] <= pair[0])


@settings(deadline=None)
@given(st.integers(-200, 200), lengths)
def test_windows_of_a_time_are_those_that_have_it(ts: int, lengths: tuple[int, int]) -> None:
    within, slide = lengths
    numbers = range(-400, 400)
    having = [i for i in numbers if i * slide <= ts < i * slide + within]
    ended = [i for i in numbers if i * slide + within <= ts]

    assert first_window(ts, within, slide) == having[0]
    assert last_window(ts, slide) == having[-1]
    assert last_ended(ts, within, slide) == ended[-1]
    assert end_of_window(ended[-1], within, slide) <= ts
    assert len(having) <= overlap(within, slide)


@settings(deadline=None)
@given(lengths)
def test_overlap_is_reached(lengths: tuple[int, int]) -> None:
    within, slide = lengths
    ts = np.arange(slide)

    most = last_window(ts, slide) - first_window(ts, within, slide) + 1

    assert most.max() == overlap(within, slide)


@njit
def compiled_windows(ts, within, slide):
    return (
        windowing.first_window(ts, within, slide),
        windowing.last_window(ts, slide),
        windowing.overlap(within, slide),
    )


@settings(deadline=None)
@given(st.integers(-200, 200), lengths)
def test_compiled_functions_find_the_same(ts: int, lengths: tuple[int, int]) -> None:
    within, slide = lengths
    expected = (first_window(ts, within, slide), last_window(ts, slide), overlap(within, slide))

    assert compiled_windows(ts, within, slide) == expected


@pytest.mark.parametrize("year", [-3000, 2026, 12000])
def test_calendar_windows_have_the_days_that_dates_are_in_any_year(year: int):
    summer = (year - 1970) * 31_556_952_000_000 // DAY_US * DAY_US + 26 * 7 * DAY_US
    moments = [
        summer + day * DAY_US + half * HOUR_US // 2 for day in range(3) for half in range(48)
    ]

    for zone in ("America/New_York", "Europe/Rome", "Asia/Tokyo"):
        shown = Clock(zone=zone).times(np.array(moments, np.int64)) // CALENDAR_DAY_US

        assert shown.tolist() == [date(ts, zone) // DAY_US for ts in moments]
