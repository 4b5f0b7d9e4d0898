"""What static fixes before a run: would catch a choice that looks at the run itself.

And a sample or rates that are not heeded, or that are given where nothing is made of them.
"""

from __future__ import annotations

import pickle

import numpy as np
import pyarrow as pa
import pytest

from hamlet import Workload
from hamlet.engine import options_for
from hamlet.errors import PlanError
from hamlet.share.policy import NOTHING_FIXED

LOOP = "T: previous.v < next.v"


def queries(within: int) -> Workload:
    """Three queries with one loop: with long bursts it pays to share it, with short ones not."""
    return Workload.parse(
        ";".join(
            f"q{i}: RETURN COUNT(*) PATTERN SEQ(X{i}, T+, Y{i}) WHERE T.v < NEXT(T).v "
            f"WITHIN {within} s SLIDE {within // 4} s"
            for i in range(3)
        )
    )


def bursts(length: int, events: int = 3000) -> pa.Table:
    """A T each second, and between every so many of them an X of some query."""
    places = np.arange(events) % (length + 1)
    types = np.where(places == 0, np.char.add("X", (np.arange(events) % 3).astype(str)), "T")
    rng = np.random.default_rng(1)
    return pa.table({"type": types, "time": np.arange(events), "v": rng.random(events)})


WORKLOAD = queries(within=600)


def fixed_by(**given):
    return options_for(WORKLOAD.plan, sharing="static", **given).fixed


def test_with_nothing_given_every_loop_is_shared():
    assert fixed_by() == NOTHING_FIXED
    assert NOTHING_FIXED.policy_of(LOOP) == "always"


def test_a_sample_decides():
    assert fixed_by(sample=bursts(200)).policy_of(LOOP) == "always"
    assert fixed_by(sample=bursts(1)).policy_of(LOOP) == "never"


def test_rates_decide():
    rare = {"T": 1, "X0": 0.002, "X1": 0.001, "X2": 0.001}
    often = {"T": 1, "X0": 0.5, "X1": 0.5, "X2": 0.5}

    assert fixed_by(rates=rare).policy_of(LOOP) == "always"
    assert fixed_by(rates=often).policy_of(LOOP) == "never"


def test_the_run_itself_decides_nothing():
    """Long bursts before, short ones in the run, and the other way round."""
    for before, during, snapshots in ((200, 1, True), (1, 200, False)):
        run = WORKLOAD.run(bursts(during), sharing="static", numbers="float", sample=bursts(before))

        assert (run.statistics.snapshots > 0) == snapshots


def test_which_queries_have_a_table_together_is_fixed_before_too():
    """In the sample q0 is for half of the events alone, in the run for all, and the other way."""
    text = ";".join(
        f"q{i}: RETURN COUNT(*) PATTERN SEQ(X{i}, T+, Y{i}) WHERE T.v < NEXT(T).v "
        f"{'AND T.u < 1' if i == 0 else ''} WITHIN 600 s SLIDE 150 s"
        for i in range(200)
    )
    workload, together = Workload.parse(text), ", ".join(f"q{i}" for i in range(200))
    alike, unlike = (
        table.append_column("u", [np.arange(len(table)) % parts])
        for table, parts in ((bursts(50, 9000), 1), (bursts(50, 9000), 2))
    )

    for before, during, is_parted in ((unlike, alike, True), (alike, unlike, False)):
        given = {"sharing": "static", "sample": before}
        fixed = options_for(workload.plan, **given).fixed
        assert len(fixed.tables) == 2 * is_parted
        trace = workload.run(during, numbers="float", trace=True, **given).trace
        assert (together in trace.column("class").to_pylist()) is not is_parted


def test_a_set_without_loops_of_such_a_kind_has_nothing_to_fix():
    plan = Workload.parse("RETURN COUNT(*) PATTERN SEQ(A, B) WITHIN 5 s").plan

    assert options_for(plan, sharing="static", rates={"A": 1, "B": 2}).fixed == NOTHING_FIXED


def test_rates_with_sums_and_extremes_are_taken():
    where = "WHERE T.v < NEXT(T).v WITHIN 90 s SLIDE 9 s"
    alone = f"RETURN SUM(T.v), COUNT(T) PATTERN SEQ(X, T+, Y) {where}"
    text = f"{alone}; {alone.replace('X,', 'Z,').replace('Y)', 'W)')}"
    more = f"; RETURN MAX(T.w) PATTERN SEQ(X, T+) {where}"
    for asked, rates, found in (
        (text, {"T": 3, "X": 3, "Z": 3}, {LOOP}),
        (text, {"T": 3, "X": 0.01, "Z": 0.01}, set()),
        (text + more, {"T": 3, "X": 3, "Z": 3}, {LOOP}),
        # One query in one window has nobody to share with.
        (alone.replace("SLIDE 9 s", ""), {"T": 3, "X": 0.01}, {LOOP}),
    ):
        plan = Workload.parse(asked).plan
        assert options_for(plan, sharing="static", rates=rates).fixed.alone == found


def test_what_is_fixed_goes_to_other_processes():
    options = options_for(WORKLOAD.plan, sharing="static", sample=bursts(1))

    assert pickle.loads(pickle.dumps(options)) == options


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"sharing": "dynamic", "rates": {"T": 1}}, "rates .*for sharing static.*dynamic"),
        ({"sharing": "never", "sample": []}, "sample .*for sharing static.*never"),
        ({"sharing": "static", "sample": [], "rates": {}}, "Give one of the two"),
        ({"sharing": "static", "rates": {"Tt": 1}}, "no type of events 'Tt'.*Did you mean 'T'"),
        ({"sharing": "static", "rates": {"T": -1}}, "cannot come -1 times"),
        ({"sharing": "static", "rates": {"T": float("nan")}}, "cannot come nan times"),
    ],
)
def test_what_cannot_be_is_refused(given, told):
    with pytest.raises(PlanError, match=f"(?s){told}"):
        options_for(WORKLOAD.plan, **given)
