"""`hamlet generate`: streams, real data and workloads, into files or at the pace of the clock."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hamlet.cli.options import format_option, overwrite_option
from hamlet.cli.output import give, tell
from hamlet.data.places import FORMATS, check_place, ending_of
from hamlet.data.real import read_real, real_files
from hamlet.data.settings import DATA_SETS, StreamSettings, settings_of
from hamlet.data.streams import generate, schema_of
from hamlet.errors import SchemaError, counted
from hamlet.io.targets import check_file
from hamlet.io.whole import write_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from hamlet.data.live import Listener

STATUS = "Exit status: 0 fine, 2 it could not be made or written."
_OWN_SETTINGS = {
    "drivers": "Drivers of each district.",
    "riders": "Riders of each district.",
    "houses": "Houses that the plugs are in.",
}


def _option(name: str, metavar: str, help: str, **more: Any) -> click.Option:
    return click.Option([name], metavar=metavar, help=help, **more)


def _places() -> list[click.Option]:
    """The options that say where events go."""
    where = "A .parquet, .csv[.gz] or .jsonl[.gz] file, a folder, or - (JSON lines).  [default: -]"
    formats = click.Choice(FORMATS)
    of_parts = f"Files in a folder: {', '.join(FORMATS)}.  [default: {FORMATS[0]}]"
    return [
        _option("--out", "PATH", where),
        _option("--file-format", "F", of_parts, type=formats, default=FORMATS[0]),
        click.Option(["--overwrite"], is_flag=True, help="Replace what is at --out."),
    ]


_told_option = format_option(help="With --out: print nothing, or what was made as JSON.")


# Streams


def _stream_command(kind: type[StreamSettings]) -> click.Command:
    """The command that makes the events of a data set, with its defaults in the help."""
    known = {setting_.name: setting_ for setting_ in fields(kind)}
    common = {setting_.name for setting_ in fields(StreamSettings)}

    def setting(name: str, metavar: str, help: str, **more: Any) -> click.Option:
        return _option(f"--{name}", metavar, f"{help}  [default: {known[name].default:,g}]", **more)

    own = [name for name in known if name not in common]
    bursts = f"Mean run of {kind.bursts_are}; TYPE=B for one type."
    options = [
        _option("--events", "N", "How many; needed unless --live.", type=int),
        _option("--seed", "S", "Same seed, same events.  [default: 0]", type=int, default=0),
        setting("rate", "R", "Events in a minute; R/group for each group."),
        setting("burst", "B", bursts, multiple=True),
        setting("groups", "G", f"How many {kind.groups_are}.", type=int),
        setting("skew", "Z", "Share of the n-th is like 1/n**Z.", type=float),
        *(setting(name, "N", _OWN_SETTINGS[name], type=int) for name in own),
        _option("--start", "TIME", "First time: ISO 8601, or now.  [default: 2026-01-01]"),
        _option("--live", "E", "Deliver E events a second; --rate is then 60 E.", type=float),
        *_places(),
    ]
    about = (kind.__doc__ or "").split("\n\n")[0]
    command = click.Command(
        kind.name,
        params=list(options),
        callback=lambda **given: _run_stream(kind.name, **given),
        help=about,
        short_help=f"Stream. {about.split(':')[0].rstrip('.')}.",
        epilog=STATUS,
    )
    return _told_option(command)


def _run_stream(
    name: str,
    *,
    events: int | None,
    seed: int,
    burst: tuple[str, ...],
    start: str | None,
    live: float | None,
    out: str | None,
    file_format: str,
    overwrite: bool,
    format_: str,
    **given: Any,
) -> None:
    place = Place.of(out, file_format, overwrite, format_)
    if live is not None:
        from hamlet.data.live import chunk_of

        chunk_of(live)  # refuses what is no rate before it becomes that of event times
        given["rate"] = given["rate"] or 60 * live
    elif events is None:
        message = "say how many events with --events, or --live for a stream without an end"
        raise click.UsageError(message)
    settings = settings_of(name, start=_start(name, start), **_bursts(name, burst), **given)
    if live is not None:
        rows = _play(settings, live, events, seed, place)
    else:
        batches = generate(settings, events=events, seed=seed)
        rows = _write(batches, schema_of(name), events or 0, place)
    if rows is not None:
        _tell(name, rows, place, seed=seed, settings=_plain(settings))


def _plain(settings: StreamSettings) -> dict[str, Any]:
    """Settings as data that can be written as JSON."""
    values = {setting_.name: getattr(settings, setting_.name) for setting_ in fields(settings)}
    return {**values, "bursts": dict(settings.bursts), "start": settings.start.isoformat()}


def _start(name: str, text: str | None) -> datetime | None:
    if text is None:
        return None
    if text == "now":
        return datetime.now(UTC)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise SchemaError(name, f"start must be ISO 8601 or now, not {text!r}") from error
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _bursts(name: str, texts: tuple[str, ...]) -> dict[str, Any]:
    """Mean lengths of bursts: one number for all, and numbers for single types."""
    settings: dict[str, Any] = {"bursts": {}}
    for text in texts:
        event_type, equals, number = text.rpartition("=")
        try:
            mean = float(number)
        except ValueError as error:
            reason = f"burst must be a number or TYPE=NUMBER, not {text!r}"
            raise SchemaError(name, reason) from error
        if equals:
            settings["bursts"][event_type] = mean
        else:
            settings["burst"] = mean
    return settings


def _play(
    settings: StreamSettings, rate: float, events: int | None, seed: int, place: Place
) -> int | None:
    """Deliver a stream until it ends, or until Ctrl-C where it has no end.

    Returns:
        How many events, or None where nobody reads them any more.
    """
    from hamlet.data.live import LiveFolder, LiveLines, chunk_of, play

    batches = generate(settings, events=events, seed=seed, chunk=chunk_of(rate))
    listener: Listener
    if place.path is None:
        listener = LiveLines(sys.stdout.buffer)
    else:
        schema = schema_of(settings)
        listener = LiveFolder(place.path, schema, place.format, overwrite=place.overwrite)
    with _until_nobody_reads():
        try:
            play(batches, rate, listener)
        except KeyboardInterrupt:
            if events is not None:
                raise
        return listener.rows
    return None


# Real data


def _real_command(name: str, about: str) -> click.Command:
    def run(
        data: str | None, out: str | None, file_format: str, overwrite: bool, format_: str
    ) -> None:
        place = Place.of(out, file_format, overwrite, format_)
        if place.path is not None:
            check_place(place.path, overwrite=overwrite)  # before anything is read
        table = read_real(name, data)
        rows = _write(table.to_batches(), table.schema, table.num_rows, place)
        if rows is not None:
            _tell(name, rows, place)

    data = _option("--data", "DIR", "The folder with the files.  [default: $HAMLET_DATA]")
    command = click.Command(
        name,
        params=[data, *_places()],
        callback=run,
        help=f"{about}\n\nReads {name}.csv.gz, which is not part of the package.",
        short_help=f"Real data. {about.split(';')[0].rstrip('.')}.",
        epilog=STATUS,
    )
    return _told_option(command)


# Both


@dataclass(frozen=True, slots=True)
class Place:
    """Where events go; no path is standard output.

    format: Of the files in a folder.
    told: How it is told what was made: as text or as json.
    """

    path: Path | None
    format: str
    overwrite: bool
    told: str

    @staticmethod
    def of(out: str | None, format: str, overwrite: bool, told: str) -> Place:
        """The place that options name."""
        path = None if out in (None, "-") else Path(str(out))
        if path is None and told == "json":
            message = "events on standard output are JSON lines already; --format goes with --out"
            raise click.UsageError(message)
        return Place(path, format, overwrite, told)

    def paths(self) -> list[Path]:
        """The files that are there."""
        if self.path is None:
            return []
        return sorted(self.path.iterdir()) if self.path.is_dir() else [self.path]


def _write(batches: Iterable[Any], schema: Any, events: int, place: Place) -> int | None:
    """Write events to a place, or to standard output.

    Returns:
        How many, or None where nobody reads them any more.
    """
    if place.path is None:
        from hamlet.data.live import LiveLines

        lines = LiveLines(sys.stdout.buffer)
        with _until_nobody_reads():
            for batch in batches:
                lines.deliver(batch)
            return lines.rows
        return None
    from hamlet.data.files import write_events

    with _shown(events) as wrote:
        return write_events(
            batches,
            place.path,
            schema,
            overwrite=place.overwrite,
            format=place.format,
            wrote=wrote,
        )


def _tell(name: str, rows: int, place: Place, **how: Any) -> None:
    """Say what was made; as data, with how it was made."""
    paths = place.paths()
    made = {
        "data_set": name,
        "events": rows,
        **how,
        "out": str(place.path),
        "file_format": ending_of(paths[0]).removeprefix(".") if paths else place.format,
        "paths": [str(path) for path in paths],
    }
    give(made, "", place.told)
    tell(f"wrote {counted(rows, 'event')}" + (f" to {place.path}" if place.path else ""))


@contextmanager
def _until_nobody_reads() -> Iterator[None]:
    """End quietly when who reads the pipe had enough."""
    try:
        yield
    except BrokenPipeError:
        # What is still buffered would fail once more when Python ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextmanager
def _shown(events: int) -> Iterator[Callable[[int], None]]:
    """Progress on standard error where that is a terminal."""
    if not sys.stderr.isatty():
        yield lambda rows: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.completed:,} events"), BarColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task("", total=events)
        yield lambda rows: shown.update(task, completed=rows)


# Workloads


@click.command(
    "workload",
    help="""Make a workload for DATA_SET of a kind that the paper evaluates.

    first: different patterns around one shared Kleene type, all else alike. second: Kleene patterns
    of one to three types, windows of 5 to 20 minutes, different aggregates, groupings, predicates.
    edges: the second with a condition on neighbours of one loop in each query.
    """,
    epilog=STATUS,
)
@click.argument("data_set")
@click.option(
    "--kind", type=click.Choice(["first", "second", "edges"]), default="first", show_default=True
)
@click.option("--queries", metavar="K", type=int, default=50, help="1 to 1,000.  [default: 50]")
@click.option(
    "--seed", metavar="S", type=int, default=0, help="Same seed, same text.  [default: 0]"
)
@click.option("--within", metavar="D", help="Windows of the first kind.  [default: 10 min]")
@click.option("--slide", metavar="D", help="How far apart they begin.  [default: 5 min]")
@click.option("--out", metavar="FILE", help="Write to this file instead of standard output.")
@overwrite_option
@format_option(help="Print queries, or one JSON document with them.")
def workload_command(
    data_set: str,
    kind: str,
    queries: int,
    seed: int,
    within: str | None,
    slide: str | None,
    out: str | None,
    overwrite: bool,
    format_: str,
) -> None:
    """Write a generated workload."""
    from hamlet.data.workloads import GENERATORS

    window = {k: v for k, v in (("within", within), ("slide", slide)) if v is not None}
    if kind != "first" and window:
        message = f"the {kind} kind has windows of its own; leave out --within, --slide"
        raise click.UsageError(message)
    if out is not None:
        check_file(Path(out), overwrite=overwrite)
    text = GENERATORS[kind](data_set, queries, seed, **window)
    made = {"data_set": data_set, "kind": kind, "queries": queries, "seed": seed}
    # Those of the first kind have defaults.
    settings = {**(GENERATORS[kind].__kwdefaults__ or {}), **window}
    made |= {"settings": settings, "paths": [] if out is None else [out], "text": text}
    if out is None:
        give(made, text, format_)
        return
    write_text(Path(out), text)
    give(made, "", format_)
    tell(f"wrote {counted(queries, 'query', 'queries')} to {out}")


generate_command = click.Group(
    "generate",
    commands=[
        *map(_stream_command, DATA_SETS.values()),
        *(_real_command(name, file.about) for name, file in real_files().items()),
        workload_command,
    ],
    help="Make events or a workload: seeded streams, real data as events, queries for both.",
)
