"""What queries and options say, as plain values and as digests, by which states are known.

A digest is the same in every process and in every version, whatever the classes are called of which
a plan is made: each has a name of its own here.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any

from hamlet.engine.options import Options
from hamlet.plan import predicates, query
from hamlet.plan.clocks import Clock

if TYPE_CHECKING:
    from hamlet.plan.query import Query
    from hamlet.plan.workload import WorkloadPlan

# They stay as they are, so that states of earlier versions are known.
_NAMES: dict[type, str] = {
    Options: "Options",
    Clock: "Clock",
    predicates.Column: "Column",
    predicates.Constant: "Constant",
    predicates.EdgePredicate: "EdgePredicate",
    predicates.Operation: "Operation",
    query.Absence: "Absence",
    query.Aggregate: "Aggregate",
    query.Choice: "Choice",
    query.Place: "Place",
    query.Query: "Query",
    query.Repeat: "Repeat",
    query.Result: "Result",
    query.Sequence: "Sequence",
    query.Single: "Single",
    query.Times: "Times",
    query.Window: "Window",
}


def workload_digest(plan: WorkloadPlan) -> str:
    """What the queries of a workload say, in a digest that does not depend on how it is written."""
    return digest([plain(planned.query) for planned in plan.queries])


def query_digest(query: Query) -> str:
    """What a query says, in a digest that depends neither on its name nor on other queries."""
    return digest(plain(replace(query, name="")))


def digest(value: Any) -> str:
    """The digest of lists, text and numbers."""
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()


def plain(value: Any) -> Any:
    """Any value of a plan as lists, text and numbers, the same in every process."""
    if is_dataclass(value):
        known = [(f, getattr(value, f.name)) for f in fields(value)]
        # What came with later versions is left out where it is not used: digests stay the same.
        told = [v for f, v in known if not (f.metadata.get("later") and v == f.default)]
        name = _NAMES.get(type(value), type(value).__name__)
        return [name, *map(plain, told)]
    if isinstance(value, frozenset):
        return sorted((plain(member) for member in value), key=json.dumps)
    if isinstance(value, tuple):
        return [plain(member) for member in value]
    return value
