"""Costs of bundles, merged and split: would catch one that grows with queries where it must not."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from hamlet.share.coefficients import DEFAULTS, KINDS, Coefficients
from hamlet.share.cost import BundleSize, apart_ns, merged_ns, patience

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

sizes = st.builds(
    BundleSize,
    queries=st.integers(2, 500),
    windows=st.integers(1, 500),
    rows=st.integers(1, 8),
    aggregates=st.integers(1, 6),
    kind=st.sampled_from(KINDS),
    words=st.integers(1, 64),
)


@unhurried
@given(sizes)
def test_patience_is_the_least_run_for_which_merging_pays(size: BundleSize):
    c = DEFAULTS.of(size.kind)
    least = patience(c, size)

    assert merged_ns(c, size, least) < apart_ns(c, size, least)
    # Equal costs may come out a rounding apart.
    assert merged_ns(c, size, least - 1) >= apart_ns(c, size, least - 1) * (1 - 1e-12)


def test_a_merged_bundle_is_touched_once_and_split_once():
    size = BundleSize(queries=50, windows=12, rows=2)

    # A touch is 26 + 1.5 * 12, a copy 20 + 2 * 2 * 12.
    assert merged_ns(ROUND, size, run=10) == 10 * 44 + 50 * 68
    assert apart_ns(ROUND, size, run=10) == 10 * 50 * 44


def test_more_queries_need_less_patience_and_never_less_than_their_copies():
    two, many = (BundleSize(queries=k, windows=12, rows=2) for k in (2, 1000))

    # 2 * 68 / 44 = 3.1 and 1000 * 68 / (999 * 44) = 1.5
    assert (patience(ROUND, two), patience(ROUND, many)) == (4, 2)


def test_aggregates_and_words_make_a_query_larger():
    small = BundleSize(queries=2, windows=12)
    c = replace(ROUND, touch_word=1, copy_word=1)

    assert replace(small, aggregates=3).touch_ns(ROUND) == small.touch_ns(ROUND) + 2 * 12 * 1.5
    assert replace(small, words=3).touch_ns(c) == small.touch_ns(c) + 2 * 12
    assert replace(small, words=3).split_ns(c) == small.split_ns(c) + 2 * (2 * 2 * 12)
