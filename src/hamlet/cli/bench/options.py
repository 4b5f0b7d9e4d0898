"""What the commands of benches have in common: options, and figures in a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from hamlet.cli.output import as_json, write_whole

if TYPE_CHECKING:
    from pathlib import Path

quick_option = click.option(
    "--quick", is_flag=True, help="Small sizes: shows that it works, measures little."
)
only_option = click.option(
    "--only",
    multiple=True,
    metavar="NAME",
    help="Measure only this (may be repeated); --only list shows the names.",
)
out_option = click.option("--out", metavar="FILE", help="Write the figures to this .json file too.")


def write_figures(path: Path, report: dict[str, Any]) -> None:
    """Write figures so that the file appears whole or not at all."""
    write_whole(path, as_json(report))
