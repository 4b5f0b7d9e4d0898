"""`hamlet bench scale`: what a large stream takes, worked out from small ones and tried."""

from __future__ import annotations

from pathlib import Path

import click

from hamlet.cli.bench.options import out_options, quick_option, write_figures
from hamlet.cli.options import format_option
from hamlet.cli.output import give, tell


@click.command("scale", epilog="Exit status: 0 fine, 2 it cannot run.")
@quick_option
@out_options
@format_option()
def scale_command(quick: bool, out: str | None, format_: str) -> int:
    """Work out what a million events a second with a thousand queries take.

    The costs of an event, a snapshot and a row of results are taken from small runs; the largest
    run that fits here shows how far they hold.
    """
    from hamlet.bench import scale

    report = scale.measure(quick, tell)
    give(report, scale.as_text(report), format_)
    if out is not None:
        write_figures(Path(out), report)
        tell(f"wrote {out}")
    return 0
