"""Tables of keys: would catch two keys in one slot, or one key in two."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from hamlet.engine.state import keys
from hamlet.engine.state.keys import KeyTable

SCHEMA = pa.schema({"s": pa.string(), "n": pa.int64()})


def table_of(pairs: list[tuple[str, int]]) -> pa.Table:
    return pa.table({"s": [s for s, _ in pairs], "n": [n for _, n in pairs]}, schema=SCHEMA)


@pytest.fixture(params=["good", "poor"])
def _hashes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a poor hash nearly every lookup meets other keys of the same hash."""
    good = keys.hashes_of
    if request.param == "poor":
        monkeypatch.setattr(keys, "hashes_of", lambda columns, count: good(columns, count) % 3)


@pytest.mark.usefixtures("_hashes")
def test_every_key_has_one_slot_for_good() -> None:
    chance = random.Random(1)
    table, known = KeyTable(SCHEMA), dict[Any, int]()
    for _ in range(60):
        drawn = {(chance.choice("abcdé"), chance.randint(0, 12)) for _ in range(8)}
        pairs = chance.sample(sorted(drawn), len(drawn))

        slots = table.slots_of(table_of(pairs), len(pairs)).tolist()

        for pair, slot in zip(pairs, slots, strict=True):
            assert known.setdefault(pair, slot) == slot
    assert sorted(known.values()) == list(range(len(table)))
    found = table.taken(np.arange(len(table))).to_pylist()
    assert [(row["s"], row["n"]) for row in found] == sorted(known, key=known.__getitem__)


@pytest.mark.usefixtures("_hashes")
def test_slots_are_renumbered_with_their_keys() -> None:
    table = KeyTable(SCHEMA)
    pairs = [("a", n) for n in range(10)]
    table.slots_of(table_of(pairs), 10)

    table.renumber(np.array([7, 2, 5]))

    assert table.slots_of(table_of([("a", 2), ("a", 3), ("a", 7)]), 3).tolist() == [1, 3, 0]


def test_without_attributes_there_is_one_key() -> None:
    table = KeyTable(pa.schema([]))
    nothing = pa.schema([]).empty_table()

    assert table.slots_of(nothing, 1).tolist() == [0]
    assert table.slots_of(nothing, 1).tolist() == [0]
    assert table.taken(np.array([0])).num_columns == 0
