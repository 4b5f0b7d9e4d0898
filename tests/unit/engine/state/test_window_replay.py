"""Windows laid out one by one: would catch an event left out of a window, or in one too many."""

from __future__ import annotations

import random
from collections import defaultdict
from typing import Any

import numpy as np
import pytest

from hamlet.engine.state import window_replay
from hamlet.engine.state.window_replay import Layers
from hamlet.kernel.base import EventBatch
from hamlet.plan.query import Window

FAR = 1 << 62


def batch_of(parts: list[list[int]]) -> EventBatch:
    """Partitions by the times of their events; the one weight of an event is its number."""
    ts = np.array([t for times in parts for t in times], np.int64)
    part = np.repeat(np.arange(len(parts), dtype=np.int32), [len(times) for times in parts])
    tied = np.zeros(len(ts), np.uint8)
    tied[1:] = (ts[1:] == ts[:-1]) & (part[1:] == part[:-1])
    nothing = np.empty((0, len(ts)))
    weights = np.arange(len(ts))[None, :]
    letter = np.zeros(len(ts), np.int32)
    letters = np.ones((1, 1), np.uint8)
    return EventBatch(
        part, ts, tied, letter, letters, (), weights, (), nothing, nothing, nothing, (), nothing
    )


def laid_out(layers: Layers) -> dict[tuple[int, int], list[int]]:
    """The events of each partition and window; each stands once, in order, with its own time."""
    found: dict[tuple[int, int], list[int]] = {}
    for batch, part, window in layers.windows_apart():
        events = batch.weights[0]
        for number in range(len(part)):
            mine = np.flatnonzero(batch.part == number)
            assert (np.diff(mine) == 1).all()
            key = int(part[number]), int(window[number])
            assert key not in found
            found[key] = events[mine].tolist()
            begins = layers.batch.ts[events[mine]] - batch.ts[mine]
            assert (begins == window[number] * layers.window.slide_us).all()
            assert batch.tied[mine[0]] == 0
            assert (batch.tied[mine] == layers.batch.tied[events[mine]]).all()
    return found


@pytest.mark.parametrize("window", [Window(10, 10), Window(10, 3), Window(7, 2), Window(6, 4)])
@pytest.mark.parametrize("most_rows", [1, 40, 10**6])
def test_every_window_that_closes_has_its_events(
    window: Window, most_rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(window_replay, "_MOST_ROWS", most_rows)
    chance = random.Random(8)
    for _ in range(20):
        parts = [
            sorted(chance.randint(-30, 60) for _ in range(chance.randint(1, 9)))
            for _ in range(chance.randint(1, 6))
        ]
        batch, closed = batch_of(parts), chance.choice([-FAR, -5, 20])
        until = chance.choice([chance.randint(21, 70), FAR])

        layers = Layers.of(batch, window, np.full(len(batch), closed), until)

        wanted: dict[Any, list[int]] = defaultdict(list)
        for event, ts in enumerate(batch.ts.tolist()):
            for number in range(-40, 70):
                begin = number * window.slide_us
                end = begin + window.within_us
                if begin <= ts < end and closed < end and (until == FAR or end <= until):
                    wanted[int(batch.part[event]), number].append(event)
        assert laid_out(layers) == wanted
        assert layers.cost_apart == 2 * sum(len(events) for events in wanted.values())


def test_windows_are_closed_for_each_event_from_its_own_time_on() -> None:
    """Pages may have been closed up to different times."""
    batch = batch_of([[12], [12]])

    layers = Layers.of(batch, Window(10, 5), np.array([5, 15]), 100)

    assert laid_out(layers) == {(0, 1): [0], (0, 2): [0], (1, 2): [1]}


def test_windows_far_apart_take_no_room() -> None:
    batch = batch_of([[0, 10**15]])

    layers = Layers.of(batch, Window(1000, 1), np.full(2, -FAR), FAR)

    assert len(laid_out(layers)) == 2000
