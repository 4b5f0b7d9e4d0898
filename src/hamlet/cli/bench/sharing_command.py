"""`hamlet bench sharing`: where sharing wins and loses, as a table, figures and pictures."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from hamlet.cli.bench.options import only_option, quick_option, write_figures
from hamlet.cli.options import format_option, overwrite_option
from hamlet.cli.output import draw_into, give, give_names, made_folder, tell
from hamlet.io.targets import check_file

FIGURES = "sharing.json"


@click.command(
    "sharing",
    epilog="Exit status: 0 all is as wanted (or --quick), 1 something is not, 2 it cannot run.",
)
@quick_option
@only_option
@click.option("--coarse", is_flag=True, help="A quarter of the grid.")
@click.option(
    "--points",
    metavar="FILE",
    help="Keep points of the grid in this file, and measure those that are not in it.",
)
@click.option("--out", metavar="DIR", help="Write sharing.json and pictures to this folder too.")
@overwrite_option
@format_option()
def sharing_command(
    quick: bool,
    only: tuple[str, ...],
    coarse: bool,
    points: str | None,
    out: str | None,
    overwrite: bool,
    format_: str,
) -> int:
    """Measure sharing on one core: what it brings, what it costs, and where it loses.

    Answers are compared before anything is timed; each figure is a ratio in one run, and is held
    against a floor. --only grid measures the map by windows, bursts and queries.
    """
    from hamlet.bench import sharing

    if only == ("list",):
        give_names(sharing.NAMES, sharing.NAMES, format_)
        return 0
    folder = None if out is None else made_folder(out)
    if folder is not None:
        check_file(folder / FIGURES, overwrite=overwrite)
    scale = sharing.QUICK if quick else sharing.FULL
    if coarse:
        scale = replace(scale, figures=replace(scale.figures, is_coarse=True))
    if points is not None:
        scale = replace(scale, figures=replace(scale.figures, points=Path(points)))
    report = sharing.measure(only, scale=scale, tell=tell)
    give(report, sharing.as_text(report), format_)
    if folder is not None:
        _write(folder, report)
    return 0 if report["kept"] else 1


def _write(folder: Path, report: dict[str, Any]) -> None:
    figures = folder / FIGURES
    write_figures(figures, report)
    tell(f"wrote {figures}")
    draw_into(folder, "hamlet.bench.sharing_plot", report)
