"""Generated workloads: right, canonical, of their kind, and answered by the engine.

Would catch a query that names what the data set has not, two patterns that are the same, a first
workload that does not share as a whole, and a second one that is not diverse.
"""

from __future__ import annotations

import re
from collections import Counter

import pytest

from hamlet import Schema, Workload
from hamlet.data import generate_table, schema_of
from hamlet.data.settings import DATA_SETS, settings_of
from hamlet.data.workloads import GENERATORS, first, second, vocabularies
from hamlet.errors import PlanError, SchemaError
from hamlet.lang.parser import parse_tree
from hamlet.lang.printer import print_workload

ALL = tuple(vocabularies())
MINUTE_US = 60_000_000


def schema(data_set: str) -> Schema:
    """What is known of the events of a data set: attributes, and that there are no other types."""
    columns = Schema.from_arrow(schema_of(data_set))
    return Schema(columns.attributes, {name: {} for name in settings_of(data_set).types})


# Both kinds


@pytest.mark.parametrize("data_set", ALL)
@pytest.mark.parametrize("kind", GENERATORS)
@pytest.mark.parametrize("queries", [1, 7, pytest.param(200, marks=pytest.mark.slow)])
def test_texts_are_canonical_and_plan(kind: str, data_set: str, queries: int):
    text = GENERATORS[kind](data_set, queries, seed=queries)

    workload = Workload.parse(text)

    assert print_workload(parse_tree(text)) == text
    assert [query.name for query in workload.queries] == [f"q{i + 1}" for i in range(queries)]
    assert sum(len(one.queries) for one in workload.plan.sets) == queries


@pytest.mark.slow
@pytest.mark.parametrize("data_set", DATA_SETS)
@pytest.mark.parametrize("kind", GENERATORS)
def test_queries_name_only_what_the_events_have(kind: str, data_set: str):
    text = GENERATORS[kind](data_set, 200, seed=1)

    assert Workload.parse(text, schema=schema(data_set)).queries


@pytest.mark.slow
@pytest.mark.parametrize("data_set", DATA_SETS)
@pytest.mark.parametrize("kind", GENERATORS)
def test_a_thousand_queries_are_possible_and_all_different(kind: str, data_set: str):
    text = GENERATORS[kind](data_set, 1000, seed=1)

    bodies = [query.split(": ", 1)[1].rstrip() for query in text.split(";\n\n")]
    assert len(set(bodies)) == 1000


@pytest.mark.parametrize("kind", GENERATORS)
def test_the_seed_decides(kind: str):
    make = GENERATORS[kind]

    assert make("stock", 20, seed=1) == make("stock", 20, seed=1)
    assert make("stock", 20, seed=1) != make("stock", 20, seed=2)
    assert make("stock", 30, seed=1).startswith(make("stock", 20, seed=1).rstrip())


@pytest.mark.parametrize("kind", GENERATORS)
@pytest.mark.parametrize("data_set", DATA_SETS)
def test_the_engine_answers_them(kind: str, data_set: str):
    # A window has few events, and there are few groups, so that trends are found.
    groups = {"groups": 40} if data_set == "smarthome" else {"groups": 20}
    burst = 4
    events = generate_table(data_set, events=4000, seed=1, rate=200, burst=burst, **groups)
    order = "seq" if data_set == "stock" else None
    workload = Workload.parse(GENERATORS[kind](data_set, 12, seed=1))

    shared = workload.run(events, order=order, sharing="always")
    alone = workload.run(events, order=order, sharing="never")

    answered = set(shared.table["query"].to_pylist())
    assert len(answered) >= 6
    for column in ("query", "window_start", "group", "aggregate", "exact"):
        assert shared.table[column].equals(alone.table[column])


# The first kind


@pytest.mark.parametrize("data_set", ALL)
def test_the_first_workload_is_one_set_that_shares_one_kleene_type(data_set: str):
    workload = Workload.parse(first(data_set, 60, seed=1))

    (one,) = workload.plan.sets
    assert [name for name, _ in one.shared] == [vocabularies()[data_set].kleene[0]]
    assert len(one.shared[0][1]) == 60


@pytest.mark.parametrize("data_set", ALL)
def test_in_the_first_workload_only_patterns_differ(data_set: str):
    text = first(data_set, 60, seed=1)

    patterns = re.findall(r"^PATTERN .*$", text, re.MULTILINE)
    rest = {re.sub(r"^q\d+|^PATTERN .*$", "", q.rstrip(), flags=re.M) for q in text.split(";\n\n")}

    assert len(set(patterns)) == 60
    assert len(rest) == 1


def test_short_patterns_come_first_and_negation_last():
    patterns = re.findall(r"PATTERN (.*)", first("smarthome", 1000, seed=1))
    sizes = [pattern.count(",") for pattern in patterns]

    assert max(sizes[:18]) <= 2
    assert max(sizes) == 4
    is_negated = ["NOT" in pattern for pattern in patterns]
    assert sum(is_negated[:200]) == 0
    assert sum(is_negated[500:]) > 400


def test_the_window_of_the_first_workload_may_be_chosen():
    workload = Workload.parse(first("taxi", 3, within="1 h", slide="30 s"))

    windows = {(q.window.within_us, q.window.slide_us) for q in workload.queries}
    assert windows == {(60 * MINUTE_US, MINUTE_US // 2)}


def test_all_patterns_are_found_where_there_are_few():
    # One to three types beside TRAVEL+, each negated or not, in any order, around it.
    number = sum(perm * (size + 1) * 2**size for size, perm in [(1, 3), (2, 6), (3, 6)])

    assert Workload.parse(first("cabs", number)).queries
    with pytest.raises(SchemaError, match=f"only {number} different patterns around TRAVEL"):
        first("cabs", number + 1)


# The second kind


@pytest.mark.parametrize("data_set", DATA_SETS)
def test_the_second_workload_is_diverse(data_set: str):
    text = second(data_set, 400, seed=1)
    queries = Workload.parse(text).queries

    lengths = Counter(
        len(re.findall(r"\w+", re.sub("SEQ|NOT", "", p))) for p in re.findall(r"PATTERN (.*)", text)
    )
    assert set(lengths) == {1, 2, 3}
    assert {q.window.within_us // MINUTE_US for q in queries} == {5, 10, 15, 20}
    assert {q.window.slide_us // MINUTE_US for q in queries} >= {5, 10}
    found = {
        word for word in ("COUNT(*)", "COUNT(", "SUM(", "AVG(", "MIN(", "MAX(") if word in text
    }
    assert len(found) == 6
    assert len({q.group_by for q in queries}) == len(vocabularies()[data_set].groupings)
    assert len({q.equivalence for q in queries}) > 1
    assert any(q.local for q in queries)
    assert "NEXT(" in text
    assert "NOT " in text
    conditions = set(re.findall(r"(\w+)\.\w+ [<>=]", text))
    assert len(conditions) > 3


@pytest.mark.parametrize("data_set", DATA_SETS)
def test_many_queries_of_the_second_workload_share(data_set: str):
    plan = Workload.parse(second(data_set, 50, seed=1)).plan

    assert len(plan.sets) > 1
    assert sum(len(one.queries) for one in plan.sets if len(one.queries) > 1) > 35


# What is refused


@pytest.mark.parametrize("kind", GENERATORS)
def test_what_is_out_of_range_is_refused(kind: str):
    make = GENERATORS[kind]

    for queries in (0, 1001):
        with pytest.raises(SchemaError, match="taxi: queries must be between 1 and 1,000, not"):
            make("taxi", queries)
    with pytest.raises(SchemaError, match="taxi: seed must be at least 0, not -1"):
        make("taxi", 5, -1)
    with pytest.raises(PlanError, match=r"no data set 'taxis'.*Did you mean 'taxi'\?"):
        make("taxis", 5)


@pytest.mark.parametrize(
    ("within", "slide", "reason"),
    [
        ("5 min", "6 min", "WITHIN 5 min SLIDE 6 min leaves gaps"),
        ("5", "1 min", "without a unit"),
        ("5 parsecs", "1 min", "parsecs is not a unit of time"),
        ("5 min; q2: RETURN COUNT(*)", "1 min", ""),
    ],
)
def test_what_is_no_window_is_refused(within: str, slide: str, reason: str):
    with pytest.raises(SchemaError) as refused:
        first("taxi", 2, within=within, slide=slide)

    assert reason in str(refused.value)
    assert "\n" not in str(refused.value)
