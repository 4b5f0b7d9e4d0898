"""The entry from Python: a group over the events of a batch, with numbers of one kind."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hamlet.kernel.rows.classes import (
    Deciding,
    Sampled,
    Span,
    class_group,
    class_number,
    most_usual,
    spans,
)
from hamlet.kernel.rows.disputes import by_keys
from hamlet.kernel.rows.kernel import run
from hamlet.kernel.rows.layout import (
    ALWAYS,
    BY_BENEFIT,
    BY_COIN,
    BY_SURVEY,
    CHOSEN,
    DECIDED,
    FAR,
    OWN,
    T_CLASS,
    T_TIME,
    TREE,
)
from hamlet.kernel.rows.letters import COMPARED, lay_out
from hamlet.kernel.rows.redoing import RANGE
from hamlet.kernel.stopping import stoppable

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hamlet.kernel.base import EventBatch
    from hamlet.kernel.rows.group import RowGroup, RowPredicate
    from hamlet.kernel.rows.letters import PlacedGroup

DOUBLES_SCALE = 2.0**-800
# Of numbers in rows over snapshots; such long ones are seldom made of small coefficients.
_MOST_WORDS = 16
# Of table; tests have one or the other.
KIND = CHOSEN
# Of the coin that decides where no policy does
SEED = 0
# Stored events that an event finds in a scanned table, at most: where there are more it is a tree
_LOOKED_AT = 256
# Policies by name
SHARING = {"never": OWN, "always": ALWAYS, "dynamic": BY_BENEFIT, "static": BY_SURVEY}


@dataclass(frozen=True, slots=True)
class RowRecords:
    """Closed windows of one group: partition, unit, window, and what they add up to.

    Attributes:
        redo: Ranges as `run_rows` takes them of what has outgrown its kind; it has no records.
        bursts: How many there were, shared: of them over snapshots, snapshots: that were taken,
            split: how often own columns took over.
        decisions: Where they are asked for a row for each burst, with the columns T_PART to
            T_CLASS of layout.py.
    """

    part: NDArray[np.int32]
    unit: NDArray[np.int32]
    window: NDArray[np.int64]
    components: NDArray[Any]
    extremes: NDArray[np.float64]
    redo: NDArray[np.int64]
    bursts: int
    shared: int
    snapshots: int
    split: int
    decisions: NDArray[np.int64]


def run_rows(
    made: PlacedGroup,
    events: EventBatch,
    ranges: NDArray[np.int64],
    zero: NDArray[Any],
    sharing: str = "dynamic",
    is_traced: bool = False,
    tables: tuple[tuple[int, ...], ...] = (),
) -> RowRecords:
    """Windows of some partitions; `zero` is an empty array of the kind of numbers to use.

    Ranges have the partition, its first event and the one after its last, and the first and the
    last window that are asked for, as `all_windows` has them of whole partitions.

    Which units have a table together follows from the events, where it is not given.

    Coefficients of snapshots are single words in every kind: they are small where numbers are long.
    Where these outgrow their word, there are own columns from there on.
    """
    turned = turned_events(made.group, events, ranges)
    policy = SHARING.get(sharing, BY_COIN) if _has_coefficients(zero) else OWN
    if tables:
        found = [Span(units, turned.ranges) for units in tables]
    else:
        deciding = Deciding(policy, KIND == TREE, SEED, zero.dtype == np.float64)
        found = spans(made, events.letters, _sampled(turned), deciding)
    done = [
        _run_class(
            class_group(made, span.units),
            events,
            _turned_for(made.group, class_group(made, span.units).group, turned)._replace(
                ranges=span.ranges
            ),
            (zero, policy, is_traced),
        )
        for span in found
    ]
    classes = [span.units for span in found]
    if len(done) == 1 and len(found[0].ranges) == len(ranges):
        again = done[0].redo
        if made.group.is_backward:
            again = _from_the_end(again, len(events))
        return replace(done[0], redo=again)
    for units, each in zip(classes, done, strict=True):
        each.decisions[:, T_CLASS] = class_number(made, units)
        if made.group.is_backward:
            shorter = made.group.within_us - class_group(made, units).group.within_us
            each.decisions[:, T_TIME] += shorter
    return _joined(done, classes, ranges)


def tables_of(
    made: PlacedGroup, events: EventBatch, ranges: NDArray[np.int64]
) -> tuple[tuple[int, ...], ...]:
    """The units that have a table together in most of some partitions, by the costs of both ways.

    Whether their numbers are floats makes no difference but to windows of very many events.
    """
    turned = turned_events(made.group, events, all_windows(ranges))
    return most_usual(made, events.letters, _sampled(turned), Deciding(BY_BENEFIT))


class _Turned(NamedTuple):
    """The events of a batch in the order that a group takes them in."""

    ts: NDArray[np.int64]
    tied: NDArray[np.uint8]
    letter: NDArray[np.int32]
    f: NDArray[np.float64]  # by edge predicate, then event
    g: NDArray[np.float64]
    weights: NDArray[Any]
    extremes: NDArray[np.float64]
    ranges: NDArray[np.int64]


def _sampled(turned: _Turned) -> Sampled:
    return Sampled(turned.ts, turned.letter, turned.f, turned.g, turned.ranges)


def turned_events(group: RowGroup, events: EventBatch, ranges: NDArray[np.int64]) -> _Turned:
    """The events of a batch in the order that a group takes them in."""
    ts, tied, letter = events.ts, events.tied, events.letter
    weights, extremes = events.weights, events.extremes
    if group.is_backward:
        # A time t is in [a, b) where within - 1 - t is in [within - b, within - a).
        ts, letter = (group.within_us - 1 - ts)[::-1], letter[::-1]
        tied = np.concatenate([tied[:1], tied[:0:-1]])
        weights, extremes = weights[:, ::-1], extremes[:, ::-1]
        ranges = _from_the_end(ranges, len(events))
    sides = [_sides(each, events, group.is_backward) for each in group.predicates]
    return _Turned(
        np.ascontiguousarray(ts),
        np.ascontiguousarray(tied),
        np.ascontiguousarray(letter),
        _stacked([f for f, _ in sides]),
        _stacked([g for _, g in sides]),
        np.ascontiguousarray(weights).reshape(-1),
        np.ascontiguousarray(extremes).reshape(-1),
        ranges,
    )


def _sides(
    predicate: RowPredicate, events: EventBatch, is_backward: bool
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The two sides of an edge predicate, with the sign that the kernel compares them with."""
    f, g = events.previous[predicate.number], events.next[predicate.number]
    if is_backward:
        f, g = g[::-1], f[::-1]
    return (-f, -g) if COMPARED[predicate.operator][1] else (f, g)


def _stacked(sides: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Sides of edge predicates one after the other; of a single one nothing is copied."""
    return np.ascontiguousarray(sides[0][None] if len(sides) == 1 else np.stack(sides))


def _turned_for(group: RowGroup, some: RowGroup, turned: _Turned) -> _Turned:
    """The same events for a group of some of the units.

    Times of one that is run from the end are counted from the end of its own windows.
    """
    if some.is_backward and some.within_us != group.within_us:
        turned = turned._replace(ts=turned.ts - (group.within_us - some.within_us))
    if some.predicates != group.predicates:
        chosen = [group.predicates.index(each) for each in some.predicates]
        turned = turned._replace(f=_stacked(list(turned.f[chosen])))
        turned = turned._replace(g=_stacked(list(turned.g[chosen])))
    return turned


def _run_class(
    made: PlacedGroup,
    events: EventBatch,
    turned: _Turned,
    how: tuple[NDArray[Any], int, bool],
) -> RowRecords:
    """The windows of units that have their rows together; how: numbers, policy, whether traced."""
    group = made.group
    zero, policy, is_traced = how
    # By their bits, NaN and all: that is one look at each.
    same = np.array_equal(turned.f.view(np.int64), turned.g.view(np.int64))
    is_mixed = len(group.predicates) > 1
    same_keys = is_mixed and max(by_keys(group.predicates, turned.f)) == 0
    words = zero.shape[1] if zero.ndim == 2 else 1
    code = lay_out(made, events.letters, len(events), same, KIND, policy, SEED, same_keys, words)
    turned = turned._replace(
        f=turned.f.reshape(-1),
        g=turned.g.reshape(-1),
        ranges=np.ascontiguousarray(turned.ranges),  # the kernel takes their address
    )
    scale = _scale(zero, events, group)
    single = np.empty(0, np.float64 if zero.dtype == np.float64 else np.int64)
    cells = len(turned.ts) * group.overlap * made.columns * group.components
    longest = int((turned.ranges[:, 2] - turned.ranges[:, 1]).max(initial=1))
    looked_at = min(longest, _LOOKED_AT) if len(group.predicates) == 1 else longest
    (part, unit, window, v, x), redo, counts, decisions = stoppable(
        run, code, *turned, zero, single, scale, is_traced, steps=cells * looked_at * words
    )
    n, most, most_x = len(part), group.components, group.extremes
    components = v.reshape((n, most, *v.shape[1:]))
    if scale != 1.0:
        components = unscaled(components, scale)
    if group.is_backward:
        window = -window
    bursts, shared, snapshots, split = map(int, counts)
    return RowRecords(
        part,
        unit,
        window,
        components,
        x.reshape(n, most_x),
        redo.reshape(-1, RANGE),
        bursts,
        shared,
        snapshots,
        split,
        decisions.reshape(-1, DECIDED),
    )


def _joined(
    done: list[RowRecords], classes: list[tuple[int, ...]], ranges: NDArray[np.int64]
) -> RowRecords:
    """The records of all classes; of partitions that are run again in any, of none."""
    redo = np.unique(np.concatenate([each.redo[:, 0] for each in done]))
    kept = [~np.isin(each.part, redo) for each in done]

    def all_of(name: str) -> NDArray[Any]:
        return np.concatenate([getattr(e, name)[k] for e, k in zip(done, kept, strict=True)])

    units = [np.array(u, np.int32)[e.unit] for u, e in zip(classes, done, strict=True)]
    return RowRecords(
        all_of("part"),
        np.concatenate([u[k] for u, k in zip(units, kept, strict=True)]),
        all_of("window"),
        all_of("components"),
        all_of("extremes"),
        ranges[np.isin(ranges[:, 0], redo)],
        sum(each.bursts for each in done),
        sum(each.shared for each in done),
        sum(each.snapshots for each in done),
        sum(each.split for each in done),
        np.concatenate([each.decisions for each in done]),
    )


def _has_coefficients(zero: NDArray[Any]) -> bool:
    """Whether rows with numbers of a kind may be over snapshots."""
    return zero.ndim == 1 or (zero.dtype == np.uint64 and zero.shape[1] <= _MOST_WORDS)


def _from_the_end(ranges: NDArray[np.int64], events: int) -> NDArray[np.int64]:
    """Where partitions begin and end when all events are turned round."""
    turned = ranges.copy()
    turned[:, 1], turned[:, 2] = events - ranges[:, 2], events - ranges[:, 1]
    return turned


def all_windows(ranges: NDArray[np.int64]) -> NDArray[np.int64]:
    """Partitions with the first and the last window that are asked for: all; nothing disputed."""
    whole = np.zeros((len(ranges), 6), np.int64)
    whole[:, :3], whole[:, 3], whole[:, 4] = ranges[:, :3], -FAR, FAR
    return whole


def _scale(zero: NDArray[Any], events: EventBatch, group: RowGroup) -> float:
    """What doubles are scaled by, so that the range below 1 serves for numbers of trends too.

    There are hundreds of bits below it still: weights that need them are not scaled.
    """
    if zero.ndim == 2 or zero.dtype != np.float64:
        return 1.0
    return 1.0 if needs_small_doubles(events, group) else DOUBLES_SCALE


def needs_small_doubles(events: EventBatch, group: RowGroup) -> bool:
    """Whether weights that a group adds are so small that they are not scaled."""
    if not len(events):  # windows that close without events: there are no weights either
        return False
    for weight in group.weights:
        sizes = np.abs(events.weights[weight])
        if np.any((sizes > 0) & (sizes < 2.0**-100)):
            return True
    return False


def unscaled(scaled: NDArray[np.float64], scale: float) -> NDArray[np.float64]:
    """Scaled doubles as numbers with an exponent each: see numbers.py."""
    numbers = np.zeros((*scaled.shape, 2))
    np.multiply(scaled, 1.0 / scale, out=numbers[..., 0])
    is_large = np.abs(scaled) >= 1.0
    if is_large.any():
        numbers[is_large, 0] = scaled[is_large] * (2.0**-1024 / scale)
        numbers[is_large, 1] = 2.0
    return numbers
