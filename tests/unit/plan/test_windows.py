"""Window arithmetic against the definition: would catch a window too many or too few at its edges.

The compiled functions are those of Python, and are tried on the same times.
"""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit

from hamlet.kernel import windowing
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
