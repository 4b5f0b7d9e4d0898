"""`hamlet check`: whether a workload is right, and what is wrong with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from hamlet.cli.loading import load_workload
from hamlet.cli.options import column_options, format_option
from hamlet.cli.output import as_json
from hamlet.errors import QueryError, line_and_column
from hamlet.explain import summary
from hamlet.lang.parser import parse_tree
from hamlet.lang.printer import print_query

if TYPE_CHECKING:
    from hamlet.engine.outlook import Outlook
    from hamlet.workload import Workload


@click.command(
    "check", epilog="Exit status: 0 the workload is right, 1 it is wrong, 2 it cannot be read."
)
@click.argument("workload")
@click.option(
    "--schema",
    metavar="FILE",
    help="Check types and attributes too: a .json schema, or a file of events.",
)
@click.option(
    "--events",
    metavar="PATH",
    help="Count what a run over these will meet: types, windows, what it will wait for.",
)
@column_options
@format_option()
def check_command(
    workload: str,
    schema: str | None,
    events: str | None,
    type: str,
    separator: str | None,
    format_: str,
    **columns: Any,
) -> int:
    """Say whether a workload is right, or list every error in it.

    WORKLOAD is a file of queries, or - for standard input.
    """
    try:
        loaded = load_workload(workload, schema, type, separator)
    except QueryError as error:
        if format_ == "text":
            raise
        # The errors are the answer here, and not a reason why there is none.
        click.echo(as_json(wrong(error)), nl=False)
        return 1
    said, data = [f"ok  {loaded.summary}"], right(loaded)
    if events is not None:
        outlook = _outlook(loaded, events, type=type, separator=separator, **columns)
        said += outlook.lines
        data["events"] = outlook.as_data()
    click.echo("\n".join([*said, ""]) if format_ == "text" else as_json(data), nl=False)
    return 0


def _outlook(workload: Workload, events: str, **columns: Any) -> Outlook:
    from hamlet.cli.console import interruptible
    from hamlet.engine import options_for
    from hamlet.engine.outlook import outlook

    options = options_for(workload.plan, **columns)
    return interruptible(lambda: outlook(workload.plan, events, options))


def right(workload: Workload) -> dict[str, Any]:
    """What is said of a workload without errors, as data: each query by itself, and what it is."""
    trees = parse_tree(workload.text).queries
    return {
        "workload": workload.name,
        "ok": True,
        "summary": summary(workload.plan),
        "queries": [
            {"name": query.name, "text": print_query(tree)}
            for query, tree in zip(workload.queries, trees, strict=True)
        ],
        "errors": [],
    }


def wrong(error: QueryError) -> dict[str, Any]:
    """Every error of a workload as data, with its place."""
    errors = []
    for problem in error.problems:
        line, column = line_and_column(error.text, problem.at.start)
        errors.append(
            {
                "line": line,
                "column": column,
                "code": problem.code,
                "message": problem.message,
                "remedy": problem.remedy,
                "text": error.text[problem.at.start : problem.at.end],
            }
        )
    return {"workload": error.name, "ok": False, "errors": errors}
