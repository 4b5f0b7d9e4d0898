"""What `hamlet bench real` prints.

Would catch a ratio of the wrong two times, and a stage or a query that is measured and not told.
"""

from __future__ import annotations

from typing import Any

from hamlet.bench.real.measure import as_text


def spread(median: float) -> dict[str, float]:
    return {"low": median, "median": median, "high": median}


def test_a_line_for_each_workload_its_stages_and_its_queries() -> None:
    contenders = ("hand loops", "together, float", "one by one, float")
    seconds = dict(zip(contenders, map(spread, (0.3, 0.2, 0.5)), strict=True))
    seconds |= {"together, exact": spread(0.4), "one by one, exact": spread(0.6)}
    seconds |= {"DuckDB": spread(0.06), "together, those in SQL": spread(0.02)}
    point: dict[str, Any] = {
        "name": "rides",
        "events": 2000,
        "queries": 2,
        "seconds": seconds,
        "stages": {"float": {"encode": 0.05, "run": 0.15}, "exact": {"run": 0.4}},
        "by query": {"one": {"hand loop": 0.1, "float": 0.2, "exact": 0.3}},
        "not by hand": {"two": "AND joins two patterns"},
        "not in SQL": {"two": "AND joins two patterns"},
    }
    report = {
        "machine": {"processor": "a processor"},
        "python": "3.11",
        "commit": "abc",
        "repeat": 3,
        "command": "hamlet bench real",
        "points": [point, {"name": "cabs", "missing": "no such file"}],
    }

    lines = as_text(report).splitlines()[5:]

    assert lines[0].split() == (
        [
            "rides",
            "2,000",
            "2",
            "300.0",
            "200.0",
            "500.0",
            "400.0",
            "600.0",
            "1.50",
            "2.50",
            "1.50",
            "2.00",
        ]
    )
    assert [line.split() for line in lines[1:]] == [
        [
            "in",
            "SQL",
            "1",
            "of",
            "2",
            "queries:",
            "DuckDB",
            "60.0",
            "together",
            "20.0",
            "DuckDB/ours",
            "3.00",
        ],
        ["float", "encode", "50.0", "run", "150.0"],
        ["exact", "run", "400.0"],
        ["one", "hand", "loop", "100.0", "float", "200.0", "exact", "300.0"],
        ["two", "not", "by", "hand:", "AND", "joins", "two", "patterns"],
        ["cabs", "no", "such", "file"],
    ]
