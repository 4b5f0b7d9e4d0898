"""A workload on a running stream, from Python: queries are added, removed and replaced."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hamlet.errors import PlanError, UnknownName, listed
from hamlet.lang.parser import parse_tree
from hamlet.lang.printer import print_workload
from hamlet.lang.tree import Name, WorkloadTree
from hamlet.spark.stream.boundary import wait_for_boundary

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

    from hamlet.lang.tree import QueryTree
    from hamlet.workload import Workload


class StreamingWorkload:
    """A workload on a stream, whose queries may come and go while it runs.

    A change is taken over between two batches. From when on it holds is a moment of the events,
    which the checkpoint notes: see "Queries come and go" in docs/streaming.md.

    Attributes:
        workload: What is answered now.
        query: The streaming query of Spark that runs; None where none does.
    """

    def __init__(
        self,
        workload: Workload,
        events: DataFrame,
        write: Callable[[DataFrame], StreamingQuery],
        *,
        checkpoint: str,
        **options: Any,
    ) -> None:
        """Know what to run; nothing begins before `start`.

        Args:
            workload: The queries to begin or to go on with.
            events: A streaming DataFrame.
            write: Is given the results, a streaming DataFrame, and starts writing them. Its
                checkpointLocation is the checkpoint.
            checkpoint: Where the state is kept.
            **options: Any other option of `Workload.run`.
        """
        self.workload = workload
        self.query: StreamingQuery | None = None
        self._events, self._write = events, write
        self._checkpoint, self._options = checkpoint, options

    def start(self) -> StreamingQuery:
        """Begin, or go on with what the checkpoint has.

        Raises:
            PlanError: It is running.
            ReadError: The checkpoint is of another stream.
            SchemaError: A column is missing, or is not what the workload uses it for.
        """
        if self.query is not None and self.query.isActive:
            raise PlanError("the stream is running", "Change it with add, remove or replace.")
        results = self.workload.run(self._events, checkpoint=self._checkpoint, **self._options)
        self.query = self._write(results)
        return self.query

    def stop(self) -> None:
        """Stop after the batch that is under way; `start` goes on from there."""
        if self.query is not None:
            wait_for_boundary(self.query)
            self.query.stop()
            self.query.awaitTermination()

    def add(self, text: str) -> None:
        """Answer more queries from now on.

        Args:
            text: One or more queries, with names that are not there yet; what the workload has
                defined is known to them.

        Raises:
            QueryError: There is a mistake in it; then nothing has changed.
        """
        definitions, queries = self._trees()
        more = parse_tree(text)
        both = WorkloadTree((*queries, *more.queries), (*definitions, *more.definitions))
        self._change(print_workload(both))

    def remove(self, *names: str) -> None:
        """Answer some queries no longer.

        Raises:
            UnknownName: There is no such query.
            PlanError: None would be left.
        """
        definitions, queries = self._trees()
        self._check(names)
        rest = tuple(tree for tree in queries if _name(tree) not in names)
        if not rest:
            raise PlanError("a stream has at least one query", "To answer none, stop it.")
        self._change(print_workload(WorkloadTree(rest, definitions)))

    def replace(self, text: str) -> None:
        """Answer queries otherwise: those of the same names go, and these come.

        Args:
            text: One or more queries, with names that are there.

        Raises:
            QueryError: There is a mistake in it; then nothing has changed.
            UnknownName: A query is not there.
        """
        definitions, queries = self._trees()
        named = {_name(tree): tree for tree in parse_tree(text).queries}
        self._check(list(named))
        changed = tuple(named.get(_name(tree), tree) for tree in queries)
        self._change(print_workload(WorkloadTree(changed, definitions)))

    def _trees(self) -> tuple[tuple[Any, ...], tuple[QueryTree, ...]]:
        """What is defined, and the queries, each with a name."""
        known = parse_tree(self.workload.text)
        names = [query.name for query in self.workload.queries]
        queries = (replace(t, name=Name(n)) for t, n in zip(known.queries, names, strict=True))
        return known.definitions, tuple(queries)

    def _check(self, names: Sequence[str]) -> None:
        known = [query.name for query in self.workload.queries]
        for name in names:
            if name not in known:
                raise UnknownName("query", name, f"There are {listed(known)}.")

    def _change(self, text: str) -> None:
        """Go on with another workload; what is wrong with it is found before anything stops."""
        changed = type(self.workload).parse(text, name=self.workload.name)
        is_running = self.query is not None and self.query.isActive
        self.stop()
        self.workload = changed
        if is_running:
            self.start()


def _name(tree: QueryTree) -> str:
    return "" if tree.name is None else tree.name.text
