"""How many nanoseconds each step of the kernels takes, by kind of numbers.

The shipped values are round figures for a present-day core. Only their ratios decide anything, so
they need not be exact; who wants them exact measures them and keeps them in a JSON file, which is
looked for under the path in `HAMLET_COEFFICIENTS`, then in the user's folder for settings:

    {"double": {"event": 1.4, "touch_fixed": 27.0}, "wide": {"touch_window": 6.1}}

What such a file leaves out keeps its shipped value.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, fields, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from click import get_app_dir

from hamlet.errors import ReadError, SchemaError, WriteError, did_you_mean, listed, reason_of
from hamlet.io.whole import write_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

NumberKind = Literal["double", "wide", "int64", "words"]
KINDS: tuple[NumberKind, ...] = get_args(NumberKind)

VARIABLE = "HAMLET_COEFFICIENTS"
_FILE = "coefficients.json"
# What the user's folder for settings depends on
_FOLDERS = ("HOME", "XDG_CONFIG_HOME", "APPDATA", "LOCALAPPDATA", "USERPROFILE")


@dataclass(frozen=True, slots=True)
class Coefficients:
    """Nanoseconds of the steps of one kind of numbers.

    Attributes:
        event: Taking an event into the accumulator of its burst.
        touch_fixed: Touching a query: bringing it up to date with the burst before an entry, and
            adding the entry, whatever its size.
        touch_window: The same, for each number of a row: an aggregate in one open window.
        touch_word: The same, for each number and word of it.
        copy_fixed: Giving a query of a split bundle its own state, whatever its size.
        copy_cell: The same, for each number of all rows.
        copy_word: The same, for each number and word of it.
        tree_step: One level of the tree that a chain of edges looks predecessors up in.
        entry: Adding up, for one query, the chains that begin after one of its entries.

    >>> c = Coefficients(event=1.5, touch_fixed=26, touch_window=1.5, copy_fixed=20, copy_cell=2,
    ...                  tree_step=3, entry=4)
    >>> c.touch_ns(12), c.copy_ns(2 * 12)
    (44.0, 68.0)
    """

    event: float
    touch_fixed: float
    touch_window: float
    copy_fixed: float
    copy_cell: float
    tree_step: float
    entry: float
    touch_word: float = 0.0
    copy_word: float = 0.0

    def touch_ns(self, numbers: float, words: float = 1) -> float:
        """What a touch of a query costs that has so many numbers in a row."""
        return self.touch_fixed + (self.touch_window + self.touch_word * words) * numbers

    def copy_ns(self, cells: float, words: float = 1) -> float:
        """What it costs to give a query its own state, of so many numbers in all rows."""
        return self.copy_fixed + (self.copy_cell + self.copy_word * words) * cells


FIELDS = tuple(field.name for field in fields(Coefficients))
# Patience divides by what a touch costs, so that may not be nothing.
_POSITIVE = ("touch_fixed",)
_MOST = 1e9


@dataclass(frozen=True, slots=True)
class CoefficientTable:
    """The coefficients of all kinds of numbers."""

    double: Coefficients
    wide: Coefficients
    int64: Coefficients
    words: Coefficients

    def __hash__(self) -> int:
        """Of a few of them, which are looked at in every run."""
        return hash((self.double.event, self.double.touch_fixed, self.words.touch_word))

    def of(self, kind: NumberKind) -> Coefficients:
        """The coefficients of one kind."""
        coefficients: Coefficients = getattr(self, kind)
        return coefficients


# Integers that fit a register cost what doubles do. A wide double has an exponent to align. Exact
# integers of many words pay for each word, and for taking carries along.
_DOUBLE = Coefficients(
    event=1.5,
    touch_fixed=26.0,
    touch_window=1.5,
    copy_fixed=20.0,
    copy_cell=2.0,
    tree_step=3.0,
    entry=4.0,
)
DEFAULTS = CoefficientTable(
    double=_DOUBLE,
    wide=replace(_DOUBLE, event=2.0, touch_window=7.0, tree_step=9.0, entry=8.0),
    int64=_DOUBLE,
    words=replace(
        _DOUBLE,
        event=2.0,
        touch_fixed=36.0,
        touch_window=8.0,
        touch_word=1.5,
        copy_word=0.5,
        tree_step=12.0,
        entry=12.0,
    ),
)


# Files


def user_path(environment: Mapping[str, str] = os.environ) -> Path:
    """Where the user's own coefficients are, or would be."""
    named = environment.get(VARIABLE)
    if named:
        return Path(named)
    return _in_settings(get_app_dir, *(os.environ.get(name) for name in _FOLDERS))


@cache
def _in_settings(folder_of: Callable[[str], str], *_: str | None) -> Path:
    """Where the file would be in the user's folder for settings, which environments name."""
    return Path(folder_of("hamlet")) / _FILE


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
    # Every run asks: most users have none.
    if path is None and not environment.get(VARIABLE) and not os.path.exists(found):  # noqa: PTH110
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
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WriteError(str(target), reason_of(error)) from error
    write_text(target, text)
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
