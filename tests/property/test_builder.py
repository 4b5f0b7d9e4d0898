"""Laws of queries written in Python: they are the trees that their text is read as.

Would catch a function or operator that makes another tree than the text it prints, a name or value
that does not survive, and a mistake that is said differently of a built query than of its text.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sampling import random_sample

from hamlet import QueryError, Workload
from hamlet.build import (
    and_,
    any_,
    attr,
    avg,
    coalesce,
    count,
    equal,
    event,
    max_,
    min_,
    next_,
    not_,
    optional,
    or_,
    plus,
    query,
    seq,
    star,
    stddev,
    sum_,
    times,
    variance,
)
from hamlet.lang import tree
from hamlet.lang.builder.conditions import Expression
from hamlet.lang.condition_trees import nodes_of
from hamlet.lang.parser import parse_tree, read
from hamlet.lang.printer import print_duration, print_query
from hamlet.plan.aggregates import FUNCTIONS
from hamlet.testing import conditions, durations, patterns, queries

if TYPE_CHECKING:
    from hamlet.lang.builder.conditions import Named
    from hamlet.lang.builder.draft import Draft
    from hamlet.lang.builder.patterns import Pattern

_OPERATORS = {
    "=": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "%": lambda a, b: a % b,
}
_AGGREGATES = {
    "COUNT": count,
    "SUM": sum_,
    "AVG": avg,
    "MIN": min_,
    "MAX": max_,
    "STDDEV": stddev,
    "VARIANCE": variance,
}


# A tree, put together again by what users call


def built_pattern(node: tree.Pattern) -> Pattern:
    match node:
        case tree.TypePattern(type=name, alias=alias):
            return event(name.text, alias.text if alias else None)
        case tree.AnyPattern(alias=alias):
            return any_(None if alias is None else alias.text)
        case tree.KleenePattern(body=body):
            return plus(built_pattern(body))
        case tree.CountedPattern(body=body, least=0, most=1):
            return optional(built_pattern(body))
        case tree.CountedPattern(body=body, least=0, most=None):
            return star(built_pattern(body))
        case tree.CountedPattern(body=body, least=least, most=most):
            return times(built_pattern(body), least, most)
        case tree.NotPattern(body=body):
            return not_(built_pattern(body))
    function = {tree.SeqPattern: seq, tree.OrPattern: or_, tree.AndPattern: and_}[type(node)]
    return function(*map(built_pattern, node.items))


def _built_call(node: tree.Call, name: str, values: list[Expression]) -> Expression:
    first, *others = values
    if name == "COALESCE":
        return coalesce(first, *map(plain, others))
    if name in ("ABS", "ROUND") and not others:
        return abs(first) if name == "ABS" else round(first)
    if hasattr(first, name.lower()) and not others:
        return getattr(first, name.lower())()
    return Expression(flat(node))  # what is refused when it is read


def built_condition(node: tree.Expression) -> Expression:
    match node:
        case tree.AttributeRef(variable=variable, attribute=attribute, is_next=is_next):
            return (next_ if is_next else attr)(variable.text, attribute.text)
        case tree.BareName() | tree.Literal() | tree.Duration() | tree.Moment():
            return Expression(node)  # a value alone is nothing that can be called
        case tree.Equivalence(attributes=names):
            return equal(*(name.text for name in names))
        case tree.Negative(operand=operand):
            return -built_condition(operand)
        case tree.Arithmetic() | tree.Comparison():
            left, right = built_condition(node.left), built_condition(node.right)
            return _OPERATORS[node.operator](left, plain(right))
        case tree.InList(operand=operand, items=items, is_negated=is_negated):
            one = built_condition(operand)
            if not all(isinstance(item, tree.Literal) for item in items):
                return Expression(flat(node))  # of times as they are written there is one for many
            return (one.is_not_in if is_negated else one.is_in)(*(item.value for item in items))
        case tree.Like(operand=operand, pattern=pattern, is_negated=is_negated):
            if not isinstance(pattern, tree.Literal) or not isinstance(pattern.value, str):
                return Expression(flat(node))
            one = built_condition(operand)
            return (one.not_like if is_negated else one.like)(pattern.value)
        case tree.Call(function=function) if function.text in _AGGREGATES:
            return built_aggregate(node)
        case tree.Call(function=function, arguments=arguments):
            return _built_call(node, function.text, [built_condition(each) for each in arguments])
        case tree.IsNull(operand=operand, is_negated=is_negated):
            one = built_condition(operand)
            return one.is_not_null() if is_negated else one.is_null()
        case tree.Between(operand=operand, is_negated=is_negated):
            one, low, high = map(built_condition, (operand, node.low, node.high))
            limits = plain(low), plain(high)
            return one.not_between(*limits) if is_negated else one.between(*limits)
        case tree.NotCondition(operand=operand):
            return ~built_condition(operand)
    first, *others = map(built_condition, node.items)
    for other in others:
        first = first & other if isinstance(node, tree.AndCondition) else first | other
    return first


def plain(one: Expression) -> object:
    """A literal as the value that a user writes."""
    return one.tree.value if isinstance(one.tree, tree.Literal) else one


def flat(node: object) -> object:
    """A condition in which AND in AND, and OR in OR, is one: Python's operators cannot tell."""
    if isinstance(node, tree.AndCondition | tree.OrCondition):
        items = [flat(item) for item in node.items]
        joined = [i for item in items for i in (item.items if type(item) is type(node) else [item])]
        return replace(node, items=tuple(joined))
    if isinstance(node, tree.Negative | tree.NotCondition | tree.IsNull | tree.InList | tree.Like):
        return replace(node, operand=flat(node.operand))
    if isinstance(node, tree.Call):
        return replace(node, arguments=tuple(map(flat, node.arguments)))
    if isinstance(node, tree.Between):
        return replace(node, operand=flat(node.operand), low=flat(node.low), high=flat(node.high))
    if isinstance(node, tree.Arithmetic | tree.Comparison):
        return replace(node, left=flat(node.left), right=flat(node.right))
    return node


def built_item(item: tree.ReturnItem) -> Expression | Named | str:
    if isinstance(item, tree.GroupItem):
        return item.name.text
    found = built_condition(item.expression)
    return found.named(item.alias.text) if item.alias else found


def built_aggregate(call: tree.Call) -> Expression:
    function = _AGGREGATES[call.function.text]
    match call.arguments:
        case (tree.AttributeRef(variable=variable, attribute=attribute),):
            return function(attr(variable.text, attribute.text))
        case (tree.BareName(name=name),):
            return count(event(name.text)) if function is count else function(attr_alone(name.text))
    return count()


def attr_alone(text: str) -> Expression:
    return Expression(tree.BareName(tree.Name(text)))


def built(one: tree.QueryTree) -> Draft:
    draft = query(one.name.text if one.name else None).returns(*map(built_item, one.items))
    draft = draft.pattern(built_pattern(one.pattern))
    draft = draft.group_by(*(name.text for name in one.group_by))
    draft = draft.within(print_duration(one.within))
    if one.match is not None:
        draft = draft.match(one.match.word.lower())
    if one.where is not None:
        draft = draft.where(built_condition(one.where))
    if one.having is not None:
        draft = draft.having(built_condition(one.having))
    draft = draft if one.offset is None else draft.offset(print_duration(one.offset))
    draft = draft if one.zone is None else draft.in_zone(one.zone.value)
    return draft if one.slide is None else draft.slide(print_duration(one.slide))


def is_buildable(one: tree.QueryTree) -> bool:
    written = [item.expression for item in one.items if isinstance(item, tree.ResultItem)]
    written += [] if one.having is None else [one.having]
    calls = [node for each in written for node in nodes_of(each) if isinstance(node, tree.Call)]
    return all(
        call.function.text not in FUNCTIONS
        or call.function.text == "COUNT"
        or not isinstance(call.arguments[0], tree.Star)
        for call in calls
    ) and "MEDIAN" not in {call.function.text for call in calls}


# Laws


@random_sample(100)
@given(patterns())
def test_a_built_pattern_is_the_tree_of_its_text(pattern):
    draft = query().returns(count()).pattern(built_pattern(pattern)).within("1 s")

    assert repr(draft.tree.pattern) == repr(pattern)
    assert repr(parse_tree(str(draft)).queries[0].pattern) == repr(pattern)


@random_sample(100)
@given(conditions())
def test_a_built_condition_is_the_tree_of_its_text(condition):
    draft = query().returns(count()).pattern("A").where(built_condition(condition)).within("1 s")

    # By repr, because 1 == 1.0 == True.
    assert repr(draft.tree.where) == repr(flat(condition))
    assert repr(parse_tree(str(draft)).queries[0].where) == repr(flat(condition))


@random_sample(100)
@given(queries().filter(is_buildable))
def test_a_built_query_is_the_tree_of_its_text(one):
    draft = built(one)

    assert draft.tree == replace(one, where=flat(one.where), having=flat(one.having))
    assert parse_tree(str(draft)).queries == (draft.tree,)
    assert str(draft) == print_query(draft.tree)


@random_sample(100)
@given(st.lists(queries().filter(is_buildable), min_size=1, max_size=3))
def test_a_built_workload_is_planned_or_refused_as_its_text_is(found):
    drafts = [built(one) for one in found]
    text = ";\n\n".join(map(str, drafts))

    assert outcome(lambda: Workload.of(*drafts)) == outcome(lambda: Workload.parse(text))


def outcome(make):
    """What a workload is, or why it is refused."""
    try:
        return make().describe()
    except QueryError as error:
        return error


@random_sample(100)
@given(st.integers(-(2**63) + 1, 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_of_either_sign_is_read_back_as_it_was(number):
    draft = query().returns(count()).pattern("A").where(attr("A.x") == number).within("1 s")

    right = parse_tree(str(draft)).queries[0].where.right

    value = -right.operand.value if isinstance(right, tree.Negative) else right.value
    assert value == number
    assert type(value) is type(number)
    assert repr(right) == repr(draft.tree.where.right)


@random_sample(100)
@given(st.text(max_size=8), st.text(max_size=8))
def test_no_text_in_a_name_or_value_becomes_part_of_the_query(name, value):
    draft = query(name).returns(count()).pattern(event(name, "e"))
    draft = draft.where(attr("e", name) == value).group_by(name).within("1 s")

    try:
        found = parse_tree(str(draft)).queries
    except QueryError:
        assert "\n" in name + value or not name
    else:
        assert found == (draft.tree,)


@random_sample(100)
@given(st.timedeltas(timedelta(microseconds=1), timedelta(days=10_000)))
def test_a_timedelta_is_a_duration_of_its_length(length):
    draft = query().returns(count()).pattern("A").within(length)

    window = Workload.of(draft).queries[0].window

    assert window.within_us == length // timedelta(microseconds=1)


@random_sample(100)
@given(durations().map(print_duration) | st.text(max_size=12))
@example("1 s SLIDE 1 s")
@example("1 s; RETURN COUNT(*) PATTERN A WITHIN 1 s")
def test_a_written_length_is_what_it_is_in_a_query_or_refused(length):
    queries, problems = read(f"RETURN COUNT(*) PATTERN A WITHIN {length}")

    if problems or len(queries) != 1 or queries[0].slide is not None:
        with pytest.raises(QueryError) as caught:
            query().within(length)
        said = caught.value.problems
        assert [p.code for p in said] == ([p.code for p in problems] or ["unexpected-text"])
        assert all(0 <= p.at.start <= p.at.end <= len(caught.value.text) for p in said)
    else:
        draft = query().returns(count()).pattern("A").within(length)
        assert draft.tree.within == queries[0].within
