"""Binding of what a query returns: its aggregates, what is computed from them, and HAVING.

Every aggregate that is mentioned, wherever, is one of the query's; those that RETURN does not have
by themselves are computed and not shown.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from hamlet.errors import Problem, Span, did_you_mean, listed
from hamlet.lang import tree
from hamlet.lang.condition_trees import converted, nodes_of
from hamlet.lang.kinds import KindChecker
from hamlet.lang.mistakes import FOREIGN_AGGREGATES
from hamlet.lang.printer import print_condition
from hamlet.plan.aggregates import FUNCTIONS, MEASURES
from hamlet.plan.query import Aggregate, Result
from hamlet.plan.value_kinds import ANY
from hamlet.plan.value_kinds import FUNCTIONS as EVENT_FUNCTIONS

if TYPE_CHECKING:
    from hamlet.lang.bind_pattern import PatternBinder
    from hamlet.plan.aggregates import Function
    from hamlet.plan.predicates import Expression


def misplaced_aggregates(nodes: list[tree.Expression]) -> list[Problem]:
    """Aggregates in a condition on events."""
    calls = [node for node in nodes if isinstance(node, tree.Call)]
    return [
        Problem(
            "aggregate-in-condition",
            f"{print_condition(node)} is of all trends, and conditions here are on events",
            f"Write it behind GROUPBY: HAVING {print_condition(node)} > 10",
            node.span,
        )
        for node in calls
        if node.function.text in FUNCTIONS
    ]


class Called(NamedTuple):
    """An aggregate, and where it was first written."""

    aggregate: Aggregate
    written: tree.Call


@dataclass(slots=True)
class ResultBinder:
    """What one query returns, filled by `bind`.

    Attributes:
        called: All aggregates, those that are returned by themselves first.
        results: What is returned, where that is not these aggregates.
        having: What rows must satisfy.
    """

    written: tree.PartialQuery
    pattern: PatternBinder
    problems: list[Problem]
    called: list[Called] = field(default_factory=list)
    results: tuple[Result, ...] = ()
    having: Expression | None = None

    def bind(self) -> None:
        """Bind RETURN and HAVING."""
        items = [item for item in self.written.items or () if isinstance(item, tree.ResultItem)]
        if self.written.items and not items:
            self._refuse(
                "no-aggregate",
                "RETURN has no aggregate",
                "Add one, for example COUNT(*).",
                self.written.items[0].span.to(self.written.items[-1].span),
            )
        names = self._names(items)
        by_name: dict[str, Expression | None] = {}
        # Aggregates by themselves first: what is computed finds them there.
        for name, item in sorted(
            zip(names, items, strict=True), key=lambda pair: not _is_call(pair[1])
        ):
            by_name.setdefault(name, self._result(name, item))
        returned = [(name, by_name[name]) for name in names]
        if self.written.having is not None:
            self.having = self._having(self.written.having, by_name)
        is_plain = all(map(_is_call, items)) and len(self.called) == len(items)
        if not is_plain:
            self.results = tuple(
                Result(name, result) for name, result in returned if result is not None
            )

    @property
    def aggregates(self) -> tuple[Aggregate, ...]:
        """All aggregates of the query."""
        return tuple(call.aggregate for call in self.called)

    def _refuse(self, code: str, message: str, remedy: str, at: Span) -> None:
        self.problems.append(Problem(code, message, remedy, at))

    # RETURN

    def _names(self, items: list[tree.ResultItem]) -> list[str]:
        """The name of each result; those that are taken are reported."""
        taken = {name.text: "a grouping attribute" for name in self.written.group_by or ()}
        names = []
        for item in items:
            name = item.alias.text if item.alias else print_condition(item.expression)
            if name in taken:
                self._refuse(
                    "duplicate-aggregate",
                    f"{name} is already the name of {taken[name]}",
                    "Rename one with AS.",
                    item.alias.span if item.alias else item.span,
                )
            taken[name] = "another aggregate"
            names.append(name)
        return names

    def _result(self, name: str, item: tree.ResultItem) -> Expression | None:
        """What is returned under a name."""
        written = item.expression
        if isinstance(written, tree.Call):
            aggregate = self._aggregate(written, name)
            if aggregate is None:
                return None
            self.called.append(Called(aggregate, written))
            return aggregate.column
        if item.alias is None and not isinstance(written, tree.AttributeRef):
            self._refuse(
                "missing-name",
                "what is computed from aggregates needs a name",
                f"Write {print_condition(written)} AS result",
                item.span,
            )
        checker = KindChecker(lambda _: ANY, has_aggregates=True)
        if checker.kind(written) not in ("number", ANY):
            self._refuse(
                "wrong-kind",
                f"RETURN has numbers, {print_condition(written)} is a condition",
                f"Write it behind GROUPBY: HAVING {print_condition(written)}",
                written.span,
            )
        self.problems += checker.problems
        return self._formula(written, {}, "RETURN")

    # HAVING

    def _having(
        self, written: tree.Expression, results: dict[str, Expression | None]
    ) -> Expression | None:
        """The condition that rows must satisfy."""
        checker = KindChecker(
            lambda _: ANY,
            bare_kind=lambda node: "number" if node.name.text in results else ANY,
            has_aggregates=True,
        )
        checker.condition(written)
        self.problems += checker.problems
        return self._formula(written, results, "HAVING")

    # What is computed

    def _formula(
        self, written: tree.Expression, results: dict[str, Expression | None], clause: str
    ) -> Expression | None:
        """An expression over aggregates; None where there is a problem with it."""
        known: dict[tree.Expression, Expression] = {}
        before = len(self.problems)
        has_aggregate = False
        for node in _leaves(written):
            match node:
                case tree.Call():
                    has_aggregate = True
                    aggregate = self._mentioned(node)
                    if aggregate is not None:
                        known[node] = aggregate.column
                case tree.BareName(name=name) if name.text in results:
                    has_aggregate = True
                    result = results[name.text]
                    if result is not None:
                        known[node] = result
                case tree.BareName() | tree.AttributeRef() | tree.Equivalence():
                    has_aggregate = True
                    self._refuse_leaf(node, results, clause)
        if not has_aggregate:
            self._refuse(
                "no-aggregate",
                f"{print_condition(written)} mentions no aggregate",
                "Use one, for example COUNT(*), or remove it.",
                written.span,
            )
        is_known = all(
            node in known
            for node in _leaves(written)
            if isinstance(node, tree.Call | tree.BareName)
        )
        if len(self.problems) > before or not is_known:
            return None
        return converted(written, {}, known)

    def _refuse_leaf(
        self,
        node: tree.BareName | tree.AttributeRef | tree.Equivalence,
        results: dict[str, Expression | None],
        clause: str,
    ) -> None:
        shown = print_condition(node)
        if isinstance(node, tree.AttributeRef):
            remedy = f"Aggregate it: MAX({shown}); conditions on events stand in WHERE."
        elif isinstance(node, tree.Equivalence):
            remedy = f"Write it in WHERE: WHERE {shown}"
        elif any(node.name.text == key.text for key in self.written.group_by or ()):
            variable = self.pattern.example_variable
            remedy = (
                f"A condition on a grouping attribute stands in WHERE: {variable}.{shown} = ..."
            )
        else:
            remedy = f"Name one by AS, or write it out: SUM({self.pattern.example_variable}.price)."
            remedy += did_you_mean(node.name.text, results)
        self._refuse(
            "not-an-aggregate",
            f"{clause} computes with aggregates, {shown} is none",
            remedy,
            node.span,
        )

    def _mentioned(self, written: tree.Call) -> Aggregate | None:
        """The aggregate that an expression mentions, a new one where the query has not got it."""
        name = print_condition(written)
        aggregate = self._aggregate(written, name)
        if aggregate is None:
            return None
        for call in self.called:
            if call.aggregate.says_the_same(aggregate):
                return call.aggregate
        if any(call.aggregate.name == name for call in self.called):
            self._refuse(
                "duplicate-aggregate",
                f"{name} is already the name of another aggregate",
                "Rename that with AS.",
                written.span,
            )
        self.called.append(Called(aggregate, written))
        return aggregate

    # One aggregate

    def _aggregate(self, item: tree.Call, name: str) -> Aggregate | None:
        function = item.function.text
        if function not in FUNCTIONS:
            remedy = f"Aggregates are {listed(FUNCTIONS)}." + (
                f" {FOREIGN_AGGREGATES[function]}"
                if function in FOREIGN_AGGREGATES
                else did_you_mean(function, FUNCTIONS)
            )
            if function in EVENT_FUNCTIONS:
                remedy = f"It is a function of one event, for WHERE. {remedy}"
            self._refuse(
                "unknown-aggregate", f"there is no aggregate {function}", remedy, item.function.span
            )
            return None
        argument = item.arguments[0]
        example = f"{function}({self.pattern.example_variable}.price)"
        if isinstance(argument, tree.Star) and len(item.arguments) == 1:
            if not FUNCTIONS[function].takes_attribute:
                return Aggregate(name, function)
            self._refuse(
                "missing-attribute",
                f"{function}(*) has no value",
                f"Name an attribute: {example}",
                argument.span,
            )
            return None
        match item.arguments:
            case (tree.BareName(name=word),) if word.text in MEASURES and (
                FUNCTIONS[function].takes_attribute
            ):
                return self._measured(item, name, function, word)
            case (tree.BareName(name=variable),):
                attribute = None
            case (tree.AttributeRef(variable=variable, attribute=attribute, is_next=False),):
                pass
            case _:
                self._refuse_argument(item, example)
                return None
        if not self._argument_fits(function, variable, attribute, argument.span):
            return None
        places = self.pattern.positive_places(variable, "aggregate")
        if not places:
            return None
        if attribute is not None:
            self.pattern.check_attribute(places, attribute, numeric_for=function)
        self._check_pairs(item, FUNCTIONS[function])
        return Aggregate(name, function, places, attribute.text if attribute else None)

    def _measured(
        self, item: tree.Call, name: str, function: str, measure: tree.Name
    ) -> Aggregate | None:
        """An aggregate of what trends are measured by."""
        measured = MEASURES[measure.text].get(function)
        if measured is None:
            known = [f"{function}({word})" for word, some in MEASURES.items() for function in some]
            self._refuse(
                "no-such-measure",
                f"there is no {function}({measure.text})",
                f"There are {listed(known)}.",
                item.span,
            )
            return None
        self._check_pairs(item, measured)
        places = tuple(place.index for place in self.pattern.places if place.negation is None)
        return Aggregate(name, function, places, measure=measure.text)

    def _check_pairs(self, item: tree.Call, function: Function) -> None:
        if not function.has_pairs and len(self.pattern.branches) == 2:
            self._refuse(
                "not-of-pairs",
                f"{print_condition(item)} is not defined for the pairs of AND",
                "Ask it of each side of AND in a query of its own.",
                item.span,
            )

    def _refuse_argument(self, item: tree.Call, example: str) -> None:
        function = item.function.text
        takes_attribute = FUNCTIONS[function].takes_attribute
        one = "one attribute of a variable" if takes_attribute else "*, or one variable"
        written = print_condition(item).removeprefix(f"{function}(").removesuffix(")")
        remedy = (
            f"Write {example if takes_attribute else f'{function}(*)'}; sums and differences stand "
            "outside of aggregates, or are computed into an attribute beforehand."
        )
        for measure, some in MEASURES.items():
            if function in some and written.upper().startswith(f"{measure}("):
                remedy = f"{measure} is of whole trends: {function}({measure})"
        self._refuse(
            "odd-argument",
            f"{function} is over {one}, not over {written}",
            remedy,
            item.arguments[0].span.to(item.arguments[-1].span),
        )

    def _argument_fits(
        self, function: str, variable: tree.Name, attribute: tree.Name | None, at: Span
    ) -> bool:
        takes_attribute = FUNCTIONS[function].takes_attribute
        if not takes_attribute and attribute is not None:
            self._refuse(
                "unexpected-attribute",
                f"{function} takes * or a variable, not an attribute",
                f"Write {function}({variable.text}); a condition {variable.text}.{attribute.text} "
                "IS NOT NULL leaves out events without the attribute.",
                at,
            )
            return False
        if takes_attribute and attribute is None:
            self._refuse(
                "missing-attribute",
                f"{function} needs an attribute",
                f"Write {function}({variable.text}.price), or COUNT({variable.text}).",
                at,
            )
            return False
        return True


def _is_call(item: tree.ResultItem) -> bool:
    return isinstance(item.expression, tree.Call)


def _leaves(written: tree.Expression) -> list[tree.Expression]:
    """The nodes of an expression, those inside of aggregates left out."""
    inside = {
        id(node)
        for call in nodes_of(written)
        if isinstance(call, tree.Call)
        for argument in call.arguments
        if not isinstance(argument, tree.Star)
        for node in nodes_of(argument)
    }
    return [node for node in nodes_of(written) if id(node) not in inside]


def variable_of(written: tree.Call) -> tree.Name:
    """The variable that an aggregate is over."""
    match written.arguments[0]:
        case tree.AttributeRef(variable=variable):
            return variable
        case tree.BareName(name=name):
            return name
    return tree.Name("*")
