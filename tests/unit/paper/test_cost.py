"""Costs of shared and non-shared bursts in the paper's model.

Would catch a wrong term in either published form.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hamlet.paper.cost import (
    FORMS,
    BurstStatistics,
    alone_plain,
    benefit,
    decide_as_published,
    shared_plain,
)

unhurried = settings(deadline=None)

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
