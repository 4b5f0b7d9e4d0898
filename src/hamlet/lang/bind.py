"""From tree to query: names checked, predicates sorted, every mistake reported.

One `_Binder` for each query does its clauses in turn: pattern, window, returned items, condition.
Each step reports what it finds wrong and goes on, so that one reading shows all mistakes of
meaning.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hamlet.errors import Problem, Span, did_you_mean, listed
from hamlet.lang import tree
from hamlet.lang.bind_pattern import PatternBinder
from hamlet.lang.build import UNITS
from hamlet.lang.condition import ConditionBinder
from hamlet.lang.printer import aggregate_text, print_duration
from hamlet.plan.positions import Positions, TooComplex, positions_of, twins
from hamlet.plan.query import Aggregate, Query, Window
from hamlet.plan.template import PlannedQuery, templates_of

if TYPE_CHECKING:
    from hamlet.schema import Schema

FUNCTIONS = ("COUNT", "SUM", "AVG", "MIN", "MAX")
_MICROSECONDS = {"ms": 10**3, "s": 10**6, "min": 6 * 10**7, "h": 36 * 10**8, "d": 864 * 10**8}

# Windows longer than this (about 29,000 years) cannot be placed in 64-bit microseconds with room
# to spare.
_LONGEST_US = 10**18


def bind(
    trees: list[tree.QueryTree | None], schema: Schema | None = None
) -> tuple[list[PlannedQuery], list[Problem]]:
    """Bind the queries of a workload; None stands for one that could not be read."""
    names, problems = _names(trees)
    bound: list[PlannedQuery] = []
    for query, name in zip(trees, names, strict=True):
        if query is None:
            continue
        binder = _Binder(query, name, schema)
        result = binder.bind()
        problems += binder.problems
        if result is not None:
            bound.append(result)
    return bound, problems


def _names(trees: list[tree.QueryTree | None]) -> tuple[list[str], list[Problem]]:
    """Each query's name, given or q1, q2, ... by position, and where one is used twice."""
    names: list[str] = []
    problems: list[Problem] = []
    seen: set[str] = set()
    for position, query in enumerate(trees, 1):
        given = query.name if query else None
        name = given.text if given else f"q{position}"
        if query is not None and name in seen:
            at = given.span if given else Span(query.span.start, query.span.start + 1)
            remedy = f"Give this one another name; unnamed queries are called q1, q2, ... ({name})."
            problems.append(
                Problem("duplicate-query", f"two queries are called {name}", remedy, at)
            )
        seen.add(name)
        names.append(name)
    return names, problems


@dataclass(slots=True)
class _Binder:
    """The work of binding one query."""

    written: tree.QueryTree
    name: str
    schema: Schema | None
    problems: list[Problem] = field(default_factory=list)

    def bind(self) -> PlannedQuery | None:
        """The query and its templates, or None where a problem was found."""
        pattern = PatternBinder(self.problems, self.schema)
        pattern.bind(self.written.pattern)
        window = self._window()
        self._grouping(pattern)
        try:
            follow = self._positions(pattern)
            aggregates = self._aggregates(pattern)
            condition = ConditionBinder(pattern, follow, self.schema, self.problems)
            if self.written.where is not None:
                condition.bind(self.written.where)
            if self.problems or window is None:
                return None
            query = Query(
                name=self.name,
                aggregates=tuple(aggregates),
                places=tuple(pattern.places),
                branches=tuple(pattern.branches),
                negations=tuple(pattern.negations),
                local=condition.local_by_place(),
                edge_predicates=tuple(condition.edge_predicates),
                adjacent=condition.adjacent_by_pair(),
                group_by=tuple(name.text for name in self.written.group_by),
                equivalence=tuple(condition.equivalence),
                window=window,
            )
            self._check_aliases(query, pattern)
            return None if self.problems else PlannedQuery(query, templates_of(query))
        except TooComplex:
            self._refuse(
                "too-complex",
                "this pattern has too many ways to match to be planned",
                "Use fewer places of one type, or fewer alternatives inside repetitions.",
                self.written.pattern.span,
            )
            return None

    def _refuse(self, code: str, message: str, remedy: str, at: Span) -> None:
        self.problems.append(Problem(code, message, remedy, at))

    # The pattern's positions

    def _positions(self, pattern: PatternBinder) -> Positions:
        """Everything that may follow something, in the pattern and inside its negations."""
        whole = Positions({}, {}, {})
        for part in [*pattern.branches, *pattern.negations]:
            positions = positions_of(part)
            whole.first.update(positions.first)
            whole.last.update(positions.last)
            whole.follow.update(positions.follow)
        return whole

    def _check_aliases(self, query: Query, pattern: PatternBinder) -> None:
        """Refuse an aggregate of an alias where an event of a trend may or may not be it."""
        types = tuple(place.type for place in query.places)
        branches = [positions_of(branch) for branch in query.branches]
        pairs = set[tuple[int, int]]()
        for one in branches:
            for other in branches:
                pairs |= twins(one, other, types)
        items = [item for item in self.written.items if isinstance(item, tree.AggregateItem)]
        for item, aggregate in zip(items, query.aggregates, strict=True):
            for p, q in sorted(pairs):
                if p in aggregate.places and q not in aggregate.places:
                    one_label, other_label = query.places[p].label, query.places[q].label
                    self._refuse(
                        "ambiguous-alias",
                        f"{aggregate_text(item)} is not defined: one event of a trend may be "
                        f"matched both as {one_label} and as {other_label}",
                        f"Aggregate the type, which is every such event: {types[p]}.",
                        item.argument.span,
                    )
                    break

    # RETURN and GROUPBY

    def _grouping(self, pattern: PatternBinder) -> None:
        seen: set[str] = set()
        for name in self.written.group_by:
            if name.text in seen:
                self._refuse(
                    "duplicate-attribute", f"{name.text} is listed twice", "Keep one.", name.span
                )
            seen.add(name.text)
            pattern.check_attribute_of_all(name)
        for item in self.written.items:
            if isinstance(item, tree.GroupItem) and item.name.text not in seen:
                self._refuse_group_item(item, seen)

    def _refuse_group_item(self, item: tree.GroupItem, grouped: set[str]) -> None:
        name = item.name.text
        if name.upper() in FUNCTIONS:
            remedy = f"Write {name.upper()}(*) or the like to aggregate."
        else:
            remedy = f"Add GROUPBY {name}, or aggregate it." + did_you_mean(name, grouped)
        self._refuse("not-grouped", f"{name} is not a grouping attribute", remedy, item.span)

    def _aggregates(self, pattern: PatternBinder) -> list[Aggregate]:
        items = [item for item in self.written.items if isinstance(item, tree.AggregateItem)]
        if not items:
            self._refuse(
                "no-aggregate",
                "RETURN has no aggregate",
                "Add one, for example COUNT(*).",
                self.written.items[0].span.to(self.written.items[-1].span),
            )
        aggregates: list[Aggregate] = []
        taken = {name.text: "a grouping attribute" for name in self.written.group_by}
        for item in items:
            name = item.alias.text if item.alias else aggregate_text(item)
            if name in taken:
                self._refuse(
                    "duplicate-aggregate",
                    f"{name} is already the name of {taken[name]}",
                    "Rename one with AS.",
                    item.alias.span if item.alias else item.span,
                )
            taken[name] = "another aggregate"
            aggregate = self._aggregate(item, name, pattern)
            if aggregate is not None:
                aggregates.append(aggregate)
        return aggregates

    def _aggregate(
        self, item: tree.AggregateItem, name: str, pattern: PatternBinder
    ) -> Aggregate | None:
        function, argument = item.function.text, item.argument
        if function not in FUNCTIONS:
            remedy = f"Aggregates are {listed(FUNCTIONS)}." + did_you_mean(function, FUNCTIONS)
            self._refuse(
                "unknown-aggregate", f"there is no aggregate {function}", remedy, item.function.span
            )
            return None
        if isinstance(argument, tree.Star):
            if function == "COUNT":
                return Aggregate(name, function)
            self._refuse(
                "missing-attribute",
                f"{function}(*) has no value",
                f"Name an attribute: {function}({pattern.example_variable}.price)",
                argument.span,
            )
            return None
        attribute = argument.attribute if isinstance(argument, tree.AttributeRef) else None
        variable = argument.variable if isinstance(argument, tree.AttributeRef) else argument
        if not self._argument_fits(function, variable, attribute, argument.span):
            return None
        places = pattern.positive_places(variable, "aggregate")
        if not places:
            return None
        if attribute is not None:
            pattern.check_attribute(places, attribute, numeric_for=function)
        return Aggregate(name, function, places, attribute.text if attribute else None)

    def _argument_fits(
        self, function: str, variable: tree.Name, attribute: tree.Name | None, at: Span
    ) -> bool:
        if function == "COUNT" and attribute is not None:
            self._refuse(
                "unexpected-attribute",
                "COUNT takes * or a variable, not an attribute",
                f"Write COUNT({variable.text}); a condition {variable.text}.{attribute.text} "
                "IS NOT NULL leaves out events without the attribute.",
                at,
            )
            return False
        if function != "COUNT" and attribute is None:
            self._refuse(
                "missing-attribute",
                f"{function} needs an attribute",
                f"Write {function}({variable.text}.price), or COUNT({variable.text}).",
                at,
            )
            return False
        return True

    # WITHIN and SLIDE

    def _window(self) -> Window | None:
        within = self._duration(self.written.within, "WITHIN")
        slide = self._duration(self.written.slide, "SLIDE") if self.written.slide else within
        if within is None or slide is None:
            return None
        if slide > within and self.written.slide is not None:
            shown, longer = print_duration(self.written.within), print_duration(self.written.slide)
            self._refuse(
                "slide-longer",
                f"WITHIN {shown} SLIDE {longer} leaves gaps between windows",
                f"SLIDE must be at most WITHIN: SLIDE {shown}, or WITHIN {longer}.",
                self.written.slide.span,
            )
            return None
        return Window(within, slide)

    def _duration(self, duration: tree.Duration, clause: str) -> int | None:
        """A duration in microseconds, or None where it is none."""
        unit = _MICROSECONDS.get(duration.unit.text)
        if unit is None:
            known = tuple(_MICROSECONDS)
            self._refuse(
                "unknown-unit",
                f"{duration.unit.text} is not a unit of time",
                f"Units are {listed(known)}." + did_you_mean(duration.unit.text, UNITS),
                duration.unit.span,
            )
            return None
        length = duration.amount * unit
        if length <= 0:
            what = "no length" if length == 0 else "a negative length"
            self._refuse(
                "empty-window", f"{clause} has {what}", f"Write {clause} 10 min.", duration.span
            )
            return None
        if length > _LONGEST_US or length != int(length):
            fault = "too long" if length > _LONGEST_US else "not a whole number of microseconds"
            self._refuse(
                "odd-duration", f"{clause} is {fault}", f"Write {clause} 10 min.", duration.span
            )
            return None
        return int(length)
