"""Costs of shared and non-shared bursts in the paper's model, and of plans.

Would catch a wrong term in either published form, and a gain that is not the difference between two
plans.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hamlet.paper.cost import (
    FORMS,
    BundleModel,
    BurstStatistics,
    ChainModel,
    Member,
    PaperModel,
    alone_plain,
    benefit,
    chain_alone_ns,
    chain_shared_ns,
    decide_as_published,
    shared_plain,
)
from hamlet.share.coefficients import DEFAULTS, Coefficients
from hamlet.share.cost import BundleSize

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

# Whole numbers, as the paper's are, keep every comparison exact where no logarithm is taken.
counts = st.integers(1, 40)
bursts = st.builds(
    BurstStatistics,
    b=counts,
    n=counts,
    g=counts,
    k=counts,
    s_c=st.integers(0, 5),
    s_p=st.integers(1, 5),
    types=st.integers(1, 3),
)

# The paper's model


@pytest.mark.parametrize(
    ("burst", "shared", "alone"),
    [
        (BurstStatistics(b=4, n=7, g=4, k=2, s_c=1, s_p=1, types=2), 44, 56),
        (BurstStatistics(b=4, n=11, g=8, k=2, s_c=1, s_p=2, types=2), 120, 88),
        (BurstStatistics(b=4, n=15, g=4, k=2, s_c=1, s_p=1, types=2), 76, 120),
    ],
    ids=["share", "split", "merge"],
)
def test_the_plain_form_gives_the_worked_numbers_of_the_paper(
    burst: BurstStatistics, shared: int, alone: int
):
    assert shared_plain(burst) == shared
    assert alone_plain(burst) == alone
    assert benefit(burst) == alone - shared


def test_the_form_with_a_logarithm_adds_the_search_for_an_events_place():
    burst = BurstStatistics(b=4, n=7, g=4, k=2, s_c=1, s_p=1, types=2)

    # 1*2*4*2 + 4*(2 + 7*1) against 2*4*(2 + 7)
    assert FORMS["log2"].shared(burst) == 52
    assert FORMS["log2"].alone(burst) == 72
    assert benefit(burst, "log2") == 20


@unhurried
@given(bursts)
def test_both_forms_agree_where_the_graphlet_has_one_event(burst: BurstStatistics):
    alone_in_graphlet = replace(burst, g=1)

    assert benefit(alone_in_graphlet, "plain") == benefit(alone_in_graphlet, "log2")


@unhurried
@given(bursts, st.sampled_from(["plain", "log2"]))
def test_fewer_snapshots_make_sharing_better(burst: BurstStatistics, form: str):
    assert benefit(replace(burst, s_c=burst.s_c + 1), form) < benefit(burst, form)
    assert benefit(replace(burst, s_p=burst.s_p + 1), form) < benefit(burst, form)


# Decisions


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


# Plans


def test_a_plan_pays_for_what_is_merged_and_for_what_is_not():
    members = [Member(number, behaviour="a") for number in range(5)]
    model = BundleModel({"a": BundleSize(5, windows=12)}, {"a": 10}, ROUND)

    assert model.cost([members[:3]], members[3:]) == 10 * 44 + 3 * 68 + 2 * 10 * 44
    assert model.cost([], members) == 5 * 10 * 44
    # Who is the only one in a set is never split.
    assert model.cost([members[:1]], members[1:]) == model.cost([], members)


@unhurried
@given(
    b=st.integers(1, 1000), n=st.integers(1, 10**6), k=st.integers(1, 50), entries=st.integers(0, 9)
)
def test_sharing_chains_never_loses(b: int, n: int, k: int, entries: int):
    c = DEFAULTS.double

    shared, alone = chain_shared_ns(c, b, n, entries), chain_alone_ns(c, b, n, entries, k)

    assert shared < alone or k == 1
    assert shared <= alone


def test_chains_cost_a_look_into_the_tree_for_each_event_and_a_sum_for_each_entry():
    c = ROUND

    assert chain_shared_ns(c, b=10, n=1024, entries=6) == 10 * 10 * 3 + 6 * 4
    assert chain_alone_ns(c, b=10, n=1024, entries=6, k=5) == 5 * 10 * 10 * 3 + 6 * 4


# Gains


@unhurried
@given(
    st.lists(
        st.builds(
            Member,
            query=st.just(0),
            snapshots=st.integers(0, 3),
            entries=st.integers(0, 4),
        ),
        min_size=2,
        max_size=6,
    ),
    st.sampled_from(
        [
            PaperModel(BurstStatistics(b=16, n=64, g=32, k=0, types=2)),
            PaperModel(BurstStatistics(b=16, n=64, g=32, k=0, types=2), "log2"),
            BundleModel({None: BundleSize(2, windows=12)}, {None: 4}),
            ChainModel(b=16, n=64),
        ]
    ),
)
def test_the_gain_is_what_taking_one_query_out_of_the_full_set_costs(members, model):
    first, *others = members

    gain = model.gain(first, len(members), sum(member.snapshots for member in members))

    difference = model.cost([others], [first]) - model.cost([members], [])
    assert gain == pytest.approx(difference, rel=1e-9, abs=1e-6)
