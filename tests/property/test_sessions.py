"""Random workloads over random streams in sessions: would catch whatever a cut can change.

The same rows in any order, any cut into tables, any times of release within the promise, any
restore, and any number of pages, loaded as needed, must give the very rows of one run, and those
of the reference.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest
from conformance import differences, scaled_reference_rows
from hypothesis import HealthCheck, assume, given
from hypothesis import strategies as st
from random_workloads import Sample, samples
from sampling import random_sample
from streaming import Stream, by_a_host, check_equal, in_pieces
from test_random_workloads import is_valid

if TYPE_CHECKING:
    from hamlet.plan.number_mode import Numbers

QUICK = random_sample(40, suppress_health_check=[HealthCheck.too_slow])


@pytest.mark.parametrize("numbers", ["exact", "float"])
@QUICK
@given(sample=samples(), seed=st.integers(0, 2**32), pages=st.sampled_from([1, 2, 3, 7]))
def test_sessions_equal_one_run_and_the_reference(
    numbers: Numbers, sample: Sample, seed: int, pages: int
) -> None:
    assume(is_valid(sample))
    chance = random.Random(seed)
    sharing = chance.choice(["dynamic", "always", "never"])
    options = {"order": sample.order, "numbers": numbers, "sharing": sharing}
    stream = Stream(sample.workload, sample.events, **options)
    expected = scaled_reference_rows(sample.workload, sample.events, sample.order)

    results = [in_pieces(stream, chance, pages), by_a_host(stream, chance, pages)]

    for result in results:
        wrong = differences(expected, result.table.to_pylist(), numbers)
        assert not wrong, "\n".join([str(sample), *wrong])
        if numbers == "exact":
            check_equal(result, stream.at_once())
