"""Binding of a pattern: places numbered, negations taken out, variables known by name.

A variable is an alias, which stands for its one place, or a type, which stands for every place of
that type, aliased or not.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, assert_never

from hamlet.errors import Problem, Span, did_you_mean, listed
from hamlet.lang import tree
from hamlet.lang.definitions import Definitions
from hamlet.lang.printer import print_name, print_pattern
from hamlet.plan.query import (
    ANY,
    OTHER,
    Absence,
    Choice,
    Pattern,
    Place,
    Repeat,
    Sequence,
    Single,
    Times,
    show_times,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hamlet.plan.predicates import Expression
    from hamlet.schema import Schema


# What {n,m} may count to, and how many places a pattern may have, a place for each match counted.
MOST_TIMES = 1000
MOST_PLACES = 5000


@dataclass(slots=True)
class PatternBinder:
    """The places, branches and negations of one pattern, filled by `bind`."""

    problems: list[Problem]
    schema: Schema | None = None
    types: tuple[str, ...] = ()  # all that the workload mentions
    definitions: Definitions = field(default_factory=lambda: Definitions(()))
    places: list[Place] = field(default_factory=list)
    branches: list[Pattern] = field(default_factory=list)
    negations: list[Pattern] = field(default_factory=list)
    is_whole: bool = True  # whether no part of the pattern was refused
    _aliases: dict[str, list[int]] = field(default_factory=dict)
    _types: dict[str, list[int]] = field(default_factory=dict)
    _alias_names: list[tree.Name] = field(default_factory=list)
    # Of each place of a defined type, what it is defined by
    conditions: dict[int, tuple[Expression, ...]] = field(default_factory=dict)
    # Places whose events may or may not have an attribute
    _lenient: set[int] = field(default_factory=set)
    _negation: int | None = None
    # By node: what a pattern that is there several times has of it, once for all.
    _absences: dict[int, Absence | None] = field(default_factory=dict)

    def bind(self, pattern: tree.Pattern) -> None:
        """Number the places of a pattern and check its structure."""
        sides = pattern.items if isinstance(pattern, tree.AndPattern) else (pattern,)
        if len(sides) > 2:
            self._refuse(
                "and-of-many",
                "AND joins exactly two patterns",
                "Keep two of them, or write several queries.",
                pattern.span,
            )
        if self._has_too_many_places(pattern):
            self._name_places(pattern)
            return
        for side in sides:
            bound = self._bind(side)
            if bound is not None:
                self.branches.append(bound)
        for alias in self._alias_names:
            if alias.text in self._types or alias.text in self.definitions:
                self._refuse(
                    "alias-is-type",
                    f"the alias {alias.text} is also the name of a type",
                    "Choose another alias; for one after the other write a comma: SEQ(A, B).",
                    alias.span,
                )

    def _refuse(self, code: str, message: str, remedy: str, at: Span) -> None:
        self.problems.append(Problem(code, message, remedy, at))

    # Structure

    def _bind(self, pattern: tree.Pattern) -> Pattern | None:
        """A pattern without its names; None where it is refused."""
        match pattern:
            case tree.TypePattern():
                return self._place(pattern)
            case tree.AnyPattern():
                return self._any(pattern)
            case (
                tree.KleenePattern(body=tree.NotPattern() as negation)
                | tree.CountedPattern(body=tree.NotPattern() as negation)
            ):
                times = print_pattern(pattern).removeprefix(print_pattern(negation, 4))
                self._refuse(
                    "repeated-not",
                    "a negation cannot be repeated: it takes up no event",
                    f"Write {print_pattern(negation)} without the '{times}'.",
                    pattern.span,
                )
                self._name_places(negation)
            case tree.KleenePattern(body=body):
                bound = self._bind(body)
                return Repeat(bound) if bound is not None else None
            case tree.CountedPattern():
                return self._times(pattern)
            case tree.SeqPattern():
                return self._sequence(pattern)
            case tree.OrPattern(items=items):
                parts = [self._bind(item) for item in items]
                return Choice(tuple(part for part in parts if part is not None))
            case tree.NotPattern():
                self._refuse(
                    "not-outside-seq",
                    "NOT stands only inside SEQ, next to what must be there",
                    f"Write, for example, SEQ(A, {print_pattern(pattern)}, B).",
                    pattern.span,
                )
                self._name_places(pattern)
            case tree.AndPattern():
                self._refuse(
                    "and-not-outermost",
                    "AND can only be the outermost operator of a pattern",
                    "Join two whole patterns with it: SEQ(A, B+) AND SEQ(C, D).",
                    pattern.span,
                )
                self._name_places(pattern)
            case _:
                assert_never(pattern)
        return None

    def _has_too_many_places(self, pattern: tree.Pattern) -> bool:
        places = self._number_of_places(pattern, written_out=True)
        most = max(MOST_PLACES, self._number_of_places(pattern, written_out=False))
        if places > most:
            self._refuse(
                "too-many-places",
                f"repetitions make {places:,} places of this pattern",
                f"At most {MOST_PLACES:,} are planned, one for each match that is counted: count "
                "fewer, or leave the limit away, which counts none: B{2,} or B+.",
                pattern.span,
            )
        return places > most

    def _number_of_places(self, pattern: tree.Pattern, *, written_out: bool) -> int:
        """How many places a pattern has, with all its repetitions written out or as it stands."""
        match pattern:
            case tree.TypePattern(type=name):
                is_of_any = name.text in self.definitions and not self.definitions[name.text].type
                return len(self.types) + 1 if is_of_any else 1
            case tree.AnyPattern():
                return len(self.types) + 1
            case tree.CountedPattern(body=body, least=least, most=most):
                times = min(_copies(least, most), MOST_TIMES) if written_out else 1
                return self._number_of_places(body, written_out=written_out) * times
            case tree.KleenePattern(body=body) | tree.NotPattern(body=body):
                return self._number_of_places(body, written_out=written_out)
        return sum(self._number_of_places(item, written_out=written_out) for item in pattern.items)

    def _times(self, pattern: tree.CountedPattern) -> Pattern | None:
        """As many copies of a pattern as it may match; their variables stand for all of them."""
        least, most = pattern.least, pattern.most
        if not self._is_count(pattern):
            self._name_places(pattern.body)
            return None
        first = self._bind(pattern.body)
        known = len(self.problems)
        copies = [first, *(self._bind(pattern.body) for _ in range(1, _copies(least, most)))]
        del self.problems[known:]  # each mistake is there once
        bound = tuple(copy for copy in copies if copy is not None)
        return Times(bound, least, most) if len(bound) == len(copies) else None

    def _is_count(self, pattern: tree.CountedPattern) -> bool:
        least, most = pattern.least, pattern.most
        shown = show_times(least, most)
        if most == 0:
            self._refuse(
                "empty-pattern",
                f"{shown} matches no event at all",
                "Leave this part of the pattern away, or allow one: {0,1}, which is '?'.",
                pattern.span,
            )
        elif max(least, most or 0) > MOST_TIMES:
            self._refuse(
                "odd-count",
                f"{shown} counts to more than {MOST_TIMES:,}",
                f"Count to {MOST_TIMES:,} at most, or leave the limit away: {{2,}}.",
                pattern.span,
            )
        elif most is not None and least > most:
            self._refuse(
                "odd-count",
                f"{shown} has its greater number first",
                f"Write {show_times(most, least)}.",
                pattern.span,
            )
        else:
            return True
        return False

    def _sequence(self, pattern: tree.SeqPattern) -> Pattern | None:
        items: list[Pattern | Absence] = []
        for item in pattern.items:
            if isinstance(item, tree.NotPattern):
                absence = self._absence(item)
                if absence is not None:
                    items.append(absence)
            else:
                bound = self._bind(item)
                if bound is not None:
                    items.append(bound)
        if all(isinstance(item, tree.NotPattern) for item in pattern.items):
            self._refuse(
                "not-alone",
                "a SEQ of negations alone matches nothing",
                "Add what must be there: SEQ(A, NOT B).",
                pattern.span,
            )
            return None
        return Sequence(tuple(items))

    def _absence(self, pattern: tree.NotPattern) -> Absence | None:
        """A negation, which is the same one in all copies of the pattern around it."""
        if id(pattern) not in self._absences:
            self._absences[id(pattern)] = self._bound_absence(pattern)
        return self._absences[id(pattern)]

    def _bound_absence(self, pattern: tree.NotPattern) -> Absence | None:
        inner = _first_of(pattern.body, tree.NotPattern)
        if inner is not None or self._negation is not None:
            at = inner.span if inner is not None else pattern.span
            self._refuse(
                "nested-not",
                "a negated pattern cannot contain NOT",
                "Negate a pattern of events that are there: NOT SEQ(B, D).",
                at,
            )
            self._name_places(pattern.body)
            return None
        number = len(self.negations)
        # A stand-in keeps the number while the places inside are bound.
        self.negations.append(Choice(()))
        self._negation = number
        bound = self._bind(pattern.body)
        self._negation = None
        if bound is None:
            return None
        self.negations[number] = bound
        return Absence(number)

    def _name_places(self, pattern: tree.Pattern) -> None:
        """Make the variables of a refused part known, so that no use of them is reported too."""
        self.is_whole = False
        if isinstance(pattern, tree.TypePattern):
            self._place(pattern)
        elif isinstance(pattern, tree.AnyPattern):
            self._any(pattern)
        elif isinstance(pattern, tree.KleenePattern | tree.CountedPattern | tree.NotPattern):
            self._name_places(pattern.body)
        else:
            for item in pattern.items:
                self._name_places(item)

    def _place(self, pattern: tree.TypePattern) -> Pattern:
        name = pattern.type.text
        if name not in self.definitions:
            self._check_type(pattern.type)
            (index,) = self._new_places((name,), pattern.alias, None)
            self._types.setdefault(name, []).append(index)
            return Single(index)
        defined = self.definitions[name]
        types = (*self.types, OTHER) if defined.type is None else (defined.type.text,)
        places = self._new_places(types, pattern.alias, name)
        self._types.setdefault(name, []).extend(places)
        for place in places:
            self.conditions[place] = defined.conditions
        if defined.type is not None:
            self._check_type(defined.type)
            return Single(places[0])
        self._lenient |= set(places)
        return Choice(tuple(map(Single, places)))

    def _new_places(
        self, types: tuple[str, ...], alias: tree.Name | None, written: str | None
    ) -> range:
        """Places for events of some types that stand at one place of the pattern."""
        first, called = len(self.places), alias.text if alias else None
        for event_type in types:
            place = Place(len(self.places), event_type, called, self._negation, written)
            self.places.append(place)
        indices = range(first, len(self.places))
        if alias is not None:
            self._alias(alias, *indices)
        return indices

    def _any(self, pattern: tree.AnyPattern) -> Choice:
        """A place for each type that the workload mentions, and one for all others."""
        places = self._new_places((*self.types, OTHER), pattern.alias, ANY)
        self._lenient |= set(places)
        if OTHER in self.types:
            self._refuse(
                "alias-is-type",
                f"beside ANY a type cannot be called {OTHER!r}",
                "Rename the type, or list what ANY may be: (A OR B).",
                pattern.span,
            )
        return Choice(tuple(map(Single, places)))

    def _alias(self, alias: tree.Name, *indices: int) -> None:
        if any(alias is known for known in self._alias_names):
            self._aliases[alias.text] += indices  # another copy of its place
            return
        self._alias_names.append(alias)
        if alias.text not in self._aliases:
            self._aliases[alias.text] = list(indices)
            return
        other, own = self.places[self._aliases[alias.text][0]], self.places[indices[0]]
        code = "alias-two-types" if other.name != own.name else "alias-reused"
        message = f"the alias {alias.text} already stands for a place of {other.name}"
        self._refuse(code, message, "An alias stands for one place; choose another.", alias.span)

    def _check_type(self, name: tree.Name) -> None:
        known = self.schema.types if self.schema else None
        if known is not None and name.text not in known:
            remedy = f"Types are {listed(sorted(known))}." + did_you_mean(name.text, known)
            self._refuse("unknown-type", f"no event has type {name.text}", remedy, name.span)

    # Variables

    @property
    def example_variable(self) -> str:
        """Some variable of the pattern, for messages."""
        positive = [place for place in self.places if place.negation is None]
        named = [place for place in positive if place.alias or place.written is None]
        place = (named or [Place(0, "T")])[0]
        return print_name(tree.Name(place.alias or place.type))

    def is_alias(self, variable: tree.Name) -> bool:
        """Whether a variable is an alias, not a type."""
        return variable.text in self._aliases

    def places_of(self, variable: tree.Name) -> tuple[int, ...]:
        """The places a variable stands for; none, with a problem reported, where it is unknown.

        Of a pattern that could not be read nothing is known, and nothing is reported.
        """
        if variable.text in self._aliases:
            return tuple(self._aliases[variable.text])
        places = tuple(self._types.get(variable.text, ()))
        if not places and self.places:
            known = sorted({*self._types, *self._aliases})
            remedy = f"The pattern has {listed(known)}." if known else ""
            if variable.text.upper() == "ANY" or not known:
                remedy = f"Events of ANY are called by an alias: ANY e. {remedy}".strip()
            else:
                remedy += did_you_mean(variable.text, known)
            self._refuse(
                "unknown-variable",
                f"{variable.text} is not in the pattern",
                remedy,
                variable.span,
            )
        return places

    def positive_places(self, variable: tree.Name, use: str) -> tuple[int, ...]:
        """The places of a variable outside NOT; none, and a problem, where all are inside."""
        places = self.places_of(variable)
        positive = tuple(p for p in places if self.places[p].negation is None)
        if places and not positive:
            self._refuse(
                "negated-variable",
                f"{variable.text} is negated: no trend has an event of it to {use}",
                f"{use.capitalize()} a variable outside NOT.",
                variable.span,
            )
        return positive

    # Attributes

    def attribute_kind(self, places: tuple[int, ...], attribute: tree.Name) -> str:
        """The kind of an attribute at some places; "any" where it is not known or not there."""
        if self.schema is None:
            return "any"
        kinds = set[str]()
        for event_type, is_lenient in dict.fromkeys(
            (self.places[place].type, place in self._lenient) for place in places
        ):
            if self.schema.types is not None and event_type not in self.schema.types:
                continue
            known = self.schema.of(event_type)
            if attribute.text in known:
                kinds.add(known[attribute.text])
            elif not is_lenient:
                self._refuse(
                    "unknown-attribute",
                    f"event type {event_type} has no attribute '{attribute.text}'",
                    f"{event_type} has {listed(sorted(known)) or 'no attributes'}."
                    + did_you_mean(attribute.text, known),
                    attribute.span,
                )
        return kinds.pop() if len(kinds) == 1 else "any"

    def check_attribute(
        self, places: tuple[int, ...], attribute: tree.Name, numeric_for: str
    ) -> None:
        """Report an attribute that is not there or that is no number."""
        kind = self.attribute_kind(places, attribute)
        if kind not in ("number", "any"):
            self._refuse(
                "wrong-kind",
                f"{numeric_for} needs a number, {attribute.text} is {kind}",
                "Aggregate a numeric attribute.",
                attribute.span,
            )

    def check_attribute_of_all(self, attribute: tree.Name) -> None:
        """Report an attribute that some event of the pattern does not have."""
        self.attribute_kind(tuple(place.index for place in self.places), attribute)


def _copies(least: int, most: int | None) -> int:
    """How many matches of a repetition have places of their own."""
    return max(least, 1) if most is None else most


def types_in(pattern: tree.Pattern) -> Iterator[str]:
    """The types that a pattern mentions, in reading order."""
    match pattern:
        case tree.TypePattern(type=name):
            yield name.text
        case tree.AnyPattern():
            pass
        case (
            tree.KleenePattern(body=body)
            | tree.CountedPattern(body=body)
            | tree.NotPattern(body=body)
        ):
            yield from types_in(body)
        case _:
            for item in pattern.items:
                yield from types_in(item)


def _first_of(pattern: tree.Pattern, kind: type[tree.NotPattern]) -> tree.NotPattern | None:
    """The first node of a kind within a pattern."""
    if isinstance(pattern, kind):
        return pattern
    if isinstance(pattern, tree.KleenePattern | tree.CountedPattern):
        return _first_of(pattern.body, kind)
    if isinstance(pattern, tree.SeqPattern | tree.OrPattern | tree.AndPattern):
        for item in pattern.items:
            first = _first_of(item, kind)
            if first is not None:
                return first
    return None
