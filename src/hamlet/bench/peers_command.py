"""`hamlet bench peers`: the same queries by a plain Python program and by SQL."""

from __future__ import annotations

from pathlib import Path

import click

from hamlet.commands import format_option, give, give_names, tell


@click.command("peers", epilog="Exit status: 0 fine, 2 it cannot run.")
@click.option("--quick", is_flag=True, help="Small sizes: shows that it works, measures little.")
@click.option(
    "--only",
    multiple=True,
    metavar="NAME",
    help="Measure only this (may be repeated); --only list shows the names.",
)
@click.option("--out", metavar="FILE", help="Write the figures to this .json file too.")
@format_option()
def peers_command(quick: bool, only: tuple[str, ...], out: str | None, format_: str) -> int:
    """Measure Hamlet against a recurrence in plain Python, and against SQL in DuckDB.

    Events are the same, all on one core, and answers are compared before anything is timed.
    """
    from hamlet.bench import peers
    from hamlet.bench.paper_command import write_report

    if only == ("list",):
        names = [case.name for case in peers.cases(quick)]
        give_names(names, names, format_)
        return 0
    report = peers.measure(only, quick=quick, tell=tell)
    give(report, peers.as_text(report), format_)
    if out is not None:
        write_report(Path(out), report)
        tell(f"wrote {out}")
    return 0
