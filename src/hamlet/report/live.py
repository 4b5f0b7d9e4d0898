"""What is known of a stream while it runs, for whoever looks: a page, a program, or Prometheus.

A host tells of batches, of results and of queries as they come and go; what is asked for is plain
data or text. Nothing here knows how a stream is run. Only the last batches are kept, and of results
the last windows of as many groups as a reader can choose from: of the others there are counts.
"""

from __future__ import annotations

import threading
import time
from collections import Counter, deque
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

MOST_BATCHES = 600
MOST_WINDOWS = 300
MOST_GROUPS = 200
# By the name of a figure of a batch, what it means; the ones that are summed up over all batches.
SUMMED = {
    "rows": "rows that were read",
    "used": "rows that some query asks for",
    "late": "rows that came too late",
    "malformed": "rows that could not be read",
    "results": "rows of results",
    "windows": "windows that closed",
    "bursts": "stretches of events that were run at once",
    "shared_bursts": "of these, those that queries shared",
    "shared_events": "events for several queries that cost as one",
    "snapshots": "values kept apart for each query at the start of a burst",
    "merges": "bundles of queries that were merged",
    "splits": "bundles of queries that were split",
}
# Figures as they are now.
CURRENT = {
    "rows_per_s": ("rows_per_second", "rows a second in the last batch"),
    "seconds": ("batch_seconds", "how long the last batch took"),
    "lag_s": ("watermark_lag_seconds", "how far the watermark is behind the clock"),
    "state_bytes": ("state_bytes", "state of the stream, in memory and files"),
    "state_rows": ("state_rows", "entries of the state"),
}


class LiveFigures:
    """The figures of one stream; told and asked by several threads."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._lock = threading.Lock()
        self._begun = time.time()
        self._ended: str | None = None
        self._batches: deque[dict[str, Any]] = deque(maxlen=MOST_BATCHES)
        self._totals: Counter[str] = Counter()
        self._count = 0
        self._queries: list[dict[str, Any]] = []
        self._told: deque[dict[str, Any]] = deque(maxlen=100)
        self._results: dict[str, _Kept] = {}

    # What a host tells

    def batch(self, figures: Mapping[str, Any]) -> None:
        """A batch that is done: figures by the names above, `batch`, `at` and `watermark`."""
        with self._lock:
            self._batches.append(dict(figures))
            self._count += 1
            self._totals.update({name: int(figures.get(name) or 0) for name in SUMMED})

    def queries(self, queries: Sequence[Mapping[str, Any]]) -> None:
        """All queries that there are or were: name, text, since, until."""
        with self._lock:
            self._queries = [dict(query) for query in queries]

    def results(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Rows of results in the long form; start and end are microseconds."""
        with self._lock:
            for row in rows:
                kept = self._results.setdefault(row["query"], _Kept())
                kept.add(row)

    def say(self, text: str) -> None:
        """A sentence about what has happened."""
        with self._lock:
            self._told.append({"at": time.time(), "text": text})

    def end(self, how: str) -> None:
        """The stream is over."""
        with self._lock:
            self._ended = how

    # What is asked

    def figures(self) -> dict[str, Any]:
        """All figures as plain data."""
        with self._lock:
            last = dict(self._batches[-1]) if self._batches else None
            return {
                "name": self.name,
                "begun": self._begun,
                "now": time.time(),
                "ended": self._ended,
                "batches_done": self._count,
                "totals": {name: self._totals[name] for name in SUMMED},
                "last": last,
                "batches": list(self._batches),
                "queries": [
                    query | self._told_of(query["name"]) for query in map(dict, self._queries)
                ],
                "told": list(self._told),
            }

    def _told_of(self, query: str) -> dict[str, Any]:
        kept = self._results.get(query)
        return {"rows": 0, "groups": 0} if kept is None else kept.counts()

    def results_of(self, query: str) -> dict[str, Any]:
        """What has come of a query: for each group and each value its last windows."""
        with self._lock:
            kept = self._results.get(query)
            return {"query": query, **(_Kept() if kept is None else kept).described()}

    def metrics(self) -> str:
        """The figures as Prometheus reads them."""
        figures = self.figures()
        last, lines = figures["last"] or {}, list[str]()

        def add(name: str, kind: str, what: str, values: Mapping[str, Any]) -> None:
            lines.append(f"# HELP hamlet_stream_{name} {what}")
            lines.append(f"# TYPE hamlet_stream_{name} {kind}")
            lines.extend(f"hamlet_stream_{name}{label} {v}" for label, v in values.items())

        add("up", "gauge", "whether the stream runs", {"": int(figures["ended"] is None)})
        add("batches_total", "counter", "batches that are done", {"": figures["batches_done"]})
        for name, what in SUMMED.items():
            add(f"{name}_total", "counter", what, {"": figures["totals"][name]})
        for name, (called, what) in CURRENT.items():
            if last.get(name) is not None:
                add(called, "gauge", what, {"": last[name]})
        if last.get("watermark") is not None:
            what = "the time before which no more rows are waited for"
            add("watermark_timestamp_seconds", "gauge", what, {"": last["watermark"]})
        running = [query for query in figures["queries"] if query.get("until") is None]
        add("queries", "gauge", "queries that are answered", {"": len(running)})
        named = {f'{{query="{_label(q["name"])}"}}': q["rows"] for q in figures["queries"]}
        add("query_results_total", "counter", "rows of results of a query", named)
        return "\n".join(lines) + "\n"


class _Kept:
    """The last windows of a query."""

    def __init__(self) -> None:
        self._rows = 0
        self._groups: dict[str, dict[str, dict[int, tuple[int, Any]]]] = {}
        self._others: set[int] = set()

    def add(self, row: Mapping[str, Any]) -> None:
        self._rows += 1
        group = row["group"]
        if group not in self._groups and len(self._groups) >= MOST_GROUPS:
            if len(self._others) < 100 * MOST_GROUPS:
                self._others.add(hash(group))
            return
        windows = self._groups.setdefault(group, {}).setdefault(row["aggregate"], {})
        windows[row["start"]] = row["end"], row["value"]
        if len(windows) > MOST_WINDOWS:
            del windows[min(windows)]

    def counts(self) -> dict[str, int]:
        return {"rows": self._rows, "groups": len(self._groups) + len(self._others)}

    def described(self) -> dict[str, Any]:
        names = dict.fromkeys(name for windows in self._groups.values() for name in windows)
        groups = [
            {
                "group": group,
                "values": {
                    name: [[start, *windows[start]] for start in sorted(windows)]
                    for name, windows in by_name.items()
                },
            }
            for group, by_name in sorted(self._groups.items())
        ]
        return {**self.counts(), "aggregates": list(names), "kept": groups}


def _label(text: str) -> str:
    """A text as the value of a label."""
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
