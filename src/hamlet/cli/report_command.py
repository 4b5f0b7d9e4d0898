"""`hamlet report`, and what `hamlet run` does with --save and --report."""

from __future__ import annotations

from pathlib import Path

import click

from hamlet.cli.options import format_option, overwrite_option
from hamlet.cli.output import give, tell


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
@overwrite_option
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
    told, others = Run.load(run), [Run.load(folder) for folder in beside]
    write_report(told, out, beside=others, overwrite=overwrite)
    findings = Findings.of(told, others)
    page = {"page": out, "bytes": Path(out).stat().st_size}
    give({**page, **report_data(findings)}, report_text(findings), format_)
    tell(f"wrote {out}")
