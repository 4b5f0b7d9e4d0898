"""Atoms and letters: what an event means to the workload, before the engine sees it.

An atom is a type together with what an event itself must satisfy; equal atoms of different queries
are one. An event's letter is the set of atoms it satisfies, as a bit for each atom of its type.
Letters are computed ahead of the engine by vectorised expressions, so local predicates cost
nothing inside, and an event whose letter is empty never gets there. Only letters that occur are
ever given a number: n atoms of a type allow up to 2^n of them, and a stream shows a few.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hamlet.plan.predicates import Expression, show
from hamlet.plan.query import BETWEEN

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from hamlet.plan.template import PlannedQuery, Template


@dataclass(frozen=True, slots=True)
class Atom:
    """A type and what an event of it must satisfy; None for any event of the type."""

    type: str
    condition: Expression | None

    def __str__(self) -> str:
        return f"{self.type} where {show(self.condition)}" if self.condition else self.type


@dataclass(frozen=True, slots=True)
class Alphabet:
    """The atoms of some queries, each type's together, unconditional ones first."""

    atoms: tuple[Atom, ...]

    @property
    def types(self) -> tuple[str, ...]:
        """The types that any query mentions."""
        return tuple(dict.fromkeys(atom.type for atom in self.atoms))

    def of_type(self, event_type: str) -> tuple[Atom, ...]:
        """The atoms of a type; the first stands for the lowest bit of a letter."""
        return tuple(atom for atom in self.atoms if atom.type == event_type)

    def most_letters(self, event_type: str) -> int:
        """How many different non-empty letters events of a type could have at most."""
        atoms = self.of_type(event_type)
        conditional = sum(atom.condition is not None for atom in atoms)
        return (1 << conditional) - (conditional == len(atoms))


def alphabet_of(queries: Iterable[PlannedQuery]) -> Alphabet:
    """Every atom that the templates of some queries look at."""
    atoms: dict[Atom, None] = {}
    for planned in queries:
        templates = planned.templates
        both = () if templates.both is None else (templates.both,)
        for template in (*templates.branches, *both, *templates.guards):
            atoms.update(dict.fromkeys(_atoms(template)))
        between = (place.type for place in planned.query.places if place.negation == BETWEEN)
        atoms.update((Atom(event_type, None), None) for event_type in between)
    types = {name: position for position, name in enumerate(dict.fromkeys(a.type for a in atoms))}
    ordered = sorted(atoms, key=lambda atom: (types[atom.type], atom.condition is not None))
    return Alphabet(tuple(ordered))


def _atoms(template: Template) -> Iterator[Atom]:
    for state in template.states:
        yield Atom(state.type, state.atom)
    for edge in template.edges:
        extra = edge.condition.holds | edge.condition.fails
        if extra:
            event_type = template.states[edge.target].type
            yield from (Atom(event_type, condition) for condition in sorted(extra, key=show))
