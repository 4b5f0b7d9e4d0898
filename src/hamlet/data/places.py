"""Where events go: which paths are taken, what is refused, and files that appear whole.

A path is a file by its ending, or else a folder of parts. Something is written beside its place
under a hidden name, and moved there when it is complete.
"""

from __future__ import annotations

import os
import shutil
from contextlib import contextmanager
from typing import TYPE_CHECKING

from hamlet.errors import WriteError, listed, reason_of
from hamlet.reading.formats import GZIP, WRITTEN

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_PACKED = tuple(f"{each}{GZIP}" for each, format_ in WRITTEN.items() if format_.write_lines)
ENDINGS = (*WRITTEN, *_PACKED)
FORMATS = tuple(each[1:] for each in WRITTEN)
_TAKEN = "it is there already; pass overwrite=True, or --overwrite on the command line"


def is_folder(path: Path) -> bool:
    """Whether a path is that of a folder: it is one, or it has no ending."""
    return path.is_dir() or not path.suffix


def ending_of(path: Path) -> str:
    """The ending of a file of events, in lower case.

    >>> from pathlib import Path
    >>> ending_of(Path("a.b/Rides.2026.CSV.gz"))
    '.csv.gz'
    """
    name = path.name.lower()
    found = [ending for ending in ENDINGS if name.endswith(ending)]
    if not found:
        reason = f"the ending is none of {listed(ENDINGS)}; without one it is a folder"
        raise WriteError(str(path), reason)
    return max(found, key=len)


def check_place(path: Path, *, overwrite: bool) -> None:
    """Refuse a place for events before any is made.

    Of folders, only those are replaced that hold nothing but parts.

    Raises:
        WriteError: It is there already, or cannot be written.
    """
    if not is_folder(path):
        ending_of(path)
    there = sorted(path.iterdir()) if path.is_dir() else []
    others = [each.name for each in there if not (each.is_file() and each.match("part-*.*"))]
    if others:
        reason = f"the folder holds more than parts ({listed(others, 3)}); choose another"
        raise WriteError(str(path), reason)
    if not overwrite and (there or path.is_file()):
        raise WriteError(str(path), _TAKEN)
    _check_parent(path)


def check_file(path: Path, *, overwrite: bool) -> None:
    """Refuse a place for one file, whatever its ending."""
    if path.is_dir():
        raise WriteError(str(path), "is a directory")
    if path.exists() and not overwrite:
        raise WriteError(str(path), _TAKEN)
    _check_parent(path)


def _check_parent(path: Path) -> None:
    if not path.absolute().parent.is_dir():
        raise WriteError(str(path), "no such file or directory")


@contextmanager
def put_whole(path: Path) -> Iterator[Path]:
    """A path to write a file or a folder to; it is moved to its place if nothing goes wrong."""
    full = path.resolve()  # a path like . has no name
    partial = full.with_name(f".{full.name}.{os.getpid()}.partial")
    replaced = full.with_name(f".{full.name}.{os.getpid()}.replaced")
    try:
        yield partial
        if full.is_dir():
            full.replace(replaced)
        partial.replace(full)
    except OSError as error:
        raise WriteError(str(path), reason_of(error)) from error
    finally:
        if replaced.exists() and not full.exists():
            replaced.replace(full)
        for left in (partial, replaced):
            if left.is_dir():
                shutil.rmtree(left)
            left.unlink(missing_ok=True)
