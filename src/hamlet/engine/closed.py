"""What a sharable set gave for windows that have closed, and what can be made of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hamlet.kernel.finish import Emitted, finish_together
from hamlet.kernel.finish.partial import partial_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pyarrow as pa

    from hamlet.kernel.base import Emission
    from hamlet.kernel.finish import Groups, SetAnswers
    from hamlet.plan.program import Program
    from hamlet.plan.workload import WorkloadPlan

# Of a set that is finished together with others
_FEW_RECORDS = 1 << 16


@dataclass(frozen=True, slots=True)
class ClosedSet:
    """Closed windows of one sharable set.

    Attributes:
        program: The program of the set.
        emission: What its kernel gave.
        digits: For each summed attribute the exponents of its digits.
        is_integer: For each summed attribute whether its sums have exact digits.
        groups: The groups of each query of the set.
    """

    program: Program
    emission: Emission
    digits: Mapping[str, tuple[int, ...]]
    is_integer: Mapping[str, bool]
    groups: Sequence[Groups]

    def answers(self, plan: WorkloadPlan) -> SetAnswers:
        """The rows of results of each query of the set."""
        return finish_together(plan, [self.emitted])

    @property
    def emitted(self) -> Emitted:
        """The same for who finishes it."""
        return Emitted(self.program, self.emission, self.digits, self.is_integer, self.groups)

    def partial(self, plan: WorkloadPlan, schema: pa.Schema) -> pa.Table:
        """A partial answer, for others to add to: see kernel/finish/partial.py."""
        return partial_of(
            plan,
            self.program,
            self.emission,
            digits=self.digits,
            is_integer=self.is_integer,
            groups=self.groups,
            schema=schema,
        )


def answers_of_sets(plan: WorkloadPlan, sets: Sequence[ClosedSet]) -> list[SetAnswers]:
    """The rows of results of the queries of several sets: of small sets made in one go.

    What it takes to begin is more than what a few thousand records take.
    """
    together: list[ClosedSet] = []
    answers: list[SetAnswers] = []
    for each in sets:
        if len(each.emission.part) <= _FEW_RECORDS and _go_together(each, together):
            together.append(each)
        else:
            answers.append(each.answers(plan))
    if together:
        answers.append(finish_together(plan, [each.emitted for each in together]))
    return answers


def _go_together(one: ClosedSet, others: Sequence[ClosedSet]) -> bool:
    """Whether sums of the same attributes have the same digits in all of them."""
    return all(
        other.digits.get(name, exponents) == exponents
        and other.is_integer.get(name) in (None, one.is_integer.get(name))
        for other in others
        for name, exponents in one.digits.items()
    )
