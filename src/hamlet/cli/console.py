"""What a run shows while it goes and when it is done: progress, notes and tables.

On a terminal tables are drawn and progress is shown; in a pipe there is plain text and no progress.
Data goes to standard output, everything else to standard error.
"""

from __future__ import annotations

import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import click

from hamlet.cli.ending import WORK
from hamlet.io.screen import Sheet, long_sheet, printable, wide_sheet
from hamlet.kernel.compiling import when_compiling

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from hamlet.engine import Progress
    from hamlet.results import Results

T = TypeVar("T")

ROWS_SHOWN = 50
# Of queries that have tables of their own, however many there are.
_ROWS_OF_QUERY = 3


# Tables


def print_results(results: Results, *, wide: bool | None = None) -> None:
    """Print the first rows of each query, all in one table or each in its own.

    Args:
        results: What to print.
        wide: Whether each query has a table, with a column for each aggregate. None leaves it to
            where it is printed: a person reads that more easily where all tables have the same
            columns, and a program gets the same form whatever the queries are.
    """
    if wide is None:
        wide = sys.stdout.isatty() and results.has_same_columns
    if not wide:
        _print_sheet(long_sheet(results.table, ROWS_SHOWN))
        return
    most = max(_ROWS_OF_QUERY, ROWS_SHOWN // len(results.queries))
    for number, query in enumerate(results.queries):
        table = results.wide(query, also=("exact", "log10"))
        keys = len(results.grouping(query))
        click.echo(("\n" if number else "") + printable(query))
        _print_sheet(wide_sheet(table, keys, most))


def _print_sheet(sheet: Sheet) -> None:
    if sys.stdout.isatty() and sheet.rows:
        _draw(sheet)
    else:
        click.echo("\n".join(sheet.lines()))


def _draw(sheet: Sheet) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, caption=sheet.note, caption_justify="left")
    text_columns = len(sheet.headings) - sheet.numeric
    for number, heading in enumerate(sheet.headings):
        side: Any = "right" if number >= text_columns else "left"
        # A number is never cut or broken; text may be.
        table.add_column(Text(heading), justify=side, no_wrap=number >= text_columns)
    for row in sheet.rows:
        table.add_row(*map(Text, row))
    Console().print(table)


# While it goes


@contextmanager
def shown_progress() -> Iterator[Progress]:
    """Progress on standard error where that is a terminal; kernels being compiled anywhere."""
    if not sys.stderr.isatty():
        with when_compiling(lambda line: click.echo(line, err=True)):
            yield lambda what, done: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task("starting", total=1.0)
        with when_compiling(lambda line: shown.console.print(line)):
            yield lambda what, done: shown.update(task, description=what, completed=done)


def interruptible(work: Callable[[], T]) -> T:
    """The result of some work, done where Ctrl-C can end the wait for it at once.

    A compiled kernel does not look at signals. It runs in a thread of its own that does not keep
    the process alive, while the main thread waits.
    """
    results: list[T] = []
    errors: list[BaseException] = []

    def do() -> None:
        try:
            results.append(work())
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=do, daemon=True, name=WORK)
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
    return results[0]
