"""Kinds of expressions: what is a number, text, a truth value or a time, and what may meet what.

Without a schema an attribute may be anything, and only what the query itself contradicts is
refused.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, assert_never

from hamlet.errors import Problem
from hamlet.events.text_rules import NUMBER
from hamlet.lang import tree
from hamlet.lang.printer import print_condition

if TYPE_CHECKING:
    from collections.abc import Callable

ANY = "any"
_LITERAL_KINDS = {int: "number", float: "number", str: "text", bool: "boolean"}


@dataclass(slots=True)
class KindChecker:
    """Finds the kind of an expression and collects every use of the wrong kind."""

    attribute_kind: Callable[[tree.AttributeRef], str]
    problems: list[Problem] = field(default_factory=list)

    def condition(self, node: tree.Expression) -> None:
        """Check an expression that must be true or false."""
        kind = self.kind(node)
        if isinstance(node, tree.BareName | tree.Equivalence):
            return  # reported elsewhere
        if kind not in ("boolean", ANY) or (
            kind == ANY and not isinstance(node, tree.AttributeRef)
        ):
            shown = print_condition(node)
            self._refuse(
                "not-a-condition",
                f"{shown} is not a condition, it is {_called(kind)}",
                f"Compare it with something: {shown} = ...",
                node,
            )

    def kind(self, node: tree.Expression) -> str:
        """The kind of an expression; "any" where nothing is known or a problem was reported."""
        match node:
            case tree.AttributeRef():
                return self.attribute_kind(node)
            case tree.Literal(value=value):
                return ANY if value is None else _LITERAL_KINDS[type(value)]
            case tree.BareName() | tree.Equivalence():
                return ANY  # reported elsewhere
            case tree.Call():
                return "number"
            case tree.Negative(operand=operand):
                self._number(operand)
                return "number"
            case tree.Arithmetic(left=left, right=right):
                self._number(left)
                self._number(right)
                return "number"
            case tree.Comparison():
                self._comparison(node)
            case tree.InList():
                self._in_list(node)
            case tree.Between():
                for comparison in node.comparisons:
                    self._comparison(comparison)
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

    def _number(self, node: tree.Expression) -> None:
        kind = self.kind(node)
        if kind not in ("number", ANY) or _is_null(node):
            what = "NULL" if _is_null(node) else _called(kind)
            self._refuse(
                "wrong-kind",
                f"arithmetic needs numbers, {print_condition(node)} is {what}",
                "Use a numeric attribute or a number.",
                node,
            )

    def _comparison(self, node: tree.Comparison) -> None:
        left, right = self.kind(node.left), self.kind(node.right)
        if _is_null(node.left) or _is_null(node.right):
            other = print_condition(node.right if _is_null(node.left) else node.left)
            word = "IS NOT NULL" if node.operator == "!=" else "IS NULL"
            remedy = f"Write {other} {word}"
            self._refuse("null-comparison", "a comparison with NULL is never true", remedy, node)
        elif ANY not in (left, right) and left != right:
            self._refuse(
                "wrong-kind",
                f"{print_condition(node.left)} is {_called(left)} and "
                f"{print_condition(node.right)} is {_called(right)}: they cannot be compared",
                _unquoted(node.left, node.right) or "Compare values of one kind.",
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
            elif ANY not in (kind, self.kind(item)) and kind != self.kind(item):
                self._refuse(
                    "wrong-kind",
                    f"{print_condition(node.operand)} is {_called(kind)}, "
                    f"{print_condition(item)} is {_called(self.kind(item))}",
                    _unquoted(item) or "List values of one kind.",
                    item,
                )

    def _refuse(self, code: str, message: str, remedy: str, node: tree.Expression) -> None:
        self.problems.append(Problem(code, message, remedy, node.span))


def _literal(*sides: tree.Expression) -> tree.Literal | None:
    """The side of a comparison that was written out, which is the one to change."""
    found = [side for side in sides if isinstance(side, tree.Literal)]
    return found[0] if len(found) == 1 else None


def _unquoted(*sides: tree.Expression) -> str:
    """What to write where one side is a number in quotes."""
    for side in sides:
        if isinstance(side, tree.Literal) and isinstance(side.value, str):
            number = side.value.strip()
            if re.fullmatch(NUMBER, number):
                return f"Write {number}, without quotes."
    return ""


def _is_null(node: tree.Expression) -> bool:
    return isinstance(node, tree.Literal) and node.value is None


def _called(kind: str) -> str:
    names = {"number": "a number", "text": "text", "boolean": "a truth value", "time": "a time"}
    return names.get(kind, "of unknown kind")
