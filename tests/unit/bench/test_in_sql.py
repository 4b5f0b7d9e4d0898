"""Queries in SQL, which DuckDB answers in `hamlet bench real`.

Would catch a statement that answers another question than the query: at windows, at equal times, at
rows without a key or a value, and one for a query that SQL cannot say so.
"""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

from hamlet import Workload
from hamlet.bench.real.in_sql import Database, NotInSql, sql_of
from hamlet.bench.real.measure import compare, keyed

QUERIES = """
after:  RETURN g, COUNT(*), COUNT(b), SUM(b.x), AVG(b.x), MIN(b.x), MAX(b.x) PATTERN SEQ(A, B b+)
        GROUPBY g WITHIN 9 s SLIDE 3 s;
alone:  RETURN COUNT(*), AVG(b.x), MAX(b.x) PATTERN B b+ WHERE [g] AND NOT b.x = 3 WITHIN 8 s;
before: RETURN COUNT(*), SUM(b.x) PATTERN SEQ(B b+, A a) WHERE b.x > 1 AND a.n * 2 > 40
        WITHIN 6 s SLIDE 4 s;
same:   RETURN h, g, COUNT(*) PATTERN SEQ(B a, B b+) WHERE a.x < 2 OR a.h = 'it''s' GROUPBY h, g
        WITHIN 7 s SLIDE 2 s
"""


def events(seed: int) -> pa.Table:
    chance = random.Random(seed)
    times = sorted(chance.choice(range(60)) for _ in range(120))
    rows = [
        {"kind": chance.choice("AABBBBC"), "time": t, "g": chance.choice(["u", "v", None]), "n": n}
        | {"x": chance.choice([0, 1, 2, 3, 4, None]), "h": chance.choice(["it's", "w"])}
        for n, t in enumerate(times)
    ]
    return pa.Table.from_pylist(rows)


@pytest.mark.parametrize("order", [None, "n"])
@pytest.mark.parametrize("times", [pa.int64(), pa.timestamp("ms")])
def test_duckdb_and_the_engine_answer_alike(times: pa.DataType, order: str | None) -> None:
    pytest.importorskip("duckdb")
    workload, columns = Workload.parse(QUERIES), {"type": "kind", "order": order}

    for seed in range(3):
        table = events(seed)
        if pa.types.is_timestamp(times):
            given = pa.chunked_array(
                [pa.array([1000 * t for t in table["time"].to_pylist()], times)]
            )
            table = table.set_column(1, "time", given)
        statements = {q.name: sql_of(q, table, columns) for q in workload.queries}
        results = workload.run(table, numbers="float", **columns)
        with Database.of(table) as database:
            assert database is not None
            answers = database.answers(statements)

        for query in workload.queries:
            expected = keyed(results.wide(query.name), query, "window_start")
            if pa.types.is_integer(times):
                expected = {(round(k[0] * 1e6), *k[1:]): v for k, v in expected.items()}
            assert expected
            compare(query.name, keyed(answers[query.name], query, "window"), expected)


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("COUNT(*) PATTERN SEQ(A, B+, C) WITHIN 9 s", "more than a loop and one event"),
        ("COUNT(*) PATTERN SEQ(A, B+, NOT C) WITHIN 9 s", "NOT"),
        ("COUNT(*) PATTERN B b+ WHERE b.x < NEXT(b).x WITHIN 9 s", "a condition on neighbours"),
        ("COUNT(*) PATTERN B+ MATCH NEXT WITHIN 9 s", "it keeps some trends only"),
        ("SUM(a.x) PATTERN SEQ(A a, B+) WITHIN 9 s", "it aggregates another event"),
        ("COUNT(*) PATTERN B b+ WHERE ABS(b.x) > 1 WITHIN 9 s", "a condition of another kind"),
        ("COUNT(*) PATTERN B+ WITHIN 9 s OFFSET 1 s", "its windows have a clock of their own"),
    ],
)
def test_what_sql_cannot_say_has_a_reason(query: str, why: str) -> None:
    (asked,) = Workload.parse(f"q: RETURN {query}").queries

    with pytest.raises(NotInSql, match=why):
        sql_of(asked, events(0), {"type": "kind"})
