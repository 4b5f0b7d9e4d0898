"""The engine against the reference: random workloads over random small streams.

The reference writes every trend down, from the definition; the engine never sees one. Would catch a
pattern, predicate, negation, window or aggregate, alone or together with others, that the compiled
program treats differently from its meaning; a result that depends on sharing, on the kind of
numbers or on the order of the rows.
"""

from __future__ import annotations

from collections import Counter

import pytest
from conformance import bound_queries, differences, engine_rows, scaled_reference_rows
from hypothesis import HealthCheck, Phase, assume, given, settings
from random_workloads import Sample, samples
from sampling import random_sample

QUICK = random_sample(80, suppress_health_check=[HealthCheck.too_slow])


def is_valid(sample: Sample) -> bool:
    try:
        bound_queries(sample.workload)
    except AssertionError:
        return False
    return True


FEATURES = (
    "several queries", "DEFINE", "ANY", "AND", "OR", "+", "?", "*", "{", "NOT", "NOT of several",
    "edge inside NOT", "edges", "general edge", "rearranged edge", "local", "equivalence",
    "GROUPBY", "HAVING", "computed", "VARIANCE", "STDDEV", "LENGTH", "DURATION", "uneven slide",
    "ties", "NEXT", "CONTIGUOUS",
)  # fmt: skip


WORDS = (
    "DEFINE", "AND", "ANY", "?", "{", "OR", "+", "NOT", "GROUPBY", "HAVING", "VARIANCE", "STDDEV",
    "LENGTH", "DURATION", "CONTIGUOUS",
)  # fmt: skip


def features(sample: Sample) -> set[str]:
    queries = bound_queries(sample.workload)
    found = {"several queries"} if len(queries) > 1 else set()
    times = Counter((event["time"], event["seq"] if sample.order else 0) for event in sample.events)
    found |= {"ties"} if times and max(times.values()) > 1 else set()
    found |= {word for word in WORDS if word in sample.workload}
    found |= (
        {"*"} if "*" in sample.workload.replace("COUNT(*)", "").partition("PATTERN")[2] else set()
    )
    found |= {"NEXT"} if "MATCH NEXT" in sample.workload else set()
    for query in queries:
        negated = {place.index for place in query.places if place.negation is not None}
        has = {
            "NOT of several": len(negated) > len(query.negations),
            "edge inside NOT": any(p in negated for (p, _), _ in query.adjacent),
            "edges": len(query.edge_predicates) > 1,
            "general edge": not all(edge.is_ordered for edge in query.edge_predicates),
            "rearranged edge": any(edge.is_rearranged for edge in query.edge_predicates),
            "local": any(query.local),
            "computed": bool(query.results),
            "equivalence": bool(query.equivalence),
            "uneven slide": query.window.within_us % query.window.slide_us != 0,
        }
        found |= {name for name, is_there in has.items() if is_there}
    return found


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


@pytest.mark.slow
def test_nearly_every_workload_drawn_is_valid_and_all_features_occur() -> None:
    """Else the test above would be about less than it says."""
    seen: Counter[str] = Counter()

    @settings(
        max_examples=100, deadline=None, database=None, derandomize=True, phases=[Phase.generate]
    )
    @given(samples())
    def look(sample: Sample) -> None:
        seen["drawn"] += 1
        if is_valid(sample):
            seen["valid"] += 1
            seen.update(features(sample))

    look()

    assert seen["valid"] >= 0.95 * seen["drawn"]
    for feature in FEATURES:
        assert seen[feature] >= 2, feature
