"""`hamlet bench peers`: the same queries by a plain Python program and by SQL."""

from __future__ import annotations

from pathlib import Path

import click

from hamlet.cli.bench.options import only_option, out_options, quick_option, write_figures
from hamlet.cli.options import format_option
from hamlet.cli.output import give, give_names, tell


@click.command("peers", epilog="Exit status: 0 fine, 2 it cannot run.")
@quick_option
@only_option
@out_options
@format_option()
def peers_command(quick: bool, only: tuple[str, ...], out: str | None, format_: str) -> int:
    """Measure Hamlet against a recurrence in plain Python, and against SQL in DuckDB.

    Events are the same, all on one core, and answers are compared before anything is timed.
    """
    from hamlet.bench import peers

    if only == ("list",):
        names = [case.name for case in peers.cases(quick)]
        give_names(names, names, format_)
        return 0
    report = peers.measure(only, quick=quick, tell=tell)
    give(report, peers.as_text(report), format_)
    if out is not None:
        write_figures(Path(out), report)
        tell(f"wrote {out}")
    return 0
