"""The order of distinct values by a few of their bytes.

Would catch texts put in another order than Arrow puts them, and equal ones taken for different.
"""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import compute as pc

from hamlet.kernel.encode.text_order import order_of_distinct

WORDS = st.lists(st.text(st.sampled_from("a\x00bé7"), max_size=12), max_size=8)
NUMBERS = st.lists(st.integers(-(2**63), 2**63 - 1), max_size=8)


@given(
    WORDS | NUMBERS, st.text("ab", max_size=3), st.sampled_from([pa.string(), pa.large_string()])
)
def test_the_order_is_that_of_arrow_or_none_at_all(
    values: list[str] | list[int], lead: str, kind: pa.DataType
) -> None:
    is_text = any(isinstance(each, str) for each in values)
    column = (
        pa.array([f"{lead}{each}" for each in values], kind)
        if is_text
        else pa.array(values, pa.int64())
    )

    order = order_of_distinct(column)

    if order is not None:
        assert order.tolist() == pc.array_sort_indices(column).to_pylist()
        assert len(set(values)) == len(values)


def test_short_names_are_put_in_order_without_arrow() -> None:
    names = [f"cab-{number:04}" for number in range(50, 0, -1)]

    order = order_of_distinct(pa.array(names))

    assert order is not None
    assert order.tolist() == list(range(49, -1, -1))


def test_equal_values_and_slices_are_seen() -> None:
    assert order_of_distinct(pa.array(["b", "a", "b"])) is None
    assert order_of_distinct(pa.array(["x", "c", "b"]).slice(1)).tolist() == [1, 0]
