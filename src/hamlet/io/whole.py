"""Files and folders that appear whole or not at all.

Something is written beside its place under a hidden name, and moved there when it is complete.
"""

from __future__ import annotations

import shutil
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from hamlet.errors import WriteError, reason_of
from hamlet.io.targets import beside

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextmanager
def put_whole(path: Path) -> Iterator[Path]:
    """A path to write a file or a folder to; it is moved to its place if nothing goes wrong.

    Raises:
        WriteError: The system cannot write it; what was there before is there again.
    """
    full, partial, replaced = path.resolve(), beside(path, "partial"), beside(path, "replaced")
    try:
        yield partial
        if full.is_dir() and partial.is_dir():  # a file never takes the place of a folder
            full.replace(replaced)
        partial.replace(full)
    except OSError as error:
        raise WriteError(str(path), reason_of(error)) from error
    finally:
        # A system that cannot write cannot remove: that is not what went wrong.
        with suppress(OSError):
            if replaced.exists() and not full.exists():
                replaced.replace(full)
        for left in (partial, replaced):
            _remove(left)


def write_text(path: Path, text: str) -> None:
    """Write a text file.

    Raises:
        WriteError: The system cannot write it.
    """
    with put_whole(path) as partial:
        partial.write_text(text, encoding="utf-8")


def _remove(path: Path) -> None:
    with suppress(OSError):
        if path.is_dir():
            shutil.rmtree(path)
        path.unlink(missing_ok=True)
