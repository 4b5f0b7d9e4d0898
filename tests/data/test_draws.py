"""Random numbers: that they have the distribution they promise, and sums that go on.

Would catch a logarithm that is wrong somewhere, a share that is not kept, a limit that is reached,
and a sum that begins anew with each block.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from hamlet.data.draws import (
    Clock,
    Draws,
    WeightedChoice,
    exp,
    geometric_inverse,
    log,
    narrow,
    running,
    zipf,
)


def test_logarithms_and_powers_have_ten_digits():
    x = np.concatenate([np.array([2.0**-53, 0.5, 0.75, 1.0, 1e300]), np.linspace(0.001, 9, 10_000)])
    y = np.linspace(-50, 50, 10_001)

    assert np.abs(log(x) - np.log(x)).max() < 1e-9
    assert np.abs(exp(y) / np.exp(y) - 1).max() < 1e-10


def test_integers_stay_below_their_limit_and_reach_all_below_it():
    found = Draws(1).below(7, 10_000)

    assert sorted(set(found.tolist())) == list(range(7))


def test_the_largest_uniform_number_does_not_reach_a_limit():
    largest = 1.0 - 2.0**-53

    for limit in (1, 2, 3, 5, 100, 5751, 2**20 + 1, 2**31 - 1):
        assert int(largest * limit) == limit - 1


@pytest.mark.parametrize("mean", [1.0, 1.5, 10.0, 6000.0])
def test_lengths_are_geometric_with_the_mean_asked_for(mean: float):
    lengths = Draws(2).geometric(geometric_inverse(mean), 200_000)

    assert lengths.min() == 1
    assert lengths.mean() == pytest.approx(mean, rel=0.01)
    # The share of ones is 1/mean for a geometric distribution, and for few others.
    assert (lengths == 1).mean() == pytest.approx(1 / mean, rel=0.2)
    assert lengths.std() == pytest.approx(math.sqrt(mean * (mean - 1)), rel=0.02)


def test_choices_keep_their_shares():
    shares = zipf(50, 1.2)

    found = np.bincount(WeightedChoice(shares).draw(Draws(3), 1_000_000), minlength=50) / 1_000_000

    assert np.abs(found / shares - 1).max() < 0.05


def test_equal_shares_are_equal():
    found = np.bincount(WeightedChoice(zipf(4, 0.0)).draw(Draws(3), 100_000)) / 100_000

    assert found == pytest.approx([0.25] * 4, rel=0.02)


def test_zipf_shares_are_powers_of_their_rank():
    shares = zipf(1000, 0.8)

    assert shares.sum() == pytest.approx(1)
    assert shares[0] / shares[99] == pytest.approx(100**0.8)


def test_running_sums_of_two_blocks_are_those_of_one():
    rng = np.random.default_rng(4)
    keys, steps = rng.integers(0, 5, 1000), rng.integers(-3, 4, 1000)
    last, again = np.zeros(5, np.int64), np.zeros(5, np.int64)

    whole = running(keys, steps, last)
    parts = [running(keys[:317], steps[:317], again), running(keys[317:], steps[317:], again)]

    sums = [sum(steps[: i + 1][keys[: i + 1] == keys[i]]) for i in range(1000)]
    assert whole.tolist() == sums
    assert np.concatenate(parts).tolist() == sums
    assert last.tolist() == again.tolist()


def test_keys_are_as_wide_as_they_must_be():
    assert narrow(np.array([0, 65_535]), 65_536).tolist() == [0, 65_535]
    assert narrow(np.array([0, 65_536]), 65_537).tolist() == [0, 65_536]


def test_a_clock_at_full_speed_ticks_every_microsecond():
    clock = Clock(1000, 60_000_000.0)

    assert clock.next(Draws(1), 3).tolist() == [1000, 1001, 1002]
    assert clock.next(Draws(1), 2).tolist() == [1003, 1004]
