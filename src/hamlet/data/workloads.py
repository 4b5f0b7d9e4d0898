"""Generated workloads of the two kinds that the paper evaluates (Section "Experimental Setup").

The first kind is about sharing alone: patterns differ, while the Kleene sub-pattern that they
share, window, grouping, predicates and aggregates are the same. The second kind is diverse: Kleene
patterns of one to three types, windows of 5 to 20 minutes, and different aggregates, groupings and
predicates, so that some queries share and others do not.

Texts are canonical: parsing one and printing it gives the same text.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from functools import cache
from itertools import combinations, islice, permutations, product
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from hamlet.data.draws import Draws
from hamlet.errors import QueryError, SchemaError, UnknownName, did_you_mean, listed
from hamlet.lang.parser import parse_tree
from hamlet.lang.printer import print_workload
from hamlet.workload import Workload

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

T = TypeVar("T")

MOST_QUERIES = 1000
KINDS = ("first", "second", "edges")
_MINUTES = (5, 10, 15, 20)
_AGGREGATES = (
    *("COUNT(*)", "COUNT({kleene})", "SUM({kleene}.{number})", "AVG({kleene}.{number})"),
    *("MIN({kleene}.{number})", "MAX({kleene}.{number})"),
)
# As many types stand beside the Kleene type at most: enough for thousands of patterns.
_MOST_BESIDE = 4
# So many patterns in a row that were there before, and longer ones are due.
_TRIES = 20


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """What the queries of a data set speak of; see `workloads.toml`."""

    kleene: Sequence[str]
    types: Sequence[str]
    groupings: Sequence[Sequence[str]]
    equivalences: Sequence[Sequence[str]]
    numbers: Mapping[str, tuple[float, float]]
    returns: Sequence[str]
    where: str
    texts: Mapping[str, Sequence[str]] = field(default_factory=dict)
    before: Sequence[str] = ()
    after: Sequence[str] = ()


@cache
def vocabularies() -> Mapping[str, Vocabulary]:
    """The vocabulary of each data set, by its name."""
    text = Path(__file__).with_name("workloads.toml").read_text(encoding="utf-8")
    return {name: Vocabulary(**entries) for name, entries in tomllib.loads(text).items()}


def first(
    data_set: str, queries: int, seed: int = 0, *, within: str = "10 min", slide: str = "5 min"
) -> str:
    """A workload of the first kind: different patterns around one shared Kleene type.

    >>> print(first("stock", 1, seed=3))
    q1: RETURN COUNT(*), SUM(S001.volume)
    PATTERN SEQ(S001+, S005)
    WHERE S001.volume < 500
    WITHIN 10 min SLIDE 5 min
    <BLANKLINE>

    Args:
        data_set: ridesharing, taxi, smarthome or stock, or the real data cabs or stock_trades.
        queries: How many, from 1 to 1,000.
        seed: The same seed gives the same workload.
        within: The length of the windows.
        slide: How far apart they begin.

    Raises:
        UnknownName: There is no such data set.
        SchemaError: The number of queries is out of range, there are not so many patterns, or
            within and slide do not make a window.
    """
    words, draws = _words(data_set, queries, seed), Draws(seed)
    kleene, grouping = words.kleene[0], words.groupings[0]
    clauses = [
        f"WHERE {words.where}",
        *([f"GROUPBY {', '.join(grouping)}"] if grouping else []),
        f"WITHIN {within} SLIDE {slide}",
    ]
    _check_window(data_set, within, slide)
    patterns = list(islice(_patterns(words, draws), queries))
    if len(patterns) < queries:
        reason = f"there are only {len(patterns)} different patterns around {kleene}+"
        raise SchemaError(data_set, reason)
    return _canonical(
        [f"RETURN {', '.join([*grouping, *words.returns])}", f"PATTERN {pattern}", *clauses]
        for pattern in patterns
    )


def second(data_set: str, queries: int, seed: int = 0) -> str:
    """A workload of the second kind: diverse queries, of which many can share.

    Args:
        data_set: ridesharing, taxi, smarthome or stock, or the real data cabs or stock_trades.
        queries: How many, from 1 to 1,000.
        seed: The same seed gives the same workload.

    Raises:
        UnknownName: There is no such data set.
        SchemaError: The number of queries is out of range.
    """
    words, draws = _words(data_set, queries, seed), Draws(seed)
    distinct = _distinct(lambda: tuple(_diverse(words, draws)))
    return _canonical(list(next(distinct)) for _ in range(queries))


def edges(data_set: str, queries: int, seed: int = 0) -> str:
    """A workload of the second kind whose queries all compare neighbours of one loop.

    There is a handful of such comparisons, so queries that differ in all else have loops in common.

    Args:
        data_set: As for the second kind.
        queries: How many, from 1 to 1,000.
        seed: The same seed gives the same workload.

    Raises:
        UnknownName: There is no such data set.
        SchemaError: The number of queries is out of range.
    """
    words, draws = _words(data_set, queries, seed), Draws(seed)
    distinct = _distinct(lambda: tuple(_diverse(words, draws, compares=True)))
    return _canonical(list(next(distinct)) for _ in range(queries))


GENERATORS: dict[str, Callable[..., str]] = {"first": first, "second": second, "edges": edges}


def _words(data_set: str, queries: int, seed: int) -> Vocabulary:
    known = vocabularies()
    if data_set not in known:
        remedy = f"There are workloads for {listed(known)}.{did_you_mean(data_set, known)}"
        raise UnknownName("data set", data_set, remedy)
    if not 1 <= queries <= MOST_QUERIES:
        reason = f"queries must be between 1 and {MOST_QUERIES:,}, not {queries}"
        raise SchemaError(data_set, reason)
    if seed < 0:
        raise SchemaError(data_set, f"seed must be at least 0, not {seed}")
    return known[data_set]


def _check_window(data_set: str, within: str, slide: str) -> None:
    """Refuse a window that a query could not have."""
    try:
        Workload.parse(f"RETURN COUNT(*) PATTERN A+ WITHIN {within} SLIDE {slide}")
    except QueryError as error:
        raise SchemaError(data_set, error.problems[0].message) from error


def _canonical(queries: Iterable[list[str]]) -> str:
    texts = [f"q{number}: " + "\n".join(clauses) for number, clauses in enumerate(queries, 1)]
    return print_workload(parse_tree(";\n".join(texts)))


# Patterns of the first kind


def _patterns(words: Vocabulary, draws: Draws) -> Iterator[str]:
    """Different patterns around the first Kleene type: short ones, then longer ones and NOT.

    Those whose types come in the order in which things usually happen are first: what the paper
    asks is of that kind, and trends of the others are few.
    """
    kleene = words.kleene[0]
    others = [name for name in words.types if name != kleene]
    most = min(_MOST_BESIDE, len(others))
    usual = list(_usual(words, draws))
    yield from usual
    seen = set(usual)
    for has_not, beside in product((False, True), range(2, most + 1)):
        misses = 0
        while misses < _TRIES:
            some = _some(draws, others, 1 + _below(draws, beside))
            negated = [has_not and _below(draws, 2) == 1 for _ in some]
            pattern = _sequence(kleene, some, negated, _below(draws, len(some) + 1))
            misses = misses + 1 if pattern in seen else 0
            if not misses:
                seen.add(pattern)
                yield pattern
    for pattern in _every(kleene, others, most):
        if pattern not in seen:
            yield pattern


def _usual(words: Vocabulary, draws: Draws) -> Iterator[str]:
    """Types that come before, and types that come after, each in their order; fewer ones first."""
    kleene = words.kleene[0]
    for size in range(1, _MOST_BESIDE + 1):
        some = [
            _sequence(kleene, [*before, *after], [False] * size, len(before))
            for ahead in range(size + 1)
            for before in combinations(words.before, ahead)
            for after in combinations(words.after, size - ahead)
            if not set(before) & set(after)
        ]
        yield from (some[i] for i in draws.shuffled(len(some)))


def _every(kleene: str, others: Sequence[str], most: int) -> Iterator[str]:
    """All patterns with at most so many types beside the Kleene type."""
    for size in range(1, most + 1):
        negations = list(product((False, True), repeat=size))
        for beside, negated in product(permutations(others, size), negations):
            for before in range(size + 1):
                yield _sequence(kleene, beside, negated, before)


def _sequence(kleene: str, beside: Sequence[str], negated: Sequence[bool], before: int) -> str:
    """Some types before the Kleene type and the others after it."""
    shown = [
        f"NOT {name}" if is_negated else name
        for name, is_negated in zip(beside, negated, strict=True)
    ]
    return f"SEQ({', '.join([*shown[:before], f'{kleene}+', *shown[before:]])})"


# Queries of the second kind


def _diverse(words: Vocabulary, draws: Draws, compares: bool = False) -> Iterator[str]:
    """The clauses of one query; where it compares neighbours, those of the first Kleene type."""
    # Half of the queries repeat the type that comes in bursts.
    is_first = compares or _below(draws, 2)
    kleene = words.kleene[0] if is_first else _one(draws, words.kleene)
    beside = _some(draws, [name for name in words.types if name != kleene], _below(draws, 3))
    has_not = len(beside) == 2 and _below(draws, 4) == 0
    grouping = _one(draws, words.groupings)
    yield "RETURN " + ", ".join([*grouping, *_aggregates(words, kleene, draws)])
    if has_not:
        yield f"PATTERN {_sequence(kleene, beside, (False, True), 1)}"
    elif beside:
        before = _below(draws, len(beside) + 1)
        yield f"PATTERN {_sequence(kleene, beside, (False, False)[: len(beside)], before)}"
    else:
        yield f"PATTERN {kleene}+"
    asked = beside[: 1 if has_not else 2]
    conditions = list(_conditions(words, kleene, asked, draws, compares))
    if conditions:
        yield "WHERE " + " AND ".join(conditions)
    if grouping:
        yield f"GROUPBY {', '.join(grouping)}"
    within = _one(draws, _MINUTES)
    slide = _one(draws, [minutes for minutes in _MINUTES if within % minutes == 0])
    yield f"WITHIN {within} min" + (f" SLIDE {slide} min" if slide < within else "")


def _aggregates(words: Vocabulary, kleene: str, draws: Draws) -> list[str]:
    """One to three aggregates, no two alike."""
    forms = _some(draws, _AGGREGATES, 1 + _below(draws, 3))
    return [form.format(kleene=kleene, number=_one(draws, list(words.numbers))) for form in forms]


def _conditions(
    words: Vocabulary, kleene: str, beside: Sequence[str], draws: Draws, compares: bool
) -> Iterator[str]:
    """An equivalence, a condition on two adjacent events, and one on single events; or less."""
    if words.equivalences and _below(draws, 3) == 0:
        yield f"[{', '.join(_one(draws, words.equivalences))}]"
    if compares or _below(draws, 4) == 0:
        number = _one(draws, list(words.numbers)[: 1 if compares else None])
        operator = _one(draws, ("<", "<=", ">", ">="))
        yield f"{kleene}.{number} {operator} NEXT({kleene}).{number}"
    about = _one(draws, (kleene, kleene, *beside))
    chance = _below(draws, 4)
    if chance == 0 and words.texts:
        name = _one(draws, list(words.texts))
        yield f"{about}.{name} = '{_one(draws, words.texts[name])}'"
    elif chance <= 1:
        number = _one(draws, list(words.numbers))
        low, high = words.numbers[number]
        threshold = low + (high - low) * _below(draws, 9) / 8
        yield f"{about}.{number} {_one(draws, ('<', '>'))} {_number(threshold)}"


# Chance


def _below(draws: Draws, limit: int) -> int:
    return int(draws.below(limit, 1)[0])


def _one(draws: Draws, among: Sequence[T]) -> T:
    return among[_below(draws, len(among))]


def _some(draws: Draws, among: Sequence[T], number: int) -> list[T]:
    """Some different ones, in any order."""
    return [among[i] for i in draws.shuffled(len(among))[:number]]


def _distinct(make: Callable[[], T]) -> Iterator[T]:
    """What is made again and again, but nothing twice; there must be enough of it."""
    seen: set[T] = set()
    while True:
        made = make()
        if made not in seen:
            seen.add(made)
            yield made


def _number(value: float) -> str:
    """A threshold with few digits.

    >>> _number(60.0), _number(37.712345)
    ('60', '37.7123')
    """
    return f"{value:.6g}"
