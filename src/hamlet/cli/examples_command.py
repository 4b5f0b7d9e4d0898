"""`hamlet examples`: some of the trends behind a row of results, with their events."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from hamlet.cli.engines import choose_engine, place_for
from hamlet.cli.loading import load_workload, spark_module
from hamlet.cli.options import column_options, engine_options, events_option, format_option
from hamlet.cli.output import give
from hamlet.errors import PlanError, listed

if TYPE_CHECKING:
    from collections.abc import Callable

    from hamlet.cli.engines import Place
    from hamlet.engine.examples import Examples
    from hamlet.workload import Workload


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
@engine_options
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
    engine: str | None,
    master: str | None,
    remote: str | None,
    format_: str,
    **options: Any,
) -> None:
    """Show trends behind a row of results. WORKLOAD is a file, or - for standard input.

    They are drawn from all trends of the row, each equally likely, however many there are.
    """
    place = place_for(engine, master, remote)
    loaded = load_workload(workload)
    names = [planned.name for planned in loaded.queries]
    if query is None and len(names) > 1:
        reason = "the workload has several queries"
        raise PlanError(reason, f"Pass --query with one of {listed(names)}.")
    chosen = choose_engine(events, asked=engine, place=place.option, only_local="")
    find = _on_spark(place) if chosen.engine == "spark" else _locally
    which = {"window": window, "group": group, "n": count, "how": how, "seed": seed}
    examples = find(loaded, events, options, query or names[0], which)
    give(examples.as_data(), f"{examples!r}\n", format_)


def _locally(
    workload: Workload, events: str, options: dict[str, Any], query: str, which: dict[str, Any]
) -> Examples:
    from hamlet.cli.console import interruptible, shown_progress

    with shown_progress() as progress:
        results = interruptible(lambda: workload.run(events, progress=progress, **options))
    return results.examples(query, **which)


def _on_spark(place: Place) -> Callable[..., Examples]:
    def find(
        workload: Workload, events: str, options: dict[str, Any], query: str, which: dict[str, Any]
    ) -> Examples:
        from hamlet.cli.console import shown_progress
        from hamlet.engine import options_for

        command = spark_module("hamlet.spark.command", ", or pass --engine local")
        how = options_for(workload.plan, **options)
        with shown_progress() as progress:
            run = command.Run(workload.plan, events, how, place.master, progress, place.remote)
            drawn: Examples = run.examples(query, **which)
        return drawn

    return find
