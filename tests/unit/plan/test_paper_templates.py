"""The templates of the paper's examples, by predecessor, start and end types.

Would catch a template that is no longer the paper's: a lost loop, or an edge that the paper does
not have. Example names are those of the paper (section "Workload Analysis and Stream Partitioning"
and the appendix on nested Kleene patterns).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hamlet.lang.bind import bind
from hamlet.lang.parser import read
from hamlet.paper.definitions import end_types, predecessor_types, start_types

if TYPE_CHECKING:
    from hamlet.plan.template import Template


def _template(pattern: str) -> Template:
    bound, problems = bind(read(f"RETURN COUNT(*) PATTERN {pattern} WITHIN 10 min")[0])
    assert problems == []
    (template,) = bound[0].templates.branches
    assert not template.is_determinised
    return template


def _predecessors(template: Template) -> dict[str, set[str]]:
    types = {state.type for state in template.states}
    return {name: set(predecessor_types(template, name)) for name in types}


@pytest.mark.parametrize("first", ["A", "C"])
def test_sequence_with_kleene_has_the_predecessor_types_of_the_example(first):
    """pt(B) = {A, B}, pt(A) = {}, start = {A}, end = {B}; and C for A in the second query."""
    template = _template(f"SEQ({first}, B+)")

    assert _predecessors(template) == {first: set(), "B": {first, "B"}}
    assert start_types(template) == {first}
    assert end_types(template) == {"B"}
    assert template.kleene_types == {"B"}


@pytest.mark.parametrize("first", ["A", "C"])
def test_nested_kleene_adds_the_edge_from_the_end_to_the_start(first):
    """In addition to the relations above: pt(A) = {B}, and pt(C) = {B} for the second query."""
    template = _template(f"(SEQ({first}, B+))+")

    assert _predecessors(template) == {first: {"B"}, "B": {first, "B"}}
    assert start_types(template) == {first}
    assert end_types(template) == {"B"}
    assert template.kleene_types == {"B"}


def test_a_negation_splits_the_pattern_into_a_positive_and_a_negative_template():
    """SEQ(P1, NOT N, P2) has the template of SEQ(P1, P2), and one of N that guards it."""
    bound, _ = bind(read("RETURN COUNT(*) PATTERN SEQ(A, NOT N, B) WITHIN 10 min")[0])
    templates = bound[0].templates

    assert _predecessors(templates.branches[0]) == {"A": set(), "B": {"A"}}
    assert [_predecessors(guard) for guard in templates.guards] == [{"N": set()}]
