"""Columns of every Arrow type in every role: answered as the same values in dicts, or refused.

Would catch a type that breaks a run with anything but an error of Hamlet, and a value that means
something else in an Arrow column than as a plain Python value.
"""

from __future__ import annotations

import random
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

from hamlet import Workload
from hamlet.errors import HamletError

if TYPE_CHECKING:
    from collections.abc import Callable

ROWS = 12
BEGIN = datetime(2026, 3, 8, 6, 59, 50)


def integers(width: int, is_signed: bool) -> Callable[[random.Random], Any]:
    low, high = (-(2 ** (width - 1)), 2 ** (width - 1) - 1) if is_signed else (0, 2**width - 1)
    return lambda chance: chance.choice([0, 1, 2, 3, 3, low, high, chance.randint(low, high)])


def floats(width: int) -> Callable[[random.Random], Any]:
    some = [0.0, -0.0, 1.0, 2.5, 0.1, float("inf"), float("nan"), -3.0]
    return lambda chance: np.dtype(f"float{width}").type(chance.choice(some))


def decimals(scale: int) -> Callable[[random.Random], Any]:
    return lambda chance: Decimal(chance.choice([0, 1, 2, -5, 123])).scaleb(-scale)


def times(zone: Any = None) -> Callable[[random.Random], Any]:
    return lambda chance: BEGIN.replace(tzinfo=zone) + timedelta(seconds=chance.randrange(8))


def texts(chance: random.Random) -> str:
    return chance.choice(["A", "B", "B", "", "é", "a longer text than fits into a view", "1", "2"])


ZONES = (None, "UTC", "+02:00", "America/New_York")
KINDS: dict[str, tuple[pa.DataType, Callable[[random.Random], Any]]] = {
    **{f"int{w}": (getattr(pa, f"int{w}")(), integers(w, True)) for w in (8, 16, 32, 64)},
    **{f"uint{w}": (getattr(pa, f"uint{w}")(), integers(w, False)) for w in (8, 16, 32, 64)},
    **{f"float{w}": (getattr(pa, f"float{w}")(), floats(w)) for w in (16, 32, 64)},
    **{f"decimal128 {s}": (pa.decimal128(20, s), decimals(s)) for s in (-3, 0, 2, 18)},
    **{f"decimal256 {s}": (pa.decimal256(60, s), decimals(s)) for s in (-3, 0, 30)},
    "date32": (pa.date32(), lambda chance: date(2026, 1, chance.randint(1, 9))),
    "date64": (pa.date64(), lambda chance: date(2026, 1, chance.randint(1, 9))),
    **{f"time32 {u}": (pa.time32(u), lambda chance: chance.randrange(9)) for u in ("s", "ms")},
    **{f"time64 {u}": (pa.time64(u), lambda chance: chance.randrange(9000)) for u in ("us", "ns")},
    **{
        f"timestamp {u} {z}": (pa.timestamp(u, z), times(z and UTC))
        for u in ("s", "ms", "us", "ns")
        for z in ZONES
    },
    **{
        f"duration {u}": (pa.duration(u), lambda chance: timedelta(seconds=chance.randrange(9)))
        for u in ("s", "ms", "us", "ns")
    },
    "bool": (pa.bool_(), lambda chance: chance.random() < 0.5),
    "string": (pa.string(), texts),
    "large_string": (pa.large_string(), texts),
    "string_view": (pa.string_view(), texts),
    "binary_view": (pa.binary_view(), lambda chance: texts(chance).encode()),
    "dictionary": (pa.dictionary(pa.int8(), pa.string()), texts),
    "dictionary of integers": (pa.dictionary(pa.int32(), pa.int64()), integers(8, True)),
    "binary": (pa.binary(), lambda chance: texts(chance).encode()),
    "null": (pa.null(), lambda chance: None),
    "list": (pa.list_(pa.int64()), lambda chance: [1, 2]),
    "fixed list": (pa.list_(pa.int64(), 2), lambda chance: [1, 2]),
    "struct": (pa.struct({"a": pa.int64()}), lambda chance: {"a": 1}),
    "map": (pa.map_(pa.string(), pa.int64()), lambda chance: [("a", 1)]),
}
NESTED = ("list", "fixed list", "struct", "map")
# A column v of the type at hand, beside usual ones
ROLES = {
    "type": ("RETURN COUNT(*) PATTERN SEQ(A, B+) WITHIN 10 s", {"type": "v"}),
    "time": ("RETURN COUNT(*) PATTERN SEQ(A, B+) WITHIN 1 h", {"time": "v"}),
    "order": ("RETURN COUNT(*) PATTERN SEQ(A, B+) WITHIN 10 s", {"order": "v"}),
    "group": ("RETURN COUNT(*) PATTERN SEQ(A, B+) GROUPBY v WITHIN 10 s", {}),
    "equivalence": ("RETURN COUNT(*) PATTERN SEQ(A, B+) WHERE [v] WITHIN 10 s", {}),
    "null": ("RETURN COUNT(*) PATTERN SEQ(A, B+) WHERE B.v IS NULL WITHIN 10 s", {}),
    "number": ("RETURN COUNT(*) PATTERN SEQ(A, B+) WHERE B.v > 1 WITHIN 10 s", {}),
    "text": ("RETURN COUNT(*) PATTERN SEQ(A, B+) WHERE B.v != 'B' WITHIN 10 s", {}),
    "sum": ("RETURN SUM(B.v), AVG(B.v) PATTERN SEQ(A, B+) WITHIN 10 s", {}),
    "extreme": ("RETURN MIN(B.v), MAX(B.v) PATTERN SEQ(A, B+) WITHIN 10 s", {}),
    "edge": ("RETURN COUNT(*) PATTERN SEQ(A, B+) WHERE B.v < NEXT(B).v WITHIN 10 s", {}),
    "general": ("RETURN COUNT(*) PATTERN B+ WHERE B.v != NEXT(B).v OR B.n > 5 WITHIN 10 s", {}),
}  # fmt: skip


def table_of(kind: str, chance: random.Random) -> pa.Table:
    arrow, draw = KINDS[kind]
    values = [None if chance.random() < 0.15 else draw(chance) for _ in range(ROWS)]
    return pa.table(
        {
            "type": chance.choices("ABB", k=ROWS),
            "time": sorted(chance.choices(range(9), k=ROWS)),
            "n": list(range(ROWS)),
            "v": pa.array(values, arrow),
        }
    )


def outcome(text: str, events: Any, options: dict[str, str]) -> list[dict[str, Any]] | None:
    """Rows of results; None where the events are refused, with a sentence."""
    try:
        return Workload.parse(f"q: {text}").run(events, **options).table.to_pylist()
    except HamletError:
        return None


@pytest.mark.slow
@pytest.mark.parametrize("role", ROLES)
def test_every_type_in_a_role_is_answered_as_plain_values_are_or_refused(role: str):
    text, options = ROLES[role]
    chance, answered, compared, wrong = random.Random(role), [], 0, []
    for kind in KINDS:
        table = table_of(kind, chance)
        found = outcome(text, table, options)
        if found is None:
            continue
        answered.append(kind)
        plain = outcome(text, plain_rows(table), options)
        if plain is not None:
            compared += 1
            if repr(found) != repr(plain):
                wrong.append((kind, table["v"].to_pylist(), found, plain))
    assert not wrong
    assert compared > 0
    assert role in ("null",) or not set(answered) & set(NESTED)


def plain_rows(table: pa.Table) -> list[dict[str, Any]]:
    return table.to_pylist()
