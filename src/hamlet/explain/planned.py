"""A workload to look at: text to plan, and the plan as data, text and pictures.

`hamlet.Workload` is this and can be run; what has to know a workload without running it, such as a
report, has this.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from hamlet.errors import (
    PlanError,
    QueryError,
    ReadError,
    UnknownName,
    listed,
    near_path,
    reason_of,
)
from hamlet.explain.describe import describe, summary
from hamlet.explain.notebook import Explanation, workload_html
from hamlet.explain.pictures import PICTURED, pictures
from hamlet.explain.text import explain_text, stage_named
from hamlet.lang.bind import bind
from hamlet.lang.parser import read
from hamlet.picture import render_mermaid, render_svg
from hamlet.plan.workload import plan_workload

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hamlet.lang.builder.definitions import Definition
    from hamlet.lang.builder.draft import Draft
    from hamlet.plan.query import Query
    from hamlet.plan.workload import WorkloadPlan
    from hamlet.schema import Schema

FORMATS = ("text", "json", "mermaid", "svg")
_LONGEST_TEXT = 50_000_000


class PlannedWorkload:
    """Queries over one stream of events, analysed together.

    Attributes:
        plan: What was understood.
        name: What the workload is called in messages, usually its file.
        text: What it was read from.
    """

    def __init__(self, plan: WorkloadPlan, name: str = "workload", text: str = "") -> None:
        self.plan = plan
        self.name = name
        self.text = text

    @classmethod
    def parse(cls, text: str, *, schema: Schema | None = None, name: str = "workload") -> Self:
        """Read a workload from text.

        Args:
            text: One or more queries, separated by semicolons.
            schema: What is known of the events; attributes are checked against it.
            name: What to call the text in messages, usually its file.

        Raises:
            QueryError: The text is wrong; the error has every problem found in it.
        """
        trees, problems = read(text)
        planned, more = bind(trees, schema)
        problems += more
        if problems:
            ordered = sorted(problems, key=lambda problem: problem.at.start)
            raise QueryError(name, text, tuple(dict.fromkeys(ordered)))
        return cls(plan_workload(planned), name, text)

    @classmethod
    def of(
        cls, *queries: Draft | Definition, schema: Schema | None = None, name: str = "workload"
    ) -> Self:
        """A workload of queries that were written in Python, with `hamlet.query`.

        >>> from hamlet import Workload
        >>> from hamlet.build import count, plus, query, seq
        >>> base = query().returns(count()).within("10 min").slide("5 min")
        >>> Workload.of(*(base.pattern(seq(begin, plus("B"))) for begin in "ACD"))
        <Workload: 3 queries, 3 of them repeat B+ in 1 set>

        Args:
            *queries: The queries, in order, and before them what they have defined.
            schema: What is known of the events; attributes are checked against it.
            name: What to call the workload in messages.

        Raises:
            QueryError: A query is wrong; places are those of the queries printed as text.
        """
        return cls.parse(";\n\n".join(map(str, queries)), schema=schema, name=name)

    @classmethod
    def load(cls, path: str | Path, *, schema: Schema | None = None) -> Self:
        """Read a workload from a file.

        Raises:
            ReadError: The file cannot be read.
            QueryError: Its text is wrong.
        """
        path = Path(path)
        return cls.parse(read_text(path), schema=schema, name=path.name)

    @property
    def queries(self) -> tuple[Query, ...]:
        """The queries, in the order they were written."""
        return tuple(planned.query for planned in self.plan.queries)

    @property
    def summary(self) -> str:
        """The workload in one line."""
        return f"{self.name}: {summary(self.plan)}"

    def describe(self) -> dict[str, Any]:
        """The whole plan as plain data."""
        return describe(self.plan, self.name)

    def explain(self, stage: str | Sequence[str] | None = None, *, format: str = "text") -> str:
        """What Hamlet understood: every stage of the plan, or some, as text or as pictures.

        In a notebook text keeps its lines, and an "svg" is drawn.

        Args:
            stage: One stage or several; all when left out.
            format: "text", "json", "mermaid" or "svg". Pictures show the stages "merged" and
                "templates".
        """
        stages = [stage] if isinstance(stage, str) else list(stage or ())
        for stage in stages:
            stage_named(stage)
        description = self.describe()
        if format == "text":
            return Explanation(explain_text(description, stages))
        if format == "json":
            return Explanation(_as_json(description, stages))
        if format not in FORMATS:
            raise UnknownName("format", format, f"Formats are {listed(FORMATS)}.")
        graphs = pictures(description, stages)
        if not graphs:
            remedy = f"Pictures show {listed(PICTURED)}; text and json show every stage."
            reason = f"the stage {stages[0]} has no picture"
            raise PlanError(reason, remedy)
        if format == "mermaid":
            return Explanation(render_mermaid(graphs))
        return Explanation(render_svg(graphs, heading=self.summary))

    def __repr__(self) -> str:
        return f"<Workload: {summary(self.plan)}>"

    def _repr_html_(self) -> str:
        """The plan as a picture with its sets, for notebooks."""
        return workload_html(self.describe(), self.summary)


def read_text(path: Path) -> str:
    """The text of a workload file."""
    try:
        if path.stat().st_size > _LONGEST_TEXT:
            raise ReadError(str(path), "it is too large for a workload file")
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError as error:
        raise ReadError(str(path), reason_of(error) + near_path(path)) from error
    except OSError as error:
        raise ReadError(str(path), reason_of(error)) from error
    except UnicodeDecodeError as error:
        raise ReadError(str(path), "it is not UTF-8 text") from error


def _as_json(description: dict[str, Any], stages: list[str]) -> str:
    keys = {"program": "programs"}
    chosen = {keys.get(stage, stage) for stage in stages}
    if "merged" in chosen:
        chosen.add("sets")  # a set carries its merged template
    kept = {k: v for k, v in description.items() if not stages or k in chosen or k == "workload"}
    return json.dumps(kept, indent=2, ensure_ascii=False) + "\n"
