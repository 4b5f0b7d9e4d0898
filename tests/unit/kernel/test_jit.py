"""Functions that only compiled functions call."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import numpy as np
import pytest
from numba import njit

from hamlet.errors import InternalError
from hamlet.kernel.cache_key import digest
from hamlet.kernel.jit import apart, compiled, inlined, interpretable

if TYPE_CHECKING:
    from pathlib import Path


@compiled
def _doubled(x):
    return 2 * x


@inlined
def _raised(x):
    return _doubled(x) + 1


@compiled
def _filled(n):
    array = np.empty(n)
    for i in range(n):
        array[i] = _raised(i)
    return array


@njit
def _total(n, x):
    # By two ways to the same function, which is linked once
    return _filled(n).sum() + _doubled(x)


def test_linked_into_the_function_that_python_calls() -> None:
    # The sum of 2 i + 1 below n is its square. Once more with another type: code of its own.
    assert _total(100, 7) == 100 * 100 + 14
    assert _total(100, 0.25) == 100 * 100 + 0.5


def test_no_machine_code_of_its_own() -> None:
    # What nobody would see but for the time: each function made machine code of by itself.
    assert _total(1, 1) == 3
    for function in (_doubled, _raised, _filled):
        for code in function.overloads.values():
            with pytest.raises(RuntimeError, match="no compiled object"):
                code.library._get_compiled_object()


_IN_A_PROCESS = """
import sys
sys.path.insert(0, {folder!r})
import kernel_of_test
for kernel in (kernel_of_test.run, kernel_of_test.other):
    print(kernel(kernel_of_test.given), sum(kernel.stats.cache_hits.values()))
"""


@pytest.mark.slow
def test_kept_on_disk_by_name_until_the_key_changes(tmp_path: Path) -> None:
    # All functions that are kept come from one piece of source, which is all that Numba looks at.
    source = tmp_path / "kernel_of_test.py"

    def in_a_process(factor: int, key: int, argument: str) -> list[str]:
        source.write_text(
            "from typing import NamedTuple\n"
            "from hamlet.kernel.jit import compiled, kept_on_disk\n"
            f"class {argument}(NamedTuple):\n    x: int\n"
            f"given = {argument}(3)\n"
            f"@compiled\ndef _run(a):\n    return {factor} * a.x\n"
            f"run = kept_on_disk(_run, {key})\n"
            "@compiled\ndef _other(a):\n    return -a.x\n"
            f"other = kept_on_disk(_other, {key})\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", _IN_A_PROCESS.format(folder=str(tmp_path))],
            env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "kept")},
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.splitlines()

    assert in_a_process(2, 1, "Given") == ["6 0", "-3 0"]  # compiled
    assert in_a_process(2, 1, "Given") == ["6 1", "-3 1"]  # loaded
    # Compiled again; a class that only the code compiled before knows is not looked for.
    assert in_a_process(5, 2, "Changed") == ["15 0", "-3 0"]
    assert in_a_process(5, 2, "Changed") == ["15 1", "-3 1"]


def test_digest_changes_with_any_source(tmp_path: Path) -> None:
    one, other = tmp_path / "one.py", tmp_path / "other.py"
    one.write_text("1")
    other.write_text("2")
    before = digest(one, other)
    assert before == digest(other, one)
    assert before != digest(one)
    other.write_text("3")
    assert before != digest(one, other)


@compiled
def _looked_at(x):
    return x * x


@apart
def _kept_apart(x):
    return _looked_at(x) + 3


@inlined
def _through(x):
    return _looked_at(x) + _kept_apart(1) + _kept_apart(x)


@njit
def _result(x):
    return _through(2) + _through(x)


def test_a_function_is_compiled_once_for_all_constants() -> None:
    # What nobody would see but for the time: code for each number that a function is called with.
    assert _result(5) == (4 + 4 + 7) + (25 + 4 + 28)
    for function in (_looked_at, _kept_apart, _through):
        assert len(function.overloads) == 1


def test_what_an_inlined_function_calls_is_not_inlined_for_that() -> None:
    # Numba hands that on to what it compiles meanwhile, and so to all that is called from there.
    assert _result(1) == (4 + 4 + 7) + (1 + 4 + 4)
    marks = {
        function: str(next(iter(function.overloads.values())).library._final_module)
        for function in (_looked_at, _kept_apart, _through)
    }
    assert "alwaysinline" not in marks[_looked_at]
    assert "alwaysinline" not in marks[_kept_apart]
    assert "noinline" in marks[_kept_apart]
    assert "alwaysinline" in marks[_through]


@interpretable
def _made(n):
    return n, np.empty(n)


def test_what_python_calls_returns_no_array():
    with pytest.raises(InternalError, match="_made returns an array"):
        _made(3)
