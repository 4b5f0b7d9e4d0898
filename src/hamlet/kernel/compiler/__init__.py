"""From program to code: units, rows, ops, guards, trees and groups of rows found and numbered.

What the parts are is told in code.py. The work is done once for each run of a workload and is about
linear in the number of queries.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from hamlet.kernel.bundles import find_bundles
from hamlet.kernel.compiler.laying_out import lay_out
from hamlet.kernel.compiler.maker import Maker, query_components
from hamlet.kernel.compiler.rows import take_out_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hamlet.kernel.base import Weight
    from hamlet.kernel.bundles import Bundle
    from hamlet.kernel.code import Code, Compiled
    from hamlet.plan.predicates import Expression
    from hamlet.plan.program import Program
    from hamlet.plan.workload import WorkloadPlan

__all__ = ["compile_code", "query_components"]


def compile_code(
    plan: WorkloadPlan,
    program: Program,
    weights: Sequence[Weight],
    extreme_attributes: Sequence[str],
    digits: dict[str, tuple[int, ...]],
    predicates: Sequence[Expression | None],
    column_names: Sequence[str],
    ordered_usable: Sequence[bool],
    is_float: bool = False,
    lazy_weights: Sequence[bool] | None = None,
    share: bool = True,
    only: frozenset[int] | None = None,
    ones: Sequence[bool] | None = None,
    patience: Callable[[Bundle, Code], int] | None = None,
    distinct: bool = False,
) -> Compiled:
    """The code of one sharable set for batches with the given weights and columns.

    Args:
        plan: The workload.
        program: The program of the set.
        weights: What the rows of a batch's weights are.
        extreme_attributes: What the rows of a batch's extremes are.
        digits: For each summed attribute the exponents of its digits.
        predicates: For each edge predicate its condition with constants as floats.
        column_names: What the rows of a batch's columns are.
        ordered_usable: For each edge predicate whether its two sides can be compared directly.
        is_float: Whether weights, and numbers, are floating-point.
        lazy_weights: For each weight whether sums over a run may be had as differences of running
            sums, which in floating-point asks for values of about one size; all when left out.
        share: Whether runs are shared among units; without it every event touches every query.
        only: The templates to make units of; all that are not guards when left out.
        ones: For each weight whether it is 1 for every event; none when left out.
        patience: How many events for all units of a bundle there have to be in a row before it is
            merged: see machine/bundles.py. Bundles are not looked for when left out.
        distinct: Whether components that are always equal, such as the sums of SUM and AVG of one
            attribute, are computed once and repeated in what is emitted.
    """
    maker = Maker(plan, program, weights, extreme_attributes, digits, only)
    maker.ordered_usable = ordered_usable
    maker.weight_type = np.float64 if is_float else np.int64
    maker.lazy_weights = lazy_weights
    maker.ones = [False] * len(weights) if ones is None else ones
    if distinct:
        maker.keep_distinct_components()
    take_out_rows(maker)
    maker.make_units(share)
    maker.make_predicates(predicates, column_names, ordered_usable)
    made = lay_out(maker)
    if patience is None or not share:
        return made
    bundles = find_bundles(made.code)
    waits = tuple(patience(bundle, made.code) for bundle in bundles)
    return replace(made, bundles=bundles, patience=waits)
