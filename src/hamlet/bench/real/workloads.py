"""The workloads: a handful of different questions each, over generated events and real files.

Each has loops after a start, with and without an end, absences, conditions on neighbours, several
windows, several aggregates, and groups of low and high cardinality.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hamlet.data.real import read_real
from hamlet.data.streams import generate_table
from hamlet.lang import tree
from hamlet.lang.parser import parse_tree
from hamlet.lang.printer import print_workload
from hamlet.plan.query import Match

if TYPE_CHECKING:
    from collections.abc import Mapping

SEED = 1


@dataclass(frozen=True, slots=True)
class RealWorkload:
    """Queries over some events.

    Attributes:
        name: What it is called.
        about: Whose events these are.
        queries: Them, or the name of the file beside this one that has them.
        data_set: The generated data set, or None where it is a file.
        file: The real file, or None where events are generated.
        settings: Of the generated data set.
        events: How many are generated.
        columns: Those of types, times and order, where they have other names.
        match: Which trends all its queries keep, where that is not said by each.
    """

    name: str
    about: str
    queries: str
    data_set: str | None = None
    file: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    events: int = 200_000
    columns: Mapping[str, Any] = field(default_factory=dict)
    match: Match | None = None

    @property
    def text(self) -> str:
        """The queries."""
        text = self.queries
        if text.endswith(".hql"):
            text = Path(__file__).with_name(text).read_text(encoding="utf-8")
        return text if self.match is None else _matching(text, self.match)

    def matching(self, match: Match) -> RealWorkload:
        """The same with queries that keep other trends."""
        word = match.lower()
        return replace(self, name=f"{self.name}-{word}", about=f"{self.about}, {word}", match=match)

    def table(self, data: str | Path | None, quick: bool) -> Any:
        """The events.

        Args:
            data: The folder with the real files.
            quick: Whether a tenth of them is enough.
        """
        if self.data_set is not None:
            count = self.events // 10 if quick else self.events
            table = generate_table(self.data_set, events=count, seed=SEED, **self.settings)
        else:
            table = read_real(str(self.file), data)
            table = table.slice(0, table.num_rows // 10) if quick else table
        return table.combine_chunks().unify_dictionaries()


_DAY = {"rate": 139.0, "groups": 20, "burst": 30.0}

WORKLOADS = (
    RealWorkload("rides", "a day of rides", "rides.hql", "ridesharing", settings=_DAY),
    RealWorkload(
        "sides", "trades by side", "sides.hql", "stock", columns={"type": "side", "order": "seq"}
    ),
    RealWorkload("plugs", "plugs of smart homes", "plugs.hql", "smarthome"),
    RealWorkload("taxis", "taxis of a city", "taxis.hql", "taxi"),
    RealWorkload(
        "trades",
        "real trades by side",
        "sides.hql",
        file="stock_trades",
        columns={"type": "side", "order": "seq"},
    ),
    RealWorkload("cabs", "real cabs", "cabs.hql", file="cabs"),
    RealWorkload("homes", "real plugs", "plugs.hql", file="smart_plugs"),
    RealWorkload("trips", "real taxi trips", "trips.hql", file="taxi_trips"),
    RealWorkload(
        "symbols",
        "real trades by company",
        "symbols.hql",
        file="stock_trades",
        columns={"order": "seq"},
    ),
    RealWorkload("starts", "real taxi rides", "starts.hql", file="taxi_rides"),
    RealWorkload("loans", "real applications for loans", "loans.hql", file="loans"),
    RealWorkload("tasks", "real tasks of a cluster", "tasks.hql", file="cluster_tasks"),
)


def varied(count: int) -> RealWorkload:
    """So many queries over the day of rides that differ in everything but the loop."""
    starts = ("Request", "Accept", "Pickup", "Quote", "Surge", "Pool")
    ends = ("Dropoff", "Pay", "Cancel", "", "Stop", "Tip", "Reroute")
    conditions = ("", "t.speed < 20", "t.price > 15", "", "t.duration <= 400", "t.speed >= 25")
    windows = ("30 min SLIDE 5 min", "20 min SLIDE 10 min", "1 h SLIDE 15 min", "30 min")
    returns = ("COUNT(*)", "COUNT(*), AVG(t.speed)", "COUNT(*), MAX(t.price)", "SUM(t.duration)")
    queries = []
    for n in range(count):
        start, end = starts[n % 6], ends[(n // 2) % 7]
        pattern = f"SEQ({start}, Travel t+" + (f", {end})" if end else ")")
        condition = " AND ".join(c for c in ("[driver, rider]", conditions[(n // 3) % 6]) if c)
        queries.append(
            f"v{n}: RETURN district, {returns[(n // 5) % 4]} PATTERN {pattern} WHERE {condition}"
            f" GROUPBY district WITHIN {windows[n % 4]}"
        )
    about = f"{count} varied queries over the day of rides"
    return RealWorkload(f"varied-{count}", about, ";\n".join(queries), "ridesharing", settings=_DAY)


def workloads() -> tuple[RealWorkload, ...]:
    """All of them, and those over files and streams once more with each MATCH."""
    twins = (each.matching(match) for each in WORKLOADS for match in (Match.NEXT, Match.CONTIGUOUS))
    return (*WORKLOADS, varied(10), varied(50), varied(200), *twins)


def _matching(text: str, match: Match) -> str:
    """A workload whose queries all keep the trends of a MATCH."""
    written = parse_tree(text)
    queries = tuple(replace(each, match=tree.Match(match.value)) for each in written.queries)
    return print_workload(replace(written, queries=queries))
