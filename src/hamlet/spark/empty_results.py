"""Why queries have no rows on Spark, found out when somebody looks and some query has none.

A small job counts events by type. Where that does not say it all, another brings the earliest
events to this machine, and the queries are asked again there, as a local run does.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import functions as F

from hamlet.engine.empty_results import Seen, odd_events, queries_to_explain
from hamlet.engine.local import why_no_rows
from hamlet.events.times import microseconds
from hamlet.plan.query import OTHER, asked_types

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hamlet.spark.collecting import Collecting

# So many are asked again: they need no compiled code, where this machine has none.
_MOST_EVENTS = 5_000
# Types that are looked at, and named where one is missing
_MOST_TYPES = 1_000


def explained(collecting: Collecting, sizes: Sequence[int]) -> list[str]:
    """What may be a mistake, and a sentence for each query without rows; none where all have some.

    Args:
        collecting: The events.
        sizes: How many rows each query has.
    """
    if all(sizes):
        return []
    plan, events = collecting.plan, collecting.events
    seen, counts = _seen(collecting)
    notes = odd_events(plan, seen)
    empty = queries_to_explain(plan, list(sizes), seen)
    if seen.events and not empty:
        return notes
    asked, chosen = asked_types(empty), collecting.good
    if OTHER not in asked:
        chosen = chosen.where(events.types.isin(*sorted(asked)))
        seen = replace(seen, events=sum(counts[each] for each in asked if each in counts))
    table = collecting.table(chosen.orderBy(events.time).limit(_MOST_EVENTS))
    return [*notes, *why_no_rows(plan, table, list(sizes), collecting.options, seen)]


def _seen(collecting: Collecting) -> tuple[Seen, dict[str, int]]:
    """What is known of all events, and how many of each type there are."""
    events = collecting.events
    by_type = collecting.good.groupBy(events.types.alias("type"))
    counted = by_type.agg(F.count(F.lit(1)).alias("events"), F.min(events.time).alias("first"))
    table = counted.limit(_MOST_TYPES).toArrow()
    counts = dict(zip(table["type"].to_pylist(), table["events"].to_pylist(), strict=True))
    firsts = microseconds(pa.chunked_array(table["first"]))[0] if counts else None
    first = None if firsts is None else int(firsts.min())
    return Seen(frozenset(counts), sum(counts.values()), first, events.times), counts
