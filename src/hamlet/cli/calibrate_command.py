"""`hamlet calibrate`: measure what sharing decides with, and keep it."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from hamlet.cli.bench.options import quick_option
from hamlet.cli.options import format_option, overwrite_option
from hamlet.cli.output import give, tell
from hamlet.io.targets import check_file


@click.command("calibrate", epilog="Exit status: 0 fine, 2 it could not be measured or written.")
@quick_option
@click.option("--out", metavar="FILE", help="Write to this .json file, not the user's own.")
@overwrite_option
@format_option()
def calibrate_command(quick: bool, out: str | None, overwrite: bool, format_: str) -> None:
    """Measure how many nanoseconds the steps of the kernels take on this machine.

    They decide when queries share work, never what the answers are. They are kept in the user's
    file of coefficients, or in the one that HAMLET_COEFFICIENTS names.
    """
    from hamlet.bench import calibrate
    from hamlet.cli.console import interruptible, shown_progress
    from hamlet.share.coefficients import save_coefficients

    if out is not None:
        check_file(Path(out), overwrite=overwrite)
    scale = calibrate.QUICK if quick else calibrate.FULL
    with shown_progress() as progress:

        def told(what: str, done: float) -> None:
            progress(what, done)
            tell(f"{100 * done:3.0f} %  {what}")

        figures = interruptible(lambda: calibrate.calibrate(scale, told))
    table = calibrate.as_table(figures)
    give(asdict(table), calibrate.as_text(figures), format_)
    tell(f"wrote {save_coefficients(table, out)}")
