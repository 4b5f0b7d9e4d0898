"""Kinds of expressions: what is a number, text, a truth value or a time, and what may meet what.

Without a schema an attribute may be anything, and only what the query itself contradicts is
refused.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, assert_never

from hamlet.errors import Problem, did_you_mean, listed
from hamlet.events.text_rules import ISO, NUMBER
from hamlet.lang import tree
from hamlet.lang.condition_trees import nodes_of
from hamlet.lang.mistakes import FOREIGN_FUNCTIONS
from hamlet.lang.printer import print_condition
from hamlet.lang.time_literals import duration_us, moment_us
from hamlet.plan.local_times import is_zone, zone_names
from hamlet.plan.value_kinds import (
    AMOUNT,
    ANY,
    FUNCTIONS,
    SAME,
    Function,
    arithmetic_kind,
    called,
    may_meet,
    one_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable

_LITERAL_KINDS = {int: "number", float: "number", str: "text", bool: "boolean"}


@dataclass(slots=True)
class KindChecker:
    """Finds the kind of an expression and collects every use of the wrong kind."""

    attribute_kind: Callable[[tree.AttributeRef], str]
    # What is called by a bare name, where that may be right: an aggregate in HAVING
    bare_kind: Callable[[tree.BareName], str] = lambda _: ANY
    problems: list[Problem] = field(default_factory=list)
    has_aggregates: bool = False  # whether what is called are aggregates, which are numbers

    def condition(self, node: tree.Expression) -> None:
        """Check an expression that must be true or false."""
        kind = self.kind(node)
        if isinstance(node, tree.BareName | tree.Equivalence) and kind == ANY:
            return  # reported elsewhere
        if kind not in ("boolean", ANY) or (
            kind == ANY and not isinstance(node, tree.AttributeRef | tree.Call)
        ):
            shown = print_condition(node)
            self._refuse(
                "not-a-condition",
                f"{shown} is not a condition, it is {called(kind)}",
                f"Compare it with something: {shown} {'>' if kind == 'number' else '='} ...",
                node,
            )

    def kind(self, node: tree.Expression) -> str:
        """The kind of an expression; "any" where nothing is known or a problem was reported."""
        match node:
            case tree.AttributeRef():
                return self.attribute_kind(node)
            case tree.Literal(value=value):
                return ANY if value is None else _LITERAL_KINDS[type(value)]
            case tree.BareName():
                return self.bare_kind(node)
            case tree.Equivalence():
                return ANY  # reported elsewhere
            case tree.Duration():
                return self._literal("duration", duration_us(node))
            case tree.Moment():
                return self._literal("time", moment_us(node))
            case tree.Call():
                return self._call(node)
            case tree.Negative(operand=operand):
                return self._negative(operand)
            case tree.Arithmetic():
                return self._arithmetic(node)
            case tree.Comparison():
                self._comparison(node)
            case tree.InList():
                self._in_list(node)
            case tree.Between():
                for comparison in node.comparisons:
                    self._comparison(comparison)
            case tree.Like():
                self._like(node)
            case tree.IsNull(operand=operand):
                self.kind(operand)
            case tree.NotCondition(operand=operand):
                self.condition(operand)
            case tree.AndCondition(items=items) | tree.OrCondition(items=items):
                for item in items:
                    self.condition(item)
            case _:
                assert_never(node)
        return "boolean"

    def _literal(self, kind: str, read: int | Problem) -> str:
        if isinstance(read, Problem):
            self.problems.append(read)
            return ANY
        return kind

    # Arithmetic

    def _negative(self, operand: tree.Expression) -> str:
        kind = self._amount(operand)
        if kind == "time":
            self._refuse("wrong-kind", "a time has no negative", "Subtract times.", operand)
        return AMOUNT if kind == ANY else kind

    def _arithmetic(self, node: tree.Arithmetic) -> str:
        left, right = self._amount(node.left), self._amount(node.right)
        kind = arithmetic_kind(node.operator, left, right)
        if kind is None:
            self._refuse(
                "wrong-kind",
                f"{print_condition(node.left)} is {called(left)} and "
                f"{print_condition(node.right)} is {called(right)}: "
                f"'{node.operator}' has no meaning between them",
                "A difference of times is a duration; durations are added to times and durations, "
                "and divided by durations: (NEXT(T).time - T.time) / 1 min < 30",
                node,
            )
        return kind or ANY

    def _amount(self, node: tree.Expression) -> str:
        """The kind of an operand of arithmetic, ANY where it was refused."""
        kind = self.kind(node)
        if kind in ("number", "time", "duration", AMOUNT, ANY) and not _is_null(node):
            return kind
        what = "NULL" if _is_null(node) else called(kind)
        self._refuse(
            "wrong-kind",
            f"arithmetic needs numbers, {print_condition(node)} is {what}",
            "Use a numeric attribute or a number.",
            node,
        )
        return ANY

    # Functions

    def _call(self, node: tree.Call) -> str:
        if self.has_aggregates:
            return "number"
        function = FUNCTIONS.get(node.function.text)
        if function is None:
            name = node.function.text
            self._refuse(
                "unknown-function",
                f"there is no function {name}",
                FOREIGN_FUNCTIONS.get(name)
                or f"Functions are {listed(tuple(FUNCTIONS))}." + did_you_mean(name, FUNCTIONS),
                node,
            )
            return ANY
        values = node.arguments if function.is_list else node.arguments[:1]
        kinds = [self._argument(value, node, function) for value in values]
        self._one_kind(node, kinds)
        if function.has_zone and len(node.arguments) == 2:
            self._zone(node.arguments[1])
        elif not function.is_list and len(node.arguments) > 1:
            self._refuse(
                "too-many-arguments",
                f"{node.function.text} takes one value"
                + (" and a time zone" if function.has_zone else ""),
                f"Write, for example: {function.example}",
                node,
            )
        self._one_event(node)
        known = [kind for kind in kinds if kind != ANY]
        if function.gives != SAME:
            return function.gives
        return known[0] if known else one_of(function.takes)

    def _argument(
        self, value: tree.Expression | tree.Star, node: tree.Call, function: Function
    ) -> str:
        kind = ANY if isinstance(value, tree.Star) else self.kind(value)
        is_fine = any(may_meet(kind, taken) for taken in function.takes)
        if isinstance(value, tree.Star) or not is_fine or _is_null(value):
            shown = "*" if isinstance(value, tree.Star) else print_condition(value)
            what = "no value" if shown in ("*", "NULL") else called(kind)
            self._refuse(
                "wrong-kind",
                f"{node.function.text} needs {called(function.takes[0])}, {shown} is {what}",
                f"Write, for example: {function.example}",
                node if isinstance(value, tree.Star) else value,
            )
            return ANY
        return kind

    def _one_kind(self, node: tree.Call, kinds: list[str]) -> None:
        known = [kind for kind in kinds if kind != ANY]
        odd = next((kind for kind in known if not may_meet(known[0], kind)), None)
        if odd is not None:
            self._refuse(
                "wrong-kind",
                f"{node.function.text} has {called(known[0])} and {called(odd)}",
                "Give it values of one kind.",
                node,
            )

    def _zone(self, node: tree.Expression | tree.Star) -> None:
        name = node.value if isinstance(node, tree.Literal) else None
        if not isinstance(name, str) or not is_zone(name):
            shown = "*" if isinstance(node, tree.Star) else print_condition(node)
            guess = did_you_mean(name, zone_names()) if isinstance(name, str) else ""
            problem = Problem(
                "unknown-zone",
                f"{shown} is not a time zone",
                "Write one such as 'Europe/Berlin' or 'America/New_York'." + guess,
                node.span,
            )
            self.problems.append(problem)

    def _one_event(self, node: tree.Call) -> None:
        """Functions are of one event's values: what they find is known before events meet."""
        refs = [inner for inner in nodes_of(node) if isinstance(inner, tree.AttributeRef)]
        if len({(ref.variable, ref.is_next) for ref in refs}) > 1:
            name = node.function.text
            remedy = "Compare the two events outside of it"
            if name == "ABS":
                remedy += ": NEXT(T).x - T.x BETWEEN -5 AND 5"
            self._refuse(
                "two-events",
                f"{name} is a function of one event's values, and this mentions two events",
                remedy + ".",
                node,
            )

    def _like(self, node: tree.Like) -> None:
        kind = self.kind(node.operand)
        if not may_meet(kind, "text"):
            self._refuse(
                "wrong-kind",
                f"LIKE needs text, {print_condition(node.operand)} is {called(kind)}",
                "Compare it with = or <.",
                node.operand,
            )
        if not isinstance(node.pattern, tree.Literal) or not isinstance(node.pattern.value, str):
            self._refuse(
                "wrong-kind",
                "LIKE needs text in quotes",
                "Write, for example: T.city LIKE 'San %'",
                node.pattern,
            )

    # Comparisons

    def _comparison(self, node: tree.Comparison) -> None:
        left, right = self.kind(node.left), self.kind(node.right)
        if _is_null(node.left) or _is_null(node.right):
            other = print_condition(node.right if _is_null(node.left) else node.left)
            word = "IS NOT NULL" if node.operator == "!=" else "IS NULL"
            remedy = f"Write {other} {word}"
            self._refuse("null-comparison", "a comparison with NULL is never true", remedy, node)
        elif not may_meet(left, right):
            self._refuse(
                "wrong-kind",
                f"{print_condition(node.left)} is {called(left)} and "
                f"{print_condition(node.right)} is {called(right)}: they cannot be compared",
                _unquoted(node.left, node.right)
                or (self.has_aggregates and _in_seconds(node.left, node.right))
                or _timely(node, left, right),
                _literal(node.left, node.right) or node,
            )
        elif node.operator not in ("=", "!=") and "boolean" in (left, right):
            self._refuse(
                "wrong-kind",
                "truth values have no order",
                "Compare them with = or !=.",
                node,
            )

    def _in_list(self, node: tree.InList) -> None:
        kind = self.kind(node.operand)
        for item in node.items:
            if _is_null(item):
                self._refuse(
                    "null-comparison", "NULL in a list is never equal", "Write IS NULL apart.", item
                )
            elif not may_meet(kind, self.kind(item)):
                self._refuse(
                    "wrong-kind",
                    f"{print_condition(node.operand)} is {called(kind)}, "
                    f"{print_condition(item)} is {called(self.kind(item))}",
                    _unquoted(item) or "List values of one kind.",
                    item,
                )

    def _refuse(self, code: str, message: str, remedy: str, node: tree.Expression) -> None:
        self.problems.append(Problem(code, message, remedy, node.span))


# A duration as it is written
_LENGTH = r"\d+(\.\d+)?\s*[a-z]+"


def _literal(*sides: tree.Expression) -> tree.Literal | None:
    """The side of a comparison that was written out, which is the one to change."""
    literals = [side for side in sides if isinstance(side, tree.Literal)]
    return literals[0] if len(literals) == 1 else None


def _unquoted(*sides: tree.Expression) -> str:
    """What to write where one side is a number in quotes."""
    for side in sides:
        if isinstance(side, tree.Literal) and isinstance(side.value, str):
            number = side.value.strip()
            if re.fullmatch(NUMBER, number):
                return f"Write {number}, without quotes."
    return ""


def _in_seconds(*sides: tree.Expression) -> str:
    """What to write for a duration among aggregates, which are numbers."""
    for side in sides:
        length = duration_us(side) if isinstance(side, tree.Duration) else None
        if isinstance(length, int):
            return f"DURATION is in seconds: write {length / 1e6:g}."
    return ""


def _timely(node: tree.Comparison, left: str, right: str) -> str:
    """What to write where a time or a duration meets something else."""
    for side, other, kind in ((node.right, node.left, left), (node.left, node.right, right)):
        value = side.value if isinstance(side, tree.Literal) else None
        if kind == "time" and isinstance(value, str) and re.fullmatch(ISO, value.strip()):
            is_day = isinstance(other, tree.Call) and len(value.strip()) == len("2026-03-01")
            return f"Write {'DATE' if is_day else 'TIMESTAMP'} '{value.strip()}'"
        if kind == "time" and isinstance(value, int | float):
            return "Write a time as TIMESTAMP '2026-03-01 08:00:00'."
        if kind == "duration" and isinstance(value, int | float):
            return f"Say of what: {value} s, or divide the duration by 1 s."
        if kind == "duration" and isinstance(value, str) and re.fullmatch(_LENGTH, value.strip()):
            return f"Write {value.strip()}, without quotes."
        if kind == "time" and isinstance(side, tree.Duration):
            return "The time between neighbours is a duration: NEXT(T).time - T.time < 30 min"
    return "Compare values of one kind."


def _is_null(node: tree.Expression | tree.Star) -> bool:
    return isinstance(node, tree.Literal) and node.value is None
