"""What `hamlet run` does with --save and --report."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hamlet.report.record import now, record_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from hamlet.results import Results
    from hamlet.workload import Workload


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

    def check(self) -> None:
        """Refuse a place before any event is read.

        Raises:
            WriteError: It is there already, or cannot be written.
        """
        from hamlet.report.saved import check_page_target, check_run_target

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
