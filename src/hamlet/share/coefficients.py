"""How many nanoseconds each step of the kernels takes, by kind of numbers.

The shipped values are round figures for a present-day core. Only their ratios decide anything, so
they need not be exact; who wants them exact measures them and keeps them in a JSON file, which is
looked for under the path in `HAMLET_COEFFICIENTS`, then in the user's folder for settings:

    {"double": {"event": 1.4, "snapshot_fixed": 27.0}, "wide": {"alone_window": 3.1}}

What such a file leaves out keeps its shipped value.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from click import get_app_dir

from hamlet.errors import ReadError, SchemaError, WriteError, did_you_mean, listed, reason_of

if TYPE_CHECKING:
    from collections.abc import Mapping

NumberKind = Literal["double", "wide", "int64", "words"]
KINDS: tuple[NumberKind, ...] = get_args(NumberKind)

VARIABLE = "HAMLET_COEFFICIENTS"
_FILE = "coefficients.json"


@dataclass(frozen=True, slots=True)
class Coefficients:
    """Nanoseconds of the steps of one kind of numbers.

    Attributes:
        event: Taking an event into the accumulator of its burst.
        snapshot_fixed: Bringing a query up to date with the bursts it missed, whatever its size.
        snapshot_window: The same, for each of its open windows.
        snapshot_word: The same, for each open window and word of a number.
        alone_fixed: Applying one burst to one query at once, whatever its size.
        alone_window: The same, for each of its open windows.
        alone_word: The same, for each open window and word of a number.
        tree_step: One level of the tree that a chain of edges looks predecessors up in.
        entry: Adding up, for one query, the chains that begin after one of its entries.

    >>> c = Coefficients(event=1.5, snapshot_fixed=30, snapshot_window=1.5, alone_fixed=12,
    ...                  alone_window=1, tree_step=3, entry=4)
    >>> c.snapshot_ns(12), c.alone_ns(12), c.patience(12)
    (48.0, 24.0, 2.0)
    """

    event: float
    snapshot_fixed: float
    snapshot_window: float
    alone_fixed: float
    alone_window: float
    tree_step: float
    entry: float
    snapshot_word: float = 0.0
    alone_word: float = 0.0

    def snapshot_ns(self, windows: float, words: float = 1) -> float:
        """The cost of bringing a query up to date in all its open windows."""
        return self.snapshot_fixed + (self.snapshot_window + self.snapshot_word * words) * windows

    def alone_ns(self, windows: float, words: float = 1) -> float:
        """The cost of applying one burst to one query alone, in all its open windows."""
        return self.alone_fixed + (self.alone_window + self.alone_word * words) * windows

    def patience(self, windows: float, words: float = 1) -> float:
        """How many bursts must come for each snapshot for sharing to pay."""
        return self.snapshot_ns(windows, words) / self.alone_ns(windows, words)


FIELDS = tuple(field.name for field in fields(Coefficients))
# Patience divides by what a burst costs alone, so that may not be nothing.
_POSITIVE = ("alone_fixed",)
_MOST = 1e9


@dataclass(frozen=True, slots=True)
class CoefficientTable:
    """The coefficients of all kinds of numbers."""

    double: Coefficients
    wide: Coefficients
    int64: Coefficients
    words: Coefficients

    def of(self, kind: NumberKind) -> Coefficients:
        """The coefficients of one kind."""
        found: Coefficients = getattr(self, kind)
        return found


# Integers that fit a register cost what doubles do. A wide double has an exponent to align. Exact
# integers of many words pay for each word, and for taking carries along.
_DOUBLE = Coefficients(
    event=1.5,
    snapshot_fixed=30.0,
    snapshot_window=1.5,
    alone_fixed=12.0,
    alone_window=1.0,
    tree_step=3.0,
    entry=4.0,
)
DEFAULTS = CoefficientTable(
    double=_DOUBLE,
    wide=replace(
        _DOUBLE, event=2.0, snapshot_window=6.0, alone_window=4.0, tree_step=9.0, entry=8.0
    ),
    int64=_DOUBLE,
    words=replace(
        _DOUBLE,
        event=2.0,
        snapshot_fixed=40.0,
        snapshot_window=8.0,
        snapshot_word=1.5,
        alone_fixed=20.0,
        alone_window=6.0,
        alone_word=1.0,
        tree_step=12.0,
        entry=12.0,
    ),
)


def patience(
    kind: NumberKind, windows: float, words: float = 1, table: CoefficientTable = DEFAULTS
) -> float:
    """How many bursts must come for each time a query is touched for sharing to pay.

    A query that is touched more often than that is better off with each burst at once, alone.
    """
    return table.of(kind).patience(windows, words)


# Files


def user_path(environment: Mapping[str, str] = os.environ) -> Path:
    """Where the user's own coefficients are, or would be."""
    named = environment.get(VARIABLE)
    return Path(named) if named else Path(get_app_dir("hamlet")) / _FILE


def load_coefficients(
    path: str | Path | None = None, environment: Mapping[str, str] = os.environ
) -> CoefficientTable:
    """Read coefficients from a file; without one, the user's file, or the shipped values.

    Args:
        path: The file to read. A file that is named, here or in the environment, must be there.
        environment: Where `HAMLET_COEFFICIENTS` is looked up.

    Raises:
        ReadError: The file cannot be read or is not JSON.
        SchemaError: Something in it is not a coefficient.
    """
    found = Path(path) if path is not None else user_path(environment)
    if path is None and not environment.get(VARIABLE) and not found.exists():
        return DEFAULTS
    try:
        text = found.read_text(encoding="utf-8")
    except OSError as error:
        raise ReadError(str(found), reason_of(error)) from error
    except UnicodeDecodeError as error:
        raise ReadError(str(found), "it is not UTF-8 text") from error
    try:
        described = json.loads(text, parse_int=float)
    except (ValueError, RecursionError) as error:
        raise ReadError(str(found), f"it is not JSON ({error})") from error
    return _table(str(found), described)


def save_coefficients(table: CoefficientTable, path: str | Path | None = None) -> Path:
    """Write coefficients to a file, the user's own unless another is named; returns where.

    The file is put in place whole: who reads at the same time sees the old one or the new one.

    Raises:
        WriteError: It cannot be written there.
    """
    target = Path(path) if path is not None else user_path()
    text = json.dumps(asdict(table), indent=2) + "\n"
    beside = target.with_name(f"{target.name}.{os.getpid()}.part")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        beside.write_text(text, encoding="utf-8")
        beside.replace(target)
    except OSError as error:
        with suppress(OSError):
            beside.unlink(missing_ok=True)
        raise WriteError(str(target), reason_of(error)) from error
    return target


def _table(name: str, described: Any) -> CoefficientTable:
    if not isinstance(described, dict):
        raise SchemaError(name, f"expected an object with {listed(KINDS)}")
    _refuse_unknown(name, described, KINDS, "kind of numbers")
    read = {kind: _one(name, kind, entries) for kind, entries in described.items()}
    return replace(DEFAULTS, **read)


def _one(name: str, kind: NumberKind, described: Any) -> Coefficients:
    if not isinstance(described, dict):
        raise SchemaError(name, f'"{kind}" must be an object from coefficient to nanoseconds')
    _refuse_unknown(name, described, FIELDS, "coefficient")
    for field, value in described.items():
        where = f'"{field}" of "{kind}"'
        if not isinstance(value, float):
            raise SchemaError(name, f"{where} is {json.dumps(value)}; it must be a number")
        if not 0 <= value <= _MOST or (value == 0 and field in _POSITIVE):
            least = "more than 0" if field in _POSITIVE else "0 or more"
            reason = f"{where} is {value:g}; it must be {least} nanoseconds, and at most a second"
            raise SchemaError(name, reason)
    return replace(DEFAULTS.of(kind), **described)


def _refuse_unknown(
    name: str, described: Mapping[str, Any], known: tuple[str, ...], what: str
) -> None:
    for word in described:
        if word not in known:
            reason = f'there is no {what} "{word}"; there are {listed(known)}.'
            raise SchemaError(name, reason + did_you_mean(word, known))
