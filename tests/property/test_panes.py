"""Windows put together from panes, against the reference: random workloads over random streams.

Would catch an entry of a map that counts too much or too little, a row of a template that is left
out, trends that outlive a guard or are lost in a pane without events; a sum, an average or an
extreme that is put together wrongly; a window that gets a pane too many or too few; partitions of a
group that are mixed before they are put together; and a query that is taken to compose though it
does not.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace

import pytest
from conformance import bound_queries, differences, load_cases, scaled_reference_rows
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st
from pane_runs import pane_rows
from random_workloads import Sample, samples
from sampling import random_sample

from hamlet import Workload
from hamlet.engine.panes.derive import composes
from hamlet.errors import QueryError

QUICK = random_sample(80, suppress_health_check=list(HealthCheck))
FEATURES = ("several queries", "AND", "OR", "+", "NOT", "GROUPBY", "WHERE", "SLIDE", "MIN", "AVG")


# What no query with panes has; the same query without it may.
NOT_OF_PANES = re.compile(r" MATCH (NEXT|CONTIGUOUS)| OFFSET -?[\d.]+ s| IN '[A-Z]\w+/\w+'")
# Measures of trends that panes do not have, and one that they do.
MEASURES = re.compile(r"\w+\(DURATION\)|(MIN|MAX)\(LENGTH\)")


def composing(sample: Sample) -> Sample:
    """The sample with those of its queries that compose, or would without what never does."""
    kept = []
    for text in NOT_OF_PANES.sub("", MEASURES.sub("SUM(LENGTH)", sample.workload)).split(";"):
        try:
            (planned,) = Workload.parse(text).plan.queries
        except QueryError:
            continue
        if composes(planned):
            kept.append(text)
    return replace(sample, workload=";".join(kept))


@QUICK
@given(samples(most_events=14), st.sampled_from([1, 2, 5]), st.sampled_from(["exact", "float"]))
def test_panes_equal_the_reference(sample: Sample, parts: int, numbers: str) -> None:
    sample = composing(sample)
    assume(sample.workload)
    expected = scaled_reference_rows(sample.workload, sample.events, sample.order)

    rows = pane_rows(sample.workload, sample.events, sample.order, parts=parts, numbers=numbers)

    wrong = differences(expected, rows, numbers)
    assert not wrong, "\n".join([str(sample), *wrong])


@pytest.mark.slow
def test_enough_of_the_workloads_drawn_compose_and_all_features_occur() -> None:
    """Else the test above would be about less than it says."""
    seen: Counter[str] = Counter()

    @settings(
        max_examples=120, deadline=None, database=None, derandomize=True, phases=[Phase.generate]
    )
    @given(samples())
    def look(sample: Sample) -> None:
        text = composing(sample).workload
        seen["drawn"] += 1
        if text:
            seen["composing"] += 1
            seen["several queries"] += len(bound_queries(text)) > 1
            seen.update(word for word in FEATURES if word in text)

    look()

    assert seen["composing"] >= 0.5 * seen["drawn"]
    for feature in FEATURES:
        assert seen[feature] >= 2, feature


@pytest.mark.parametrize("parts", [1, 5])
def test_conformance_cases_that_compose(parts: int) -> None:
    cases = [
        case
        for case in load_cases()[parts::5]
        if all(map(composes, Workload.parse(case.workload).plan.queries))
    ]

    wrong = []
    for case in cases:
        rows = pane_rows(case.workload, case.events, case.order, parts=parts)
        lines = differences(case.expected, rows)
        wrong += [f"case {case.id}, {case.about}: {line}" for line in lines]

    assert not wrong, "\n".join(wrong[:20])
    assert len(cases) > 10
