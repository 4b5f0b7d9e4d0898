"""What the commands of benches have in common: options, and figures in a file."""

from __future__ import annotations

from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hamlet.cli.options import overwrite_option
from hamlet.cli.output import as_json
from hamlet.io.targets import check_file
from hamlet.io.whole import write_text

if TYPE_CHECKING:
    from collections.abc import Callable

quick_option = click.option(
    "--quick", is_flag=True, help="Small sizes: shows that it works, measures little."
)
only_option = click.option(
    "--only",
    multiple=True,
    metavar="NAME",
    help="Measure only this (may be repeated); --only list shows the names.",
)


def out_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options --out and --overwrite; a file that cannot be written is refused at once."""

    @click.option("--out", metavar="FILE", help="Write the figures to this .json file too.")
    @overwrite_option
    @wraps(command)
    def checked(*, out: str | None, overwrite: bool, **given: Any) -> Any:
        if out is not None:
            check_file(Path(out), overwrite=overwrite)
        return command(out=out, **given)

    return checked


def write_figures(path: Path, report: dict[str, Any]) -> None:
    """Write figures so that the file appears whole or not at all."""
    write_text(path, as_json(report))
