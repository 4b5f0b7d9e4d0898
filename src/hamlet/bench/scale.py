"""What a large stream with many queries takes, worked out from what small ones cost.

Runs over streams of different numbers of queries and groups, and of different bursts, are taken
apart: a run costs so much for each event, for each snapshot, and for each row of results; reading
and encoding cost so much for each event, and results so much for each row. State is so many bytes
for each group and query. From these, and from how many snapshots and rows a stream has for each
event and query, follows what a larger one takes. It is then run, as large as fits here, and what it
took stands beside what was worked out before.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hamlet.bench.paper_stages import Stages
from hamlet.bench.timing import one_core
from hamlet.data import generate_table
from hamlet.data.workloads import first
from hamlet.engine import Options
from hamlet.engine.pipeline import Pipelines
from hamlet.engine.session import Session
from hamlet.io.circumstances import circumstances
from hamlet.workload import Workload

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

SEED = 1
WINDOW_S = 60
# What is asked: events a second, and queries.
EVENTS_PER_S, QUERIES = 1_000_000, 1_000
# Between two checkpoints of a stream, in seconds.
BATCH_S = 10


@dataclass(frozen=True, slots=True)
class Shape:
    """A stream of rides and a workload over it: windows of a minute that do not overlap.

    events: Of all windows; groups: districts; per_group: events of a district in a window.
    """

    events: int
    queries: int
    groups: int
    per_group: int
    burst: float

    @property
    def rate(self) -> float:
        """Events in a minute."""
        return float(self.groups * self.per_group)

    def table(self) -> Any:
        """The events."""
        settings = {"rate": self.rate, "groups": self.groups, "burst": self.burst}
        return generate_table("ridesharing", events=self.events, seed=SEED, **settings)

    def workload(self) -> Workload:
        """The queries."""
        window = f"{WINDOW_S} s"
        return Workload.parse(first("ridesharing", self.queries, SEED, within=window, slide=window))


@dataclass(frozen=True, slots=True)
class Seen:
    """What a run of a shape did and took, in seconds of the processor, and its state in bytes."""

    shape: Shape
    snapshots: int
    rows: int
    around_s: float
    run_s: float
    finish_s: float
    state_bytes: int
    changed_bytes: int

    @property
    def total_s(self) -> float:
        """The whole way, but for planning."""
        return self.around_s + self.run_s + self.finish_s


@dataclass(frozen=True, slots=True)
class Costs:
    """Nanoseconds, and bytes of state for each group and query.

    encode_event: To read and encode an event.
    event, snapshot, row: In the kernel, for each of them.
    finish_row: For a row of results, after it.
    """

    encode_event: float
    event: float
    snapshot: float
    row: float
    finish_row: float
    state_bytes: float

    @staticmethod
    def of(seen: Sequence[Seen]) -> Costs:
        """What explains the runs best, none of it less than nothing."""
        counts = np.array([[s.shape.events, s.snapshots, s.rows] for s in seen], np.float64)
        run = _shares(counts, np.array([s.run_s for s in seen]))
        encode = _shares(counts[:, :1], np.array([s.around_s for s in seen]))
        finish = _shares(counts[:, 2:], np.array([s.finish_s for s in seen]))
        cells = np.array([[s.shape.groups * s.shape.queries] for s in seen], np.float64)
        state = _shares(cells, np.array([float(s.state_bytes) for s in seen]))
        event, snapshot, row = (1e9 * run).tolist()
        return Costs(
            encode_event=1e9 * float(encode[0]),
            event=event,
            snapshot=snapshot,
            row=row,
            finish_row=1e9 * float(finish[0]),
            state_bytes=float(state[0]),
        )

    def seconds(self, events: float, snapshots: float, rows: float) -> float:
        """What a run with so many of each takes."""
        return 1e-9 * (
            (self.encode_event + self.event) * events
            + self.snapshot * snapshots
            + (self.row + self.finish_row) * rows
        )


def _shares(counts: NDArray[np.float64], took: NDArray[np.float64]) -> NDArray[np.float64]:
    """Least squares of relative errors, with no negative cost: what would be one is left out."""
    left = list(range(counts.shape[1]))
    shares = np.zeros(counts.shape[1])
    while left:
        scaled = counts[:, left] / took[:, None]
        solved = np.linalg.lstsq(scaled, np.ones(len(took)), rcond=None)[0]
        if (solved >= 0).all():
            shares[left] = solved
            break
        left.pop(int(np.argmin(solved)))
    return shares


def shapes(quick: bool) -> list[Shape]:
    """What costs are taken from."""
    events = 20_000 if quick else 200_000
    return [
        Shape(events, queries, groups, 20, burst)
        for queries in (10, 50, 200)
        for groups in (200, 2_000)
        for burst in (5.0, 30.0)
    ]


def largest(quick: bool) -> Shape:
    """What is run to see whether it was worked out right."""
    return Shape(50_000 if quick else 1_000_000, QUERIES, 5_000, 20, 10.0)


def seen(shape: Shape) -> Seen:
    """Run a shape, after a run to warm up."""
    workload, table = shape.workload(), shape.table()
    options = Options(numbers="float")
    kept = Pipelines(workload.plan)
    Stages(kept, table, options)
    stages = Stages(kept, table, options)
    took = stages.seconds
    state, changed = _state(workload, table, options)
    return Seen(
        shape,
        stages.counts["snapshots"],
        len(stages.results.table),
        took["read"] + took["encode"],
        took["run"],
        took["finish"],
        state,
        changed,
    )


def _state(workload: Workload, table: Any, options: Options) -> tuple[int, int]:
    """Bytes of state in the middle of the last whole window, and of what a batch changes of it."""
    session = Session(workload.plan, options, table.schema)
    times = table["time"].cast("int64").to_numpy()
    window, half = WINDOW_S * 1_000_000, WINDOW_S * 500_000
    middle = max((times[-1] - half) // window * window + half, times[0])
    middle = middle if middle > times[0] else times[-1]
    start, end = np.searchsorted(times, [middle - BATCH_S * 1_000_000, middle]).tolist()
    session.feed(table.slice(0, start))
    session.close_until(int(times[max(start - 1, 0)]))
    session.take_pages(only_changed=True)
    session.feed(table.slice(start, end - start))
    session.close_until(int(times[max(end - 1, 0)]))
    changed = session.take_pages(only_changed=True)
    return len(session.snapshot()), sum(len(each) for each in changed.values() if each)


def measure(quick: bool, tell: Callable[[str], None]) -> dict[str, Any]:
    """Costs, what follows from them for the largest shape and for what is asked, and what it took.

    Args:
        quick: Small sizes: shows that it works, measures little.
        tell: Is told what is being done.
    """
    runs = []
    with one_core():
        for shape in shapes(quick):
            groups = f"{shape.groups:,} groups, bursts of {shape.burst:g}"
            tell(f"measuring {shape.queries} queries, {groups}")
            runs.append(seen(shape))
        costs = Costs.of(runs)
        large = largest(quick)
        tell(f"measuring {large.queries:,} queries over {large.events:,} events")
        found = seen(large)
    like = [each for each in runs if each.shape.queries == 200 and each.shape.groups == 2_000]
    snapshots, rows = (
        float(np.mean([getattr(each, name) / (each.shape.events * 200) for each in like]))
        for name in ("snapshots", "rows")
    )
    return {
        **circumstances(),
        "quick": quick,
        "runs": [_plain(each) for each in runs],
        "errors": [
            costs.seconds(each.shape.events, each.snapshots, each.rows) / each.total_s
            for each in runs
        ],
        "costs": asdict(costs),
        "largest": {
            **_plain(found),
            "predicted_s": costs.seconds(
                large.events,
                snapshots * large.events * large.queries,
                rows * large.events * large.queries,
            ),
            "predicted_with_counts_s": costs.seconds(large.events, found.snapshots, found.rows),
            "predicted_state_bytes": costs.state_bytes * large.groups * large.queries,
        },
        "asked": _asked(costs, snapshots, rows),
    }


def _asked(costs: Costs, snapshots: float, rows: float) -> dict[str, float]:
    """What the stream that is asked about takes in a second."""
    work = EVENTS_PER_S * QUERIES
    groups = EVENTS_PER_S * WINDOW_S / 20
    return {
        "events_per_s": EVENTS_PER_S,
        "queries": QUERIES,
        "groups": groups,
        "cores": costs.seconds(EVENTS_PER_S, snapshots * work, rows * work),
        "snapshots_per_s": snapshots * work,
        "rows_per_s": rows * work,
        "state_bytes": costs.state_bytes * groups * QUERIES,
        # Every group has events in each batch, so all of its state is written.
        "checkpoint_bytes_per_s": costs.state_bytes * groups * QUERIES / BATCH_S,
    }


def _plain(one: Seen) -> dict[str, Any]:
    return {**asdict(one), "total_s": one.total_s}


def as_text(report: dict[str, Any]) -> str:
    """A report as lines of text."""
    costs, large, asked = report["costs"], report["largest"], report["asked"]
    error = report["errors"]
    mib = 2.0**20
    return "\n".join(
        [
            f"{report['machine']['processor']}, one core, commit {report['commit']}",
            "",
            f"an event          {costs['encode_event']:8.1f} ns read and encoded, "
            f"{costs['event']:.1f} in the kernel",
            f"a snapshot        {costs['snapshot']:8.1f} ns",
            f"a row of results  {costs['row']:8.1f} ns in the kernel, "
            f"{costs['finish_row']:.1f} after it",
            f"state             {costs['state_bytes']:8.1f} bytes for each group and query",
            f"worked out over taken, of the runs they come from: {min(error):.2f} to "
            f"{max(error):.2f}",
            "",
            f"{large['shape']['queries']:,} queries over {large['shape']['events']:,} events: "
            f"{large['predicted_s']:.2f} s worked out, {large['total_s']:.2f} s taken "
            f"({large['predicted_with_counts_s']:.2f} from its own snapshots and rows); state "
            f"{large['predicted_state_bytes'] / mib:,.0f} MiB worked out, "
            f"{large['state_bytes'] / mib:,.0f} MiB there",
            "",
            f"{asked['events_per_s']:,} events a second, {asked['queries']:,} queries, "
            f"{asked['groups']:,.0f} groups: {asked['cores']:.1f} cores, "
            f"{asked['rows_per_s']:,.0f} rows of results a second, state "
            f"{asked['state_bytes'] / 2**30:,.1f} GiB, written "
            f"{asked['checkpoint_bytes_per_s'] / mib:,.0f} MiB a second",
            "",
        ]
    )
