"""A query that is being put together: each call gives a new one, and the old one stays."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from hamlet.errors import QueryError, Span
from hamlet.lang import tree
from hamlet.lang.builder.conditions import Expression, Named, all_of
from hamlet.lang.builder.durations import duration_tree
from hamlet.lang.builder.patterns import Pattern, pattern_tree
from hamlet.lang.mistakes import too_deep
from hamlet.lang.parser import MATCHES, parse_tree, whole_query
from hamlet.lang.printer import print_query

if TYPE_CHECKING:
    from datetime import timedelta


@dataclass(frozen=True, slots=True, repr=False)
class Draft:
    """A query from Python; `str` is the text that says the same.

    Clauses come in any order. `returns`, `where`, `group_by` and `having` add to what is there;
    `pattern`, `match`, `named` and what is said of windows replace it. A draft never changes, so
    one may be the beginning of many queries.

    >>> from hamlet.build import attr, avg, count, equal, not_, plus, query, seq
    >>> towards = query().pattern(seq("Request", plus("Travel", alias="T"), not_("Pickup")))
    >>> towards = towards.where(equal("driver", "rider")).group_by("district")
    >>> slow = towards.named("slow").returns(count(), avg("T.speed").named("speed"))
    >>> slow.where(attr("T.speed") < 10).within("30 min").slide("5 min")
    slow: RETURN COUNT(*), AVG(T.speed) AS speed
    PATTERN SEQ(Request, Travel T+, NOT Pickup)
    WHERE [driver, rider] AND T.speed < 10
    GROUPBY district
    WITHIN 30 min SLIDE 5 min
    """

    _name: tree.Name | None = None
    _items: tuple[tree.ReturnItem, ...] = ()
    _pattern: tree.Pattern | None = None
    _where: tree.Expression | None = None
    _group_by: tuple[tree.Name, ...] = field(default=())
    _within: tree.Duration | None = None
    _slide: tree.Duration | None = None
    _match: tree.Match | None = None
    _having: tree.Expression | None = None
    _offset: tree.Duration | None = None
    _zone: tree.Literal | None = None

    def named(self, name: str) -> Draft:
        """The query under this name."""
        return replace(self, _name=tree.Name(name))

    def returns(self, *items: Expression | Named | str) -> Draft:
        """Return aggregates, what is computed from them, and grouping attributes by their names."""
        return replace(self, _items=self._items + tuple(map(_item, items)))

    def pattern(self, pattern: Pattern | str) -> Draft:
        """Which sequences of events are trends; text is the name of a type."""
        return replace(self, _pattern=pattern_tree(pattern))

    def match(self, word: Literal["any", "next", "contiguous"]) -> Draft:
        """Keep any trend, those that skip nothing that would go on with them, or nothing at all."""
        if word.upper() not in MATCHES:
            message = f"a match is 'any', 'next' or 'contiguous', not {word!r}"
            raise ValueError(message)
        return replace(self, _match=tree.Match(word.upper()))

    def where(self, *conditions: Expression) -> Draft:
        """Conditions that hold as well."""
        before = () if self._where is None else (Expression(self._where),)
        joined = (*before, *conditions)
        return replace(self, _where=all_of(*joined).tree) if joined else self

    def group_by(self, *attributes: str) -> Draft:
        """Attributes whose values make groups."""
        return replace(self, _group_by=self._group_by + tuple(map(tree.Name, attributes)))

    def having(self, *conditions: Expression) -> Draft:
        """What aggregates must satisfy for rows to come out; a result is `attr` of its name.

        >>> from hamlet.build import attr, count, max_, query
        >>> draft = query().returns(count(), max_("T.x").named("most")).pattern("T").within("1 h")
        >>> draft.having(count() > 10, attr("most") < 3)
        RETURN COUNT(*), MAX(T.x) AS most
        PATTERN T
        HAVING COUNT(*) > 10 AND most < 3
        WITHIN 1 h
        """
        before = () if self._having is None else (Expression(self._having),)
        joined = (*before, *conditions)
        return replace(self, _having=all_of(*joined).tree) if joined else self

    def within(self, length: str | timedelta) -> Draft:
        """How long windows are: "30 min", or a timedelta."""
        return replace(self, _within=duration_tree(length, "WITHIN"))

    def slide(self, length: str | timedelta) -> Draft:
        """How far apart windows begin; without it, where the one before ends."""
        return replace(self, _slide=duration_tree(length, "SLIDE"))

    def offset(self, length: str | timedelta) -> Draft:
        """By how much all windows are shifted."""
        return replace(self, _offset=duration_tree(length, "OFFSET"))

    def in_zone(self, zone: str) -> Draft:
        """Windows of whole days from local midnight to local midnight: "Europe/Rome".

        >>> from hamlet.build import count, query
        >>> query().returns(count()).pattern("A").within("2 d").slide("1 d").in_zone("Asia/Tokyo")
        RETURN COUNT(*)
        PATTERN A
        WITHIN 2 d SLIDE 1 d IN 'Asia/Tokyo'
        """
        return replace(self, _zone=tree.Literal(zone))

    @property
    def _written(self) -> tree.PartialQuery:
        return tree.PartialQuery(
            self._name,
            self._items,
            self._pattern,
            self._where,
            self._group_by,
            self._within,
            self._slide,
            is_whole=False,
            match=self._match,
            having=self._having,
            offset=self._offset,
            zone=self._zone,
        )

    @property
    def tree(self) -> tree.QueryTree:
        """The syntax tree, which the text gives as well.

        Raises:
            QueryError: A clause is missing.
        """
        if not self._items or self._pattern is None or self._within is None:
            return parse_tree(str(self), "query").queries[0]  # says what is missing
        return whole_query(self._written)

    def __str__(self) -> str:
        try:
            return print_query(self._written)
        except RecursionError as error:
            raise QueryError("query", "", (too_deep(Span(0, 0)),)) from error

    __repr__ = __str__


def query(name: str | None = None) -> Draft:
    """Begin a query.

    >>> from hamlet.build import count, plus
    >>> query("q1").returns(count()).pattern(plus("A")).within("10 s")
    q1: RETURN COUNT(*)
    PATTERN A+
    WITHIN 10 s

    Args:
        name: What it is called; q1, q2, ... by its position in the workload if left out.
    """
    return Draft() if name is None else Draft().named(name)


def _item(item: Expression | Named | str) -> tree.ReturnItem:
    if isinstance(item, Named):
        return item.tree
    if isinstance(item, Expression):
        return tree.ResultItem(item.tree)
    if isinstance(item, str):
        return tree.GroupItem(tree.Name(item))
    message = f"returned are aggregates, such as count(), and names of attributes; not {item!r}"
    raise TypeError(message)
