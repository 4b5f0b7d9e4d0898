"""Totals to results: aggregates, and what is computed of them, as doubles, logarithms and digits.

What several queries ask in the same way is worked out once for the rows of all of them. Work is
O(rows); Python looks at single rows only where numbers do not fit 64 bits, or where two doubles
cannot tell which way an average rounds.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
from pyarrow import compute as pc

from hamlet.kernel.base import components_of
from hamlet.kernel.finish.formulas import computed, truth_of
from hamlet.kernel.finish.integers import TEXT, Integers
from hamlet.kernel.finish.quantities import Quantities, Ratios, variance
from hamlet.kernel.finish.quotients import quotient, recombined
from hamlet.kernel.finish.rounding import log10_of
from hamlet.kernel.finish.wides import Wides
from hamlet.plan import predicates
from hamlet.plan.aggregates import DURATION
from hamlet.plan.predicates import columns_of
from hamlet.plan.remembered import remembered

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from hamlet.kernel.finish.totals import Column, Totals
    from hamlet.plan.aggregates import Finisher
    from hamlet.plan.predicates import Expression
    from hamlet.plan.query import Query

    Doubles = NDArray[np.float64]
    Bools = NDArray[np.bool_]
    Longs = NDArray[np.int64]
    Rows = slice | NDArray[np.int64]
    # The sums of one digit, and its exponent
    _Digit = tuple[Column, int]
    # Some rows, what gives their logarithms, and where these are known
    _Logs = tuple[Rows, Callable[[], Doubles], Bools | None]


# Durations are in seconds, times in microseconds.
_SECOND_US = 1_000_000


class Recipe(NamedTuple):
    """How an aggregate is made of totals; queries that have it alike are worked out together.

    finisher: What is made of them.
    columns: The components it is made of, in the order that its weights have.
    exponents: The exponent of each of those.
    is_whole: Whether its sums have exact digits.
    extreme: Which of the extremes it is.
    squares: How many of the components, the last ones, are of squares.
    over: What it is divided by: 1, or a million where times in microseconds become seconds.
    span_us: Of durations: see `Weight`.
    formula: What is computed from other aggregates, where it is no aggregate itself.
    operands: The names of those, and how they are made.
    """

    finisher: Finisher
    columns: tuple[int, ...] = ()
    exponents: tuple[int, ...] = ()
    is_whole: bool = False
    extreme: int = -1
    squares: int = 0
    over: int = 1
    span_us: int = 0
    formula: Expression | None = None
    operands: tuple[tuple[str, Recipe], ...] = ()


def recipes_of(
    query: Query, digits: Mapping[str, tuple[int, ...]], is_integer: Mapping[str, bool]
) -> list[Recipe]:
    """How each result of a query is made; the arguments are those of `recipes_of_aggregates`."""
    return _recipes_of(query, tuple(digits.items()), tuple(is_integer.items()))


@remembered
def _recipes_of(
    query: Query,
    digits_of: tuple[tuple[str, tuple[int, ...]], ...],
    integers: tuple[tuple[str, bool], ...],
) -> list[Recipe]:
    digits, is_integer = dict(digits_of), dict(integers)
    known = recipes_of_aggregates(query, digits, is_integer)
    if not query.results:
        return known
    by_name = {each.name: recipe for each, recipe in zip(query.aggregates, known, strict=True)}
    whole = {attribute for attribute, is_whole in is_integer.items() if is_whole}
    return [
        _recipe(result.expression, by_name, query.has_digits(result.expression, whole))
        for result in query.results
    ]


def _recipe(expression: Expression, known: Mapping[str, Recipe], is_whole: bool = False) -> Recipe:
    if isinstance(expression, predicates.Column):
        return known[expression.attribute]
    mentioned = dict.fromkeys(column.attribute for column in columns_of(expression))
    operands = tuple((name, known[name]) for name in mentioned)
    return Recipe("computed", is_whole=is_whole, formula=expression, operands=operands)


def recipes_of_aggregates(
    query: Query, digits: Mapping[str, tuple[int, ...]], is_integer: Mapping[str, bool]
) -> list[Recipe]:
    """How each aggregate of a query is made.

    Args:
        query: The query.
        digits: For each attribute of SUM and AVG the exponents of its digits.
        is_integer: Whether sums of an attribute are whole, and so have exact digits.
    """
    mine: list[list[tuple[int, int]]] = [[] for _ in query.aggregates]
    for place, component in enumerate(components_of(query.aggregates, digits)):
        mine[component.aggregate].append((1 + place, component.weight.exponent))
    recipes, extremes = list[Recipe](), 0
    for aggregate, parts in zip(query.aggregates, mine, strict=True):
        over = _SECOND_US if aggregate.measure == DURATION else 1
        if aggregate.finisher == "extreme":
            recipes.append(Recipe("extreme", extreme=extremes, over=over))
            extremes += 1
            continue
        is_whole = is_integer.get(str(aggregate.attribute), False)
        if aggregate.finisher in ("sum", "mean") and aggregate.measure is not None:
            parts = [(0, 0), *parts]  # over the number of trends
        columns, exponents = zip(*(parts or [(0, 0)]), strict=True)
        squares = sum(kind == "square" for kind in aggregate.weights)
        squares *= len(digits.get(aggregate.sum_of("square"), ()))
        made = Recipe(aggregate.finisher, columns, exponents, is_whole, squares=squares)
        recipes.append(made._replace(over=over, span_us=aggregate.span_us))
    return recipes


@dataclass(frozen=True, slots=True)
class Digits:
    """Where some rows of a column have digits: whole numbers, null where not known."""

    rows: Rows
    whole: Integers
    is_known: Bools | None = None

    def text(self) -> Any:
        """As an Arrow array."""
        text = self.whole.text()
        if self.is_known is None or self.is_known.all():
            return text
        return pc.if_else(pa.array(self.is_known), text, pa.scalar(None, TEXT))


@dataclass(slots=True, eq=False)
class Cells:
    """One aggregate of every row: NaN stands for null in value and log10.

    What only some forms of results show is made when it is asked for.
    """

    value: Doubles
    digits: list[Digits] = field(default_factory=list)
    logs: list[_Logs] = field(default_factory=list)
    _text: Any = None
    _log10: Doubles | None = None

    @property
    def log10(self) -> Doubles:
        """The logarithm of every row, of numbers that are beyond doubles too."""
        if self._log10 is None:
            logarithms = np.full(len(self.value), np.nan)
            for rows, logs, is_known in self.logs:
                some = logs()
                logarithms[rows] = some if is_known is None else np.where(is_known, some, np.nan)
            self._log10 = logarithms
        return self._log10

    @property
    def exact(self) -> Any:
        """The digits of every row as text, null where there are none; written when asked for."""
        if self._text is None:
            self._text = self._written()
        return self._text

    def _written(self) -> Any:
        size = len(self.value)
        if not self.digits:
            return pa.nulls(size, TEXT)
        if len(self.digits) == 1 and _covers(self.digits[0].rows, size):
            return self.digits[0].text()
        place = np.full(size, -1, np.int64)
        count = 0
        for each in self.digits:
            length = len(each.whole)
            place[each.rows] = np.arange(count, count + length)
            count += length
        every = pa.concat_arrays([each.text() for each in self.digits])
        return every.take(pa.array(place, mask=place < 0))


def _covers(rows: Rows, size: int) -> bool:
    return isinstance(rows, slice) and rows == slice(0, size)


def cells_of(
    queries: Sequence[Query],
    starts: Longs,
    totals: Totals,
    digits: Mapping[str, tuple[int, ...]],
    is_integer: Mapping[str, bool],
) -> list[Cells]:
    """The cells of all queries, by number of the aggregate.

    Args:
        queries: The queries.
        starts: Where the rows of each begin, and where the last end.
        totals: Their totals, one after the other.
        digits: For each attribute of SUM and AVG the exponents of its digits.
        is_integer: Whether sums of an attribute are whole, and so have exact digits.
    """
    recipes = [recipes_of(query, digits, is_integer) for query in queries]
    sizes, size = np.diff(starts).tolist(), len(totals.window)
    of_queries = []
    for number in range(max(map(len, recipes), default=0)):
        alike: dict[Recipe, list[int]] = {}
        for query, some in enumerate(recipes):
            # Totals without rows may lack columns, too.
            if number < len(some) and sizes[query]:
                alike.setdefault(some[number], []).append(query)
        cells = Cells(np.full(size, np.nan))
        for recipe, asking in alike.items():
            rows = _rows_of(asking, starts)
            _work_out(recipe, totals, rows, cells)
        of_queries.append(cells)
    return of_queries


def rows_kept(
    queries: Sequence[Query],
    starts: Longs,
    totals: Totals,
    digits: Mapping[str, tuple[int, ...]],
    is_integer: Mapping[str, bool],
) -> Bools | None:
    """The rows that HAVING is true of; None where no query has it. Arguments as in `cells_of`."""
    asking: dict[Recipe, list[int]] = {}
    for number, query in enumerate(queries):
        if query.having is not None and starts[number] < starts[number + 1]:
            made = recipes_of_aggregates(query, digits, is_integer)
            known = {each.name: one for each, one in zip(query.aggregates, made, strict=True)}
            asking.setdefault(_recipe(query.having, known), []).append(number)
    if not asking:
        return None
    is_kept = np.ones(len(totals.window), np.bool_)
    for recipe, numbers in asking.items():
        rows = _rows_of(numbers, starts)
        assert recipe.formula is not None
        is_kept[rows] = truth_of(recipe.formula, _operands(recipe, totals, rows)).is_true
    return is_kept


def _rows_of(queries: list[int], starts: Longs) -> Rows:
    """The rows of some queries, in order."""
    first, last = queries[0], queries[-1]
    if last - first + 1 == len(queries):
        return slice(int(starts[first]), int(starts[last + 1]))
    return np.concatenate([np.arange(starts[q], starts[q + 1], dtype=np.int64) for q in queries])


def _work_out(recipe: Recipe, totals: Totals, rows: Rows, cells: Cells) -> None:
    """Fill in the cells of some rows."""
    if recipe.finisher == "extreme":
        values = totals.extremes[recipe.extreme][rows]
        values = values / recipe.over if recipe.over > 1 else values
        _write(cells, rows, _Made(values), None)
        return
    if recipe.formula is not None:
        _write_quantities(cells, rows, recipe, _computed(recipe, recipe.formula, totals, rows))
        return
    if recipe.finisher in ("variance", "deviation"):
        _write_quantities(cells, rows, recipe, _quantities(recipe, totals, rows))
        return
    columns = [totals.components[column].take(rows) for column in recipe.columns]
    if recipe.finisher == "count":
        _write(cells, rows, _whole(columns[0]), None)
        return
    if recipe.span_us:
        _write(cells, rows, _duration(recipe, *columns), None)
        return
    parts = list(zip(columns[1:], recipe.exponents[1:], strict=True))
    is_known = columns[0].is_some()
    made = _OF_ATTRIBUTE[recipe.finisher](columns[0], parts, recipe.is_whole)
    _write(cells, rows, made, None if is_known.all() else is_known)


def _computed(recipe: Recipe, formula: Expression, totals: Totals, rows: Rows) -> Quantities:
    return computed(formula, _operands(recipe, totals, rows))


def _write_quantities(cells: Cells, rows: Rows, recipe: Recipe, found: Quantities) -> None:
    """Fill in the cells of some rows with what was computed."""
    value, log10, is_known = found.results()
    is_exact = recipe.finisher == "computed" and recipe.is_whole
    is_exact = is_exact and isinstance(found.finite, Ratios)
    made = _Made(value, lambda: log10, found.finite.number if is_exact else None)
    _write(cells, rows, made, None if is_known.all() else is_known)


def _operands(recipe: Recipe, totals: Totals, rows: Rows) -> dict[str, Quantities]:
    """The aggregates that a formula mentions, for some rows."""
    return {name: _quantities(made, totals, rows) for name, made in recipe.operands}


def _quantities(recipe: Recipe, totals: Totals, rows: Rows) -> Quantities:
    """An aggregate to compute with."""
    if recipe.finisher == "extreme":
        has_exponents = isinstance(totals.components[0], Wides)
        quantities = Quantities.of_doubles(totals.extremes[recipe.extreme][rows], has_exponents)
        return quantities / quantities.constant(recipe.over) if recipe.over > 1 else quantities
    columns = [totals.components[column].take(rows) for column in recipe.columns]
    present = columns[0]
    if recipe.finisher == "count":
        return Quantities.of(present if isinstance(present, Wides) else Ratios(present))
    if recipe.span_us:
        total, over = _durations(recipe, *columns)
        return Quantities.of(_one(total).divided_by(_one(over)))  # type: ignore[arg-type]
    parts = list(zip(columns[1:], recipe.exponents[1:], strict=True))
    is_known = present.is_some()
    if recipe.squares:
        squares = _added_up(present, parts[-recipe.squares :])
        quantities = variance(_one(present), _added_up(present, parts[: -recipe.squares]), squares)
        return quantities if recipe.finisher == "variance" else quantities.root()
    if isinstance(present, Wides):
        total = _total(present, parts)
        return Quantities.of(total if recipe.finisher == "sum" else total.over(present), is_known)
    total = _added_up(present, parts)
    if recipe.finisher == "mean":
        some = present + Integers((~is_known).astype(np.int64))
        total = total.divided_by(Ratios(some))
    return Quantities.of(total, is_known)


def _one(number: Column) -> Ratios | Wides:
    return number if isinstance(number, Wides) else Ratios(number)


def _added_up(present: Column, parts: list[_Digit]) -> Any:
    """The sum that digits stand for, to compute with."""
    if isinstance(present, Wides):
        return _total(present, parts)
    # Fractions are sums of whole numbers of their smallest unit, which is a power of two.
    base = min(0, *(exponent for _, exponent in parts))
    number = recombined([(part, exponent - base) for part, exponent in parts])
    over = number.constant(1 << -base) if base else None
    return Ratios(number, over)


class _Made(NamedTuple):
    """Some cells: their logarithms are those of the values where nothing else gives them."""

    value: Doubles
    log10: Callable[[], Doubles] | None = None
    whole: Integers | None = None


def _write(cells: Cells, rows: Rows, made: _Made, is_known: Bools | None) -> None:
    value = made.value if is_known is None else np.where(is_known, made.value, np.nan)
    cells.value[rows] = value
    cells.logs.append((rows, made.log10 or (lambda: log10_of(value)), is_known))
    if made.whole is not None:
        cells.digits.append(Digits(rows, made.whole, is_known))


def _whole(number: Column) -> _Made:
    value = number.value()
    is_exact = not isinstance(number, Wides)
    return _Made(value, lambda: number.log10(value), number if is_exact else None)


def _divided(parts: list[tuple[Integers, int]], over: Integers) -> _Made:
    value, log10 = quotient(parts, over)
    return _Made(value, lambda: log10)


# Results from the number of occurrences, and the sums of digits with their exponents


def _sum(present: Column, parts: list[_Digit], is_whole: bool) -> _Made:
    if isinstance(present, Wides):
        return _whole(_total(present, parts))
    if is_whole:
        return _whole(recombined(parts))
    return _divided(parts, present.constant(1))


def _mean(present: Column, parts: list[_Digit], is_whole: bool) -> _Made:
    if isinstance(present, Wides):
        return _whole(_total(present, parts).over(present))
    return _divided(parts, present)


def _durations(recipe: Recipe, trends: Any, times: Any, turns: Any) -> tuple[Any, Any]:
    """The sum of durations of trends, in microseconds, and what a result has it over."""
    total = times + turns.size() * turns.constant(recipe.span_us)
    over = trends.constant(recipe.over)
    return total, over if recipe.finisher == "sum" else trends * over


def _duration(recipe: Recipe, trends: Column, times: Column, turns: Column) -> _Made:
    total, over = _durations(recipe, trends, times, turns)
    if isinstance(total, Wides):
        return _whole(total.over(over))
    return _divided([(total, 0)], over)


def _total(present: Wides, parts: list[_Digit]) -> Wides:
    if len(parts) == 1 and parts[0][1] == 0:
        only: Wides = parts[0][0]
        return only
    total: Wides = present.constant(0)
    for part, exponent in parts:
        total = total + part.shifted(exponent)
    return total


_OF_ATTRIBUTE: dict[Finisher, Callable[[Column, list[_Digit], bool], _Made]] = {
    "sum": _sum,
    "mean": _mean,
}
