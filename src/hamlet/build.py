"""Queries written in Python: the words of the language as functions.

A word that Python has itself ends in an underscore: `sum_`, `min_`, `max_`, `not_`, `or_`, `and_`,
`next_`. In conditions `&`, `|` and `~` are AND, OR and NOT, with brackets around each comparison.

>>> from hamlet import Workload
>>> rising = query("rising").returns(count()).pattern(seq("Open", plus("Stock", alias="S")))
>>> rising = rising.where(attr("S.price") < next_("S.price")).within("10 min").slide("1 min")
>>> Workload.of(rising)
<Workload: 1 query, nothing to share>
"""

from hamlet.lang.builder.aggregates import (
    avg,
    count,
    max_,
    min_,
    stddev,
    sum_,
    variance,
)
from hamlet.lang.builder.conditions import attr, coalesce, equal, next_
from hamlet.lang.builder.definitions import define
from hamlet.lang.builder.draft import query
from hamlet.lang.builder.patterns import (
    and_,
    any_,
    event,
    not_,
    optional,
    or_,
    plus,
    seq,
    star,
    times,
)

__all__ = [
    "and_",
    "any_",
    "attr",
    "avg",
    "coalesce",
    "count",
    "define",
    "equal",
    "event",
    "max_",
    "min_",
    "next_",
    "not_",
    "optional",
    "or_",
    "plus",
    "query",
    "seq",
    "star",
    "stddev",
    "sum_",
    "times",
    "variance",
]
