"""The windows of a set without compiled code: a first answer while there is none yet.

Compiling takes a minute and more, once on a machine; a few hundred events need not wait for it.
Here each query goes through its template by itself, window by window, with Python's own integers:
an event adds up what the events before it carry that it may follow. Where nothing is asked of two
neighbours one running total for each state does, else every earlier event of the window is asked.

Cost: events times windows that one is in times edges, and where a condition looks at both of two
events, the square of the events of a window: see `steps_needed`, which says it before.
"""

from __future__ import annotations

import math
import operator
from bisect import bisect_left
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from hamlet.kernel.base import Emission, components_of, extreme_at, values_of_codes
from hamlet.kernel.number_table import NumberTable
from hamlet.kernel.pairs import pairs_in_windows, ranges_of_partitions
from hamlet.kernel.stack_code import CONST, NEXT, PREVIOUS, emit
from hamlet.kernel.stack_machine import operated
from hamlet.plan.letters import Atom
from hamlet.plan.program import Role
from hamlet.plan.template import END, START, Step
from hamlet.plan.windows import end_of_window, first_window, last_window, overlap

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from hamlet.kernel.base import EventBatch
    from hamlet.kernel.encode.batch import EncodedSet
    from hamlet.plan.number_mode import NumberMode
    from hamlet.plan.program import Program
    from hamlet.plan.query import Aggregate, Query
    from hamlet.plan.template import Alternative, Condition, Part

# The number of trends and the other components, then the extremes
Numbers = list[Any]
# The first event of a partition, and what `latest_matches` says of each from there on
Latest = tuple[int, list[int]]
# Comparisons of doubles of which neither is NaN
_COMPARE: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "=": operator.eq,
    "!=": operator.ne,
}
# One digit of exponents of the engine's doubles: see `Emission`.
_BITS = 512


def steps_needed(queries: Sequence[Query], program: Program, batch: EventBatch) -> int:
    """About how many steps `interpret` takes, told before it is begun."""
    edges = np.bincount(
        program.template_query[_templates_of_edges(program)], minlength=len(queries)
    )
    asks = any(condition.predicates or condition.guards for condition in program.conditions)
    needed = 0
    for query, of_query in zip(queries, edges.tolist(), strict=True):
        within = query.window.within_us
        windows = overlap(within, query.window.slide_us)
        numbers = 2 + sum(len(a.weights) + abs(a.sign) for a in query.aggregates)
        looked_at = numbers * len(batch) + (pairs_in_windows(batch, within) if asks else 0)
        needed += of_query * windows * looked_at
    return needed


def _templates_of_edges(program: Program) -> NDArray[np.int32]:
    """The template that each edge belongs to."""
    at = np.where(program.edge_target >= 0, program.edge_target, program.edge_source)
    return program.state_template[at]


def interpret(
    queries: Sequence[Query], program: Program, encoded: EncodedSet, mode: NumberMode
) -> Emission:
    """All windows with a trend.

    Args:
        queries: Those of the set.
        program: The program of the set.
        encoded: Its events; their weights are finite, since infinite values are malformed.
        mode: The kind of numbers that the emission is to have.
    """
    emitted = _Emitted(mode)
    events = WalkedEvents.of(program, encoded)
    templates = templates_of(queries, program, encoded, events.shift)
    for low, high in ranges_of_partitions(encoded.batch.part):
        latest = {
            number: (low, latest_matches(template, events, low, high))
            for number, template in templates.items()
            if template.is_guard
        }
        part = int(encoded.batch.part[low])
        for number, template in templates.items():
            if not template.is_guard:
                for window, numbers in _windows(template, events, latest, low, high):
                    emitted.add(part, number, window, numbers, template)
    return emitted.emission()


# Events


@dataclass(frozen=True, slots=True)
class WalkedEvents:
    """A batch as lists; whole numbers for weights, of which `shift` bits are after the point."""

    ts: list[int]
    step: list[int]
    letter: list[int]
    letters: list[list[int]]
    weights: list[list[int]]
    shift: list[int]
    extremes: list[list[float]]
    predicates: list[Callable[[int, int], bool]]

    @classmethod
    def of(cls, program: Program, encoded: EncodedSet) -> WalkedEvents:
        """The events of an encoded set."""
        batch = encoded.batch
        whole = [_whole_numbers(row) for row in batch.weights]
        return cls(
            batch.ts.tolist(),
            _steps(batch).tolist(),
            batch.letter.tolist(),
            batch.letters.tolist(),
            [numbers for numbers, _ in whole],
            [shift for _, shift in whole],
            batch.extremes.tolist(),
            [_predicate(number, program, encoded) for number in range(len(program.predicates))],
        )


def _steps(batch: EventBatch) -> NDArray[np.int64]:
    """The step of each event; those that are left out take one, wherever they come between."""
    steps: NDArray[np.int64] = np.cumsum(batch.tied == 0)
    return steps if batch.after_others is None else steps + np.cumsum(batch.after_others)


def _whole_numbers(weights: NDArray[Any]) -> tuple[list[int], int]:
    """Weights as integers, and how many of their bits are after the point.

    >>> _whole_numbers(np.array([0.5, 3.0]))
    ([1, 6], 1)
    """
    ratios = [value.as_integer_ratio() for value in weights.tolist()]
    shift = max((below.bit_length() - 1 for _, below in ratios), default=0)
    return [(above << shift) // below for above, below in ratios], shift


def _predicate(number: int, program: Program, encoded: EncodedSet) -> Callable[[int, int], bool]:
    """Whether an edge predicate holds between two events."""
    predicate, batch = program.predicates[number], encoded.batch
    if predicate.is_ordered and encoded.ordered_usable[number]:
        compare = _COMPARE[predicate.operator]
        left, right = batch.previous[number].tolist(), batch.next[number].tolist()
        known = [value == value for value in left], [value == value for value in right]
        return lambda j, i: known[0][j] and known[1][i] and compare(left[j], right[i])
    rewritten = encoded.conditions[number]
    condition = predicate.condition if rewritten is None else rewritten
    code: list[tuple[int, float]] = []
    emit(condition, {name: row for row, name in enumerate(batch.column_names)}, code)
    columns = batch.columns.tolist()
    return lambda j, i: _general(code, columns, j, i)


def _general(code: list[tuple[int, float]], columns: list[list[float]], j: int, i: int) -> bool:
    """A predicate that no order decides, on the stack machine; NaN stands for unknown."""
    stack, top = [0.0] * len(code), -1
    for opcode, argument in code:
        if opcode <= NEXT:
            top += 1
            stack[top] = (
                argument
                if opcode == CONST
                else columns[int(argument)][j if opcode == PREVIOUS else i]
            )
        else:
            top = operated(opcode, stack, top)
    return stack[0] == 1.0


# Templates


@dataclass(slots=True)
class Rule:
    """When an edge is taken, and which atoms its second event must have or not have."""

    condition: Condition
    holds: list[int]
    fails: list[int]

    @property
    def is_free(self) -> bool:
        """Whether it always is."""
        return self.condition.is_free


@dataclass(slots=True)
class RuledState:
    """A state: edges into it, that to END if there is one, and what its events add."""

    into: list[tuple[int, Rule]] = field(default_factory=list)
    end: Rule | None = None
    # For each component after the first the row of weights; None for nothing, -1 for ones
    adds: list[int | None] = field(default_factory=list)
    # For each extreme the row of extremes, its sign, and whether it is added; None for nothing
    extremes: list[tuple[int, int, bool] | None] = field(default_factory=list)
    is_asked: bool = False  # whether an edge from it looks at the event itself
    is_left: bool = False  # whether its events wait only until one goes on with them: see `Step`


@dataclass(slots=True)
class WalkedTemplate:
    """A template: its states by number, those that events of a letter are for, and its window."""

    is_guard: bool
    within: int
    slide: int
    signs: list[int]
    shifts: list[int]  # bits after the point of each component
    states: dict[int, RuledState] = field(default_factory=dict)
    enter: list[list[int]] = field(default_factory=list)

    def nothing(self) -> Numbers:
        """No trend."""
        return [0] * len(self.shifts) + [math.inf] * len(self.signs)


def templates_of(
    queries: Sequence[Query], program: Program, encoded: EncodedSet, shifts: list[int]
) -> dict[int, WalkedTemplate]:
    """The templates of a program by number; one without states is left out.

    `shifts` has the bits after the point of each row of weights.
    """
    made: dict[int, WalkedTemplate] = {}
    weights = {weight: row for row, weight in enumerate(encoded.batch.weight_specs)}
    counted = program.aggregates_at()
    for state, number in enumerate(program.state_template.tolist()):
        query = queries[program.template_query[number]]
        layout = components_of(query.aggregates, encoded.digits)
        if number not in made:
            made[number] = WalkedTemplate(
                program.template_role[number] == Role.GUARD,
                query.window.within_us,
                query.window.slide_us,
                [a.sign for a in query.aggregates if a.sign],
                [0, *(0 if c.weight.kind == "one" else shifts[weights[c.weight]] for c in layout)],
            )
        at, part = counted.get(state, set()), program.state_part[state]
        added = [each.weight.at(part) if each.aggregate in at else None for each in layout]
        made[number].states[state] = RuledState(
            adds=[
                None if weight is None else -1 if weight.kind == "one" else weights[weight]
                for weight in added
            ],
            extremes=[
                _extreme(encoded, aggregate, part) if place in at else None
                for place, aggregate in enumerate(query.aggregates)
                if aggregate.sign
            ],
        )
    _add_edges(program, made)
    letters, atom = encoded.batch.letters, program.state_atom
    for template in made.values():
        template.enter = [[s for s in template.states if row[atom[s]]] for row in letters]
    return made


def _extreme(
    encoded: EncodedSet, aggregate: Aggregate, part: Part | None
) -> tuple[int, int, bool] | None:
    """What an event at a state does to an extreme that counts it: see `RuledState`."""
    found = extreme_at(aggregate, part)
    if found is None:
        return None
    row = encoded.batch.extreme_attributes.index(found.row)
    return row, aggregate.sign, found.is_added


def _add_edges(program: Program, templates: dict[int, WalkedTemplate]) -> None:
    of_state = {s: state for template in templates.values() for s, state in template.states.items()}
    atoms = {atom: number for number, atom in enumerate(program.alphabet.atoms)}
    edges = (program.edge_source, program.edge_target, program.edge_condition)
    for source, target, number in zip(*(each.tolist() for each in edges), strict=True):
        condition = program.conditions[number]
        rule = Rule(condition, [], [])
        if target == END:
            of_state[source].end = rule
        else:
            event_type = program.alphabet.atoms[program.state_atom[target]].type
            rule.holds = [atoms[Atom(event_type, each)] for each in condition.holds]
            rule.fails = [atoms[Atom(event_type, each)] for each in condition.fails]
            of_state[target].into.append((source, rule))
        if source != START and condition.step != Step.STAY:
            of_state[source].is_left = True
        elif source != START and not rule.is_free:
            of_state[source].is_asked = True


# Guards


def latest_matches(
    template: WalkedTemplate, events: WalkedEvents, low: int, high: int
) -> list[int]:
    """For each event of a partition, and its end, where the latest match before it began.

    Of all matches of a negated pattern that are complete by then the one that began last bars most.
    -1 where there is none.
    """
    latest: list[int] = []
    partial: dict[int, list[tuple[int, int]]] = {s: [] for s in template.states}
    done = -1
    for tied in steps_of(events, range(low, high)):
        latest += [done] * len(tied)
        reached = [
            (s, i, begun)
            for i in tied
            for s in template.enter[events.letter[i]]
            if (begun := _begun(template.states[s], events, partial, i)) >= 0
        ]
        for s, i, begun in reached:
            partial[s].append((i, begun))
            end = template.states[s].end
            if end is not None and is_open(end, events, {}, i, None, 0, 0):
                done = max(done, begun)
    return [*latest, done]


def _begun(
    state: RuledState, events: WalkedEvents, partial: dict[int, list[tuple[int, int]]], i: int
) -> int:
    """Where the latest match began that comes to a state with an event; -1 for none."""
    begun = -1
    for source, rule in state.into:
        if source == START:
            if is_open(rule, events, {}, None, i, i, 0):
                begun = max(begun, i)
            continue
        for j, earlier in partial[source]:
            if earlier > begun and is_open(rule, events, {}, j, i, i, 0):
                begun = earlier
    return begun


def steps_of(events: WalkedEvents, chosen: Sequence[int]) -> Iterator[list[int]]:
    """Events in time order, simultaneous ones together."""
    tied: list[int] = []
    for i in chosen:
        if tied and events.step[tied[0]] != events.step[i]:
            yield tied
            tied = []
        tied.append(i)
    if tied:
        yield tied


# Windows


def _windows(
    template: WalkedTemplate, events: WalkedEvents, latest: dict[int, Latest], low: int, high: int
) -> Iterator[tuple[int, Numbers]]:
    """The windows of a partition in which a template has a trend, with its numbers."""
    chosen = [i for i in range(low, high) if template.enter[events.letter[i]]]
    times = [events.ts[i] for i in chosen]
    within, slide = template.within, template.slide
    numbers = {
        w
        for ts in times
        for w in range(first_window(ts, within, slide), last_window(ts, slide) + 1)
    }
    for window in sorted(numbers):
        start, end = window * slide, end_of_window(window, within, slide)
        inside = chosen[bisect_left(times, start) : bisect_left(times, end)]
        after = bisect_left(events.ts, end, low, high)
        total = _Window(template, events, latest, start).run(inside, after)
        if total[0]:
            yield window, total


class _Window:
    """One window of a partition: what each state carries so far."""

    def __init__(
        self,
        template: WalkedTemplate,
        events: WalkedEvents,
        latest: dict[int, Latest],
        start: int,
    ) -> None:
        self.template, self.events = template, events
        self.latest, self.start = latest, start
        # By state: what all its events carry together, and each of them where it is asked
        self.totals = {s: template.nothing() for s in template.states}
        self.single: dict[int, list[tuple[int, Numbers]]] = {s: [] for s in template.states}
        # Those that no event has gone on with yet, where they wait for no other, and of these those
        # that the step now goes on with
        self.waiting: dict[int, dict[int, Numbers]] = {s: {} for s in template.states}
        self.taken: set[tuple[int, int]] = set()

    def run(self, inside: Sequence[int], after: int) -> Numbers:
        """The numbers of the window; `after` is the place of the first event after it."""
        for tied in steps_of(self.events, inside):
            carried = [
                (s, i, numbers)
                for i in tied
                for s in self.template.enter[self.events.letter[i]]
                if (numbers := self._carried(s, i))[0]
            ]
            for s, j in self.taken:
                del self.waiting[s][j]
            self.taken.clear()
            for s, i, numbers in carried:
                self._add(self.totals[s], numbers)
                if self.template.states[s].is_asked:
                    self.single[s].append((i, numbers))
                if self.template.states[s].is_left:
                    self.waiting[s][i] = numbers
        total = self.template.nothing()
        for s, state in self.template.states.items():
            if state.end is not None:
                self._follow(total, s, state.end, None, after)
        return total

    def _carried(self, s: int, i: int) -> Numbers:
        """What an event carries at a state: all trends that end with it there."""
        state, numbers = self.template.states[s], self.template.nothing()
        for source, rule in state.into:
            if source != START:
                self._follow(numbers, source, rule, i, i)
            elif is_open(rule, self.events, self.latest, None, i, i, self.start):
                numbers[0] += 1
        if numbers[0]:
            self._count(state, i, numbers)
        return numbers

    def _follow(self, numbers: Numbers, source: int, rule: Rule, i: int | None, at: int) -> None:
        """Add what the events at a state carry that event i, or END, may follow."""
        if rule.is_free:
            self._add(numbers, self.totals[source])
            return
        if i is not None and rule.condition.step != Step.STAY:
            self._take(numbers, source, rule, i)
            return
        for j, carried in self.single[source]:
            if is_open(rule, self.events, self.latest, j, i, at, self.start):
                self._add(numbers, carried)

    def _take(self, numbers: Numbers, source: int, rule: Rule, i: int) -> None:
        """Add what the events carry that event i goes on with, and that wait for no other then."""
        for j, carried in self.waiting[source].items():
            if rule.condition.step == Step.PASS and self.events.step[i] > self.events.step[j] + 1:
                continue
            if is_open(rule, self.events, self.latest, j, i, i, self.start):
                self._add(numbers, carried)
                self.taken.add((source, j))

    def _add(self, numbers: Numbers, more: Numbers) -> None:
        linear = len(self.template.shifts)
        for place in range(linear):
            numbers[place] += more[place]
        for place in range(linear, len(numbers)):
            numbers[place] = min(numbers[place], more[place])

    def _count(self, state: RuledState, i: int, numbers: Numbers) -> None:
        """Count an event in each of the trends that end with it."""
        for place, row in enumerate(state.adds, 1):
            if row is not None:
                numbers[place] += numbers[0] * (1 if row < 0 else self.events.weights[row][i])
        for place, extreme in enumerate(state.extremes, len(self.template.shifts)):
            if extreme is not None:
                row, sign, is_added = extreme
                value = self.events.extremes[row][i]
                if is_added:
                    numbers[place] += value * sign
                elif value == value:
                    numbers[place] = min(numbers[place], value * sign)


# Conditions


def is_open(
    rule: Rule,
    events: WalkedEvents,
    latest: dict[int, Latest],
    j: int | None,
    i: int | None,
    at: int,
    start: int,
) -> bool:
    """Whether an edge is taken from event j (START where None) to event i (END where None).

    `at` is the place of event i, or of the end, and `start` the start of the window.
    """
    if i is not None:
        letter = events.letters[events.letter[i]]
        if not all(letter[atom] for atom in rule.holds) or any(letter[a] for a in rule.fails):
            return False

    def is_clear(way: Alternative) -> bool:
        for guard in way.guards:
            low, began = latest[guard]
            first = began[at - low]
            if first >= 0 and (
                events.ts[first] >= start if j is None else events.step[first] > events.step[j]
            ):
                return False
        return all(events.predicates[p](j, i) for p in way.predicates)  # type: ignore[arg-type]

    condition = rule.condition
    return all(any(map(is_clear, need)) for need in condition.needs) and not any(
        map(is_clear, condition.forbids)
    )


# What was found


class _Emitted:
    """Records of closed windows, as an emission in the end."""

    def __init__(self, mode: NumberMode) -> None:
        self.mode = mode
        self.records: list[tuple[int, int, int]] = []
        self.components: list[list[int]] = []
        self.shifts: list[list[int]] = []
        self.extremes: list[list[float]] = []

    def add(
        self,
        part: int,
        template_number: int,
        window: int,
        numbers: Numbers,
        template: WalkedTemplate,
    ) -> None:
        """Add a window."""
        linear = len(template.shifts)
        self.records.append((part, template_number, window))
        self.components.append(numbers[:linear])
        self.shifts.append(template.shifts)
        signed = zip(numbers[linear:], template.signs, strict=True)
        self.extremes.append([value * sign for value, sign in signed])

    def emission(self) -> Emission:
        """All of them."""
        records = np.array(self.records, np.int64).reshape(-1, 3)
        most = max((len(row) for row in self.components), default=1)
        most_x = max((len(row) for row in self.extremes), default=0)
        extremes = np.full((len(records), most_x), np.nan)
        for row, values in enumerate(self.extremes):
            extremes[row, : len(values)] = values
        return Emission(
            records[:, 0].astype(np.int32),
            records[:, 1].astype(np.int32),
            records[:, 2],
            NumberTable.of(*self._numbers(most)),
            values_of_codes(extremes),
        )

    def _numbers(self, most: int) -> tuple[NDArray[Any], NDArray[np.float64] | None]:
        """[records, components]: integers, or mantissas with their exponents."""
        shape = (len(self.components), most)
        if not self.mode.has_exponents:
            whole: NDArray[Any] = np.zeros(shape, object)
            for row, values in enumerate(self.components):
                whole[row, : len(values)] = values
            return whole, None
        mantissas, exponents = np.zeros(shape), np.zeros(shape)
        for row, (values, shifts) in enumerate(zip(self.components, self.shifts, strict=True)):
            for place, (value, shift) in enumerate(zip(values, shifts, strict=True)):
                mantissas[row, place], exponents[row, place] = _double(value, shift)
        return mantissas, exponents


def _double(value: int, shift: int) -> tuple[float, int]:
    """An integer over 2**shift as a double, times 2**512 to the power of an integer.

    >>> _double(3, 1), _double(3 << 1024, 0)
    ((1.5, 0), (3.0, 2))
    """
    exponent = max((abs(value).bit_length() - shift + _BITS // 2) // _BITS, 0)
    return value / (1 << (shift + _BITS * exponent)), exponent
