"""What commands give: documents on standard output, talk on standard error, files and pictures."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hamlet.errors import WriteError, reason_of

if TYPE_CHECKING:
    from collections.abc import Iterable

# What is printed


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
    try:
        written = plot.draw(report, folder)
    except OSError as error:
        raise WriteError(str(error.filename or folder), reason_of(error)) from error
    for path in written:
        tell(f"wrote {path}")
