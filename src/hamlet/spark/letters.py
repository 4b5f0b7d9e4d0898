"""What Spark finds out about an event before Python sees it, packed into a few integers.

Types are numbered. Of the conditions that events of a type are asked for by any query, those that
Spark can evaluate have a bit each; since an event has one type, the types use the same bits. So one
integer carries the type and the truth of all conditions, and neither the text of the type nor the
columns of the conditions have to travel. The plan is rewritten to match: a condition becomes a
column of truth values named after its bit.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from hamlet.plan.letters import Alphabet, alphabet_of
from hamlet.plan.predicates import Column

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from hamlet.plan.letters import Atom
    from hamlet.plan.predicates import Expression
    from hamlet.plan.template import Condition, PlannedQuery, QueryTemplates, Template
    from hamlet.plan.workload import WorkloadPlan

# Bits of a long that are used; the sign is not.
LONG = 63
# Beyond so many types finding the number takes longer than sending the text.
MOST_TYPES = 256
# Beyond so many conditions on one type the code that Spark generates is no longer compiled.
MOST_CONDITIONS = 2 * LONG
_BIT = "\0bit "


@dataclass(frozen=True, slots=True)
class Lettering:
    """Which number each type has and which bit each condition.

    types: In the order of their numbers.
    bits: Of the conditions that Spark evaluates.
    is_text: Whether types travel as text all the same, because there are very many.
    """

    types: tuple[str, ...]
    bits: Mapping[Atom, int]
    is_text: bool = False

    @property
    def type_bits(self) -> int:
        """How many bits the number of a type takes."""
        return 0 if self.is_text else (len(self.types) - 1).bit_length()

    @property
    def condition_bits(self) -> int:
        """How many bits conditions take."""
        return 1 + max(self.bits.values(), default=-1)

    @property
    def longs(self) -> int:
        """How many integers an event has."""
        return -(-(self.type_bits + self.condition_bits) // LONG)

    def place(self, bit: int) -> tuple[int, int]:
        """In which integer, and where in it, the bit of a condition is."""
        return divmod(self.type_bits + bit, LONG)

    def masks(self, alphabet: Alphabet, event_type: str) -> tuple[int, ...] | None:
        """Which bits say that an event of a type takes part; None where any event does, or may.

        Args:
            alphabet: What some queries ask for.
            event_type: One of its types.
        """
        masks = [0] * self.longs
        for atom in alphabet.of_type(event_type):
            if atom not in self.bits:
                return None
            number, place = self.place(self.bits[atom])
            masks[number] |= 1 << place
        return tuple(masks)


def lettering_of(alphabet: Alphabet, is_expressible: Iterable[Atom]) -> Lettering:
    """The lettering of a workload.

    Args:
        alphabet: Every atom of it.
        is_expressible: Those whose conditions Spark can evaluate.
    """
    known = set(is_expressible)
    bits: dict[Atom, int] = {}
    for event_type in alphabet.types:
        conditional = [atom for atom in alphabet.of_type(event_type) if atom in known]
        bits |= {atom: bit for bit, atom in enumerate(conditional[:MOST_CONDITIONS])}
    return Lettering(alphabet.types, bits, is_text=len(alphabet.types) > MOST_TYPES)


def bit_column(bit: int) -> str:
    """The name of the column of a bit."""
    return f"{_BIT}{bit}"


def is_bit_column(name: str) -> bool:
    """Whether a column is that of a bit."""
    return name.startswith(_BIT)


# Plans over bits


def over_bits(plan: WorkloadPlan, lettering: Lettering) -> WorkloadPlan:
    """The same plan, with columns of bits for the conditions that Spark evaluates."""
    bits = {(atom.type, atom.condition): bit for atom, bit in lettering.bits.items()}
    queries = alphabet_of(plan.queries)
    left = [a for a in queries.atoms if a.condition is not None and a not in lettering.bits]
    rewriter = _Rewriter(bits, frozenset(atom.type for atom in left))
    return replace(plan, queries=tuple(rewriter.planned(each) for each in plan.queries))


@dataclass(frozen=True, slots=True)
class _Rewriter:
    """Puts bits in the place of conditions.

    left: The types with a condition that Python evaluates.
    """

    bits: Mapping[tuple[str, Expression | None], int]
    left: frozenset[str]

    def planned(self, planned: PlannedQuery) -> PlannedQuery:
        query = planned.query
        local = tuple(map(self.local, (place.type for place in query.places), query.local))
        templates = self.templates(planned.templates)
        return replace(planned, query=replace(query, local=local), templates=templates)

    def local(self, event_type: str, condition: Expression | None) -> Expression | None:
        """The condition of a place, which says only what columns have to be there."""
        found = self.condition(event_type, condition)
        return found if found != condition or event_type in self.left else None

    def templates(self, templates: QueryTemplates) -> QueryTemplates:
        return replace(
            templates,
            branches=tuple(map(self.template, templates.branches)),
            both=None if templates.both is None else self.template(templates.both),
            guards=tuple(map(self.template, templates.guards)),
        )

    def template(self, template: Template) -> Template:
        states = tuple(replace(s, atom=self.condition(s.type, s.atom)) for s in template.states)
        edges = tuple(
            edge
            if not (edge.condition.holds or edge.condition.fails)
            else replace(
                edge, condition=self.edge(template.states[edge.target].type, edge.condition)
            )
            for edge in template.edges
        )
        return replace(template, states=states, edges=edges)

    def edge(self, event_type: str, condition: Condition) -> Condition:
        holds, fails = (
            frozenset(found for each in some if (found := self.condition(event_type, each)))
            for some in (condition.holds, condition.fails)
        )
        return replace(condition, holds=holds, fails=fails)

    def condition(self, event_type: str, condition: Expression | None) -> Expression | None:
        bit = None if condition is None else self.bits.get((event_type, condition))
        return condition if bit is None else Column("this", bit_column(bit))
