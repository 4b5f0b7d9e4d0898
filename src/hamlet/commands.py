"""What commands of several modules have in common."""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from hamlet.errors import PlanError, QueryError, ReadError, WriteError, reason_of
from hamlet.reading.formats import ENDINGS, ending_of
from hamlet.schema import Schema
from hamlet.workload import Workload, read_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

Decorated = TypeVar("Decorated", bound="Callable[..., Any] | click.Command")

# What is read


def load_workload(
    workload: str, schema: str | None = None, separator: str | None = None
) -> Workload:
    """The workload of a file, or of standard input, checked against a schema if there is one."""
    known = Schema.load(schema, separator=separator) if schema else None
    if workload == "-":
        try:
            text = sys.stdin.buffer.read().decode("utf-8-sig")
        except OSError as error:
            raise ReadError("standard input", reason_of(error)) from error
        except UnicodeDecodeError as error:
            raise ReadError("standard input", "it is not UTF-8 text") from error
        return Workload.parse(text, schema=known, name="<stdin>")
    text = read_text(Path(workload))
    try:
        # The whole path is shown, so that an editor or terminal can open the place of an error.
        return Workload.parse(text, schema=known, name=workload)
    except QueryError as error:
        if ending_of(Path(workload)) not in ENDINGS:
            raise
        reason = (
            "by its name it has events; queries come first, as in hamlet run FILE --events FILE"
        )
        raise ReadError(workload, reason) from error


separator_option = click.option(
    "--separator",
    metavar="CHAR",
    help="Between the columns of text, such as ';'.  [default: by the ending]",
)


# What is printed


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


def give(document: Any, text: str, format_: str) -> None:
    """Print the same thing as text, or as one JSON document."""
    click.echo(text if format_ == "text" else as_json(document), nl=False)


def give_names(names: Iterable[str], text: Iterable[str], format_: str) -> None:
    """Print what can be measured; text may say more about each."""
    give({"names": list(names)}, "".join(f"{line}\n" for line in text), format_)


def as_json(document: Any) -> str:
    """A document as lines of JSON."""
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def tell(line: str) -> None:
    """Say something that is no answer: on standard error."""
    click.echo(line, err=True)


# What is written


def write_whole(path: Path, text: str) -> None:
    """Write a file so that it appears whole or not at all."""
    if path.is_dir():
        raise WriteError(str(path), "is a directory")
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        partial.write_text(text, encoding="utf-8")
        partial.replace(path)
    except OSError as error:
        with suppress(OSError):
            partial.unlink()
        raise WriteError(str(path), reason_of(error)) from error


def made_folder(out: str) -> Path:
    """The folder for results, made before there are any."""
    folder = Path(out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WriteError(out, reason_of(error)) from error
    return folder


def draw_into(folder: Path, module: str, report: dict[str, Any]) -> None:
    """Have a module draw its pictures of some figures; without matplotlib there are none."""
    try:
        plot = import_module(module)
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] != "matplotlib":
            raise
        message = "no pictures: they need matplotlib, from pip install 'hamlet-trends[bench]'"
        click.echo(message, err=True)
        return
    for path in plot.draw(report, folder):
        click.echo(f"wrote {path}", err=True)


# What may not be there


def spark_module(name: str, instead: str = "") -> Any:
    """A module that needs Spark, which may not be installed; what to do without it."""
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] not in ("pyspark", "py4j"):
            raise
        remedy = f"Run pip install 'hamlet-trends[spark]'{instead}."
        raise PlanError("package", "pyspark", remedy) from error
