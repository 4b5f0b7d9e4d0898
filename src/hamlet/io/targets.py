"""Places to write to, refused before the work begins and not after it.

One rule for all: what is there is replaced only where the caller says so, a folder only if it holds
nothing but what would be written there again. The folder that a place is in has to be there, and
has to let something be written into it, which is tried.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from hamlet.errors import WriteError, listed, near_path, reason_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

TAKEN = "it is there already; pass overwrite=True, or --overwrite on the command line"
_OF_GLOBS = "*?["


def is_url(place: str) -> bool:
    """Whether a place is one that only Spark can write to or read from.

    >>> is_url("s3a://bucket/results"), is_url("results"), is_url("C:/results")
    (True, False, False)
    """
    return "://" in place


def is_folder(path: Path) -> bool:
    """Whether what is written to a path is a folder: it is one, or it has no ending."""
    return path.is_dir() or not path.suffix


def check_file(path: Path, *, overwrite: bool) -> None:
    """Refuse a path that one file cannot, or may not, be written to.

    Raises:
        WriteError: It is there already, or cannot be written.
    """
    if path.is_dir():
        raise WriteError(str(path), "is a directory")
    _check_taken(path, overwrite)
    check_room(path)


def check_folder(
    path: Path, *, overwrite: bool, holds: str, is_ours: Callable[[Path], bool]
) -> None:
    """Refuse a path that a folder cannot, or may not, be written to.

    Args:
        path: The folder; it may be there.
        overwrite: Whether to replace what is there.
        holds: What such folders hold, for the sentence.
        is_ours: Whether a file in the folder is one of those that may be replaced.

    Raises:
        WriteError: It is there already, holds something else, or cannot be written.
    """
    there = sorted(path.iterdir()) if path.is_dir() else []
    others = [each.name for each in there if not is_ours(each)]
    if others:
        reason = f"the folder holds more than {holds} ({listed(others, 3)}); choose another"
        raise WriteError(str(path), reason)
    if there and not overwrite:
        raise WriteError(str(path), TAKEN)
    if not path.is_dir():
        _check_taken(path, overwrite)
    check_room(path)


def check_room(path: Path) -> None:
    """Refuse a path beside which nothing can be written.

    Raises:
        WriteError: Its folder is not there, or nothing can be put into it.
    """
    folder = path.parent
    if not folder.exists():
        reason = f"there is no folder {folder}{near_path(folder) or '; make it first'}"
        raise WriteError(str(path), reason)
    if not folder.is_dir():
        raise WriteError(str(path), f"{folder} is not a folder")
    _try(path, beside(path, "partial"))


def check_reachable(path: Path) -> None:
    """Refuse a folder that cannot be made, with those that it is in, or not be written into.

    Raises:
        WriteError: Nothing can be put where it would begin.
    """
    there = next(each for each in (path, *path.absolute().parents) if each.exists())
    if not there.is_dir():
        raise WriteError(str(path), f"{there} is not a folder")
    _try(path, there.resolve() / f".hamlet.{os.getpid()}.partial")


def _try(path: Path, tried: Path) -> None:
    try:
        # What the system says of rights is not always so: of file systems that are read only, of
        # those elsewhere, of the user that may do anything.
        os.close(os.open(tried, os.O_CREAT | os.O_WRONLY))
    except OSError as error:
        raise WriteError(str(path), reason_of(error)) from error
    finally:
        with suppress(OSError):
            tried.unlink()


def check_apart(targets: Mapping[str, str | None], read: Mapping[str, str | None]) -> None:
    """Refuse places that are wanted twice, and folders to be replaced that are read from.

    Args:
        targets: What is to be written, and where.
        read: What is read, and from where; a path may be a glob.

    Raises:
        WriteError: It names the place that has to be another.
    """
    written: dict[Path, str] = {}
    sources = {what: _without_globs(path) for what, path in read.items() if path is not None}
    for what, path in targets.items():
        if path is None:
            continue
        full = Path(path).resolve()
        for other, place in sources.items():
            if full == place or full in place.parents:
                raise WriteError(path, f"{_is_or_are(other)} there; choose another place")
        for place, other in written.items():
            if full == place or full in place.parents or place in full.parents:
                reason = f"that is the place of the {other}; choose another"
                raise WriteError(path, reason)
        written[full] = what


def beside(path: Path, purpose: str) -> Path:
    """A hidden path in the same folder, for what is not yet or no longer in its place."""
    full = path.resolve()  # a path like . has no name
    return full.with_name(f".{full.name}.{os.getpid()}.{purpose}")


def _check_taken(path: Path, overwrite: bool) -> None:
    if not path.exists():
        return
    if not path.is_file():
        # A device or a pipe would be replaced by a file.
        raise WriteError(str(path), "it is neither a file nor a folder; choose another place")
    if not overwrite:
        raise WriteError(str(path), TAKEN)


def _is_or_are(what: str) -> str:
    return f"the {what} {'are' if what.endswith('s') else 'is'}"


def _without_globs(path: str) -> Path:
    """The path, or the folder that all paths are in that a glob may stand for."""
    if Path(path).exists():
        return Path(path).resolve()
    parts: list[str] = []
    for part in Path(path).parts:
        if any(each in part for each in _OF_GLOBS):
            # Something in the folder is read: as good as any name in it.
            return Path(*parts, part).resolve()
        parts.append(part)
    return Path(path).resolve()
