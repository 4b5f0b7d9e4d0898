"""Options that several commands have."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any, TypeVar

import click

from hamlet.plan.number_mode import NUMBERS
from hamlet.share.policy import POLICIES

if TYPE_CHECKING:
    from collections.abc import Callable

Decorated = TypeVar("Decorated", bound="Callable[..., Any] | click.Command")


class _Rates(click.ParamType[Any]):
    """Rates as they are typed: TYPE=NUMBER, with commas between them."""

    name = "rates"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> dict[str, float]:
        if isinstance(value, dict):
            return value
        try:
            pairs = (pair.rsplit("=", 1) for pair in str(value).split(","))
            return {name.strip(): float(rate) for name, rate in pairs}
        except ValueError:
            self.fail(f"{value!r} is not like Travel=20,Request=0.5", param, ctx)


def sharing_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Say when queries share their work, and what a static choice is made from."""
    options = (
        click.option(
            "--sharing",
            type=click.Choice(POLICIES),
            default="dynamic",
            metavar="POLICY",
            help="dynamic, always, never, static or apart.  [default: dynamic]",
        ),
        click.option(
            "--sample", metavar="PATH", help="For static: events from before, to decide from."
        ),
        click.option(
            "--rates",
            type=_Rates(),
            metavar="TYPE=N,...",
            help="For static, instead: events of a group in a second, by type.",
        ),
    )
    return reduce(lambda decorated, option: option(decorated), reversed(options), command)


events_option = click.option(
    "--events",
    metavar="PATH",
    required=True,
    help="CSV, TSV, JSON lines or Parquet: a file, folder or glob.",
)


numbers_option = click.option(
    "--numbers",
    type=click.Choice(NUMBERS),
    default="exact",
    help="Integers, or floats, of any magnitude.  [default: exact]",
)


separator_option = click.option(
    "--separator",
    metavar="CHAR",
    help="Between the columns of text, such as ';'.  [default: by the ending]",
)


def column_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Say which columns of events have what every workload needs."""
    options = (
        click.option(
            "--type", metavar="COLUMN", default="type", help="Types of events.  [default: type]"
        ),
        click.option(
            "--time", metavar="COLUMN", default="time", help="Their times.  [default: time]"
        ),
        click.option("--order", metavar="COLUMN", help="What orders events of equal time."),
        separator_option,
    )
    # The option that is applied last is shown first.
    return reduce(lambda decorated, option: option(decorated), reversed(options), command)


def engine_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Say what runs a workload, and where."""
    options = (
        click.option(
            "--engine",
            type=click.Choice(["spark", "local"]),
            help="What runs it.  [default: local if the events fit into memory]",
        ),
        click.option(
            "--master",
            metavar="URL",
            help="Where Spark runs, such as local[4] or spark://host:7077.",
        ),
        click.option("--remote", metavar="URL", help="A server of Spark Connect: sc://host:15002."),
    )
    return reduce(lambda decorated, option: option(decorated), reversed(options), command)


overwrite_option = click.option("--overwrite", is_flag=True, help="Replace what is there already.")


def format_option(
    *more: str, help: str = "Print text, or one JSON document."
) -> Callable[[Decorated], Decorated]:
    """The option --format, which every command has: text, json, and what else it can print."""
    return click.option(
        "--format",
        "format_",
        type=click.Choice(["text", "json", *more]),
        default="text",
        help=f"{help}  [default: text]",
    )
