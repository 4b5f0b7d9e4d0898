"""From program to code: units, rows, ops, guards, trees and groups of rows found and numbered.

What the parts are is told in code.py. The work is done once for each run of a workload and is about
linear in the number of queries.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hamlet.kernel.compile.bundles import find_bundles
from hamlet.kernel.compile.form import EventForm
from hamlet.kernel.compile.laying_out import lay_out
from hamlet.kernel.compile.maker import Maker
from hamlet.kernel.compile.rows import take_out_rows

if TYPE_CHECKING:
    from collections.abc import Callable

    from hamlet.kernel.code import Code, Compiled
    from hamlet.kernel.compile.bundles import Bundle
    from hamlet.plan.program import Program
    from hamlet.plan.workload import WorkloadPlan

__all__ = ["EventForm", "compile_code"]


def compile_code(
    plan: WorkloadPlan,
    program: Program,
    form: EventForm,
    *,
    share: bool = True,
    only: frozenset[int] | None = None,
    patience: Callable[[Bundle, Code], int] | None = None,
    distinct: bool = False,
    forwards: bool = False,
) -> Compiled:
    """The code of one sharable set for batches of a form.

    Args:
        plan: The workload.
        program: The program of the set.
        form: What the events are like.
        share: Whether runs are shared among units; without it every event touches every query.
        only: The templates to make units of; all that are not guards when left out.
        patience: How many events for all units of a bundle there have to be in a row before it is
            merged: see machine/bundles.py. Bundles are not looked for when left out.
        distinct: Whether components that are always equal, such as the sums of SUM and AVG of one
            attribute, are computed once and repeated in what is emitted.
        forwards: Whether groups of rows are to be run forwards, for a stream to go on with.
    """
    maker = Maker(plan, program, form, only)
    if distinct:
        maker.keep_distinct_components()
    take_out_rows(maker, forwards)
    maker.make_units(share)
    maker.make_predicates()
    made = lay_out(maker)
    made = replace(made, sharing=("dynamic",) * len(made.row_groups))
    if patience is None or not share:
        return made
    bundles = find_bundles(made.code)
    waits = tuple(patience(bundle, made.code) for bundle in bundles)
    return replace(made, bundles=bundles, patience=waits)
