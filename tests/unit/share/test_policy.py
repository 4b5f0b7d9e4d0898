"""Policies: who shares a burst, and why.

Would catch a policy that does what another one says, a query that is split off although sharing is
free for it, and rates whose expected bursts are not those of a random order.
"""

from __future__ import annotations

from itertools import combinations, pairwise
from math import inf

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hamlet.errors import PlanError
from hamlet.share.coefficients import DEFAULTS, KINDS, Coefficients, CoefficientTable
from hamlet.share.cost import BurstStatistics
from hamlet.share.policy import (
    POLICIES,
    QueryStatistics,
    Rates,
    Touched,
    choose_at_plan_time,
    decide,
    decide_as_published,
    followed_by,
    static_choice,
)

unhurried = settings(deadline=None)

# Fixed here, so that what ships can change with what is measured.
ROUND = Coefficients(
    event=1.5,
    snapshot_fixed=30,
    snapshot_window=1.5,
    alone_fixed=12,
    alone_window=1,
    tree_step=3,
    entry=4,
)
TABLE = CoefficientTable(ROUND, ROUND, ROUND, ROUND)

BUSY = QueryStatistics(12, bursts=30, touches=20, is_touched=True)
CALM = QueryStatistics(12, bursts=30, touches=3, is_touched=True)


# Policies


@pytest.mark.parametrize(
    ("policy", "busy", "calm"),
    [
        ("dynamic", "split", "share"),
        ("always", "share", "share"),
        ("never", "split", "split"),
        ("static", "share", "share"),
    ],
)
def test_each_policy_decides_as_it_says(policy: str, busy: str, calm: str):
    assert decide(policy, BUSY, TABLE).decided == busy
    assert decide(policy, CALM, TABLE).decided == calm


def test_costs_do_not_depend_on_the_policy():
    found = {
        (d.cost_shared, d.cost_alone) for d in (decide(policy, BUSY, TABLE) for policy in POLICIES)
    }

    # A snapshot of 30 + 1.5 * 12 for every 1.5 bursts, against 12 + 12 for every burst.
    assert found == {(32.0, 24.0)}


def test_every_decision_says_why():
    assert decide("dynamic", BUSY, TABLE).why == "touched every 1.5 bursts, and sharing pays from 2"
    assert decide("dynamic", CALM, TABLE).why == (
        "touched every 10 bursts, which is rare enough: sharing pays from 2"
    )
    assert decide("always", BUSY, TABLE).why == "queries always share"
    assert decide("never", BUSY, TABLE).why == "queries never share"
    assert decide("static", BUSY, TABLE).why == "decided before the run to share"


def test_a_query_that_was_not_touched_shares_whatever_it_did_before():
    calm = QueryStatistics(12, bursts=30, touches=30)
    split = QueryStatistics(12, bursts=30, touches=30, is_split=True)

    assert decide("dynamic", calm, TABLE).decided == "share"
    assert decide("dynamic", split, TABLE).decided == "merge"
    assert decide("dynamic", split, TABLE).shares


def test_a_query_that_was_split_stays_split_while_it_is_touched_too_often():
    busy = QueryStatistics(12, bursts=30, touches=20, is_touched=True, is_split=True)
    calmer = QueryStatistics(12, bursts=60, touches=20, is_touched=True, is_split=True)

    assert decide("dynamic", busy, TABLE).decided == "split"
    assert decide("dynamic", calmer, TABLE).decided == "merge"


def test_the_static_policy_keeps_to_its_plan():
    planned = QueryStatistics(12, bursts=30, touches=1, planned="split")

    assert decide("static", planned, TABLE).decided == "split"
    assert decide("static", planned, TABLE).why == "decided before the run to split"


def test_without_a_touch_so_far_there_is_nothing_against_sharing():
    first = QueryStatistics(12, is_touched=True)

    assert first.bursts_per_touch == inf
    assert decide("dynamic", first, TABLE).decided == "share"
    assert decide("dynamic", first, TABLE).cost_shared == 0


@unhurried
@given(
    kind=st.sampled_from(KINDS),
    windows=st.integers(1, 100),
    words=st.integers(1, 50),
    touches=st.integers(1, 50),
    more=st.integers(0, 200),
)
def test_a_touched_query_takes_the_cheaper_way(kind, windows, words, touches, more):
    statistics = QueryStatistics(windows, touches + more, touches, True, False, kind, words)

    found = decide("dynamic", statistics)

    # Equal costs may come out a rounding apart.
    chosen, other = (found.cost_shared, found.cost_alone)[:: 1 if found.shares else -1]
    assert chosen <= other * (1 + 1e-12)


def test_an_unknown_policy_is_refused_with_those_there_are():
    with pytest.raises(PlanError, match=r"dynamic, always, never, static\. Did you mean 'always'"):
        decide("allways", BUSY, TABLE)
    with pytest.raises(PlanError, match="no sharing policy 'sometimes'"):
        choose_at_plan_time("sometimes", "tree")


def cost_of_run(policy: str, gaps: list[int], windows: int) -> float:
    """What a query costs that is touched before each gap of so many bursts, and at the end."""
    c = DEFAULTS.double
    cost, is_due, is_split = 0.0, False, False
    for gap in gaps:
        cost += c.snapshot_ns(windows) if is_due else 0.0
        is_due = False
        for burst in range(gap):
            statistics = QueryStatistics(windows, sum(gaps), len(gaps), burst == 0, is_split)
            is_split = not decide(policy, statistics).shares
            cost += c.alone_ns(windows) if is_split else 0.0
            is_due = is_due or not is_split
    return cost + (c.snapshot_ns(windows) if is_due else 0.0)


@unhurried
@given(st.lists(st.integers(1, 6), min_size=1, max_size=20), st.integers(1, 40))
def test_dynamic_is_never_much_worse_than_the_better_of_always_and_never(gaps, windows):
    """At most (1 + patience) / 2 times: who is touched every second burst pays for both ways."""
    dynamic, always, never = (
        cost_of_run(policy, gaps, windows) for policy in ("dynamic", "always", "never")
    )

    bound = max(1, (1 + DEFAULTS.double.patience(windows)) / 2)
    assert dynamic <= bound * min(always, never) * (1 + 1e-12)


# The paper's own


def test_the_papers_worked_decisions():
    share = BurstStatistics(b=4, n=7, g=4, k=2, s_c=1, s_p=1, types=2)
    split = BurstStatistics(b=4, n=11, g=8, k=2, s_c=1, s_p=2, types=2)
    merge = BurstStatistics(b=4, n=15, g=4, k=2, s_c=1, s_p=1, types=2)

    found = [
        decide_as_published(share),
        decide_as_published(split),
        decide_as_published(merge, was_shared=False),
    ]

    assert [(d.decided, d.cost_shared, d.cost_alone) for d in found] == [
        ("share", 44, 56),
        ("split", 120, 88),
        ("merge", 76, 120),
    ]
    assert [d.why for d in found] == [
        "sharing saves 12",
        "sharing costs 32 more",
        "sharing saves 44",
    ]


def test_without_a_benefit_the_paper_does_not_share():
    even = BurstStatistics(b=4, n=8, g=4, k=2, s_c=1, s_p=1, types=4)

    assert decide_as_published(even).decided == "split"
    assert decide_as_published(even).cost_shared == decide_as_published(even).cost_alone


# Plan time


@pytest.mark.parametrize(
    ("edge", "dynamic", "always", "never", "static"),
    [
        ("plain", None, True, False, None),
        ("chain", True, True, False, True),
        ("tree", False, False, False, False),
        ("log", False, False, False, False),
    ],
)
def test_edges_say_at_plan_time_what_can_be_shared(edge, dynamic, always, never, static):
    found = {policy: choose_at_plan_time(policy, edge) for policy in POLICIES}

    assert {policy: choice.shared for policy, choice in found.items()} == {
        "dynamic": dynamic,
        "always": always,
        "never": never,
        "static": static,
    }
    assert all(choice.why for choice in found.values())


# Static


@unhurried
@given(st.integers(1, 5), st.integers(1, 5))
def test_one_kind_follows_the_other_as_often_as_in_all_orders(first: int, second: int):
    n = first + second
    orders = [[i in chosen for i in range(n)] for chosen in map(set, combinations(range(n), first))]

    found = sum(a and not b for order in orders for a, b in pairwise(order))

    assert followed_by(first, second) == pytest.approx(found / len(orders), rel=1e-12)


def test_what_does_not_occur_follows_nothing():
    assert followed_by(0, 5) == followed_by(5, 0) == followed_by(0, 0) == 0


def test_bursts_per_touch_come_from_rates():
    """E 60, A 30, B 10: 24 bursts end, 20 of them are followed by an A before the next E."""
    rates = Rates(
        {"E": 60, "A": 30, "B": 10},
        "E",
        [Touched(frozenset({"A"}), 12), Touched(frozenset({"B"}), 12)],
    )

    often, rarely = static_choice(rates, TABLE)

    # 60 * 40 / 100 = 24 bursts; A touches after 60 * 30 / 90 = 20, B after 60 * 10 / 70.
    assert often.cost_shared == pytest.approx(48 * 20 / 24)
    assert rarely.cost_shared == pytest.approx(48 * (600 / 70) / 24)
    assert (often.decided, rarely.decided) == ("split", "share")


def test_the_unit_of_rates_does_not_matter():
    queries = [Touched(frozenset({"A"}), 5), Touched(frozenset({"A", "B"}), 50)]

    def costs(scale: float) -> list[float]:
        rates = Rates({"E": 7 * scale, "A": 2 * scale, "B": scale}, "E", queries)
        return [decision.cost_shared for decision in static_choice(rates)]

    assert costs(1) == pytest.approx(costs(3600))


def test_its_own_kleene_type_does_not_touch_a_query():
    with_e, without = (Touched(frozenset(types)) for types in ({"A", "E"}, {"A"}))

    one, other = static_choice(Rates({"E": 5, "A": 1}, "E", [with_e, without]))

    assert one == other


def test_types_that_do_not_occur_leave_a_query_sharing():
    (found,) = static_choice(Rates({"E": 5}, "E", [Touched(frozenset({"A"}))]))

    assert (found.decided, found.cost_shared) == ("share", 0)
    assert found.why == "never touched, so sharing is free"
