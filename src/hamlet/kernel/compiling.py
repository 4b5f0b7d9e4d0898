"""The first run on a machine compiles kernels, which takes a while: it says so, and how long."""

from __future__ import annotations

import logging
import time
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import numpy as np
    from numpy.typing import NDArray

# How every line begins that says so.
COMPILING = "compiling "


class _Part(NamedTuple):
    """A part of the package that is compiled.

    what: What it is.
    seconds: About how long it takes.
    numbers: Where among its arguments the numbers are that it is compiled for: which argument, and
        which field of that.
    """

    what: str
    seconds: int
    numbers: tuple[int, ...] = ()


_PARTS = {
    "hamlet.kernel.machine.batch": _Part("the kernel", 20, numbers=(0, 2)),
    "hamlet.kernel.rows.kernel": _Part(
        "the kernel of loops with an edge predicate", 12, numbers=(9,)
    ),
    "hamlet.kernel.rows.finding": _Part("what finds out which queries share a table", 5),
    "hamlet.kernel.base": _Part("what writes results", 1),
    "hamlet.kernel.encode.sorting": _Part("what sorts events", 3),
    "hamlet.kernel.encode.arranging": _Part("what puts events in order", 2),
    "hamlet.kernel.encode.lettering": _Part("what finds out which conditions events satisfy", 1),
    "hamlet.kernel.encode.digits": _Part("what makes exact sums of fractions", 2),
    "hamlet.kernel.sizes": _Part("what looks how large numbers are", 1),
    "hamlet.kernel.machine.checkpoint": _Part("what keeps the state of streams", 3),
    "hamlet.kernel.row_pieces": _Part("what keeps the state of streams", 3),
    "hamlet.kernel.finish.packed": _Part("what adds up long integers", 5),
    "hamlet.kernel.finish.sums": _Part("what adds up the partitions of a group", 1),
    "hamlet.kernel.finish.totals": _Part("what adds up the partitions of a group", 1),
    "hamlet.kernel.finish.group_text": _Part("what writes results", 1),
    "hamlet.io.long_form": _Part("what writes results", 1),
    "hamlet.kernel.finish.words": _Part("what makes digits of long integers", 3),
    "hamlet.engine.state.hashing": _Part("what hashes the keys of partitions", 1),
    "hamlet.paper.systems.greta": _Part("greta", 15),
    "hamlet.paper.systems.guards": _Part("negation for the systems to compare with", 3),
    "hamlet.paper.systems.mcep": _Part("mcep", 10),
    "hamlet.paper.systems.sharon": _Part("sharon", 15),
}
_NUMBERS = {
    "array(int64, 1d, C)": "64-bit integers",
    "array(uint64, 2d, C)": "long integers",
    "array(float64, 1d, C)": "doubles",
    "array(float64, 2d, C)": "doubles with long exponents",
}


@contextmanager
def when_compiling(tell: Callable[[str], None] | None = None) -> Iterator[None]:
    """Tell what Numba compiles instead of loading it from its cache: each thing once.

    Without anybody to tell, the logger "hamlet" is told, which shows warnings where logging has not
    been set up.
    """
    from numba.core import event

    with event.install_listener("numba:compile", _teller()(tell)):
        yield


@cache
def _teller() -> type[Any]:
    """A class that is made once, and not before a run: to import Numba takes a while."""
    from numba.core import event

    class Teller(event.Listener):
        # What a function calls is compiled while the function is: the outermost is told of.
        def __init__(self, tell: Callable[[str], None] | None) -> None:
            self.tell = tell
            self.depth = 0
            self.told = set[str]()

        def on_start(self, event: Any) -> None:
            self.depth += 1
            if self.depth > 1:
                return
            line = told_of(event.data.get("dispatcher"), event.data.get("args", ()))
            if line not in self.told:
                self.told.add(line)
                self.tell(line) if self.tell else logging.getLogger("hamlet").warning(line)

        def on_end(self, event: Any) -> None:
            self.depth -= 1

    return Teller


def told_of(dispatcher: Any, args: tuple[Any, ...]) -> str:
    """What is said when a function is compiled for some arguments."""
    module = getattr(getattr(dispatcher, "py_func", None), "__module__", "")
    part = _PARTS.get(module, _Part("a kernel", 5))
    what = f"{part.what}{_for_numbers(part, args)}"
    return f"{COMPILING}{what}, once on this machine: about {part.seconds} s"


def _for_numbers(part: _Part, args: tuple[Any, ...]) -> str:
    if not part.numbers:
        return ""
    kind = _kind_of_numbers(part, args)
    return f" for {_NUMBERS.get(kind, kind)}"


def has_code(function: Any, zero: NDArray[Any]) -> bool:
    """Whether a kernel need not be compiled: it has been, in this process or on this machine.

    Args:
        function: The kernel: see `kept_on_disk` in jit.py.
        zero: An empty array of the kind of numbers it is to compute with.
    """
    numbers = (function, zero.dtype, zero.ndim)
    if numbers not in _with_code:
        from numba import typeof

        kind = str(typeof(zero))  # type: ignore[no-untyped-call]
        if _is_there(function, kind):
            _with_code.add(numbers)
    return numbers in _with_code


# Kernels that have been found to have code: Numba takes long to say what it has.
_with_code: set[tuple[Any, np.dtype[Any], int]] = set()


def _is_there(function: Any, kind: str) -> bool:
    part = _PARTS[function.py_func.__module__]
    if any(_kind_of_numbers(part, signature) == kind for signature in function.signatures):
        return True
    # Numba can be asked for that by loading it only; the index of its files is small.
    return any(_kind_of_numbers(part, kept) == kind for kept in function._cache.signatures())


def _kind_of_numbers(part: _Part, args: tuple[Any, ...]) -> str:
    kind = args[0]  # all arguments in one tuple: see kept_on_disk in kernel/jit.py
    for place in part.numbers:
        kind = kind.types[place]
    return str(kind)


@dataclass(slots=True)
class KernelTime:
    """How long Numba has compiled, or loaded what it compiled before, in seconds."""

    seconds: float = 0.0


def seconds_of_kernels() -> float:
    """How long Numba has compiled and loaded, since this was asked first: it holds a lock then."""
    return _watched().seconds


@cache
def _watched() -> KernelTime:
    """How long it has in this process, from the first time that anybody asks."""
    from numba.core import event

    class Watch(event.Listener):
        # What a function calls is compiled while the function is: the outermost lock counts.
        def __init__(self, watched: KernelTime) -> None:
            self.found = watched
            self.depth = 0
            self.begun = 0.0

        def on_start(self, event: Any) -> None:
            if self.depth == 0:
                self.begun = time.perf_counter()
            self.depth += 1

        def on_end(self, event: Any) -> None:
            self.depth -= 1
            if self.depth == 0:
                self.found.seconds += time.perf_counter() - self.begun

    watched = KernelTime()
    event.register("numba:compiler_lock", Watch(watched))  # type: ignore[no-untyped-call]
    return watched
