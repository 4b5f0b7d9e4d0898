"""`hamlet bench paper`: the experiments of the paper, as tables, figures and pictures."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from hamlet.cli.bench.options import only_option, write_figures
from hamlet.cli.options import format_option
from hamlet.cli.output import draw_into, give, give_names, made_folder, tell
from hamlet.errors import ReadError, reason_of
from hamlet.io.targets import check_file

if TYPE_CHECKING:
    from pathlib import Path

REPORT = "paper.json"


@click.command(
    "paper",
    epilog="Exit status: 0 fine, 2 it cannot run. An experiment that was stopped goes on where it "
    "was when it is begun again with the same --out.",
)
@click.option(
    "--quick/--full", default=True, help="some minutes, or over an hour.  [default: quick]"
)
@only_option
@click.option(
    "--data", metavar="FOLDER", help="The folder with the real files; else that of HAMLET_DATA."
)
@click.option("--out", metavar="DIR", help="Write paper.json and pictures to this folder too.")
@click.option("--again", is_flag=True, help="Measure everything again, whatever --out has.")
@format_option()
def paper_command(
    quick: bool,
    only: tuple[str, ...],
    data: str | None,
    out: str | None,
    again: bool,
    format_: str,
) -> int:
    """Measure Hamlet against GRETA, SHARON and MCEP, and dynamic against static sharing.

    Answers are compared before anything is timed. Sweeps over real files are left out where these
    are not there.
    """
    from hamlet.bench import paper
    from hamlet.cli.console import shown_progress

    if only == ("list",):
        give_names(paper.names(), paper.names(), format_)
        return 0
    folder = None if out is None else made_folder(out)
    if folder is not None:
        check_file(folder / REPORT, overwrite=True)  # it goes on from what is there
    known = None if folder is None or again else _known(folder / REPORT)

    def keep(report: dict[str, Any]) -> None:
        if folder is not None:
            write_figures(folder / REPORT, report)

    with shown_progress() as progress:
        report = paper.measure(
            only,
            scale=paper.QUICK if quick else paper.FULL,
            data=data,
            known=known,
            keep=keep,
            tell=progress,
        )
    give(report, paper.as_text(report), format_)
    if folder is not None:
        keep(report)
        tell(f"wrote {folder / REPORT}")
        draw_into(folder, "hamlet.bench.paper_plot", report)
    return 0


def _known(path: Path) -> dict[str, Any] | None:
    """The figures that are there already."""
    if not path.exists():
        return None
    return read_report(path)


def read_report(path: Path) -> dict[str, Any]:
    """Figures from a file."""
    try:
        report = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ReadError(str(path), reason_of(error)) from error
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ReadError(str(path), "it is not a file of figures") from error
    if not isinstance(report, dict) or not isinstance(report.get("points"), list):
        raise ReadError(str(path), "it has no figures of an experiment")
    return report
