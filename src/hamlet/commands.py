"""What commands of several modules have in common."""

from __future__ import annotations

import os
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from hamlet.errors import PlanError, WriteError, reason_of


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


def spark_module(name: str, instead: str = "") -> Any:
    """A module that needs Spark, which may not be installed; what to do without it."""
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] not in ("pyspark", "py4j"):
            raise
        remedy = f"Run pip install 'hamlet-trends[spark]'{instead}."
        raise PlanError("package", "pyspark", remedy) from error
