"""A query in SQL, where SQL can say it without a join for each length of trends: for DuckDB.

That is a loop alone, behind one event, or before one, without a condition on neighbours. Of the m
events that a loop has after its start, any but no subset is a trend: 2^m - 1 of them, and where c
events are simultaneous, of which a trend has one at most, 1 + c in place of 2^c. SQL multiplies
that over a window. What is added up along trends follows: an event is in as many of them as the
others leave. Everything is in doubles, one statement for each query, as an analyst would write it.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from hamlet.bench.real.loop_form import NotByHand, form_of
from hamlet.plan.predicates import COMPARISONS, Column, Constant, Operation

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from hamlet.bench.real.loop_form import Form
    from hamlet.plan.predicates import Expression
    from hamlet.plan.query import Aggregate, Query


class NotInSql(Exception):
    """A query that SQL has no short way to say; says why."""


class Database:
    """DuckDB with one thread, and the events as a table."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    @staticmethod
    @contextmanager
    def of(table: pa.Table) -> Iterator[Database | None]:
        """A database in memory; None where DuckDB is not installed."""
        try:
            import duckdb
        except ModuleNotFoundError:
            yield None
            return
        with duckdb.connect(config={"threads": 1}) as connection:
            connection.register("events", table)
            yield Database(connection)

    def answers(self, statements: Mapping[str, str]) -> dict[str, pa.Table]:
        """What some statements give, each by itself, by name."""
        return {
            name: self._connection.sql(text).to_arrow_table() for name, text in statements.items()
        }


# Events of the query; they in each window; what there is at each moment; what trends there are.
_SQL = """
WITH e AS (
    SELECT {keys}{time} AS t, {order} AS o, {is_start} AS is_start, {is_loop} AS is_loop{values}
    FROM events WHERE ({is_start} OR {is_loop}){known}
),
w AS (
    SELECT *, unnest(range(floor((t - {within}) / {slide})::BIGINT + 1,
                           floor(t / {slide})::BIGINT + 1)) AS n
    FROM e
),
p AS (
    SELECT {keys}n, t, o, count(*) FILTER (is_start) AS starts, count(*) FILTER (is_loop) AS c{sums}
    FROM w GROUP BY {keys}n, t, o
),
f AS (SELECT {keys}n, {trends})
SELECT n * {slide} AS "window", {groups}{results}
FROM f WHERE starts > 0 AND ways > 1 GROUP BY {groups}n
"""
_AFTER_A_START = """{sums} FROM p WINDOW other AS (
    PARTITION BY {keys}n ORDER BY t {way}, o {way}
    ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING
)"""
_ARITHMETIC = ("+", "-", "*")


def sql_of(query: Query, table: pa.Table, columns: Mapping[str, Any]) -> str:
    """A query as a statement over a table `events` that gives windows, groups and aggregates.

    Args:
        query: The query.
        table: The events.
        columns: Which columns types, times and the order are, where they have other names.

    Raises:
        NotInSql: There is no such statement.
    """
    form, kind = _form(query), _name(str(columns.get("type", "type")))
    (loop,) = (number for number, step in enumerate(form.steps) if step.repeats)
    others = [step.place for step in form.steps if not step.repeats]
    attributes = sorted({str(each.attribute) for each in query.aggregates if each.attribute})
    sums = {
        "c": {"ways": "product(1.0 + c)", "looped": "sum(c / (1.0 + c))"},
        **{name: _sums_of(number) for number, name in enumerate(attributes)},
    }
    over, keys = " OVER other" if others else "", _listed(query.partition)
    trends = ", ".join(
        [
            "starts" if others else "1 AS starts",
            *(f"{made}{over} AS {name}" for some in sums.values() for name, made in some.items()),
        ]
    )
    way = "ASC" if form.steps[loop] is form.steps[-1] else "DESC"
    end = f" FROM p GROUP BY {keys}n"
    if others:
        trends = _AFTER_A_START.format(sums=trends, keys=keys, way=way)
        end = ""
    return _SQL.format(
        keys=keys,
        time=_microseconds(table, str(columns.get("time", "time"))),
        order="0" if columns.get("order") is None else _name(str(columns["order"])),
        is_start=_is_event(query, others[0], kind) if others else "FALSE",
        is_loop=_is_event(query, form.steps[loop].place, kind),
        values="".join(f", {_name(name)}::DOUBLE AS v{n}" for n, name in enumerate(attributes)),
        known="".join(f" AND {_name(key)} IS NOT NULL" for key in query.partition),
        within=query.window.within_us,
        slide=query.window.slide_us,
        sums="".join(_at_moment(number) for number in range(len(attributes))),
        trends=trends + end,
        groups=_listed(query.group_by),
        results=", ".join(
            f"{_result(each, form.steps[loop].place, attributes)} AS {_name(each.name)}"
            for each in query.aggregates
        ),
    )


def _form(query: Query) -> Form:
    """The steps of a query that SQL can say: a loop, and perhaps one event before or after it."""
    try:
        form = form_of(query)
    except NotByHand as why:
        raise NotInSql(str(why)) from why
    if form.bars:
        raise NotInSql("NOT")
    if any(step.edge is not None for step in form.steps):
        raise NotInSql("a condition on neighbours")
    if len(form.steps) > 2 or sum(step.repeats for step in form.steps) != 1:
        raise NotInSql("more than a loop and one event")
    if not query.window.clock.is_plain:
        raise NotInSql("its windows have a clock of their own")
    if query.results or query.having is not None:
        raise NotInSql("it computes with aggregates")
    return form


def _name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _listed(names: tuple[str, ...]) -> str:
    return "".join(f"{_name(each)}, " for each in names)


def _microseconds(table: pa.Table, time: str) -> str:
    if pa.types.is_timestamp(table.schema.field(time).type):
        return f"epoch_us({_name(time)})"
    return f"round({_name(time)} * 1000000.0)::BIGINT"


def _is_event(query: Query, place: int, kind: str) -> str:
    """Whether a row is an event of a place."""
    found, condition = f"{kind} = {_text(query.places[place].type)}", query.local[place]
    if condition is None:
        return f"({found})"
    return f"({found} AND coalesce({_condition(condition)}, FALSE))"


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _condition(expression: Expression) -> str:
    """A condition of single events; null is neither true nor false there as here."""
    match expression:
        case Column(attribute=name):
            return _name(name)
        case Constant(value=str() as text, kind="str"):
            return _text(text)
        case Constant(value=value, kind="int" | "float" | "bool"):
            return str(value)
        case Operation(operator="not", operands=(operand,)):
            return f"(NOT {_condition(operand)})"
        case Operation(operator=symbol, operands=(_, _, *_) as operands):
            if symbol in (*COMPARISONS, *_ARITHMETIC, "and", "or"):
                return f"({f' {symbol} '.join(map(_condition, operands))})"
    raise NotInSql("a condition of another kind")


def _at_moment(number: int) -> str:
    """What an attribute adds up to at one moment: sum, values, least and greatest."""
    made = [
        f"coalesce(sum(v{number}) FILTER (is_loop), 0) AS s{number}",
        f"count(v{number}) FILTER (is_loop) AS k{number}",
        f"min(v{number}) FILTER (is_loop) AS l{number}",
        f"max(v{number}) FILTER (is_loop) AS h{number}",
    ]
    return "".join(f", {each}" for each in made)


def _sums_of(number: int) -> dict[str, str]:
    """What they add up to along trends, each event in those that the others of its moment leave."""
    return {
        f"sums{number}": f"sum(s{number} / (1.0 + c))",
        f"values{number}": f"sum(k{number} / (1.0 + c))",
        f"least{number}": f"min(l{number})",
        f"most{number}": f"max(h{number})",
    }


def _result(aggregate: Aggregate, loop: int, attributes: list[str]) -> str:
    if aggregate.counts_trends:
        return "sum(starts * (ways - 1))"
    if set(aggregate.places) != {loop}:
        raise NotInSql("it aggregates another event than those of the loop")
    if aggregate.attribute is None:
        return "sum(starts * ways * looped)"
    number = attributes.index(aggregate.attribute)
    total, values = f"sum(starts * ways * sums{number})", f"sum(starts * ways * values{number})"
    if aggregate.sign:
        return f"min(least{number})" if aggregate.sign > 0 else f"max(most{number})"
    match aggregate.finisher:
        case "count":
            return values
        case "sum":
            return total
        case "mean":
            return f"{total} / nullif({values}, 0)"
    reason = f"it asks for {aggregate.function}"
    raise NotInSql(reason)
