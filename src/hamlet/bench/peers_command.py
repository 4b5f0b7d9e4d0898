"""`hamlet bench peers`: the same queries by a plain Python program and by SQL."""

from __future__ import annotations

from pathlib import Path

import click


@click.command("peers", epilog="Exit status: 0 fine, 2 it cannot run.")
@click.option("--quick", is_flag=True, help="Small sizes: shows that it works, measures little.")
@click.option(
    "--only",
    multiple=True,
    metavar="NAME",
    help="Measure only this (may be repeated); --only list shows the names.",
)
@click.option("--out", metavar="FILE", help="Write the figures to this .json file too.")
def peers_command(quick: bool, only: tuple[str, ...], out: str | None) -> int:
    """Measure Hamlet against a recurrence in plain Python, and against SQL in DuckDB.

    Events are the same, all on one core, and answers are compared before anything is timed.
    """
    from hamlet.bench import peers
    from hamlet.bench.paper_command import write_report

    if only == ("list",):
        click.echo("\n".join(case.name for case in peers.cases(quick)))
        return 0
    report = peers.measure(only, quick=quick, tell=lambda line: click.echo(line, err=True))
    click.echo(peers.as_text(report), nl=False)
    if out is not None:
        write_report(Path(out), report)
        click.echo(f"wrote {out}", err=True)
    return 0
