"""What a sharable set gave for windows that have closed, and what can be made of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hamlet.kernel.finish import finish
from hamlet.kernel.finish.partial import partial_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pyarrow as pa

    from hamlet.kernel.base import Emission
    from hamlet.kernel.finish import Groups, SetAnswers
    from hamlet.plan.program import Program
    from hamlet.plan.workload import WorkloadPlan


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
        return finish(
            plan,
            self.program,
            self.emission,
            digits=self.digits,
            is_integer=self.is_integer,
            groups=self.groups,
        )

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
