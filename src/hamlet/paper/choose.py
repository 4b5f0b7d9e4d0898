"""Which queries share a burst: the paper's two pruning principles, in as many looks as it takes.

Queries that behave alike in a burst are found together first; no others can have a graphlet in
common. Inside such a class (Section "Choice of Query Set" of the paper):

- *Snapshot-driven*: a query that introduces no snapshot shares, without looking.
- *Benefit-driven*: one that does shares if taking it alone out of the full set would not pay.
- What remains shares if it pays at all (the benefit of the paper's definition), else nobody does.

That is m + 2 costs for m queries that introduce snapshots, instead of one for every partition of
the class.

**Our kernels.** A class is a bundle, whose queries have one size. What a set of them costs is
linear in their number, so all of them or none is best, and the choice is optimal, always: whatever
bundles do in one burst, each is decided by itself.

**The paper's model.** Write gain(q, S) for what sharing saves for q in a set S, with s_c and s_p
growing by what each member introduces. It never rises when S grows. Of the theorems follows:

- Theorem 1 (who introduces nothing should share) needs s_c g p <= b (log2(g) + n), or s_c g t <=
  b n in the plain form. The proof has it from s_c <= b and g <= n with p neglected: for p = 1 that
  is exact, for p > 1 it may fail. With b=4, n=11, g=8, t=2 and s_c=4, 64 is more than 44.
- Theorem 2 holds as it is written: what pays with all others pays with fewer. Its converse ("also
  holds with >=") does not: a query that does not pay with all others may pay with some of them,
  which bring fewer snapshots.
- In the plain form a query with a snapshot never pays: carrying it through the burst costs b n
  more, as much as the query alone. So only those without share, all or none, and the choice is
  optimal whether or not the theorems hold.
- In the form with the logarithm the choice is optimal if Theorem 1's condition holds for the full
  set and no query that the principles leave out has a positive gain when it is added to those they
  keep. Where that fails `best_set` still finds the optimum, in O(k log k).
- The paper's space of plans has at most one shared set: 12 plans of four queries, of 15 partitions.
  Nothing is lost where b <= g <= n: two sets are then never better than the best single one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Sequence

    from hamlet.paper.cost import Member, PaperModel


class CostModel(Protocol):
    """What a burst costs, under one plan or another, for queries that behave alike."""

    def cost(self, sets: Sequence[Sequence[Member]], alone: Sequence[Member]) -> float:
        """What the burst costs if each set shares a graphlet and all others have their own."""

    def gain(self, member: Member, queries: int, snapshots: float) -> float:
        """What sharing saves for a member of a graphlet.

        It is shared by so many queries, which introduce so many snapshots, this one included.
        """


@dataclass(frozen=True, slots=True)
class SharePlan:
    """Who shares a burst with whom, and who takes it alone, by the numbers of the queries.

    >>> print(SharePlan(((1, 2, 3),), (4,)))
    (1 2 3)(4)
    """

    sets: tuple[tuple[int, ...], ...]
    alone: tuple[int, ...]

    def __str__(self) -> str:
        """The plan as the paper writes it: those in braces share."""
        groups = (*self.sets, *((query,) for query in self.alone))
        return "".join(f"({' '.join(map(str, group))})" for group in groups)


def choose(members: Iterable[Member], model: CostModel) -> SharePlan:
    """The plan for a burst: one shared set, or none, in each class of queries that behave alike.

    >>> from hamlet.paper.cost import BundleModel, Member
    >>> from hamlet.share.cost import BundleSize
    >>> members = [Member(1, behaviour="a"), Member(2, behaviour="a"), Member(3, behaviour="b"),
    ...            Member(4, behaviour="b")]
    >>> sizes = {"a": BundleSize(2, windows=12), "b": BundleSize(2, windows=12)}
    >>> print(choose(members, BundleModel(sizes, runs={"a": 10, "b": 1})))
    (1 2)(3)(4)
    """
    sets: list[tuple[int, ...]] = []
    alone: list[int] = []
    for alike in by_behaviour(members):
        together, apart = kept_by_principles(alike, model)
        if together and model.cost([together], apart) < model.cost([], alike):
            sets.append(_numbers(together))
            alone.extend(_numbers(apart))
        else:
            alone.extend(_numbers(alike))
    return SharePlan(tuple(sets), tuple(alone))


def kept_by_principles(
    alike: Sequence[Member], model: CostModel
) -> tuple[list[Member], list[Member]]:
    """Those of a class that both principles would have share, and the rest."""
    queries, snapshots = len(alike), sum(member.snapshots for member in alike)
    together: list[Member] = []
    apart: list[Member] = []
    for member in alike:
        pays = not member.snapshots or model.gain(member, queries, snapshots) >= 0
        (together if pays else apart).append(member)
    return together, apart


def by_behaviour(members: Iterable[Member]) -> list[list[Member]]:
    """Members in classes that behave alike, in order of appearance."""
    classes: dict[Hashable, list[Member]] = {}
    for member in members:
        classes.setdefault(member.behaviour, []).append(member)
    return list(classes.values())


def plan_cost(members: Iterable[Member], plan: SharePlan, model: CostModel) -> float:
    """What a burst costs under a plan: the sum over its classes."""
    set_of = {query: number for number, one in enumerate(plan.sets) for query in one}
    total = 0.0
    for alike in by_behaviour(members):
        sets: dict[int, list[Member]] = {}
        alone: list[Member] = []
        for member in alike:
            number = set_of.get(member.query)
            (alone if number is None else sets.setdefault(number, [])).append(member)
        total += model.cost(list(sets.values()), alone)
    return total


def best_set(members: Iterable[Member], model: PaperModel) -> SharePlan:
    """The best plan with one shared set in each class, in the paper's model, under no condition.

    Of all sets with as many queries, that with the fewest snapshots is cheapest. So only the first
    j queries by their snapshots come into question, for each j.
    """
    sets: list[tuple[int, ...]] = []
    alone: list[int] = []
    for alike in by_behaviour(members):
        ordered = sorted(alike, key=lambda member: member.snapshots)
        best, size, snapshots = model.alone(len(alike)), 0, 0.0
        for queries, member in enumerate(ordered, 1):
            snapshots += member.snapshots
            cost = model.shared(queries, snapshots) + model.alone(len(alike) - queries)
            if cost < best:
                best, size = cost, queries
        chosen = set(_numbers(ordered[:size]))
        if chosen:
            sets.append(tuple(m.query for m in alike if m.query in chosen))
        alone.extend(m.query for m in alike if m.query not in chosen)
    return SharePlan(tuple(sets), tuple(alone))


def _numbers(members: Iterable[Member]) -> tuple[int, ...]:
    return tuple(member.query for member in members)
