"""`hamlet warm`: compile ahead what runs may need."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import click

from hamlet.cli.loading import load_workload
from hamlet.cli.options import format_option
from hamlet.cli.output import give, tell
from hamlet.plan.number_mode import NUMBERS

if TYPE_CHECKING:
    from hamlet.plan.number_mode import Numbers


@click.command("warm", epilog="Exit status: 0 fine, 1 the workload is wrong, 2 it cannot compile.")
@click.argument("workload", required=False)
@click.option(
    "--numbers",
    type=click.Choice([*NUMBERS, "all"]),
    default="all",
    help="Of which kinds of numbers.  [default: all]",
)
@click.option("--systems", is_flag=True, help="The systems to compare with too.")
@format_option()
def warm_command(workload: str | None, numbers: str, systems: bool, format_: str) -> None:
    """Compile what runs may need, so that none has to: once on each machine, or in an image.

    With a WORKLOAD, what that one may need; without, what any may need.
    """
    from hamlet.cli.console import interruptible, shown_progress
    from hamlet.engine.warming import has_edges, warm

    edges = workload is None or has_edges(load_workload(workload).plan)
    chosen: list[Numbers] = [kind for kind in NUMBERS if numbers in (kind, "all")]
    begun = time.perf_counter()
    with shown_progress() as progress:
        interruptible(lambda: warm(chosen, edges=edges, systems=systems, progress=progress))
    took = time.perf_counter() - begun
    made: dict[str, Any] = {"numbers": chosen, "edge_predicates": edges, "systems": systems}
    give({**made, "seconds": took}, "", format_)
    what = f"{' and '.join(chosen)} numbers{'' if edges else ', without edge predicates'}"
    tell(f"ready for {what}, in {took:.1f} s")
