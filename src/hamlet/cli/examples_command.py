"""`hamlet examples`: some of the trends behind a row of results, with their events."""

from __future__ import annotations

from typing import Any

import click

from hamlet.cli.loading import load_workload
from hamlet.cli.options import column_options, events_option, format_option
from hamlet.cli.output import give
from hamlet.errors import PlanError, listed


@click.command(
    "examples",
    epilog="Exit status: 0 fine, 1 the workload is wrong, 2 there are none, or it was not run.",
)
@click.argument("workload")
@events_option
@click.option("--query", metavar="NAME", help="Of which query.  [default: the only one]")
@click.option("--window", metavar="START", help="When the window begins.  [default: the first]")
@click.option("--group", metavar="JSON", help="The group as results have it.  [default: the first]")
@click.option("-n", "count", metavar="N", default=5, help="How many.  [default: 5]")
@click.option(
    "--how",
    metavar="WAY",
    default="random",
    help="random, longest, shortest, first, or a MIN or MAX.  [default: random]",
)
@click.option("--seed", metavar="N", default=0, help="Of what is drawn.  [default: 0]")
@column_options
@format_option()
def examples_command(
    workload: str,
    events: str,
    query: str | None,
    window: str | None,
    group: str | None,
    count: int,
    how: str,
    seed: int,
    format_: str,
    **options: Any,
) -> None:
    """Show trends behind a row of results. WORKLOAD is a file, or - for standard input.

    They are drawn from all trends of the row, each equally likely, however many there are.
    """
    from hamlet.cli.console import interruptible, shown_progress

    loaded = load_workload(workload)
    names = [each.name for each in loaded.queries]
    if query is None and len(names) > 1:
        reason = "the workload has several queries"
        raise PlanError(reason, f"Pass --query with one of {listed(names)}.")
    with shown_progress() as progress:
        results = interruptible(lambda: loaded.run(events, progress=progress, **options))
    found = results.examples(
        query or names[0], window=window, group=group, n=count, how=how, seed=seed
    )
    give(found.as_data(), f"{found!r}\n", format_)
