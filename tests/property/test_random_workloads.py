"""The engine against the reference: random workloads over random small streams.

The reference writes every trend down, from the definition; the engine never sees one. Would catch a
pattern, predicate, negation, window or aggregate, alone or together with others, that the compiled
program treats differently from its meaning; a result that depends on sharing, on the kind of
numbers or on the order of the rows.
"""

from __future__ import annotations

from conformance import bound_queries, differences, engine_rows, scaled_reference_rows
from hypothesis import HealthCheck, assume, given, settings
from random_workloads import Sample, samples

QUICK = settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def is_valid(sample: Sample) -> bool:
    try:
        bound_queries(sample.workload)
    except AssertionError:
        return False
    return True


def check(sample: Sample) -> None:
    expected = scaled_reference_rows(sample.workload, sample.events, sample.order)
    in_order = sorted(sample.events, key=lambda event: event["time"])
    wrong = []
    for numbers in ("exact", "float"):
        for sharing, events in (("always", sample.events), ("never", in_order)):
            options = {"numbers": numbers, "sharing": sharing}
            rows = engine_rows(sample.workload, events, sample.order, **options)
            wrong += [
                f"{numbers}, {sharing}: {line}" for line in differences(expected, rows, numbers)
            ]
    assert not wrong, "\n".join([str(sample), *wrong])


@QUICK
@given(samples())
def test_engine_equals_the_reference(sample: Sample) -> None:
    assume(is_valid(sample))
    check(sample)
