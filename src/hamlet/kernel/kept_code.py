"""Where compiled code is kept: read wherever it was put, written where it may be, compiled once.

Numba keeps code beside the sources or, where it may not write there, in the user's folder, and
gives up where neither is to be had: on executors with a package that is read only and a user
without a home. It also looks nowhere else than where it would write, so that code which was put
beside the sources when an image was built is not found by whoever may only read it. Here:

- `HAMLET_CACHE_DIR` (or Numba's own `NUMBA_CACHE_DIR`) says where code is kept;
- else it is beside the sources, in the user's folder, or in a folder for temporary files that
  belongs to the user alone, the first of them that can be written;
- code that lies beside the sources is found, whether or not anything can be written there;
- of several processes that need the same code, one compiles it and the others wait for it.
"""

from __future__ import annotations

import logging
import os
import stat
import tempfile
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numba import njit
from numba.core import config as _config
from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.core.registry import cpu_target

try:
    import fcntl
except ImportError:  # on Windows each process compiles for itself
    fcntl = None  # type: ignore[assignment]

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

config: Any = _config
_FOLDER = "HAMLET_CACHE_DIR"
_LOOK_EVERY_S = 0.1
_SECONDS_BEFORE_TELLING = 1.0


def kept(function: Callable[..., Any]) -> Any:
    """A function for Python to call: compiled when it is first needed, and kept on disk."""
    made: Any = njit(nogil=True)(function)
    made._cache = KeptCode(function)
    return made


class KeptCode(FunctionCache):
    """The code of one function, for each kind of arguments, in files."""

    def __init__(self, function: Callable[..., Any]) -> None:
        """Choose the folder of a function's code."""
        with _folder(function):
            super().__init__(function)
        beside = Path(function.__code__.co_filename).parent / "__pycache__"
        self._read_only: Any = None
        if (
            beside != Path(self.cache_path)
            and beside.is_dir()
            and os.access(beside, os.R_OK | os.X_OK)
        ):
            stamp = self._impl.locator.get_source_stamp()
            name = self._impl.filename_base
            self._read_only = IndexDataCacheFile(str(beside), name, stamp)
        self._turn: int | None = None

    def signatures(self) -> list[Any]:
        """The kinds of arguments that there is code for, which this processor can run."""
        files = [self._cache_file, *filter(None, [self._read_only])]
        keys = [key for file in files for key in file._load_index()]
        # To know the processor takes longer than to look whether there is any code.
        here = cpu_target.target_context.codegen().magic_tuple() if keys else None
        return [kinds for kinds, processor, _ in keys if processor == here]

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The code for some arguments; None where it has to be compiled, by this process."""
        found = self._found(sig, target_context)
        if found is None and self._turn is None:
            self._turn = _turn(Path(self.cache_path) / f"{self._impl.filename_base}.lock")
            found = self._found(sig, target_context)
            if found is not None:
                self._end_turn()
        return found

    def _found(self, sig: Any, target_context: Any) -> Any:
        found = super().load_overload(sig, target_context)
        if found is None and self._read_only is not None:
            key = self._index_key(sig, target_context.codegen())
            data = self._read_only.load(key)
            found = None if data is None else self._impl.rebuild(target_context, data)
        return found

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep code that has been compiled, for this process and for those that wait for it."""
        try:
            super().save_overload(sig, data)
        finally:
            self._end_turn()

    def _end_turn(self) -> None:
        if self._turn is not None:
            os.close(self._turn)
            self._turn = None


@contextmanager
def _folder(function: Callable[..., Any]) -> Iterator[None]:
    """Have Numba keep code where it should be; only the function that is declared meanwhile."""
    before = config.CACHE_DIR
    chosen = os.environ.get(_FOLDER) or before
    if not chosen and not _has_place(function):
        chosen = str(_temporary())
    config.CACHE_DIR = chosen
    try:
        yield
    finally:
        config.CACHE_DIR = before


def _has_place(function: Callable[..., Any]) -> bool:
    """Whether Numba has a place for the code of a function by itself."""
    try:
        FunctionCache(function)
    except RuntimeError:
        return False
    return True


def _temporary() -> Path:
    """A folder for temporary files in which nobody else can put code for us to run."""
    user = os.getuid() if hasattr(os, "getuid") else 0
    folder = Path(tempfile.gettempdir()) / f"hamlet-{user}"
    with suppress(OSError):
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
        if stat.S_ISDIR(found.st_mode) and found.st_uid == user and not found.st_mode & 0o077:
            return folder
    return Path(tempfile.mkdtemp(prefix="hamlet-"))


def _turn(lock: Path) -> int | None:
    """Wait until no other process compiles the same; an open file that says that this one does.

    None where files cannot be locked, as on some file systems of networks: nobody waits then.
    """
    if fcntl is None:
        return None
    try:
        file = os.open(lock, os.O_CREAT | os.O_RDWR, 0o600)
    except OSError:
        return None
    begun, is_told = time.monotonic(), False
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if not is_told and time.monotonic() - begun > _SECONDS_BEFORE_TELLING:
                is_told = True
                line = "waiting for another process on this machine that compiles the same"
                logging.getLogger("hamlet").warning(line)
            time.sleep(_LOOK_EVERY_S)
        except OSError:
            os.close(file)
            return None
        else:
            return file
