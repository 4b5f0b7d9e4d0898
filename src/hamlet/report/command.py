"""`hamlet report`, and what `hamlet run` does with --save and --report."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hamlet.commands import format_option, give, tell
from hamlet.errors import WriteError
from hamlet.report.record import now, record_of

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
@format_option()
def report_command(
    run: str, out: str, beside: tuple[str, ...], overwrite: bool, format_: str
) -> None:
    """Make a page of a run: one HTML file that opens offline. Its conclusion is printed too.

    RUN is a folder that hamlet run --save has written. A run with --sharing never beside one with
    sharing shows what sharing saved or cost.
    """
    from hamlet.report.findings import Findings
    from hamlet.report.page import write_report
    from hamlet.report.saved import Run, check_page_target
    from hamlet.report.text import report_data, report_text

    check_page_target(Path(out), overwrite=overwrite)
    told, others = Run.load(run), [Run.load(each) for each in beside]
    write_report(told, out, beside=others, overwrite=overwrite)
    findings = Findings.of(told, others)
    page = {"page": out, "bytes": Path(out).stat().st_size}
    give({**page, **report_data(findings)}, report_text(findings), format_)
    tell(f"wrote {out}")


def keeping_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options of `hamlet run` that keep a run."""
    save = click.option("--save", metavar="RUN", help="Keep it all in this folder for a report.")
    report = click.option("--report", metavar="FILE.html", help="Write a page about the run.")
    return save(report(command))


@dataclass(frozen=True, slots=True)
class Kept:
    """Where a run that is about to begin is to be kept: in a folder, as a page, or both."""

    save: str | None
    report: str | None
    overwrite: bool
    begun: str = field(default_factory=now)

    def __bool__(self) -> bool:
        return self.save is not None or self.report is not None

    def check(self, **others: str | None) -> None:
        """Refuse a place before any event is read.

        Args:
            **others: What else is read or written, and where.

        Raises:
            WriteError: It is there already, cannot be written, or is wanted for something else.
        """
        from hamlet.report.saved import check_page_target, check_run_target

        taken = {Path(path).resolve(): what for what, path in others.items() if path is not None}
        for path, what in ((self.save, "run"), (self.report, "report")):
            if path is None:
                continue
            if Path(path).resolve() in taken:
                reason = f"that is the place of the {taken[Path(path).resolve()]}; choose another"
                raise WriteError(path, reason)
            taken[Path(path).resolve()] = what
        if self.save is not None:
            check_run_target(Path(self.save), overwrite=self.overwrite)
        if self.report is not None:
            check_page_target(Path(self.report), overwrite=self.overwrite)

    def keep(self, results: Results, workload: Workload, **how: Any) -> None:
        """Write what is to be kept.

        Args:
            results: What the run returned.
            workload: What was asked.
            **how: The other arguments of `record_of`.
        """
        if not self:
            return
        from hamlet.report.page import write_report
        from hamlet.report.saved import Run

        record = record_of(workload, command=("hamlet", *sys.argv[1:]), **how)
        results.record = replace(record, begun=self.begun)
        run = Run.of(results)
        if self.save is not None:
            run.save(self.save, overwrite=self.overwrite)
        if self.report is not None:
            write_report(run, self.report, overwrite=self.overwrite)
