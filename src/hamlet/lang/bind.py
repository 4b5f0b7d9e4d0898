"""From tree to query: names checked, predicates sorted, every mistake reported.

One `_Binder` for each query does its clauses in turn: pattern, window, returned items, condition.
Each step reports what it finds wrong and goes on, and a clause that could not be read costs only
the checks that need it, so that one reading shows all mistakes of meaning.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hamlet.errors import Problem, Span, did_you_mean
from hamlet.lang import tree
from hamlet.lang.bind_pattern import PatternBinder, types_in
from hamlet.lang.bind_results import ResultBinder, variable_of
from hamlet.lang.condition import ConditionBinder
from hamlet.lang.definitions import Definitions
from hamlet.lang.printer import print_condition, print_duration
from hamlet.lang.time_literals import duration_us
from hamlet.plan.aggregates import FUNCTIONS, MEASURES
from hamlet.plan.local_times import DAY_US, is_zone, zone_names
from hamlet.plan.matching import matched_templates, with_bystanders
from hamlet.plan.positions import Positions, TooComplex, positions_of, twins
from hamlet.plan.query import OTHER, Match, Query, Window
from hamlet.plan.template import PlannedQuery

if TYPE_CHECKING:
    from hamlet.lang.bind_results import Called
    from hamlet.schema import Schema

_WEEK_US = 7 * DAY_US
# 1970-01-01, from which windows are counted, was a Thursday.
_MONDAY_US = 4 * DAY_US

# Every event is counted in each window it is in; more than this at once is surely a slip.
_MOST_WINDOWS = 1_000_000


def bind(
    queries: list[tree.PartialQuery], schema: Schema | None = None
) -> tuple[list[PlannedQuery], list[Problem]]:
    """Bind the queries of a workload; of those that were not read whole, check what was."""
    names, problems = _names(queries)
    bound: list[PlannedQuery] = []
    definitions = Definitions(queries[0].definitions if queries else (), schema)
    problems += definitions.problems
    patterns = (query.pattern for query in queries if query.pattern is not None)
    written = (definitions.base(name) for pattern in patterns for name in types_in(pattern))
    types = tuple(dict.fromkeys(name for name in written if name is not None))
    for query, name in zip(queries, names, strict=True):
        binder = _Binder(query, name, schema, types, definitions)
        result = binder.bind()
        problems += dict.fromkeys(binder.problems)  # what two parts of a condition have in common
        if result is not None:
            bound.append(result)
    return bound, problems


def _names(queries: list[tree.PartialQuery]) -> tuple[list[str], list[Problem]]:
    """Each query's name, given or q1, q2, ... by position, and where one is used twice."""
    names: list[str] = []
    problems: list[Problem] = []
    seen: set[str] = set()
    unnamed: set[str] = set()
    for position, query in enumerate(queries, 1):
        given = query.name
        name = given.text if given else f"q{position}"
        names.append(name)
        if given is None and not query.is_whole:
            continue  # its name may be what could not be read
        if name in seen:
            at = given.span if given else Span(query.span.start, query.span.start + 1)
            remedy = "Give this one another name."
            if given is None or name in unnamed:
                remedy += " Queries without one are called by their places: q1, q2, ..."
            problems.append(
                Problem("duplicate-query", f"two queries are called {name}", remedy, at)
            )
        seen.add(name)
        if given is None:
            unnamed.add(name)
    return names, problems


@dataclass(slots=True)
class _Binder:
    """The work of binding one query."""

    written: tree.PartialQuery
    name: str
    schema: Schema | None
    types: tuple[str, ...]  # all that the workload mentions
    definitions: Definitions
    problems: list[Problem] = field(default_factory=list)

    def bind(self) -> PlannedQuery | None:
        """The query and its templates, or None where a problem was found."""
        pattern = PatternBinder(self.problems, self.schema, self.types, self.definitions)
        if self.written.pattern is not None:
            pattern.bind(self.written.pattern)
        window = self._window()
        self._grouping(pattern)
        results = ResultBinder(self.written, pattern, self.problems)
        results.bind()
        try:
            positions = [positions_of(branch) for branch in (*pattern.branches, *pattern.negations)]
            condition = ConditionBinder(pattern, positions, self.problems)
            if self.written.where is not None:
                condition.bind(self.written.where)
            if self.problems or window is None or not self.written.is_whole:
                return None
            query = Query(
                name=self.name,
                aggregates=tuple(aggregate.inside(window) for aggregate in results.aggregates),
                places=tuple(pattern.places),
                branches=tuple(pattern.branches),
                negations=tuple(pattern.negations),
                local=condition.local_by_place(),
                edge_predicates=tuple(condition.edge_predicates),
                adjacent=condition.adjacent_by_pair(),
                group_by=tuple(name.text for name in self.written.group_by or ()),
                equivalence=tuple(condition.equivalence),
                window=window,
                match=Match.ANY if self.written.match is None else Match(self.written.match.word),
                results=results.results,
                having=results.having,
            )
            self._check_aliases(query, results.called, pattern, positions[: len(query.branches)])
            if query.match == Match.CONTIGUOUS:
                query = self._with_bystanders(query)
            if self.problems:
                return None
            return PlannedQuery(query, matched_templates(query, positions))
        except TooComplex:
            self._refuse(
                "too-complex",
                "this pattern has too many ways to match to be planned",
                "Use fewer places of one type, or fewer alternatives inside repetitions.",
                (self.written.pattern or self.written).span,
            )
            return None

    def _with_bystanders(self, query: Query) -> Query:
        if OTHER in self.types and self.written.match is not None:
            self._refuse(
                "alias-is-type",
                f"beside MATCH CONTIGUOUS a type cannot be called {OTHER!r}",
                "Rename the type, or write MATCH NEXT.",
                self.written.match.span,
            )
        return with_bystanders(query, self.types)

    def _refuse(self, code: str, message: str, remedy: str, at: Span) -> None:
        self.problems.append(Problem(code, message, remedy, at))

    def _check_aliases(
        self,
        query: Query,
        called: list[Called],
        pattern: PatternBinder,
        branches: list[Positions],
    ) -> None:
        """Refuse an aggregate of a variable where an event of a trend may or may not be it.

        Without ANY and DEFINE a type is every event of that type, so only aliases are looked at.
        """
        has_any = any(place.written for place in query.places)
        named = [
            (aggregate, written)
            for aggregate, written in called
            if aggregate.places and (has_any or pattern.is_alias(variable_of(written)))
        ]
        if not named:
            return
        types = tuple(place.type for place in query.places)
        why: dict[tuple[int, int], str] = {}
        for one in branches:
            if query.match == Match.NEXT and query.is_conjunction:
                # What both sides match is followed along one way of beginning.
                reason = "is not for AND with MATCH NEXT: an event of what begins alike may be"
                why |= dict.fromkeys(twins(one, one, types, query.local, are_begun=True), reason)
        for one in branches:
            for other in branches:
                reason = "is not defined: one event of a trend may be"
                why |= dict.fromkeys(twins(one, other, types, query.local), reason)
        for aggregate, written in named:
            for (p, q), reason in sorted(why.items()):
                if p in aggregate.places and q not in aggregate.places:
                    one_label, other_label = query.places[p].label, query.places[q].label
                    self._refuse(
                        "ambiguous-alias",
                        f"{print_condition(written)} {reason} "
                        f"matched both as {one_label} and as {other_label}",
                        f"Aggregate the type, which is every such event: {types[p]}."
                        if not has_any
                        else "Aggregate an alias of a place that no other can be taken for.",
                        written.arguments[0].span,
                    )
                    break

    # RETURN and GROUPBY

    def _grouping(self, pattern: PatternBinder) -> None:
        seen: set[str] = set()
        for name in self.written.group_by or ():
            if name.text in seen:
                self._refuse(
                    "duplicate-attribute", f"{name.text} is listed twice", "Keep one.", name.span
                )
            seen.add(name.text)
            pattern.check_attribute_of_all(name)
        if self.written.group_by is None:
            return
        for item in self.written.items or ():
            if isinstance(item, tree.GroupItem) and item.name.text not in seen:
                self._refuse_group_item(item, seen)

    def _refuse_group_item(self, item: tree.GroupItem, grouped: set[str]) -> None:
        name = item.name.text
        if name.upper() in FUNCTIONS:
            remedy = f"Write {name.upper()}(*) or the like to aggregate."
        elif name in MEASURES:
            remedy = f"Write AVG({name}), or SUM, MIN or MAX of it."
        else:
            remedy = f"Add GROUPBY {name}, or aggregate it." + did_you_mean(name, grouped)
        self._refuse("not-grouped", f"{name} is not a grouping attribute", remedy, item.span)

    # WITHIN, SLIDE, OFFSET and IN

    def _window(self) -> Window | None:
        written_within, written_slide = self.written.within, self.written.slide
        within = self._duration(written_within, "WITHIN")
        slide = self._duration(written_slide, "SLIDE")
        offset = self._duration(self.written.offset, "OFFSET", is_length=False)
        if written_within is None or within is None or (written_slide and slide is None):
            return None
        if self.written.offset is not None and offset is None:
            return None
        slide = within if slide is None else slide
        stepped = written_slide or written_within
        shown, shown_slide = print_duration(written_within), print_duration(stepped)
        if slide > within:
            self._refuse(
                "slide-longer",
                f"WITHIN {shown} SLIDE {shown_slide} leaves gaps between windows",
                f"SLIDE must be at most WITHIN: SLIDE {shown}, or WITHIN {shown_slide}.",
                stepped.span,
            )
            return None
        if not self._is_calendar(within, slide, offset or 0):
            return None
        if stepped.unit.text == "week" and slide % _WEEK_US == 0:
            offset = (offset or 0) + _MONDAY_US
        zone = None if self.written.zone is None else str(self.written.zone.value)
        window = Window.of(within, slide, offset or 0, zone)
        if window.overlap > _MOST_WINDOWS:
            self._refuse(
                "too-many-windows",
                f"WITHIN {shown} SLIDE {shown_slide} has {window.overlap:,} windows at any moment",
                f"At most {_MOST_WINDOWS:,} may overlap: lengthen SLIDE or shorten WITHIN.",
                stepped.span,
            )
            return None
        return window

    def _is_calendar(self, within: int, slide: int, offset: int) -> bool:
        """Whether windows can be of the zone that is written, if one is."""
        written = self.written.zone
        if written is None:
            return True
        zone = str(written.value)
        if not is_zone(zone):
            self._refuse(
                "unknown-zone",
                f"there is no time zone {zone}",
                "Write one such as 'Europe/Rome'." + did_you_mean(zone, zone_names()),
                written.span,
            )
            return False
        if any(length % DAY_US for length in (within, slide, offset)):
            self._refuse(
                "odd-calendar",
                "windows of a zone last from midnight to midnight, and these are not of whole days",
                f"Write, for example: WITHIN 2 d SLIDE 1 d IN {print_condition(written)}",
                written.span,
            )
            return False
        return True

    def _duration(
        self, duration: tree.Duration | None, clause: str, is_length: bool = True
    ) -> int | None:
        """A duration in microseconds, or None where it is none; a length is more than 0."""
        if duration is None:
            return None
        length = duration_us(duration, clause, f" {clause} 10 min.")
        if isinstance(length, Problem):
            self.problems.append(length)
            return None
        if is_length and length <= 0:
            what = "no length" if length == 0 else "a negative length"
            self._refuse(
                "empty-window", f"{clause} has {what}", f"Write {clause} 10 min.", duration.span
            )
            return None
        return length
