"""`hamlet explain`: what was understood of a workload, and what a run decides."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hamlet.cli.loading import load_workload
from hamlet.cli.options import column_options, format_option, overwrite_option, sharing_options
from hamlet.cli.output import tell
from hamlet.explain import STAGES
from hamlet.io.targets import check_apart, check_file
from hamlet.io.whole import write_text

if TYPE_CHECKING:
    from hamlet.workload import Workload


@click.command(
    "explain", epilog="Exit status: 0 fine, 1 the workload is wrong, 2 it cannot be read."
)
@click.argument("workload")
@click.option(
    "--stage",
    "stages",
    multiple=True,
    type=click.Choice(list(STAGES)),
    metavar="STAGE",
    help=f"Show only this stage (may be repeated): {', '.join(STAGES)}.",
)
@click.option("--schema", metavar="FILE", help="Check names too, as in hamlet check.")
@click.option("--out", metavar="FILE", help="Write to this file instead of standard output.")
@overwrite_option
@click.option("--analyze", is_flag=True, help="Run it over --events; show what is shared, and why.")
@click.option(
    "--graphlets", is_flag=True, help="Run it over a few --events; show each event's counts."
)
@click.option("--events", metavar="PATH", help="Events to run it over, as in hamlet run.")
@column_options
@sharing_options
@format_option(
    "mermaid", "svg", help="Pictures (mermaid, svg) show the stages merged and templates."
)
def explain_command(
    workload: str,
    stages: tuple[str, ...],
    format_: str,
    schema: str | None,
    out: str | None,
    overwrite: bool,
    analyze: bool,
    graphlets: bool,
    events: str | None,
    **options: Any,
) -> None:
    """Show how a workload was understood, or draw it. WORKLOAD is a file, or - (stdin)."""
    runs = "--graphlets" if graphlets else "--analyze"
    if analyze and graphlets:
        raise click.UsageError("--analyze and --graphlets show two things: choose one")
    if (analyze or graphlets) != (events is not None):
        message = f"{runs} runs the workload: it goes with --events, and only so"
        raise click.UsageError(message)
    if events is not None and (stages or format_ not in ("text", "json")):
        message = f"{runs} has no stages and no picture; it is text or json"
        raise click.UsageError(message)
    if out is not None:
        read = {"workload": workload, "schema": schema, "events": events}
        check_apart({"plan": out}, read)
        check_file(Path(out), overwrite=overwrite)
    loaded = load_workload(workload, schema, options["type"], options["separator"])
    if events is None:
        shown = loaded.explain(stages, format=format_)
    elif graphlets:
        shown = loaded.graphlets(events, format=format_, **options)
    else:
        shown = _analyzed(loaded, events, format_, options)
    if out is None:
        click.echo(shown, nl=False)
        return
    write_text(Path(out), shown)
    tell(f"wrote {out}")


def _analyzed(loaded: Workload, events: str, format_: str, options: dict[str, Any]) -> str:
    """What a run over some events decided."""
    from hamlet.cli.console import interruptible, shown_progress

    with shown_progress() as progress:
        return interruptible(
            lambda: loaded.analyze(events, format=format_, progress=progress, **options)
        )
