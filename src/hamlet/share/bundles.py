"""Bundles of compiled code as the policies see them: sizes, rates of events, and traces.

This is where the plain models of this package meet the kernel: everything is read off its code and
its batch, and nothing is decided here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from hamlet.kernel.compile.fast_paths import bundle_letters
from hamlet.plan.number_mode import NumberMode
from hamlet.share.coefficients import DEFAULTS, CoefficientTable, NumberKind
from hamlet.share.cost import FOREVER, BundleSize
from hamlet.share.policy import Policy, Rates, patience_of
from hamlet.share.trace import (
    BUNDLE,
    DECISION,
    PARTITION,
    TIME,
    Traced,
    trace_schema,
    trace_table,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from hamlet.events.times import Times
    from hamlet.kernel.base import EventBatch
    from hamlet.kernel.code import Code, Compiled
    from hamlet.kernel.compile.bundles import Bundle
    from hamlet.kernel.run import DecisionRows
    from hamlet.plan.program import Program
    from hamlet.plan.workload import WorkloadPlan
    from hamlet.share.policy import Fixed

    Ints = NDArray[np.int64]
    Flags = NDArray[np.bool_]

_STAYS_SPLIT, _IS_SPLIT = 1, 3


@dataclass(frozen=True, slots=True)
class BundleReport:
    """A bundle of a run: queries that are one while they behave alike.

    Attributes:
        sharable_set: The number of the set, from 1.
        type: The type E of the loop that they share.
        queries: Their names.
        size: How large they are.
        patience: How many events for all must come in a row before they are merged.
    """

    sharable_set: int
    type: str
    queries: tuple[str, ...]
    size: BundleSize
    patience: int


def bundle_size(bundle: Bundle, code: Code, mode: NumberMode) -> BundleSize:
    """How large the queries of a bundle are, with numbers of the first kind that is tried."""
    unit = bundle.units[0]
    return BundleSize(
        queries=len(bundle.units),
        windows=int(code.u_w[unit]),
        rows=int(code.u_nrows[unit]),
        aggregates=int(code.u_nc[unit] + code.u_nx[unit]),
        kind="double" if mode is NumberMode.FLOAT else "int64",
    )


def bundle_patience(
    policy: Policy, mode: NumberMode, coefficients: CoefficientTable = DEFAULTS
) -> Callable[[Bundle, Code], int] | None:
    """The patience of each bundle, as `compile_code` asks for it; None where there are to be none.

    That of the static policy was fixed before: see `with_fixed_patience`.
    """
    if policy not in ("dynamic", "static"):
        return None

    def found(bundle: Bundle, code: Code) -> int:
        patience = patience_of(policy, bundle_size(bundle, code, mode), coefficients)
        return FOREVER if patience is None else patience

    return found


def with_fixed_patience(
    compiled: Compiled, plan: WorkloadPlan, program: Program, fixed: Fixed
) -> Compiled:
    """The same code, with the patience that the static policy has fixed for each bundle."""
    members = bundle_queries(compiled, plan, program)
    return replace(compiled, patience=tuple(map(fixed.patience_of, members)))


def split_bundles(
    compiled: Compiled,
    plan: WorkloadPlan,
    program: Program,
    batch: EventBatch,
    mode: NumberMode,
    coefficients: CoefficientTable = DEFAULTS,
) -> set[tuple[str, ...]]:
    """The bundles that the static policy does not merge, with events such as those of a batch."""
    members = bundle_queries(compiled, plan, program)
    sizes = [bundle_size(bundle, compiled.code, mode) for bundle in compiled.bundles]
    triples = zip(members, sizes, bundle_rates(compiled, batch), strict=True)
    return {
        queries
        for queries, size, rates in triples
        if patience_of("static", size, coefficients, rates) == FOREVER
    }


def bundle_queries(
    compiled: Compiled, plan: WorkloadPlan, program: Program
) -> list[tuple[str, ...]]:
    """The names of the queries of each bundle, in order."""
    names = [plan.queries[number].query.name for number in program.queries]
    templates = (compiled.code.u_template[list(bundle.units)] for bundle in compiled.bundles)
    return [
        tuple(dict.fromkeys(names[query] for query in program.template_query[some]))
        for some in templates
    ]


def after_static(compiled: Compiled, batch: EventBatch) -> Compiled:
    """The same code for what comes after some events, as the static policy has it.

    A bundle that was split by one of them stays split.
    """
    if not compiled.bundles:
        return compiled
    pairs = zip(compiled.patience, bundle_rates(compiled, batch), strict=True)
    patience = tuple(FOREVER if rates.for_some else before for before, rates in pairs)
    return replace(compiled, patience=patience)


def bundle_rates(compiled: Compiled, batch: EventBatch) -> list[Rates]:
    """For each bundle how many events are for all its queries, and how many for some.

    Events of one time are looked at one by one, so they count as for some.
    """
    for_all, for_any = bundle_letters(compiled, batch.letters)
    is_tied = _is_tied(batch)
    letters = len(batch.letters)
    single = np.bincount(batch.letter[~is_tied], minlength=letters)
    tied = np.bincount(batch.letter[is_tied], minlength=letters)
    whole = single @ for_all.astype(np.int64)
    some = single @ (for_any & ~for_all).astype(np.int64) + tied @ for_any.astype(np.int64)
    return [Rates(float(a), float(s)) for a, s in zip(whole, some, strict=True)]


def _is_tied(batch: EventBatch) -> Flags:
    """Which events are simultaneous with another."""
    is_tied: Flags = batch.tied.astype(np.bool_)
    is_tied[:-1] |= is_tied[1:].copy()
    return is_tied


# Reports and traces


def bundle_reports(
    compiled: Compiled, plan: WorkloadPlan, program: Program, mode: NumberMode, sharable_set: int
) -> list[BundleReport]:
    """The bundles of a set, with the names of their queries."""
    code, reports = compiled.code, []
    members = bundle_queries(compiled, plan, program)
    triples = zip(compiled.bundles, members, compiled.patience, strict=True)
    for bundle, queries, patience in triples:
        size = bundle_size(bundle, code, mode)
        name = _type_of(bundle, code, program)
        reports.append(BundleReport(sharable_set, name, queries, size, patience))
    return reports


def _type_of(bundle: Bundle, code: Code, program: Program) -> str:
    """The type of the loop that a bundle shares."""
    return str(program.alphabet.atoms[code.burst_atoms(bundle.units[0])[0]].type)


def set_trace(
    decisions: Sequence[DecisionRows],
    compiled: Compiled,
    plan: WorkloadPlan,
    program: Program,
    batch: EventBatch,
    groups: Sequence[str] | Any,
    mode: NumberMode,
    *,
    sharable_set: int,
    times: Times,
    coefficients: CoefficientTable = DEFAULTS,
) -> Any:
    """The trace of a set from what its kernel handed over, for each width of numbers."""
    code = compiled.code
    members = bundle_queries(compiled, plan, program)
    traced = [
        Traced(_type_of(bundle, code, program), bundle_size(bundle, code, mode), queries)
        for bundle, queries in zip(compiled.bundles, members, strict=True)
    ]
    pieces = [trace_schema(times).empty_table()]
    for taken in decisions:
        table = trace_table(
            taken.rows,
            _is_for_all(taken.rows, compiled, batch),
            groups,
            [replace(one, size=_widened(one.size, taken.words)) for one in traced],
            program.pane_us,
            sharable_set=sharable_set,
            times=times,
            clock=plan.queries[program.queries[0]].query.window.clock,
            coefficients=coefficients,
        )
        pieces.append(table)
    return pa.concat_tables(pieces).unify_dictionaries()


def _widened(size: BundleSize, words: int) -> BundleSize:
    """A size with numbers of so many words."""
    if words == 1:
        return size
    kind: NumberKind = "wide" if size.kind == "double" else "words"
    return replace(size, kind=kind, words=words)


def _is_for_all(raw: Ints, compiled: Compiled, batch: EventBatch) -> Flags:
    """For each row whether its event is for all queries of the bundle.

    Where the bundle was or is merged that is told by the decision. Where it stays split it is
    looked up: events of one time are taken one by one, as if for some.
    """
    is_whole: Flags = raw[:, DECISION] != _IS_SPLIT
    open_rows = np.flatnonzero(raw[:, DECISION] == _STAYS_SPLIT)
    if not len(open_rows):
        return is_whole
    for_all, _ = bundle_letters(compiled, batch.letters)
    times, rank = np.unique(batch.ts, return_inverse=True)
    key = batch.part.astype(np.int64) * len(times) + rank
    rows = raw[open_rows]
    wanted = rows[:, PARTITION] * len(times) + np.searchsorted(times, rows[:, TIME])
    first = np.searchsorted(key, wanted)
    is_single = np.searchsorted(key, wanted, side="right") == first + 1
    is_whole[open_rows] = is_single & for_all[batch.letter[first], rows[:, BUNDLE]]
    return is_whole
