"""Text is text: Arrow's types for it give the same results in every role a column can have.

These would catch a function of Arrow that does not know one of the types, and a type that is
compared, grouped or ordered differently. Plain `string` is what the others are compared with.
"""

from __future__ import annotations

import math
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import compute as pc
from sampling import random_sample

import hamlet
from hamlet.engine import Options
from hamlet.engine.session import Session
from hamlet.results import Results

_WORKLOAD = hamlet.Workload.parse("""
    grouped: RETURN COUNT(*) PATTERN SEQ(A, B+) GROUPBY k WITHIN 60 s;
    alike:   RETURN COUNT(*) PATTERN SEQ(A, B+) WHERE [k] WITHIN 60 s;
    both:    RETURN COUNT(B) PATTERN B+ WHERE [k] GROUPBY c WITHIN 60 s;
    local:   RETURN COUNT(*) PATTERN SEQ(A, B+) WHERE A.c = 'y' AND B.c IN ('x', 'é') WITHIN 60 s;
    edge:    RETURN COUNT(*) PATTERN B+ WHERE B.c = NEXT(B).c WITHIN 60 s;
    rising:  RETURN COUNT(*) PATTERN B+ WHERE B.c < NEXT(B).c AND B.k != NEXT(B).c WITHIN 60 s
""")
_COLUMNS = ("type", "time", "order", "k", "c")
_WORDS = ("x", "y", "é", "", "\N{GRINNING FACE}", "longer than what a view has in itself")
_VALUES = (pa.string(), pa.large_string(), pa.string_view())
_INDICES = (pa.int8(), pa.uint8(), pa.int32(), pa.uint32(), pa.int64())


def _encoded(words: list[str | None], value: pa.DataType, index: pa.DataType) -> pa.Array:
    """A dictionary with words that repeat, one that is null, and one on no row."""
    found = [*dict.fromkeys(words), *dict.fromkeys(words), None, "unused"]
    # Every second row takes the second code of its word.
    half = len(dict.fromkeys(words))
    codes = [found.index(word) + (half if row % 2 else 0) for row, word in enumerate(words)]
    return pa.DictionaryArray.from_arrays(pa.array(codes, index), pa.array(found, value))


def _as_type(words: list[str | None], form: str, value: pa.DataType, index: pa.DataType) -> Any:
    """Words in one of the forms that Arrow has, in two pieces."""
    middle = len(words) // 3
    pieces = []
    for some in (words[:middle], words[middle:]):
        if form == "dictionary":
            pieces.append(_encoded(some, value, index))
        elif form == "tidy":
            pieces.append(
                pa.array(some, pa.string()).dictionary_encode().cast(pa.dictionary(index, value))
            )
        elif form == "runs":
            pieces.append(pc.run_end_encode(pa.array(some, pa.string())))
        else:
            pieces.append(pa.array(some, value))
    return pa.chunked_array(pieces, pieces[0].type)


@st.composite
def _streams(draw: st.DrawFn) -> tuple[dict[str, list[str | None]], dict[str, Any]]:
    rows = draw(st.integers(1, 14))
    word = st.one_of(st.none(), st.sampled_from(_WORDS))
    second = st.integers(0, 5).map(lambda s: f"2026-03-02T08:00:{s:02d}")
    one = {"type": st.sampled_from("ABC"), "time": second, "order": st.sampled_from("pqr")}
    columns = {
        name: draw(st.lists(one.get(name, word), min_size=rows, max_size=rows)) for name in _COLUMNS
    }
    forms = {
        name: (
            draw(st.sampled_from(("plain", "plain", "dictionary", "tidy", "runs"))),
            draw(st.sampled_from(_VALUES)),
            draw(st.sampled_from(_INDICES)),
        )
        for name in _COLUMNS
    }
    return columns, forms


@random_sample(60)
@given(_streams())
def test_every_type_of_text_gives_what_plain_text_gives(
    stream: tuple[dict[str, list[str | None]], dict[str, Any]],
) -> None:
    columns, forms = stream
    plain = pa.table({name: pa.array(words, pa.string()) for name, words in columns.items()})
    typed = pa.table({name: _as_type(columns[name], *forms[name]) for name in _COLUMNS})

    expected = _WORKLOAD.run(plain, order="order")
    found = _WORKLOAD.run(typed, order="order")

    assert found.table.equals(expected.table)
    assert found.statistics.events_used == expected.statistics.events_used
    for query in expected.queries:
        assert found.wide(query).to_pylist() == expected.wide(query).to_pylist()


@random_sample(25)
@given(_streams())
def test_a_session_takes_every_type_of_text(
    stream: tuple[dict[str, list[str | None]], dict[str, Any]],
) -> None:
    columns, forms = stream
    plain = pa.table({name: pa.array(words, pa.string()) for name, words in columns.items()})
    typed = pa.table({name: _as_type(columns[name], *forms[name]) for name in _COLUMNS})
    # A stream has no texts of times.
    seconds = pa.array([float(text[-2:]) for text in columns["time"] if text], pa.float64())
    plain, typed = (t.set_column(1, "time", seconds) for t in (plain, typed))

    session = Session(_WORKLOAD.plan, Options(order="order"), typed.schema)
    session.feed(typed)
    answers = session.close_all().answers()

    queries = [planned.query for planned in _WORKLOAD.plan.queries]
    expected = _WORKLOAD.run(plain, order="order").table
    assert Results(queries, answers, times="seconds").table.equals(expected)


@pytest.mark.parametrize("value", _VALUES, ids=str)
@pytest.mark.parametrize("form", ["plain", "dictionary", "tidy", "runs"])
def test_no_type_of_text_has_a_least_or_greatest(form: str, value: pa.DataType) -> None:
    workload = hamlet.Workload.parse("RETURN MIN(A.k) PATTERN A+ WITHIN 10 s")
    events = {"type": ["A"], "time": [1]} | {"k": _as_type(["x"], form, value, pa.int32())}

    with pytest.raises(hamlet.SchemaError, match="attribute 'k' is text"):
        workload.run(pa.table(events))


# Data frames


def _frames() -> dict[str, Any]:
    columns = {
        "type": ["A", "B", "B", "A", "B", "B"],
        "time": [1, 2, 3, 4, 5, 6],
        "k": ["x", "x", "y", "y", "x", None],
        "c": ["y", "x", "é", "y", "x", "x"],
        "order": ["p", "q", "p", "q", "p", "q"],
    }
    text = [name for name in columns if name != "time"]
    frame, polars = pd.DataFrame(columns), pl.DataFrame(columns)
    categories = polars.with_columns(pl.col(text).cast(pl.Categorical))
    return {
        "arrow": pa.table(columns),
        "pandas": frame,
        "pandas strings": frame.astype(dict.fromkeys(text, "string[pyarrow]")),
        "pandas categories": frame.astype(dict.fromkeys(text, "category")),
        "polars": polars,
        "polars categories": categories,
        "polars enum": polars.with_columns(pl.col("type").cast(pl.Enum(["A", "B"]))),
        "polars lazy": polars.lazy(),
        "duckdb": duckdb.from_arrow(pa.table(columns)),
    }


@pytest.mark.parametrize("name", list(_frames()))
def test_data_frames_give_the_same_results(name: str) -> None:
    frames = _frames()
    expected = _WORKLOAD.run(frames["arrow"], order="order")

    found = _WORKLOAD.run(frames[name], order="order")

    assert found.table.equals(expected.table)
    assert len(found) > 4
    assert found.to_polars()["exact"].to_list() == expected.table["exact"].to_pylist()
    assert found.to_pandas()["exact"].tolist() == expected.table["exact"].to_pylist()


def test_only_the_needed_columns_of_a_lazy_frame_are_computed() -> None:
    asked: list[str] = []

    def noted(column: Any) -> Any:
        asked.append(column.name)
        return column

    lazy = pl.LazyFrame({"type": ["A"], "time": [1], "k": ["x"], "other": ["z"]})
    lazy = lazy.with_columns(pl.col("k", "other").map_batches(noted, return_dtype=pl.String))
    workload = hamlet.Workload.parse("RETURN COUNT(*) PATTERN A+ GROUPBY k WITHIN 10 s")

    results = workload.run(lazy)

    assert results.table["group"].to_pylist() == ['{"k": "x"}']
    assert asked == ["k"]


@pytest.mark.parametrize(
    "kind",
    [pa.float16(), pa.decimal32(5, 2), pa.decimal64(12, 2), pa.dictionary(pa.int8(), pa.int64())],
    ids=str,
)
def test_rare_types_of_numbers_can_be_keys_and_be_summed(kind: pa.DataType) -> None:
    rare = pa.array([1, 1, 2], pa.float64()).cast(
        kind.value_type if pa.types.is_dictionary(kind) else kind
    )
    rare = rare.dictionary_encode() if pa.types.is_dictionary(kind) else rare
    events = pa.table({"type": ["A", "A", "A"], "time": [1, 2, 3], "k": rare})
    text = "RETURN SUM(A.k) PATTERN A+ WHERE A.k = NEXT(A).k GROUPBY k WITHIN 10 s"

    results = hamlet.Workload.parse(text).run(events)

    assert math.isclose(sum(results.table["value"].to_pylist()), 1 + 1 + 2 + 2)
