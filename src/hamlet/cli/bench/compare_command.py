"""`hamlet bench compare`: two files of figures side by side."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from hamlet.cli.options import format_option
from hamlet.cli.output import give
from hamlet.errors import ReadError, reason_of


@click.command(
    "compare",
    epilog="Exit status: 0 nothing is worse, 1 something is, 2 the files cannot be compared.",
)
@click.argument("old")
@click.argument("new")
@click.option(
    "--band",
    type=click.FloatRange(0, 10),
    default=0.1,
    metavar="PART",
    help="How large a difference is no change.  [default: 0.1]",
)
@format_option()
def compare_command(old: str, new: str, band: float, format_: str) -> int:
    """Compare two .json files that a benchmark wrote: figure by figure, old and new.

    A difference inside the band, or where spreads overlap, is no change.
    """
    from hamlet.bench.compare import as_data, as_text, changes

    compared, alone = changes(_read(old), _read(new))
    if not compared:
        raise ReadError(new, f"it has no figure in common with {old}")
    document = {"old": old, "new": new, **as_data(compared, alone, band)}
    give(document, as_text(compared, alone, band), format_)
    return 1 if any(change.verdict(band) == "worse" for change in compared) else 0


def _read(path: str) -> dict[str, Any]:
    try:
        document = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise ReadError(path, reason_of(error)) from error
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ReadError(path, "it is not a file of figures") from error
    if not isinstance(document, dict):
        raise ReadError(path, "it is not a file of figures")
    return document
