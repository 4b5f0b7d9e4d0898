"""How a workload is run, whoever runs it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hamlet.errors import PlanError, UnknownName, listed
from hamlet.events.formats import separator_of
from hamlet.events.table import EventTable
from hamlet.paper.systems import SYSTEMS
from hamlet.plan.number_mode import NUMBERS, NumberMode
from hamlet.share.coefficients import DEFAULTS, CoefficientTable
from hamlet.share.policy import NOTHING_FIXED, POLICIES, Fixed, Policy

if TYPE_CHECKING:
    from hamlet.plan.number_mode import Numbers
    from hamlet.plan.workload import WorkloadPlan

# Is told what is being done, and which part of the whole has been done before, from 0 to 1.
Progress = Callable[[str, float], None]


@dataclass(frozen=True, slots=True)
class Options:
    """How a workload is run.

    `coefficients` are what the policy decides with; `trace` is whether what it decides is kept.
    `system` is what runs it: the engine itself, or one that it is compared with. `separator` stands
    between the columns of text files where their ending does not say it. `fixed` is what the static
    policy has decided before the run: see expected.py. `interprets` is whether a few events may be
    answered without compiled code where there is none yet: see first_answer.py.
    """

    type: str = "type"
    time: str = "time"
    order: str | None = None
    numbers: Numbers = "exact"
    sharing: Policy = "dynamic"
    coefficients: CoefficientTable = DEFAULTS
    trace: bool = False
    system: str = "hamlet"
    separator: str | None = None
    fixed: Fixed = NOTHING_FIXED
    interprets: bool = False

    @property
    def mode(self) -> NumberMode:
        """How numbers are computed."""
        return NumberMode(self.numbers)

    def check(self) -> None:
        """Refuse what is not an option."""
        if self.numbers not in NUMBERS:
            raise UnknownName("kind of numbers", self.numbers, "Numbers are exact or float.")
        if self.sharing not in POLICIES:
            raise UnknownName(
                "sharing policy", self.sharing, f"Sharing is one of {listed(POLICIES)}."
            )
        if self.system not in SYSTEMS:
            raise UnknownName("system", self.system, f"Systems are {listed(SYSTEMS)}.")
        if self.system != "hamlet" and self.trace:
            reason = f"{self.system} keeps no trace"
            raise PlanError(reason, "Run without it, or with system hamlet.")
        separator_of(self.separator)


def events_of(
    source: Any, plan: WorkloadPlan, options: Options, *, has_all: bool = False
) -> EventTable:
    """The events of a source for a workload, with columns and separator as the options say."""
    return EventTable.of(
        source,
        plan,
        type=options.type,
        time=options.time,
        order=options.order,
        separator=options.separator,
        has_all=has_all,
    )
