"""What events are like, as far as code depends on it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hamlet.kernel.base import components_of, extreme_rows, weights_of
from hamlet.kernel.sizes import sizes_of
from hamlet.plan.number_mode import NumberMode
from hamlet.plan.predicates import Constant

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from hamlet.kernel.base import Weight
    from hamlet.kernel.encode.batch import EncodedSet
    from hamlet.plan.predicates import Expression
    from hamlet.plan.program import Program
    from hamlet.plan.query import Query


@dataclass(frozen=True, slots=True)
class EventForm:
    """What events are like: batches of one form are run by the same code.

    Attributes:
        weights: What the rows of a batch's weights are.
        extreme_attributes: What the rows of a batch's extremes are.
        digits: Each summed attribute with the exponents of its digits.
        conditions: For each edge predicate its condition with constants as floats.
        column_names: What the rows of a batch's columns are.
        comparable: For each edge predicate whether its two sides can be compared directly.
        mode: How weights, and numbers, are computed with.
        summable: For each weight whether sums over a run may be had as differences of running sums,
            which in floating-point asks for values of about one size.
        summable_twice: The same for sums of these sums.
        ones: For each weight whether it is 1 for every event.
    """

    weights: tuple[Weight, ...]
    extreme_attributes: tuple[str, ...]
    digits: tuple[tuple[str, tuple[int, ...]], ...]
    conditions: tuple[Expression | None, ...]
    column_names: tuple[str, ...]
    comparable: tuple[bool, ...]
    mode: NumberMode
    summable: tuple[bool, ...]
    summable_twice: tuple[bool, ...]
    ones: tuple[bool, ...]

    def __hash__(self) -> int:
        """Of what tells forms of one workload apart: code is looked for by them in every run."""
        return hash((self.digits, self.mode, self.summable, self.summable_twice, self.ones))

    @staticmethod
    def of(encoded: EncodedSet) -> EventForm:
        """The form of some events."""
        batch = encoded.batch
        rows = list(zip(batch.weight_specs, batch.weights, strict=True))
        summable = [(True, True) if _is_counted(spec) else _summable(row) for spec, row in rows]
        return EventForm(
            batch.weight_specs,
            batch.extreme_attributes,
            tuple(encoded.digits.items()),
            encoded.conditions,
            batch.column_names,
            encoded.ordered_usable,
            NumberMode.of(batch.weights),
            tuple(once for once, _ in summable),
            tuple(twice for _, twice in summable),
            tuple(
                spec.kind == "one" or (_is_counted(spec) and bool((row == 1).all()))
                for spec, row in rows
            ),
        )

    @staticmethod
    def unseen(
        queries: Sequence[Query],
        program: Program,
        digits: Mapping[str, tuple[int, ...]],
        mode: NumberMode,
    ) -> EventForm:
        """The form that events are taken to have before there are any."""
        components = [c for query in queries for c in components_of(query.aggregates, digits)]
        weights = weights_of(components)
        extremes = (
            row for query in queries for each in query.extremes for row in extreme_rows(each)
        )
        count = len(program.predicates)
        return EventForm(
            weights,
            tuple(dict.fromkeys(extremes)),
            tuple(digits.items()),
            (Constant.of(1.0),) * count,
            (),
            (True,) * count,
            mode,
            (True,) * len(weights),
            (True,) * len(weights),
            (False,) * len(weights),
        )


def _is_counted(weight: Weight) -> bool:
    """Whether a weight is 0 or 1, whatever the events."""
    return weight.kind in ("one", "present")


def _summable(weights: NDArray[Any]) -> tuple[bool, bool]:
    """Whether sums over a run may be had as differences of running sums; of sums of these, too.

    Of integers always: they are exact. Of doubles when the largest is at most 2^30 times the
    smallest: then what is lost of the running sum, which is kept in two doubles, is far below 1e-9
    of any term. Integers in two parts wrap around; what is left of them after a run must not.
    """
    if weights.dtype == np.int64:
        return True, bool(float(len(weights)) ** 2 * _largest(weights) < 2.0**93)
    least, greatest = sizes_of(weights)
    low, high = (least, greatest) if greatest > 0.0 else (1.0, 1.0)
    is_so = bool(high * 2.0**-30 <= low and low > 2.0**-400 and high < 2.0**400)
    return is_so, is_so


def _largest(weights: NDArray[Any]) -> float:
    """The greatest size of integers."""
    return max(float(weights.max()), -float(weights.min())) if len(weights) else 0.0
