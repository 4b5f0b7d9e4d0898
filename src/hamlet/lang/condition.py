"""Binding of a condition: split at its top-level ANDs, each part sorted by what it mentions.

One variable makes a local predicate, two make an edge predicate, square brackets an equivalence.
What is none of these is refused with its position and the reason.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hamlet.errors import Problem, Span, did_you_mean, listed
from hamlet.lang import tree
from hamlet.lang.bind_results import misplaced_aggregates
from hamlet.lang.condition_trees import TIME, converted, nodes_of
from hamlet.lang.kinds import KindChecker
from hamlet.lang.printer import print_name
from hamlet.plan import predicates
from hamlet.plan.value_kinds import ANY

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hamlet.lang.bind_pattern import PatternBinder
    from hamlet.plan.positions import Positions
    from hamlet.plan.predicates import EdgePredicate


# What is meant by what trends are measured by, where conditions are on events
_MEASURED = {
    "LENGTH": "How many events a trend has says the pattern: A{2,5}; HAVING MAX(LENGTH) > 3 is "
    "about all trends of a window and group.",
    "DURATION": "The time between neighbours is NEXT(T).time - T.time; HAVING MAX(DURATION) > 60 "
    "is about all trends of a window and group, in seconds.",
}


@dataclass(slots=True)
class ConditionBinder:
    """The predicates of one query, filled by `bind`."""

    pattern: PatternBinder
    positions: list[Positions]  # of the branches and negations
    problems: list[Problem]
    equivalence: list[str] = field(default_factory=list)
    edge_predicates: list[EdgePredicate] = field(default_factory=list)
    _local: dict[int, list[predicates.Expression]] = field(default_factory=dict)
    _adjacent: dict[tuple[int, int], set[int]] = field(default_factory=dict)

    def bind(self, condition: tree.Expression) -> None:
        """Sort every part of a condition."""
        for part in _parts(condition):
            if isinstance(part, tree.Equivalence):
                self._equivalence(part)
            else:
                self._predicate(part)

    def local_by_place(self) -> tuple[predicates.Expression | None, ...]:
        """For each place the condition that its events satisfy, those of its type included."""
        defined = self.pattern.conditions
        return tuple(
            predicates.all_of([*defined.get(place, ()), *self._local.get(place, [])])
            for place in range(len(self.pattern.places))
        )

    def adjacent_by_pair(self) -> tuple[tuple[tuple[int, int], tuple[int, ...]], ...]:
        """For each pair of places the edge predicates between them, in a stable order."""
        return tuple((pair, tuple(sorted(self._adjacent[pair]))) for pair in sorted(self._adjacent))

    def _refuse(self, code: str, message: str, remedy: str, at: Span) -> None:
        self.problems.append(Problem(code, message, remedy, at))

    def _equivalence(self, part: tree.Equivalence) -> None:
        for name in part.attributes:
            self.pattern.check_attribute_of_all(name)
            if name.text not in self.equivalence:
                self.equivalence.append(name.text)

    # One part

    def _predicate(self, part: tree.Expression) -> None:
        nodes = list(nodes_of(part))
        misplaced = misplaced_aggregates(nodes)
        if misplaced:
            self.problems += misplaced
            return
        references = [node for node in nodes if isinstance(node, tree.AttributeRef)]
        known = self._check_names(part, nodes, references)
        self._check_kinds(part, references)
        if not known:
            return
        plain = list(dict.fromkeys(ref.variable.text for ref in references if not ref.is_next))
        later = list(dict.fromkeys(ref.variable.text for ref in references if ref.is_next))
        names = {ref.variable.text: ref.variable for ref in reversed(references)}
        if not later and len(plain) == 1:
            self._add_local(part, names[plain[0]])
        elif not later and len(plain) == 2:
            self._add_edge(part, names[plain[0]], names[plain[1]], either_order=True)
        elif len(plain) == 1 and len(later) == 1:
            first = next(r.variable for r in references if not r.is_next)
            second = next(r.variable for r in references if r.is_next)
            self._add_edge(part, first, second, either_order=False)
        else:
            self._refuse_mention(part, plain, later)

    def _check_names(
        self,
        part: tree.Expression,
        nodes: list[tree.Expression],
        references: list[tree.AttributeRef],
    ) -> bool:
        """Report names without a variable, unknown variables and misplaced equivalences."""
        misplaced = [node for node in nodes if isinstance(node, tree.BareName | tree.Equivalence)]
        for node in misplaced:
            if isinstance(node, tree.BareName):
                self._refuse_bare(node)
            else:
                self._refuse(
                    "nested-equivalence",
                    "an equivalence stands alone, joined to the rest by AND",
                    "Write WHERE [driver] AND ...",
                    node.span,
                )
        if not references and not misplaced:
            self._refuse(
                "no-variable",
                "this part of the condition mentions no event",
                "Compare an attribute of a variable, or remove it.",
                part.span,
            )
        variables = {ref.variable.text: ref.variable for ref in reversed(references)}.values()
        places = [self.pattern.places_of(variable) for variable in variables]
        return bool(references) and not misplaced and all(places)

    def _refuse_bare(self, node: tree.BareName) -> None:
        name, shown = node.name.text, self.pattern.example_variable
        variables = [place.alias or place.name for place in self.pattern.places]
        remedy = _MEASURED.get(name) or (
            f"Say whose it is: {shown}.{print_name(node.name)}, or write text in quotes: "
            f"'{name}'." + did_you_mean(name, variables)
        )
        self._refuse("bare-attribute", f"{name} stands without a variable", remedy, node.span)

    def _check_kinds(self, part: tree.Expression, references: list[tree.AttributeRef]) -> None:
        kinds: dict[tree.AttributeRef, str] = {}
        for ref in references:
            if ref in kinds:
                continue
            if ref.attribute.text == TIME:
                kinds[ref] = "time"
                continue
            places = self._known_places(ref.variable)
            kinds[ref] = self.pattern.attribute_kind(places, ref.attribute) if places else ANY
        checker = KindChecker(kinds.__getitem__)
        if not isinstance(part, tree.BareName):
            checker.condition(part)
        self.problems += checker.problems

    def _known_places(self, variable: tree.Name) -> tuple[int, ...]:
        """The places of a variable, without a report where it is unknown."""
        before = len(self.problems)
        places = self.pattern.places_of(variable)
        del self.problems[before:]
        return places

    # Local and edge predicates

    def _add_local(self, part: tree.Expression, variable: tree.Name) -> None:
        condition = converted(part, {(variable.text, False): "this"})
        for place in self.pattern.places_of(variable):
            self._local.setdefault(place, []).append(condition)

    def _add_edge(
        self, part: tree.Expression, first: tree.Name, second: tree.Name, either_order: bool
    ) -> None:
        """A predicate between adjacent events, one bound to `first`, the other to `second`."""
        if not self._may_meet(part, first, second):
            return
        is_next = not either_order
        ways = [(first, second, {(first.text, False): "previous", (second.text, is_next): "next"})]
        if either_order:
            roles = {(second.text, False): "previous", (first.text, False): "next"}
            ways.append((second, first, roles))
        may_follow = False
        for before, after, by_variable in ways:
            pairs = self._pairs(before, after)
            if pairs:
                may_follow = True
                self._attach(converted(part, by_variable), pairs)  # type: ignore[arg-type]
        if not may_follow and self.pattern.is_whole:
            self._refuse_never_adjacent(part, first, second, either_order)

    def _attach(self, condition: predicates.Expression, pairs: list[tuple[int, int]]) -> None:
        predicate = predicates.edge_predicate(condition)
        if predicate not in self.edge_predicates:
            self.edge_predicates.append(predicate)
        number = self.edge_predicates.index(predicate)
        for pair in pairs:
            self._adjacent.setdefault(pair, set()).add(number)

    def _pairs(self, before: tree.Name, after: tree.Name) -> list[tuple[int, int]]:
        sources = set(self.pattern.places_of(before))
        targets = set(self.pattern.places_of(after))
        pairs = (pair for positions in self.positions for pair in positions.follow)
        return [(p, q) for p, q in pairs if p in sources and q in targets]

    def _may_meet(self, part: tree.Expression, first: tree.Name, second: tree.Name) -> bool:
        """Whether some place of each variable is outside NOT, or both are inside the same one."""
        one, other = self._negations(first), self._negations(second)
        if one & other:
            return True
        inside, outside = (second, first) if None in one else (first, second)
        self._refuse(
            "negated-with-another",
            f"{inside.text} is negated and cannot be compared with {outside.text}, "
            "which stands outside that NOT",
            f"A condition on {inside.text} mentions variables of the same NOT only.",
            part.span,
        )
        return False

    def _negations(self, variable: tree.Name) -> set[int | None]:
        """The negations that the places of a variable stand in; None for outside all of them."""
        places = self.pattern.places
        return {places[place].negation for place in self.pattern.places_of(variable)}

    # Refusals

    def _refuse_mention(self, part: tree.Expression, plain: list[str], later: list[str]) -> None:
        if not plain:
            shown = later[0]
            self._refuse(
                "next-alone",
                f"NEXT({shown}) stands without the event before it",
                f"Mention both: {self.pattern.example_variable}.x < NEXT({shown}).x; for a "
                f"condition on {shown} alone, leave NEXT out.",
                part.span,
            )
        elif later:
            self._refuse(
                "too-many-variables",
                "with NEXT, a condition mentions one variable before and one after",
                "Split it with AND so that each part has two variables: P.x < NEXT(Q).y",
                part.span,
            )
        else:
            self._refuse(
                "too-many-variables",
                f"this part mentions {len(plain)} variables: {listed(plain)}",
                "Split it with AND so that each part mentions one, or two that are adjacent.",
                part.span,
            )

    def _refuse_never_adjacent(
        self, part: tree.Expression, first: tree.Name, second: tree.Name, either_order: bool
    ) -> None:
        places = self.pattern.places
        sources = set(self.pattern.places_of(first))
        after = {
            places[q].alias or places[q].name
            for positions in self.positions
            for p, q in positions.follow
            if p in sources
        }
        if either_order:
            message = f"{first.text} and {second.text} are never adjacent in this pattern"
        else:
            message = f"{first.text} is never directly followed by {second.text} in this pattern"
        what = listed(sorted(after)) if after else "nothing"
        self._refuse(
            "never-adjacent",
            message,
            f"What may directly follow {first.text}: {what}. Only neighbours can be compared.",
            part.span,
        )


def _parts(condition: tree.Expression) -> Iterator[tree.Expression]:
    """The parts of a condition between its top-level ANDs."""
    if isinstance(condition, tree.AndCondition):
        for item in condition.items:
            yield from _parts(item)
    elif isinstance(condition, tree.Between) and not condition.is_negated:
        yield from condition.comparisons
    else:
        yield condition
