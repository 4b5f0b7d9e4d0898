"""`hamlet bench real`: mixed workloads against a loop written by hand for each query."""

from __future__ import annotations

from pathlib import Path

import click

from hamlet.cli.bench.options import only_option, out_options, quick_option, write_figures
from hamlet.cli.options import format_option
from hamlet.cli.output import give, give_names, tell


@click.command("real", epilog="Exit status: 0 fine, 2 it cannot run.")
@quick_option
@only_option
@click.option(
    "--data", metavar="FOLDER", help="The folder with the real files; else that of HAMLET_DATA."
)
@click.option("--repeat", default=3, show_default=True, help="How often everything is measured.")
@out_options
@format_option()
def real_command(
    quick: bool, only: tuple[str, ...], data: str | None, repeat: int, out: str | None, format_: str
) -> int:
    """Measure workloads of mixed queries: all together, one by one, and by plain compiled loops.

    Answers are compared before anything is timed. Workloads over real files need these; the others
    make their events.
    """
    from hamlet.bench.real.measure import as_text, measure
    from hamlet.bench.real.workloads import workloads

    if only == ("list",):
        names = [one.name for one in workloads()]
        give_names(names, names, format_)
        return 0
    report = measure(only, data=data, quick=quick, repeat=repeat, tell=tell)
    give(report, as_text(report), format_)
    if out is not None:
        write_figures(Path(out), report)
        tell(f"wrote {out}")
    return 0
