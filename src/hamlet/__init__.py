"""Hamlet: many Kleene-pattern queries over one stream of events, answered together."""

from hamlet._version import __version__
from hamlet.build import query
from hamlet.errors import HamletError, PlanError, QueryError, ReadError, SchemaError, WriteError
from hamlet.schema import Schema
from hamlet.workload import Workload

__all__ = [
    "HamletError",
    "PlanError",
    "QueryError",
    "ReadError",
    "Schema",
    "SchemaError",
    "Workload",
    "WriteError",
    "__version__",
    "query",
]
