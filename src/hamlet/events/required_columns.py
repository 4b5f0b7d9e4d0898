"""What a workload needs of its events: which attributes, and of which kind its use makes each.

A source without types of its own (CSV) is read by what the queries do with a column: what is
summed, compared with a number or reckoned with is a number. A source with types is checked against
it, before any work is done.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from hamlet.errors import SchemaError
from hamlet.events.text_rules import NUMBER
from hamlet.plan import value_kinds
from hamlet.plan.predicates import (
    COMPARISONS,
    EVENT_TIME,
    FUNCTIONS,
    Column,
    Constant,
    Expression,
    Operation,
    columns_of,
)
from hamlet.plan.predicates import show as shown
from hamlet.plan.remembered import remembered
from hamlet.plan.value_kinds import ARITHMETIC

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from hamlet.plan.query import Query
    from hamlet.plan.workload import WorkloadPlan
    from hamlet.schema import Kind

_CONSTANT_KINDS: dict[str, Kind] = {
    "int": "number",
    "float": "number",
    "str": "text",
    "bool": "boolean",
    "time": "time",
    "duration": "duration",
}
_LOGIC = ("and", "or", "not")
_CALLED = value_kinds.CALLED


@dataclass(frozen=True, slots=True)
class Needs:
    """The attributes that a workload looks at.

    kinds: Of attributes whose use says what they are. To be compared with text says nothing: what
        looks like a number is one, and then such a comparison is refused.
    contested: Attributes that are used as several kinds, at least one of which is wrong.
    partition: Those whose values make partitions.
    summed: Those of SUM and AVG.
    """

    attributes: tuple[str, ...]
    kinds: Mapping[str, Kind]
    partition: frozenset[str]
    summed: frozenset[str]
    contested: frozenset[str] = frozenset()


@remembered
def needs_of(plan: WorkloadPlan) -> Needs:
    """What all queries of a workload need together."""
    queries = [planned.query for planned in plan.queries]
    attributes: dict[str, None] = {}
    uses: dict[str, set[Kind]] = {}
    for query in queries:
        attributes.update(dict.fromkeys(query.partition))
        for aggregate in query.aggregates:
            if aggregate.attribute is not None:
                attributes[aggregate.attribute] = None
                uses.setdefault(aggregate.attribute, set()).add("number")
        for expression in _conditions(query):
            columns = (column.attribute for column in columns_of(expression))
            attributes.update((name, None) for name in columns if name != EVENT_TIME)
            for attribute, kind in _demands(expression, "boolean"):
                uses.setdefault(attribute, set()).add(kind)
    contested = frozenset(attribute for attribute, some in uses.items() if len(some) > 1)
    return Needs(
        attributes=tuple(attributes),
        kinds={a: min(some) for a, some in uses.items() if len(some) == 1 and "text" not in some},
        partition=frozenset(attribute for query in queries for attribute in query.partition),
        summed=frozenset(
            str(aggregate.attribute)
            for query in queries
            for aggregate in query.aggregates
            if aggregate.is_summed
        ),
        contested=contested,
    )


@remembered
def types_by_key(plan: WorkloadPlan) -> dict[str, frozenset[str]]:
    """For each attribute that partitions a query, the types of events that such queries ask for.

    An event of one of these types takes no part in them where it has no value for the attribute.
    """
    types: dict[str, set[str]] = {}
    for planned in plan.queries:
        for attribute in planned.query.partition:
            asked = (place.type for place in planned.query.places)
            types.setdefault(attribute, set()).update(asked)
    return {attribute: frozenset(types[attribute]) for attribute in sorted(types)}


def _conditions(query: Query) -> Iterator[Expression]:
    yield from (local for local in query.local if local is not None)
    yield from (predicate.condition for predicate in query.edge_predicates)


def _demands(expression: Expression, place: Kind | None) -> Iterator[tuple[str, Kind]]:
    """Attributes and the kinds that the places they stand in ask for."""
    if isinstance(expression, Column):
        if place is not None and expression.attribute != EVENT_TIME:
            # Columns are no durations: what is used as one is a mistake, whatever it is.
            yield expression.attribute, "time" if place == "duration" else place
        return
    if not isinstance(expression, Operation):
        return
    wanted = _wanted(expression, place)
    for operand in expression.operands:
        yield from _demands(operand, wanted)


def _wanted(expression: Operation, place: Kind | None) -> Kind | None:
    """What an operation asks of its operands; None where it takes several kinds."""
    symbol = expression.operator
    kinds = [kind for kind in map(_kind_by_form, expression.operands) if kind is not None]
    if symbol in ARITHMETIC:
        are_times = symbol in "+-" and place in ("time", "duration")
        return "duration" if are_times or {"time", "duration"} & set(kinds) else "number"
    if symbol in _LOGIC:
        return "boolean"
    if symbol == "coalesce":
        return place or (kinds[0] if kinds else None)
    if symbol in FUNCTIONS:
        takes = value_kinds.FUNCTIONS[symbol.upper()].takes
        return cast("Kind", takes[0]) if len(takes) == 1 else place
    if symbol in ("like", "not like"):
        return "text"
    if symbol in ("is null", "is not null"):
        return None
    return kinds[0] if kinds else None


def _kind_by_form(expression: Expression) -> Kind | None:
    """What an expression is, whatever its attributes are; None where it depends on them."""
    if isinstance(expression, Constant):
        return _CONSTANT_KINDS.get(expression.kind)
    if isinstance(expression, Column):
        return "time" if expression.attribute == EVENT_TIME else None
    symbol = expression.operator
    kinds = [_kind_by_form(operand) for operand in expression.operands]
    if symbol in ARITHMETIC:
        left, right = (kinds[0] or value_kinds.ANY, (kinds[-1] or value_kinds.ANY))
        found = value_kinds.arithmetic_kind(symbol, left, right)
        if found != value_kinds.AMOUNT:
            return cast("Kind", found)
        return None if {"time", "duration"} & set(kinds) else "number"
    if symbol in FUNCTIONS:
        gives = value_kinds.FUNCTIONS[symbol.upper()].gives
        known = [kind for kind in kinds if kind is not None]
        same = known[0] if known else None
        return same if gives == value_kinds.SAME else cast("Kind", gives)
    return "boolean"


def check_kinds(plan: WorkloadPlan, kinds: Mapping[str, Kind | None], name: str) -> None:
    """Refuse attributes that are of another kind than their use.

    Args:
        plan: The workload.
        kinds: The kind of every attribute it needs; None for one that is always null.
        name: What to call the events in a message.
    """
    _check_kinds(plan, tuple(kinds.items()), name)


@remembered
def _check_kinds(plan: WorkloadPlan, known: tuple[tuple[str, Kind | None], ...], name: str) -> None:
    kinds = dict(known)
    for planned in plan.queries:
        query = planned.query
        for aggregate in query.aggregates:
            attribute = aggregate.attribute
            kind = "number" if attribute is None else kinds[attribute]
            if kind not in ("number", None):
                reason = f"needs numbers, but attribute '{attribute}' is {_CALLED[kind]}"
                raise SchemaError(name, f"{query.name}: {aggregate.function} {reason}")
        checker = _Checker(query.name, kinds, name)
        for condition in _conditions(query):
            checker.require(condition, "boolean", condition)


@dataclass(frozen=True, slots=True)
class _Checker:
    """Finds the kinds of the expressions of one query."""

    query: str
    kinds: Mapping[str, Kind | None]
    name: str

    def require(self, expression: Expression, wanted: Kind, whole: Expression) -> None:
        kind = self.kind(expression)
        if kind not in (wanted, None):
            self._refuse(
                whole, f"{shown(expression)} is {_CALLED[kind]}, where {_CALLED[wanted]} is needed"
            )

    def kind(self, expression: Expression) -> Kind | None:
        """The kind of an expression; None where it is always null."""
        if isinstance(expression, Column):
            is_time = expression.attribute == EVENT_TIME
            return "time" if is_time else self.kinds[expression.attribute]
        if isinstance(expression, Constant):
            return _CONSTANT_KINDS.get(expression.kind)
        symbol, operands = expression.operator, expression.operands
        if symbol in ARITHMETIC:
            return self._arithmetic(expression)
        if symbol in _LOGIC:
            for operand in operands:
                self.require(operand, "boolean", expression)
            return "boolean"
        if symbol in FUNCTIONS:
            return self._function(expression)
        if symbol in ("like", "not like"):
            self.require(operands[0], "text", expression)
            return "boolean"
        kinds = [self.kind(operand) for operand in operands]
        if symbol in COMPARISONS or symbol in ("in", "not in"):
            self._comparable(expression, kinds)
        return "boolean"

    def _arithmetic(self, expression: Operation) -> Kind | None:
        """What comes of arithmetic; it is always null where an operand is."""
        kinds = [self.kind(operand) for operand in expression.operands]
        for operand, kind in zip(expression.operands, kinds, strict=True):
            if kind in ("text", "boolean"):
                self.require(operand, "number", expression)
        if None in kinds or len(kinds) == 1:
            return kinds[0] if len(kinds) == 1 else None
        left, right = str(kinds[0]), str(kinds[1])
        found = value_kinds.arithmetic_kind(expression.operator, left, right)
        if found is None:
            shown_left, shown_right = map(shown, expression.operands)
            reason = f"{shown_left} is {_CALLED[left]} and {shown_right} is {_CALLED[right]}"
            what = f"'{expression.operator}' has no meaning between them"
            self._refuse(expression, f"{reason}: {what}")
        return cast("Kind", found)

    def _function(self, expression: Operation) -> Kind | None:
        function = value_kinds.FUNCTIONS[expression.operator.upper()]
        values = expression.operands if function.is_list else expression.operands[:1]
        known = [kind for kind in map(self.kind, values) if kind is not None]
        for kind in known:
            if kind not in function.takes or kind != known[0]:
                wanted = _CALLED[function.takes[0] if kind not in function.takes else known[0]]
                self._refuse(expression, f"{_CALLED[kind]} stands where {wanted} is needed")
        if function.gives == value_kinds.SAME:
            return known[0] if known else None
        return cast("Kind", function.gives) if known else None

    def _comparable(self, comparison: Operation, kinds: list[Kind | None]) -> None:
        first = comparison.operands[0]
        for operand, kind in zip(comparison.operands[1:], kinds[1:], strict=True):
            if None not in (kinds[0], kind) and kinds[0] != kind:
                left, right = _CALLED[str(kinds[0])], _CALLED[str(kind)]
                reason = f"{shown(first)} is {left} and {shown(operand)} is {right}"
                remedy = without_quotes([first, operand])
                if {kinds[0], kind} == {"text", "time"}:
                    remedy = "; make it a timestamp: only in CSV files texts become times"
                self._refuse(comparison, f"{reason}: they cannot be compared{remedy}")
        is_order = comparison.operator in ("<", "<=", ">", ">=")
        if is_order and "boolean" in kinds:
            self._refuse(comparison, "truth values have no order")

    def _refuse(self, whole: Expression, reason: str) -> None:
        raise SchemaError(self.name, f"{self.query}: in {shown(whole)}, {reason}")


def without_quotes(operands: list[Expression]) -> str:
    """What to write instead of a number in quotes, where one of some operands is that."""
    for operand in operands:
        if isinstance(operand, Constant) and operand.kind == "str":
            text = str(operand.value).strip()
            if re.fullmatch(NUMBER, text):
                return f"; write {text}, without quotes"
    return ""
