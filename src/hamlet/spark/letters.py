"""What Spark finds out about an event before Python sees it, packed into a few integers.

Types are numbered. Of the conditions that events of a type are asked for by any query, those that
Spark can evaluate have a bit each; since an event has one type, the types use the same bits. So one
integer carries the type and the truth of all conditions, and neither the text of the type nor the
columns of the conditions have to travel. The plan is rewritten to match: a condition becomes a
column of truth values named after its bit.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hamlet.engine.state.bits import bit_name, bit_of
from hamlet.events.columns import numpy_of
from hamlet.plan.letters import Alphabet, alphabet_of
from hamlet.plan.predicates import Column, Operation, all_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

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
_BIT, _LETTERS = "\0bit ", "\0letters "


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
    def all_bits(self) -> int:
        """How many bits both take."""
        return self.type_bits + self.condition_bits

    @property
    def longs(self) -> int:
        """How many integers an event has."""
        return -(-self.all_bits // LONG)

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

    def codes(
        self, longs: Sequence[NDArray[Any]], text: pa.ChunkedArray | None, length: int
    ) -> NDArray[np.int32]:
        """The number of the type of each event.

        Args:
            longs: The integers of the events.
            text: Their types, where they travel as text.
            length: How many events there are.
        """
        if text is not None:
            # Rows of types that others ask for are left out later.
            found = pc.index_in(text, value_set=pa.array(self.types, text.type))
            return numpy_of(found.fill_null(0))
        if not longs:
            return np.zeros(length, np.int32)
        return (longs[0] & ((1 << self.type_bits) - 1)).astype(np.int32)


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


def letters_column(number: int) -> str:
    """The name of the column of an integer, where bits are not taken out of it."""
    return f"{_LETTERS}{number}"


def letters_among(columns: Iterable[str]) -> tuple[int, ...]:
    """The integers whose columns are among some.

    >>> letters_among(["x", letters_column(1), letters_column(0)])
    (0, 1)
    """
    found = [name for name in columns if name.startswith(_LETTERS)]
    return tuple(sorted(int(name.removeprefix(_LETTERS)) for name in found))


# Plans over bits


def over_bits(
    plan: WorkloadPlan, lettering: Lettering, *, are_packed: bool = False
) -> WorkloadPlan:
    """The same plan, with columns of bits for the conditions that Spark evaluates.

    Args:
        plan: The plan.
        lettering: Which conditions these are.
        are_packed: Whether events have the integers (`letters_column`), and else a column for each
            bit (`bit_column`).
    """
    names = {}
    for atom, bit in lettering.bits.items():
        number, place = lettering.place(bit)
        packed = bit_name(letters_column(number), place)
        names[atom.type, atom.condition] = packed if are_packed else bit_column(bit)
    rewriter = _Rewriter(names)
    return replace(plan, queries=tuple(rewriter.planned(each) for each in plan.queries))


@dataclass(frozen=True, slots=True)
class _Rewriter:
    """Puts bits in the place of conditions, by the names of their columns."""

    names: Mapping[tuple[str, Expression | None], str]

    def planned(self, planned: PlannedQuery) -> PlannedQuery:
        query = planned.query
        alphabet = alphabet_of([planned])
        local = tuple(self.local(alphabet, place.type) for place in query.places)
        templates = self.templates(planned.templates)
        return replace(planned, query=replace(query, local=local), templates=templates)

    def local(self, alphabet: Alphabet, event_type: str) -> Expression | None:
        """The condition of a place, which says only what columns have to be there.

        A state that stands for several places has the conditions of all of them, as one with a bit
        of its own or without: so it is the templates that say what they look at.
        """
        atoms = (self.condition(event_type, a.condition) for a in alphabet.of_type(event_type))
        return all_of([_kept(each) for each in atoms if each is not None])

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
        name = None if condition is None else self.names.get((event_type, condition))
        return condition if name is None else Column("this", name)


def _kept(condition: Expression) -> Expression:
    """A condition on columns that events have: an integer in the place of one of its bits."""
    bit = bit_of(condition.attribute) if isinstance(condition, Column) else None
    return condition if bit is None else Operation("is not null", (Column("this", bit[0]),))
