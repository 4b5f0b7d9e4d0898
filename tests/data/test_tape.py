"""The tape of bursts: what is read is what was written, however it is read.

Would catch an event that is lost or read twice between two blocks, and one that goes to another
group.
"""

from __future__ import annotations

import numpy as np
import pytest

from hamlet.data.tape import Tape

GROUPS = 4


class Writer:
    """Writes one burst of 1, 2 or 3 events a chapter, and remembers what it wrote."""

    def __init__(self) -> None:
        self.written: dict[int, list[int]] = {group: [] for group in range(GROUPS)}
        self._number = 0

    def write(self, groups):
        numbers = np.arange(self._number, self._number + len(groups))
        self._number += len(groups)
        lengths = numbers % 3 + 1
        for group, number, length in zip(groups, numbers, lengths, strict=True):
            self.written[int(group)] += [int(number)] * int(length)
        return {"group": groups, "length": lengths, "number": numbers}


@pytest.mark.parametrize("sizes", [[1000], [1] * 50, [7, 0, 333, 1, 60]], ids=str)
def test_each_group_reads_its_bursts_in_order_and_each_event_once(sizes: list[int]):
    rng = np.random.default_rng(5)
    writer = Writer()
    tape = Tape(GROUPS, writer.write, 2.0)
    read: dict[int, list[tuple[int, int]]] = {group: [] for group in range(GROUPS)}

    for size in sizes:
        groups = rng.choice(GROUPS, size, p=[0.7, 0.2, 0.1, 0.0])
        found = tape.read(groups)
        for group, number, place in zip(groups, found["number"], found.place, strict=True):
            read[int(group)].append((int(number), int(place)))

    assert sum(map(len, read.values())) == sum(sizes)
    for group, events in read.items():
        numbers = [number for number, _ in events]
        assert numbers == writer.written[group][: len(numbers)]
        assert [place for _, place in events] == [
            numbers[:i].count(number) for i, number in enumerate(numbers)
        ]
