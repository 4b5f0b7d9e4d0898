"""What explain says of each E+ at plan time, against the code that the kernel would run.

Would catch a loop that is said to be shared and is not, or the other way round: the rules are
written down twice, once for templates and once in the compiler. And an E+ that queries could share
of which nothing is said.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from conformance import load_cases

from hamlet import Workload
from hamlet.engine import Options, compile_encoded
from hamlet.events import EventTable
from hamlet.explain.loops import loop_kinds, loop_sharing
from hamlet.kernel.encode import encode
from hamlet.plan.program import compile_set

if TYPE_CHECKING:
    from hamlet.plan.workload import SharableSet, WorkloadPlan

ALL_CASES = load_cases()
ABOUT = sorted({case.about for case in ALL_CASES})


def kinds_of_code(
    plan: WorkloadPlan, sharable: SharableSet, events: Any, order: str | None
) -> dict[int, dict[str, set[str]]] | None:
    """The same from code; None where an ordered predicate cannot be used for these data."""
    program = compile_set(plan, sharable)
    table = EventTable.of(events, plan, order=order)
    encoded = encode(table, plan, sharable, program, "exact")
    ordered = [p.is_ordered for p in program.predicates]
    if list(encoded.ordered_usable) != ordered:
        return None
    compiled = compile_encoded(plan, program, encoded, Options(sharing="always"))
    code = compiled.code
    chained = {chain.template for group in compiled.row_groups for chain in group.group.units}
    lazy = {
        int(code.u_template[u]): program.alphabet.atoms[code.z_atom[code.u_lazy[u]]].type
        for u in range(len(code.u_w))
        if code.u_lazy[u] >= 0
    }
    found: dict[int, dict[str, set[str]]] = {}
    for source, target in zip(program.edge_source, program.edge_target, strict=True):
        template = int(program.state_template[source])
        if source != target or program.template_role[template] == 3:
            continue
        name = program.alphabet.atoms[program.state_atom[source]].type
        kind = "other"
        if template in chained:
            kind = "chain"
        elif lazy.get(template) == name:
            kind = "plain"
        query = program.queries[program.template_query[template]]
        found.setdefault(query, {}).setdefault(name, set()).add(kind)
    return found


@pytest.mark.parametrize("about", ABOUT)
def test_plan_and_code_agree_on_what_is_shared(about: str) -> None:
    compared = 0
    for case in ALL_CASES:
        if case.about != about:
            continue
        plan = Workload.parse(case.workload).plan
        for sharable in plan.sets:
            expected = kinds_of_code(plan, sharable, case.events, case.order)
            if expected is None:
                continue
            found = {
                query: {
                    name: {kind if kind in ("plain", "chain") else "other" for kind in kinds}
                    for name, kinds in by_type.items()
                }
                for query, by_type in loop_kinds(plan, sharable).items()
            }
            assert {q: k for q, k in found.items() if k} == expected, case.id
            compared += 1
    assert compared


@pytest.mark.parametrize("about", ABOUT)
def test_of_every_query_that_could_share_it_is_said_whether_it_does(about: str) -> None:
    for case in ALL_CASES:
        if case.about != about:
            continue
        plan = Workload.parse(case.workload).plan
        told = {
            (each["set"], each["type"], query)
            for each in loop_sharing(plan)
            for query in each["queries"]
        }
        assert told == {
            (f"s{number}", name, plan.queries[query].query.name)
            for number, sharable in enumerate(plan.sets, 1)
            for name, queries in sharable.shared
            for query in queries
        }
