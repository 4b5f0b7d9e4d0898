"""Windows of local days, around the days on which clocks are changed, against the reference.

Would catch an event in the wrong day, a day that begins or ends at the wrong moment, two events
that become simultaneous or change places in the hour that comes twice, and a session that closes a
window of such a day too early or too late.
"""

from __future__ import annotations

import random
from datetime import UTC, datetime

import numpy as np
import pytest
from conformance import differences, engine_rows, scaled_reference_rows
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from sampling import random_sample
from streaming import Stream, by_a_host, in_pieces

from hamlet import Workload
from hamlet.plan.clocks import Clock

ZONES = (
    "Europe/Rome",
    "America/New_York",
    "America/St_Johns",
    "Australia/Lord_Howe",
    "America/Sao_Paulo",
    "Asia/Tokyo",
    "Asia/Kathmandu",
    "Africa/Cairo",
    "Pacific/Apia",
)
# Days around changes of clocks in these zones, and an ordinary one
DAYS = [
    datetime(2026, 3, 29, tzinfo=UTC),
    datetime(2026, 10, 25, tzinfo=UTC),
    datetime(2026, 3, 8, tzinfo=UTC),
    datetime(2018, 11, 4, tzinfo=UTC),
    datetime(2018, 2, 18, tzinfo=UTC),
    datetime(2010, 11, 7, tzinfo=UTC),
    datetime(1969, 12, 31, tzinfo=UTC),
    datetime(2011, 12, 30, tzinfo=UTC),  # which Samoa left out
]
LENGTHS = (
    "1 d", "2 d", "2 d SLIDE 1 d", "3 d SLIDE 2 d OFFSET 1 d", "1 week", "2 weeks SLIDE 1 week",
)  # fmt: skip
QUERIES = (
    "RETURN COUNT(*), AVG(LENGTH) PATTERN A+",
    "RETURN COUNT(*), SUM(A.x) PATTERN A+ WHERE A.x < NEXT(A).x",
    "RETURN COUNT(*) PATTERN SEQ(A, NOT C, B+) GROUPBY g",
    "RETURN COUNT(*) PATTERN SEQ(A, NOT C)",
)


@st.composite
def samples(draw):
    texts = st.builds(
        lambda query, length, zone: f"{query} WITHIN {length} IN '{zone}'",
        st.sampled_from(QUERIES),
        st.sampled_from(LENGTHS),
        st.sampled_from(ZONES),
    )
    begin = int(draw(st.sampled_from(DAYS)).timestamp())
    times = st.integers(-60, 100).map(lambda half_hours: begin + 1800 * half_hours)
    events = st.fixed_dictionaries(
        {
            "type": st.sampled_from("AABC"),
            "time": st.one_of(times, times.map(lambda time: time - 1)),
            "x": st.integers(0, 3),
            "g": st.sampled_from("uv"),
        }
    )
    queries = draw(st.lists(texts, min_size=1, max_size=3))
    return ";\n".join(queries), draw(st.lists(events, max_size=9))


QUICK = random_sample(100, suppress_health_check=[HealthCheck.too_slow])


@QUICK
@given(samples(), st.integers(0, 2**32))
def test_windows_of_local_days_are_those_of_the_reference(sample, seed):
    text, events = sample
    expected = scaled_reference_rows(text, events)

    for numbers in ("exact", "float"):
        wrong = differences(expected, engine_rows(text, events, numbers=numbers), numbers)
        assert not wrong, "\n".join([text, *map(str, events), *wrong])

    stream, chance = Stream(text, events), random.Random(seed)
    for result in (in_pieces(stream, chance, 2), by_a_host(stream, chance, 3)):
        wrong = differences(expected, result.table.to_pylist(), "exact")
        assert not wrong, "\n".join([text, *map(str, events), *wrong])


@pytest.mark.parametrize("zone", [*ZONES, "Pacific/Apia", "America/Toronto", None])
@random_sample(50)
@given(
    times=st.lists(st.integers(-(10**16), 10**16), min_size=1, max_size=20),
    step=st.integers(1, 10**12),
)
def test_a_clock_keeps_the_order_of_moments_and_comes_back_to_them(zone, times, step):
    clock = Clock(5 if zone is None else 0, zone)
    ts = np.unique(np.array([time + step * k for time in times for k in (0, 1)], np.int64))

    shown = clock.times(ts)

    assert (np.diff(shown) > 0).all()
    assert clock.moments(shown).tolist() == ts.tolist()


def test_a_day_that_a_calendar_lacks_is_over_when_it_begins():
    """Samoa went from 2011-12-29 to 2011-12-31; the windows begin on the 30th, 31st and 1st."""
    event = {"type": "A", "time": int(datetime(2011, 12, 31, 12, tzinfo=UTC).timestamp())}
    text = "RETURN COUNT(*) PATTERN A WITHIN 3 d SLIDE 1 d IN 'Pacific/Apia'"

    results = Workload.parse(text).run([event])

    spans = zip(
        *(results.wide("q1")[f"window_{end}"].to_pylist() for end in ("start", "end")), strict=True
    )
    days = [tuple(datetime.fromtimestamp(time, UTC) for time in span) for span in spans]
    assert days == [
        (datetime(2011, 12, 30, 10, tzinfo=UTC), datetime(2012, 1, 1, 10, tzinfo=UTC)),
        (datetime(2011, 12, 30, 10, tzinfo=UTC), datetime(2012, 1, 2, 10, tzinfo=UTC)),
        (datetime(2011, 12, 31, 10, tzinfo=UTC), datetime(2012, 1, 3, 10, tzinfo=UTC)),
    ]
    assert results.table.select(["window_start", "window_end"]) == results.wide("q1").select(
        ["window_start", "window_end"]
    )
