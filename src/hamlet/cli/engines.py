"""Which engine runs a workload where nobody has said: this process, or Spark.

Spark takes seconds to start and costs more for each event, so events that fit into memory are run
here. Measured with ten queries over 2 million rides, a run holds some 450 bytes for each event,
however they are stored (66 bytes as CSV, 11 as Parquet): so it is events that are counted, or
reckoned from the length of the first lines.
"""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from hamlet.errors import PlanError
from hamlet.io.targets import is_url

if TYPE_CHECKING:
    from hamlet.events.formats import Format

_BYTES_OF_EVENT = 500
# The rest is for results, for what else runs here, and for events that are larger than most.
_PART_OF_MEMORY = 0.5
_LOOKED_AT = 1 << 16
_GZIP_RATIO = 8
_NO_LIMIT_KNOWN = 4 << 30


class ChosenEngine(NamedTuple):
    """An engine, and why it was taken; no reason where it was asked for."""

    engine: str
    why: str = ""

    @property
    def line(self) -> str:
        """What is said of it."""
        other = "spark" if self.engine == "local" else "local"
        return f"engine    {self.engine}: {self.why} (for the other: --engine {other})"


class Place(NamedTuple):
    """Where Spark is to run, as it was asked for."""

    master: str | None = None
    remote: str | None = None

    @property
    def option(self) -> str:
        """The option that says where; empty where none does.

        Raises:
            PlanError: Two of them do.
        """
        if self.master is not None and self.remote is not None:
            remedy = "A server of Spark Connect has its own master: leave --master out."
            raise PlanError("--master and --remote are two places", remedy)
        given = {"--master": self.master, "--remote": self.remote}
        return next((name for name, value in given.items() if value is not None), "")


def place_for(engine: str | None, master: str | None, remote: str | None) -> Place:
    """Where Spark is to run.

    Raises:
        click.UsageError: It is not to run at all.
    """
    place = Place(master, remote)
    if place.option and engine == "local":
        message = f"{place.option} is for --engine spark"
        raise click.UsageError(message)
    return place


def choose_engine(
    events: str, *, asked: str | None, place: str, only_local: str, out: str | None = None
) -> ChosenEngine:
    """The engine for a run.

    Args:
        events: Where the events are.
        out: Where results are to be written.
        asked: The engine that was asked for.
        place: The option that says where Spark is to run; empty for none.
        only_local: What was asked for that Spark does not do; empty for nothing.

    Raises:
        ReadError: There are no such events.
        PlanError: The events are too many for this machine, and Spark is not installed.
    """
    is_far = out is not None and is_url(out)
    if is_far and asked == "local":
        reason = f"{out} is not on this machine"
        raise PlanError(reason, "Leave --engine local out, or choose a path.")
    if asked is not None:
        return ChosenEngine(asked)
    if is_far:
        return ChosenEngine("spark", "results are not for this machine")
    if place:
        return ChosenEngine("spark", f"{place} says where")
    if is_url(events):
        return ChosenEngine("spark", "the events are not on this machine")
    if only_local:
        return ChosenEngine("local", f"{only_local} is not for Spark")
    return by_size(count_events(events), free_memory())


def by_size(events: int, free: int) -> ChosenEngine:
    """The engine for so many events on this machine, with so many bytes of memory.

    >>> by_size(2_000_000, 16 << 30)
    ChosenEngine(engine='local', why='about 2,000,000 events fit into memory')

    Raises:
        PlanError: It would be Spark, which is not installed.
    """
    needed = events * _BYTES_OF_EVENT
    if needed <= free * _PART_OF_MEMORY:
        return ChosenEngine("local", f"about {_rounded(events):,} events fit into memory")
    why = (
        f"about {_rounded(events):,} events may take {needed / 1e9:,.1f} GB of memory, "
        f"{free / 1e9:,.1f} GB are free"
    )
    if find_spec("pyspark") is None:
        remedy = "For Spark run pip install 'hamlet-trends[spark]', or try it with --engine local."
        reason = f"{why}, and pyspark is not installed"
        raise PlanError(reason, remedy)
    return ChosenEngine("spark", why)


# How many events


def count_events(source: str) -> int:
    """About how many events there are in files: no more than the beginning of each is read."""
    from hamlet.events.files import paths_of
    from hamlet.events.formats import format_of

    return sum(_in_file(path, format_of(path)) for path in paths_of(source))


def _in_file(path: Path, form: Format) -> int:
    try:
        if form.name == "parquet":
            from pyarrow import parquet

            return int(parquet.read_metadata(path).num_rows)
        return max(0, _lines(path) - (form.separator is not None))  # without the line of names
    except (OSError, ValueError, EOFError):
        return 0  # who reads the file says what is wrong with it


def _lines(path: Path) -> int:
    """About how many lines a file has, by its size and the length of its first lines."""
    import gzip

    size = path.stat().st_size
    if path.suffix.lower() == ".gz":
        size *= _GZIP_RATIO
        with gzip.open(path) as packed:
            first = packed.read(_LOOKED_AT)
    else:
        with path.open("rb") as file:
            first = file.read(_LOOKED_AT)
    if len(first) < _LOOKED_AT:
        return first.count(b"\n")
    return size * max(1, first.count(b"\n")) // len(first)


def _rounded(number: int) -> int:
    """A number of which, where it is large, only the first two digits are known.

    >>> _rounded(123456), _rounded(224)
    (120000, 224)
    """
    if number < 10_000:
        return number
    unit: int = 10 ** max(0, len(str(number)) - 2)
    return number // unit * unit


# How much memory


def free_memory() -> int:
    """The bytes that a process here may still take: of the machine, and of its container."""
    limits = [_free_of_machine(), _free_of_container()]
    return min((limit for limit in limits if limit is not None), default=_NO_LIMIT_KNOWN)


def _free_of_machine() -> int | None:
    try:
        text = Path("/proc/meminfo").read_text(encoding="ascii")
        sizes = dict(line.split(":", 1) for line in text.splitlines())
        return int(sizes["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        pass
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    except (AttributeError, OSError, ValueError):
        return None


def _free_of_container() -> int | None:
    folder = Path("/sys/fs/cgroup")
    for most, used in (
        ("memory.max", "memory.current"),
        ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes"),
    ):
        try:
            limit = int((folder / most).read_text(encoding="ascii"))
            return max(0, limit - int((folder / used).read_text(encoding="ascii")))
        except (OSError, ValueError):  # there is none, or it is "max"
            continue
    return None
