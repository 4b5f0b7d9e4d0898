"""Functions that only compiled functions call."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from numba import njit

from hamlet.kernel.cache_key import digest
from hamlet.kernel.jit import compiled, inlined

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


def test_digest_changes_with_any_source(tmp_path: Path) -> None:
    one, other = tmp_path / "one.py", tmp_path / "other.py"
    one.write_text("1")
    other.write_text("2")
    before = digest(one, other)
    assert before == digest(other, one)
    assert before != digest(one)
    other.write_text("3")
    assert before != digest(one, other)
