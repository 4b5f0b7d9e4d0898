"""A kernel fed in pieces: would catch state lost, doubled or misread between two batches.

Every conformance stream is cut at random times; between batches the state is written to bytes and
read back by a new session, sometimes in a new process. What comes out must be exactly what one
batch gives.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from conformance import load_cases

from hamlet.errors import InternalError, ReadError
from hamlet.events import EventTable
from hamlet.kernel.code import all_units, stored_units
from hamlet.kernel.compiler import compile_code
from hamlet.kernel.encode import encode
from hamlet.kernel.run import run_batch
from hamlet.kernel.session import BEGINNING, KernelSession, chosen
from hamlet.plan.program import compile_set
from hamlet.workload import Workload

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hamlet.kernel.base import Emission, EventBatch

END_OF_TIME = 10**17


@dataclass
class Stream:
    """The events of one sharable set, and how to run them."""

    batch: EventBatch
    whole: Any
    rows: Any
    stored: Any
    is_float: bool

    def session(self) -> KernelSession:
        return KernelSession(self.rows, self.stored, self.is_float)

    def at_once(self) -> dict[Any, Any]:
        return records(run_batch(self.whole, self.batch, self.is_float)[0])


def streams(
    text: str, events: list[dict[str, Any]], order: str | None, is_float: bool
) -> Iterator[Stream]:
    plan = Workload.parse(text).plan
    table = EventTable.of(events, plan, order=order)
    for sharable in plan.sets:
        program = compile_set(plan, sharable)
        encoded = encode(table, plan, sharable, program, "float" if is_float else "exact")
        batch = encoded.batch

        def compiled(only: frozenset[int] | None = None) -> Any:
            return compile_code(
                plan,
                program,  # noqa: B023 (called before the loop goes on)
                batch.weight_specs,  # noqa: B023
                batch.extreme_attributes,  # noqa: B023
                encoded.digits,  # noqa: B023
                encoded.conditions,  # noqa: B023
                batch.column_names,  # noqa: B023
                encoded.ordered_usable,  # noqa: B023
                is_float=is_float,
                only=only,
            )

        if not len(batch):
            continue
        whole = compiled()
        stored = stored_units(whole)
        rows = all_units(whole) - stored
        yield Stream(
            batch,
            whole,
            compiled(rows) if rows else None,
            compiled(stored) if stored else None,
            is_float,
        )


def records(emission: Emission) -> dict[Any, Any]:
    """What was emitted, by partition, unit and window; nothing may come twice."""
    found: dict[Any, Any] = {}
    for r in range(len(emission.part)):
        key = (int(emission.part[r]), int(emission.unit[r]), int(emission.window[r]))
        numbers = [v for v in emission.components[r] if v != 0]
        extremes = [v for v in emission.extremes[r] if v == v]
        assert key not in found, key
        found[key] = (numbers, extremes)
    return found


def in_pieces(stream: Stream, chance: random.Random) -> dict[Any, Any]:
    """What a session emits when the stream is cut and its state written and read at random."""
    batch = stream.batch
    times = sorted(set(batch.ts.tolist()))
    cuts = sorted(chance.sample(times, min(len(times), chance.randint(0, 4))))
    session, found, low = stream.session(), dict[Any, Any](), BEGINNING
    for high in [*cuts, END_OF_TIME]:
        session.feed(chosen(batch, (batch.ts >= low) & (batch.ts < high)))
        if chance.random() < 0.5:
            session = restored(stream, session)
        if chance.random() < 0.7:
            _add_new(found, session.close_until(high))
        if chance.random() < 0.3:
            session = restored(stream, session)
        low = high
    _add_new(found, session.close_until(END_OF_TIME))
    return found


def _add_new(found: dict[Any, Any], emission: Emission) -> None:
    new = records(emission)
    assert not found.keys() & new.keys()
    found.update(new)


def restored(stream: Stream, session: KernelSession) -> KernelSession:
    after = stream.session()
    after.restore(session.snapshot())
    return after


@pytest.mark.parametrize("is_float", [False, True])
def test_any_cut_and_any_restore_give_the_results_of_one_batch(is_float: bool) -> None:
    chance = random.Random(7)
    runs = 0
    for case in load_cases():
        for stream in streams(case.workload, case.events, case.order, is_float):
            assert in_pieces(stream, chance) == stream.at_once(), case
            runs += 1
    assert runs > 500


def long_stream(is_float: bool, edge: bool = False) -> Stream:
    """Counts far beyond 64 bits and beyond a double, over several windows."""
    chance = random.Random(3)
    events = [
        {"time": t, "type": chance.choice("AABBBBBBC"), "x": chance.randint(-9, 9)}
        for t in range(3000)
    ]
    condition = "WHERE B.x <= NEXT(B).x + 15" if edge else ""
    text = f"""
        q1: RETURN COUNT(*), SUM(B.x), MIN(B.x), MAX(A.x)
            PATTERN SEQ(A, B+, NOT C) {condition} WITHIN 40 min SLIDE 10 min;
        q2: RETURN COUNT(*), COUNT(B) PATTERN (SEQ(A, B+))+ WITHIN 45 min SLIDE 10 min
    """
    (stream,) = streams(text, events, None, is_float)
    return stream


@pytest.mark.parametrize("edge", [False, True])
@pytest.mark.parametrize("is_float", [False, True])
def test_numbers_that_outgrow_their_kind_between_batches_stay_right(
    is_float: bool, edge: bool
) -> None:
    stream = long_stream(is_float, edge)
    wanted = stream.at_once()

    found = in_pieces(stream, random.Random(1))

    assert found.keys() == wanted.keys()
    for key, (numbers, extremes) in wanted.items():
        assert found[key][1] == extremes
        if is_float:
            np.testing.assert_allclose(found[key][0], numbers, rtol=1e-9)
        else:
            assert found[key][0] == numbers


def test_rows_do_not_grow_with_the_number_of_events() -> None:
    stream = long_stream(is_float=True)
    session = stream.session()
    sizes = []
    for low in range(0, 2400, 600):
        batch = stream.batch
        inside = (batch.ts >= low * 10**6) & (batch.ts < (low + 600) * 10**6)
        session.feed(chosen(batch, inside))
        session.close_until((low + 600) * 10**6)
        sizes.append(len(session.snapshot()))

    assert max(sizes) <= 1.5 * sizes[0]


def test_a_snapshot_is_restored_in_another_process(tmp_path: Path) -> None:
    stream = long_stream(is_float=False)
    session = stream.session()
    session.feed(chosen(stream.batch, stream.batch.ts < 1500 * 10**6))
    (tmp_path / "state").write_bytes(session.snapshot())
    code = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
from test_session import END_OF_TIME, long_stream, records
from hamlet.kernel.session import chosen
stream = long_stream(is_float=False)
session = stream.session()
session.restore(open({str(tmp_path / "state")!r}, "rb").read())
session.feed(chosen(stream.batch, stream.batch.ts >= 1500 * 10**6))
print(repr(records(session.close_until(END_OF_TIME))))
"""
    printed = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=os.environ
    ).stdout

    wanted = stream.at_once()
    found = eval(printed, {"nan": float("nan"), "np": np})

    assert found == wanted


def test_a_snapshot_of_another_workload_is_refused() -> None:
    session = long_stream(is_float=False).session()

    with pytest.raises(ReadError, match="another workload"):
        long_stream(is_float=False, edge=True).session().restore(session.snapshot())
    with pytest.raises(ReadError, match="not a snapshot"):
        session.restore(b"nothing of the kind")


def test_events_of_closed_windows_are_refused() -> None:
    stream = long_stream(is_float=False)
    session = stream.session()
    session.close_until(END_OF_TIME)

    with pytest.raises(InternalError, match="after their windows"):
        session.feed(stream.batch)
