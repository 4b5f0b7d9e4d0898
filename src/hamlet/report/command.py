"""`hamlet report`, and what `hamlet run` does with --save and --report."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hamlet.errors import WriteError

if TYPE_CHECKING:
    from collections.abc import Callable

    from hamlet.results import Results
    from hamlet.workload import Workload


@click.command(
    "report",
    epilog="Exit status: 0 fine, 2 a run cannot be read or the report cannot be written.",
)
@click.argument("run")
@click.option("--out", metavar="FILE.html", required=True, help="The page to write.")
@click.option(
    "--beside",
    metavar="RUN",
    multiple=True,
    help="Another run of the same workload and events, to compare with (may be repeated).",
)
@click.option("--overwrite", is_flag=True, help="Replace what is at --out.")
def report_command(run: str, out: str, beside: tuple[str, ...], overwrite: bool) -> None:
    """Make a page of a run: one HTML file that opens offline.

    RUN is a folder that hamlet run --save has written. A run with --sharing never beside one with
    sharing shows what sharing saved.
    """
    from hamlet.report import Run, write_report
    from hamlet.report.saved import check_page_target

    check_page_target(Path(out), overwrite=overwrite)
    others = [Run.load(each) for each in beside]
    write_report(Run.load(run), out, beside=others, overwrite=overwrite)
    click.echo(f"wrote {out}", err=True)


def keeping_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options of `hamlet run` that keep a run."""
    save = click.option("--save", metavar="RUN", help="Keep it all in this folder for a report.")
    report = click.option("--report", metavar="FILE.html", help="Write a page about the run.")
    return save(report(command))


def check_kept(
    save: str | None, report: str | None, others: dict[str, str | None], overwrite: bool
) -> None:
    """Refuse places for a run and its report before any event is read.

    Args:
        save: The folder of the run.
        report: The page.
        others: What else is read or written, and where.
        overwrite: Whether to replace what is there.

    Raises:
        WriteError: It is there already, cannot be written, or is wanted for something else.
    """
    from hamlet.report.saved import check_page_target, check_run_target

    taken = {Path(path).resolve(): what for what, path in others.items() if path is not None}
    for path, what in ((save, "the run is to be kept there"), (report, "")):
        if path is None:
            continue
        if Path(path).resolve() in taken:
            raise WriteError(path, f"{taken[Path(path).resolve()]}; choose another place")
        taken[Path(path).resolve()] = what
    if save is not None:
        check_run_target(Path(save), overwrite=overwrite)
    if report is not None:
        check_page_target(Path(report), overwrite=overwrite)


def keep(
    results: Results,
    workload: Workload,
    how: dict[str, Any],
    save: str | None,
    report: str | None,
    overwrite: bool,
) -> None:
    """Write the folder of a run, its report, or both.

    Args:
        results: What the run returned.
        workload: What was asked.
        how: The other arguments of `record_of`, for a run that was not done by the workload itself.
        save: The folder.
        report: The page.
        overwrite: Whether to replace what is there.
    """
    if save is None and report is None:
        return
    from hamlet.report import Run, write_report
    from hamlet.report.record import record_of

    record = results.record or record_of(workload, **how)
    results.record = replace(record, command=("hamlet", *sys.argv[1:]))
    run = Run.of(results)
    if save is not None:
        run.save(save, overwrite=overwrite)
    if report is not None:
        write_report(run, report, overwrite=overwrite)
