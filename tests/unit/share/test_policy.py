"""Policies: which bundles are merged, and when.

Would catch a policy that does what another one says, a static choice that loses on average, rates
whose expected runs are not those of a random order, and a constant that the kernel has otherwise.
"""

from __future__ import annotations

from itertools import combinations, groupby, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hamlet.errors import PlanError
from hamlet.kernel.machine import bundles as machine
from hamlet.plan.execution import Grain
from hamlet.share.coefficients import DEFAULTS, KINDS, Coefficients, CoefficientTable
from hamlet.share.cost import FOREVER, BundleSize, apart_ns, merged_ns, patience
from hamlet.share.policy import (
    POLICIES,
    UNTIL_SPLIT,
    Rates,
    choose_at_plan_time,
    followed_by,
    patience_of,
)

unhurried = settings(deadline=None)

# Fixed here, so that what ships can change with what is measured.
ROUND = Coefficients(
    event=1.5,
    touch_fixed=26,
    touch_window=1.5,
    copy_fixed=20,
    copy_cell=2,
    tree_step=3,
    entry=4,
)
TABLE = CoefficientTable(ROUND, ROUND, ROUND, ROUND)
FIFTY = BundleSize(queries=50, windows=12)


# Policies


def test_each_policy_has_the_patience_it_says():
    rare, often = Rates(for_all=1000, for_some=10), Rates(for_all=10, for_some=100)

    assert patience_of("dynamic", FIFTY, TABLE) == patience(ROUND, FIFTY) == 2
    assert patience_of("always", FIFTY, TABLE) is None
    assert patience_of("never", FIFTY, TABLE) is None
    assert patience_of("apart", FIFTY, TABLE) == 2
    assert patience_of("static", FIFTY, TABLE, rare) == UNTIL_SPLIT
    assert patience_of("static", FIFTY, TABLE, often) == FOREVER


def test_the_kernel_means_the_same_by_forever():
    assert FOREVER == machine.FOREVER


def test_patience_comes_from_the_coefficients_of_the_kind_of_numbers():
    slow = Coefficients(1.5, 26, 150, 20, 2, 3, 4)
    table = CoefficientTable(ROUND, slow, ROUND, ROUND)
    two, wide = (BundleSize(queries=2, windows=12, kind=kind) for kind in ("double", "wide"))

    assert (patience_of("dynamic", two, table), patience_of("dynamic", wide, table)) == (4, 1)


def test_copies_that_cost_nothing_and_touches_that_cost_all_stay_inside_what_a_kernel_takes():
    free = Coefficients(1.5, 26, 1.5, 0, 0, 3, 4)
    dear = Coefficients(1.5, 1e-300, 0, 1e9, 1e9, 3, 4)

    def of(c: Coefficients) -> int | None:
        return patience_of("dynamic", FIFTY, CoefficientTable(c, c, c, c))

    assert (of(free), of(dear)) == (1, FOREVER)


def test_an_unknown_policy_is_refused_with_those_there_are():
    with pytest.raises(PlanError, match=r"never, static, apart\. Did you mean 'always'"):
        patience_of("allways", FIFTY)
    with pytest.raises(PlanError, match="no sharing policy 'sometimes'"):
        choose_at_plan_time("sometimes", Grain.ORDERED)


def cost_of_run(patience: int, runs: list[int], size: BundleSize) -> float:
    """What runs of events for all cost, an event for some after each, if windows turn at once."""
    c, cost, seen = DEFAULTS.double, 0.0, patience
    for run in runs:
        is_merged = False
        for _ in range(run):
            is_merged = seen >= patience
            seen += 1
            cost += size.touch_ns(c) * (1 if is_merged else size.queries)
        cost += size.split_ns(c) if is_merged else 0.0
        seen = 0
    return cost


@unhurried
@given(
    st.lists(st.integers(1, 60), min_size=1, max_size=20),
    st.builds(BundleSize, st.integers(2, 60), st.integers(1, 40)),
)
def test_dynamic_costs_at_most_twice_what_knowing_each_run_would(runs, size):
    """Whoever waits for what merging costs, and then merges, has paid it at most twice.

    One touch more than that, because patience is a whole number; and the first run, for which
    queries are taken to behave alike, may be too short for its one split.
    """
    c = DEFAULTS.double
    least = patience(c, size)

    best = sum(min(merged_ns(c, size, run), apart_ns(c, size, run)) for run in runs)

    slack = len(runs) * size.queries * size.touch_ns(c) + size.split_ns(c)
    assert cost_of_run(least, runs, size) <= 2 * best + slack


# Plan time


@pytest.mark.parametrize(
    ("loop", "dynamic", "always", "never", "static"),
    [
        (Grain.BURST, True, True, False, True),
        (Grain.TYPE, False, False, False, False),
        (Grain.ROWS, True, True, False, True),
        (Grain.ORDERED, False, False, False, False),
        (Grain.TAKEN, False, False, False, False),
        (Grain.SCAN, False, False, False, False),
    ],
)
def test_loops_say_at_plan_time_what_can_be_shared(loop, dynamic, always, never, static):
    found = {policy: choose_at_plan_time(policy, loop) for policy in POLICIES}

    assert {policy: choice.shared for policy, choice in found.items()} == {
        "dynamic": dynamic,
        "always": always,
        "never": never,
        "static": static,
        "apart": never,
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


@unhurried
@given(st.integers(1, 6), st.integers(1, 4))
def test_a_mean_run_is_that_of_all_orders_with_an_event_for_some_at_the_end(whole, some):
    n = whole + some - 1
    total = runs = 0
    for chosen in map(set, combinations(range(n), whole)):
        order = [i in chosen for i in range(n)] + [False]
        lengths = [len(list(run)) for is_whole, run in groupby(order) if is_whole]
        total, runs = total + sum(lengths), runs + len(lengths)

    # One event for some is spent on the end, which the rates leave to chance.
    assert total / runs == pytest.approx((whole + some - 1) / some)
    assert Rates(whole, some).mean_run == pytest.approx((whole + some) / some)


def test_without_events_for_some_a_run_never_ends_and_without_any_for_all_it_never_begins():
    assert Rates(5, 0).mean_run == FOREVER
    assert Rates(0, 5).mean_run == Rates(0, 0).mean_run == 0


@unhurried
@given(
    for_all=st.integers(0, 500),
    for_some=st.integers(1, 500),
    size=st.builds(BundleSize, st.integers(2, 60), st.integers(1, 40), kind=st.sampled_from(KINDS)),
)
def test_static_merges_where_it_pays_on_average(for_all, for_some, size):
    rates = Rates(for_all, for_some)
    c = DEFAULTS.of(size.kind)

    pays = merged_ns(c, size, rates.mean_run) < apart_ns(c, size, rates.mean_run)

    assert patience_of("static", size, rates=rates) == (UNTIL_SPLIT if pays else FOREVER)


def test_the_unit_of_rates_does_not_matter():
    assert Rates(7, 2).mean_run == pytest.approx(Rates(7 * 3600, 2 * 3600).mean_run)


def test_without_rates_nothing_speaks_against_merging():
    assert patience_of("static", FIFTY) == UNTIL_SPLIT
