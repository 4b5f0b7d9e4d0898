"""`hamlet bench engine`: the engine on one core, against its floors."""

from __future__ import annotations

from pathlib import Path

import click

from hamlet.cli.bench.options import only_option, out_options, quick_option, write_figures
from hamlet.cli.options import format_option
from hamlet.cli.output import give, give_names, tell


@click.command(
    "engine",
    epilog="Exit status: 0 every floor is kept (or --quick), 1 one is not, 2 it cannot run.",
)
@quick_option
@only_option
@out_options
@format_option()
def engine_command(quick: bool, only: tuple[str, ...], out: str | None, format_: str) -> int:
    """Measure the local engine on one core: throughput, sharing, sizes of numbers and windows.

    Answers are compared before anything is timed.
    """
    from hamlet.bench import engine

    if only == ("list",):
        give_names(engine.CASES, engine.names(), format_)
        return 0
    report = engine.measure(only, quick=quick, tell=tell)
    give(report, engine.as_text(report), format_)
    if out is not None:
        write_figures(Path(out), report)
        tell(f"wrote {out}")
    return 0 if report["kept"] else 1
