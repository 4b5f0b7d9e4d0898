"""The syntax tree: what was written, as frozen values, each with the span it was written at.

Two trees are equal when they say the same, wherever it was written: spans take no part in equality,
so `parse(print(tree)) == tree` is a law the tests can state. Brackets leave no node behind.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hamlet.errors import Span

if TYPE_CHECKING:
    from decimal import Decimal

NOWHERE = Span(0, 0)


def _span() -> Span:
    return field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Name:
    """A name as written: of a query, type, alias, attribute, function or unit."""

    text: str
    span: Span = _span()


# Patterns


@dataclass(frozen=True, slots=True)
class TypePattern:
    """One event of a type, with an optional alias: `Travel T`."""

    type: Name
    alias: Name | None = None
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class AnyPattern:
    """One event of whatever type, with an optional alias: `ANY e`."""

    alias: Name | None = None
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class KleenePattern:
    """One or more matches of a pattern, one after another: `P+`."""

    body: Pattern
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class CountedPattern:
    """So many matches of a pattern, one after another: `P?`, `P*`, `P{2}`, `P{2,}`, `P{2,5}`.

    `most` is None where there is no limit; `P{1,}` is `P+`, a `KleenePattern`.
    """

    body: Pattern
    least: int
    most: int | None
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class NotPattern:
    """No match of a pattern at this place: `NOT P`."""

    body: Pattern
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class SeqPattern:
    """Matches one after another: `SEQ(P, Q)`."""

    items: tuple[Pattern, ...]
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class OrPattern:
    """What any of the patterns matches: `P OR Q`."""

    items: tuple[Pattern, ...]
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class AndPattern:
    """Pairs of trends: `P AND Q`."""

    items: tuple[Pattern, ...]
    span: Span = _span()


Pattern = (
    TypePattern
    | AnyPattern
    | KleenePattern
    | CountedPattern
    | NotPattern
    | SeqPattern
    | OrPattern
    | AndPattern
)

# Conditions


@dataclass(frozen=True, slots=True)
class AttributeRef:
    """An attribute of a variable: `T.speed`, or of the event after it: `NEXT(T).speed`."""

    variable: Name
    attribute: Name
    is_next: bool = False
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class BareName:
    """A name without a variable; never right in a condition, kept to say so well."""

    name: Name
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Star:
    """The `*` of COUNT(*)."""

    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Call:
    """A function of something: `SUM(T.duration)`, `HOUR(T.time, 'Europe/Berlin')`."""

    function: Name
    arguments: tuple[Expression | Star, ...]
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Duration:
    """A length of time as written, its unit in the short form where it is a known one."""

    amount: Decimal
    unit: Name
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Moment:
    """A time as written: `TIMESTAMP '2026-03-01 08:00:00+01:00'`, `DATE '2026-03-01'`."""

    word: Name
    text: str
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Literal:
    """A number, text, truth value or NULL."""

    value: int | float | str | bool | None
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Negative:
    """Arithmetic minus before an expression."""

    operand: Expression
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """Two expressions joined by + - * / or %."""

    operator: str
    left: Expression
    right: Expression
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two expressions compared by = != < <= > or >=."""

    operator: str
    left: Expression
    right: Expression
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class InList:
    """Whether an expression equals one of some literals: `T.zone IN (1, 2)`."""

    operand: Expression
    items: tuple[Literal | Duration | Moment, ...]
    is_negated: bool = False
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class IsNull:
    """Whether an expression has no value: `T.zone IS NULL`."""

    operand: Expression
    is_negated: bool = False
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Like:
    """Whether text has a form, in which % is any text and _ one character: `T.city LIKE 'San%'`."""

    operand: Expression
    pattern: Literal
    is_negated: bool = False
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Between:
    """Whether an expression is between two others, both included: `T.x BETWEEN 1 AND 9`."""

    operand: Expression
    low: Expression
    high: Expression
    is_negated: bool = False
    span: Span = _span()

    @property
    def comparisons(self) -> tuple[Comparison, Comparison]:
        """The two comparisons that it stands for where it is not negated."""
        return (
            Comparison(">=", self.operand, self.low, self.span),
            Comparison("<=", self.operand, self.high, self.span),
        )


@dataclass(frozen=True, slots=True)
class NotCondition:
    """A condition that must not hold."""

    operand: Expression
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class AndCondition:
    """Conditions that must all hold."""

    items: tuple[Expression, ...]
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class OrCondition:
    """Conditions of which one must hold."""

    items: tuple[Expression, ...]
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Equivalence:
    """Attributes that are equal on all events of a trend: `[driver, rider]`."""

    attributes: tuple[Name, ...]
    span: Span = _span()


Expression = (
    AttributeRef
    | BareName
    | Call
    | Duration
    | Moment
    | Literal
    | Negative
    | Arithmetic
    | Comparison
    | InList
    | IsNull
    | Between
    | Like
    | NotCondition
    | AndCondition
    | OrCondition
    | Equivalence
)

# Clauses


@dataclass(frozen=True, slots=True)
class ResultItem:
    """What is returned: `SUM(T.duration) AS total`, or computed from aggregates.

    An aggregate alone is a `Call`.
    """

    expression: Expression
    alias: Name | None = None
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class GroupItem:
    """A grouping attribute that is returned."""

    name: Name
    span: Span = _span()


ReturnItem = ResultItem | GroupItem


@dataclass(frozen=True, slots=True)
class Definition:
    """A type by condition: `Late AS delay > 15`, `Big AS Trade WHERE volume > 1000`.

    In the condition attributes stand bare: they are those of the event itself.
    """

    name: Name
    type: Name | None
    condition: Expression
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Match:
    """Which of the sequences that the pattern has are kept: ANY, NEXT or CONTIGUOUS."""

    word: str
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class QueryTree:
    """One query."""

    name: Name | None
    items: tuple[ReturnItem, ...]
    pattern: Pattern
    where: Expression | None
    group_by: tuple[Name, ...]
    within: Duration
    slide: Duration | None
    match: Match | None = None
    span: Span = _span()
    having: Expression | None = None
    offset: Duration | None = None
    zone: Literal | None = None


@dataclass(frozen=True, slots=True)
class PartialQuery:
    """What could be read of a query: None for a clause that is missing or unreadable.

    `group_by` is empty only where it is certain that there is none.
    """

    name: Name | None
    items: tuple[ReturnItem, ...] | None
    pattern: Pattern | None
    where: Expression | None
    group_by: tuple[Name, ...] | None
    within: Duration | None
    slide: Duration | None
    is_whole: bool
    match: Match | None = None
    span: Span = _span()
    definitions: tuple[Definition, ...] = ()  # those of the workload
    having: Expression | None = None
    offset: Duration | None = None
    zone: Literal | None = None


@dataclass(frozen=True, slots=True)
class WorkloadTree:
    """The queries of one text, in order, and the types that it defines."""

    queries: tuple[QueryTree, ...]
    definitions: tuple[Definition, ...] = ()
