"""Types by condition: what `DEFINE` says, resolved to a type of the events and conditions on them.

A definition may be of one that stands before it: then the conditions of both hold.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any

from hamlet.errors import Problem
from hamlet.lang import tree
from hamlet.lang.bind_results import misplaced_aggregates
from hamlet.lang.condition_trees import TIME, converted, nodes_of
from hamlet.lang.kinds import KindChecker
from hamlet.lang.printer import print_name
from hamlet.plan.value_kinds import ANY

if TYPE_CHECKING:
    from hamlet.plan.predicates import Expression
    from hamlet.schema import Schema


@dataclass(frozen=True, slots=True)
class Defined:
    """A type of the events, None for any, and what such an event satisfies."""

    type: tree.Name | None
    conditions: tuple[Expression, ...]


@dataclass(slots=True)
class Definitions:
    """The types that a workload defines, by name, and what is wrong with them."""

    written: tuple[tree.Definition, ...]
    schema: Schema | None = None
    problems: list[Problem] = field(default_factory=list)
    _by_name: dict[str, Defined] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for number, definition in enumerate(self.written):
            self._check_order(definition, self.written[number + 1 :])
            self._define(definition)

    def __contains__(self, name: str) -> bool:
        return name in self._by_name

    def __getitem__(self, name: str) -> Defined:
        return self._by_name[name]

    def base(self, name: str) -> str | None:
        """The type of the events that a name stands for; None for any."""
        if name not in self:
            return name
        base = self[name].type
        return None if base is None else base.text

    def _check_order(self, one: tree.Definition, later: tuple[tree.Definition, ...]) -> None:
        """Refuse a definition of one that comes later: nothing would tell it from a plain type."""
        name = one.type
        if name is not None and name != one.name and any(name == each.name for each in later):
            self._refuse(
                "defined-later",
                f"{name.text} is defined after {one.name.text}, which is of it",
                f"Define {name.text} first.",
                name,
            )

    def _define(self, one: tree.Definition) -> None:
        name = one.name.text
        if name in self:
            self._refuse(
                "duplicate-type", f"{name} is defined twice", "Rename one of them.", one.name
            )
        before = Defined(one.type, ())
        if one.type is not None and one.type.text in self:
            before = self[one.type.text]
        is_fine = self._check(one)
        condition = _of_event(one.condition, one.name)
        own = (converted(condition, {(name, False): "this"}),) if is_fine else ()
        self._by_name[name] = Defined(before.type, (*before.conditions, *own))

    def _check(self, one: tree.Definition) -> bool:
        """Report what cannot stand in the condition of an event by itself."""
        nodes = list(nodes_of(one.condition))
        known = len(self.problems)
        for node in nodes:
            if isinstance(node, tree.AttributeRef):
                shown = print_name(node.attribute)
                self._refuse(
                    "not-bare",
                    "a definition is about one event, whose attributes stand alone",
                    f"Write {shown}; compare two events in WHERE of a query.",
                    node,
                )
            elif isinstance(node, tree.Equivalence):
                self._refuse(
                    "nested-equivalence",
                    "an equivalence is about the events of a trend",
                    "Write it in WHERE of a query.",
                    node,
                )
        self.problems += misplaced_aggregates(nodes)
        if len(self.problems) > known:
            return False
        if not any(isinstance(node, tree.BareName) for node in nodes):
            self._refuse(
                "no-variable",
                "this condition mentions no attribute",
                f"Write, for example: DEFINE {print_name(one.name)} AS delay > 15;",
                one.condition,
            )
            return False
        checker = KindChecker(self._kind_of(one))
        checker.condition(_of_event(one.condition, one.name))
        self.problems += checker.problems
        return not checker.problems

    def _kind_of(self, one: tree.Definition) -> Any:
        base = None if one.type is None else self.base(one.type.text)

        def kind(ref: tree.AttributeRef) -> str:
            if ref.attribute.text == TIME:
                return "time"
            if self.schema is None:
                return ANY
            types = [base] if base is not None else list(self.schema.types or ("",))
            kinds = {
                self.schema.of(event_type).get(ref.attribute.text, ANY) for event_type in types
            }
            return kinds.pop() if len(kinds) == 1 else ANY

        return kind

    def _refuse(self, code: str, message: str, remedy: str, node: Any) -> None:
        self.problems.append(Problem(code, message, remedy, node.span))


def _of_event(node: Any, variable: tree.Name) -> Any:
    """A condition with its bare names as attributes of a variable."""
    if isinstance(node, tree.BareName):
        return tree.AttributeRef(variable, node.name, span=node.span)
    if isinstance(node, tuple):
        return tuple(_of_event(item, variable) for item in node)
    if not is_dataclass(node) or isinstance(node, tree.Name | tree.AttributeRef):
        return node
    inner = {field_.name: getattr(node, field_.name) for field_ in fields(node) if field_.compare}
    changed = {name: _of_event(value, variable) for name, value in inner.items()}
    return replace(node, **changed)  # type: ignore[type-var]
