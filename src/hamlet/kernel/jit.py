"""Compiled functions that only compiled functions call: optimised where they are called, once.

Numba takes each function for one that Python may call: it optimises it, together with all that it
calls, and makes machine code of it. What lies ten calls deep would go through that ten times, which
was half of the time of a first run. A function that is declared here is kept as it was lowered, and
becomes machine code as part of the function that Python does call, which is also the one that is
kept on disk (`kept_on_disk`).

Numba lets a function have passes of its own; what the pass below replaces (typed_passes.py and
cpu.py in Numba) is of Numba's making and may change with its versions. Whatever it does wrong shows
at once: nothing would be compiled.
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from types import FunctionType
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import _dynfunc, njit  # type: ignore[attr-defined]
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.registry import CPUDispatcher
from numba.core.typed_passes import NativeLowering

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class _Lowered(JITCodeLibrary):
    """The code of one function as it was lowered, to be linked into others."""

    def _optimize_final_module(self) -> None:
        """Nothing: who calls the function does."""

    def _finalize_final_module(self) -> None:
        """No machine code."""
        self._finalized = True


@register_pass(mutates_CFG=True, analysis_only=False)
class _Lowering(NativeLowering):
    """Lower a function, and make it known to callers as Numba would, but without machine code."""

    _name = "lowering_for_callers"

    def run_pass(self, state: Any) -> bool:
        state.library = _Lowered(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        state.flags.no_compile = True
        super().run_pass(state)
        name = state.cr.fndesc.qualname.split(".")[-1]
        # Callers find the function by this object. It cannot be called: there is no address in it.
        known_as = _dynfunc.make_function(
            state.cr.fndesc.lookup_module(), name, "", 0, state.cr.env, (state.library,)
        )
        state.library.finalize()
        state.targetctx.insert_user_function(known_as, state.cr.fndesc, [state.library])
        state.cr = state.cr._replace(cfunc=known_as)
        return True


class _Compiler(CompilerBase):
    """Numba's compiler with that pass."""

    def define_pipelines(self) -> list[Any]:
        usual = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes = PassManager("for callers")
        for usual_pass, description in usual.passes:
            is_lowering = usual_pass is NativeLowering
            passes.add_pass(_Lowering if is_lowering else usual_pass, description)
        passes.finalize()
        return [passes]


# Whether functions of Python's own run as they are written: see `interpreted`.
_is_interpreted: ContextVar[bool] = ContextVar("is_interpreted", default=False)
# Whether one of them is running.
_is_inside: ContextVar[bool] = ContextVar("is_inside", default=False)


@contextmanager
def interpreted(is_so: bool = True) -> Iterator[None]:
    """Have `interpretable` functions run as they are written, without waiting for a compiler.

    Args:
        is_so: False to have them compiled after all.
    """
    token = _is_interpreted.set(is_so)
    try:
        # Where compiled integers wrap round, those of NumPy do too, but warn.
        with np.errstate(over="ignore"):
            yield
    finally:
        _is_interpreted.reset(token)


def is_interpreted() -> bool:
    """Whether no code is to be compiled now."""
    return _is_interpreted.get()


class _Interpretable(CPUDispatcher):
    """A function that is compiled when it is called, but not where code is interpreted."""

    def __call__(self, *arguments: Any) -> Any:
        if _is_interpreted.get():
            return self._as_written(arguments)
        return super().__call__(*arguments)

    def _as_written(self, arguments: tuple[Any, ...]) -> Any:
        """Run the function itself; what it calls runs so too, with numbers of NumPy."""
        if _is_inside.get():
            return self.py_func(*arguments)
        token = _is_inside.set(True)
        try:
            return _unboxed(self.py_func(*arguments))
        finally:
            _is_inside.reset(token)


def _unboxed(result: Any) -> Any:
    """Numbers as compiled functions return them: Python's own, which do not overflow."""
    if isinstance(result, tuple):
        return tuple(map(_unboxed, result))
    return result.item() if isinstance(result, np.generic) else result


# No divisor is ever 0: nothing has to be raised.
_ALWAYS: dict[str, Any] = {"nopython": True, "nogil": True, "error_model": "numpy"}


def interpretable(function: Callable[..., Any]) -> Any:
    """A function for Python to call, which is kept on disk and can also run as it is written."""
    made = _Interpretable(function, targetoptions=_ALWAYS)
    made.enable_caching()
    return made


# Wrappers for Python are not needed either.
_FOR_CALLERS: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
OPTIONS: dict[str, Any] = {"nogil": True, "pipeline_class": _Compiler, **_FOR_CALLERS}


def compiled(function: Callable[..., Any]) -> Any:
    """A function for compiled functions to call."""
    return _Interpretable(
        function, targetoptions={**_ALWAYS, **_FOR_CALLERS}, pipeline_class=_Compiler
    )


def inlined(function: Callable[..., Any]) -> Any:
    """A function that becomes part of the compiled functions that call it."""
    options = {**_ALWAYS, **_FOR_CALLERS, "forceinline": True}
    return _Interpretable(function, targetoptions=options, pipeline_class=_Compiler)


def kept_on_disk(function: Any, key: int) -> Any:
    """A function for Python to call: compiled when it is first needed, and then kept on disk.

    Numba keeps compiled code in files that are named for a function, and looks no further than at
    the file of its source. So each function gets a name of its own, with the key in it: what was
    compiled from other sources is in other files, which are not even opened. (They would have to be
    read whole, with classes of arguments that may be gone.)

    Args:
        function: What is compiled; its own arguments are those of the result.
        key: A number that changes with the sources: see cache_key.py.
    """
    module, name = function.py_func.__module__, function.py_func.__name__
    named = FunctionType(_call.__code__, {"__name__": module, "work": function}, name)
    named.__qualname__ = f"{module}.{name}.{key:x}"
    return njit(cache=True, nogil=True)(named)


def _call(*arguments: Any) -> Any:
    """Call the function that `kept_on_disk` has put among the globals of a copy of this one."""
    return work(*arguments)  # type: ignore[name-defined]  # noqa: F821
