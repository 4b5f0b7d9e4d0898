"""Readable cases: a file for each feature of the language, with queries, events and every row.

A case is a few lines, and cases are separated by empty ones:

    title   a negated event cancels only the trends that span it
    query   q: RETURN COUNT(*) PATTERN SEQ(A, NOT C, B) WITHIN 10 s
    events  1 A, 2 C, 3 A, 4 B
    expect  q [0, 10) {} COUNT(*) 1

`query` and `events` stand once for each query and each line of events (`hamlet.testing.stream`
reads these), `order` names an order column, and `expect` stands once for each row, or once with
`nothing`. An answer is its digits where it has some, and else the value. Lines that begin with #
are remarks.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hamlet.testing import stream

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

FOLDER = Path(__file__).parent.parent / "cases" / "language"
NOTHING = "nothing"
_KEYS = ("title", "query", "order", "events", "expect")


@dataclass(frozen=True)
class ReadableCase:
    """One case of a file: what is asked, of what, and the rows that must come out."""

    title: str
    queries: tuple[str, ...]
    event_lines: tuple[str, ...]
    order: str | None = None
    expected: tuple[str, ...] = ()
    remarks: tuple[str, ...] = field(default=(), compare=False)

    @property
    def workload(self) -> str:
        """All queries as one text."""
        return ";\n".join(self.queries)

    @property
    def events(self) -> list[dict[str, Any]]:
        """All events, in the order in which they are written."""
        return [event for line in self.event_lines for event in stream(line)]


def case_files() -> list[Path]:
    """Every file of cases."""
    return sorted(FOLDER.glob("*.case"))


def read_cases(path: Path) -> list[ReadableCase]:
    """The cases of a file, in order."""
    blocks = path.read_text(encoding="utf-8").split("\n\n")
    return [_case(path, block) for block in blocks if block.strip()]


def _case(path: Path, block: str) -> ReadableCase:
    lines: dict[str, list[str]] = {key: [] for key in _KEYS}
    remarks = []
    for line in block.strip().splitlines():
        if line.startswith("#"):
            remarks.append(line)
            continue
        key, _, rest = line.partition(" ")
        if key not in lines:
            message = f"{path.name}: a line begins with one of {', '.join(_KEYS)}: {line!r}"
            raise ValueError(message)
        lines[key].append(rest.strip())
    (title,) = lines["title"]
    return ReadableCase(
        title,
        tuple(lines["query"]),
        tuple(lines["events"]),
        lines["order"][0] if lines["order"] else None,
        tuple(lines["expect"]),
        tuple(remarks),
    )


def write_cases(path: Path, cases: Iterable[ReadableCase]) -> None:
    """Write a file of cases as it is read."""
    path.write_text("\n\n".join(_block(case) for case in cases) + "\n", encoding="utf-8")


def _block(case: ReadableCase) -> str:
    return "\n".join([*case.remarks, *_lines(case)])


def _lines(case: ReadableCase) -> Iterator[str]:
    yield f"title   {case.title}"
    yield from (f"query   {query}" for query in case.queries)
    if case.order is not None:
        yield f"order   {case.order}"
    yield from (f"events  {line}" for line in case.event_lines)
    yield from (f"expect  {row}" for row in case.expected)


def shown(rows: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    """Rows of results as lines of a case, sorted by query, window, group and aggregate."""
    lines = [(row["query"], row["window_start"], _row(row)) for row in rows]
    return tuple(line for _, _, line in sorted(lines)) or (NOTHING,)


def _row(row: Mapping[str, Any]) -> str:
    window = f"[{float(row['window_start']):.15g}, {float(row['window_end']):.15g})"
    group = row["group"]
    group = group if isinstance(group, str) else json.dumps(group)
    return f"{row['query']} {window} {group} {row['aggregate']} {_answer(row)}"


def _answer(row: Mapping[str, Any]) -> str:
    if row["exact"] is not None:
        return str(row["exact"])
    return "null" if row["value"] is None else f"{float(row['value']):.12g}"
