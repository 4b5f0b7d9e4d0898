"""Which paths events can be written to: a file by its ending, or else a folder of parts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hamlet.errors import WriteError, listed
from hamlet.events.formats import GZIP, WRITTEN
from hamlet.io.targets import check_file, check_folder, is_folder

if TYPE_CHECKING:
    from pathlib import Path

_PACKED = tuple(f"{ending}{GZIP}" for ending, format_ in WRITTEN.items() if format_.write_lines)
ENDINGS = (*WRITTEN, *_PACKED)
FORMATS = tuple(ending[1:] for ending in WRITTEN)


def ending_of(path: Path) -> str:
    """The ending of a file of events, in lower case.

    >>> from pathlib import Path
    >>> ending_of(Path("a.b/Rides.2026.CSV.gz"))
    '.csv.gz'
    """
    name = path.name.lower()
    endings = [ending for ending in ENDINGS if name.endswith(ending)]
    if not endings:
        reason = f"the ending is none of {listed(ENDINGS)}; without one it is a folder"
        raise WriteError(str(path), reason)
    return max(endings, key=len)


def check_place(path: Path, *, overwrite: bool) -> None:
    """Refuse a place for events before any is made.

    Of folders, only those are replaced that hold nothing but parts.

    Raises:
        WriteError: It is there already, or cannot be written.
    """
    if not is_folder(path):
        ending_of(path)
        check_file(path, overwrite=overwrite)
        return
    check_folder(path, overwrite=overwrite, holds="parts", is_ours=_is_part)


def _is_part(path: Path) -> bool:
    return path.is_file() and path.match("part-*.*")
