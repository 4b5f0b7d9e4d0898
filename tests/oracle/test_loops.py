"""What explain says of each E+ at plan time, against the code that the kernel would run.

Would catch a compiler that does not what the plan has decided, such as a loop that is said to be
shared and is not, and an E+ that queries could share of which nothing is said.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from conformance import load_cases

from hamlet import Workload
from hamlet.engine import Options
from hamlet.engine.pipeline import SetPipeline
from hamlet.events.table import EventTable
from hamlet.explain.loops import loop_sharing
from hamlet.plan.execution import Execution, Grain
from hamlet.plan.program import compile_set
from hamlet.plan.template import START

if TYPE_CHECKING:
    from hamlet.kernel.code import Compiled

ALL_CASES = load_cases()
ABOUT = sorted({case.about for case in ALL_CASES})


def grains_of_code(compiled: Compiled) -> dict[int, set[str]]:
    """For each template that is no guard, what code does with its events."""
    code = compiled.code
    found: dict[int, set[str]] = {int(template): set() for template in code.u_template}
    for unit in range(len(code.u_w)):
        template = int(code.u_template[unit])
        found[template] |= {f"burst of atom {atom}" for atom in code.burst_atoms(unit)}
        if unit in code.t_unit:
            found[template].add("ordered")
        if unit in code.log_unit:
            found[template].add("scan")
    for group in compiled.row_groups:
        found |= {unit.template: {"rows"} for unit in group.group.units}
    return found


def grains_of_plan(execution: Execution) -> dict[int, set[str]]:
    """The same as the plan has it."""
    atoms, loops = execution.program.state_atom, execution.loops()
    found: dict[int, set[str]] = {}
    for unit in execution.units:
        grains = {execution.grains[c] for s, _, c in execution.edges_of.get(unit, ()) if s != START}
        of_loops = loops.get(unit, {})
        if Grain.ROWS in of_loops.values():
            found[unit] = {"rows"}
            continue
        found[unit] = {str(grain) for grain in grains if grain.keeps_events}
        found[unit] |= {
            f"burst of atom {atoms[s]}" for s, grain in of_loops.items() if grain == Grain.BURST
        }
    return found


@pytest.mark.parametrize("about", ABOUT)
def test_code_does_what_the_plan_says(about: str) -> None:
    compared = 0
    for case in ALL_CASES:
        if case.about != about:
            continue
        plan = Workload.parse(case.workload).plan
        table = EventTable.of(case.events, plan, order=case.order)
        for sharable in plan.sets:
            pipeline = SetPipeline.of(plan, sharable, Options(sharing="always"))
            encoded = pipeline.encode(table)

            expected = grains_of_plan(Execution(pipeline.program, encoded.ordered_usable))

            assert grains_of_code(pipeline.compile(encoded)) == expected, case.id
            compared += 1
    assert compared


@pytest.mark.parametrize("about", ABOUT)
def test_of_every_query_that_could_share_it_is_said_whether_it_does(about: str) -> None:
    for case in ALL_CASES:
        if case.about != about:
            continue
        plan = Workload.parse(case.workload).plan
        programs = [compile_set(plan, one) for one in plan.sets]
        told = {
            (each["set"], each["type"], query)
            for each in loop_sharing(plan, programs)
            for query in each["queries"]
        }
        assert told == {
            (f"s{number}", name, plan.queries[query].query.name)
            for number, sharable in enumerate(plan.sets, 1)
            for name, queries in sharable.shared
            for query in queries
        }
