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
from numba import _dynfunc  # type: ignore[attr-defined]
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.registry import CPUDispatcher
from numba.core.typed_passes import NativeLowering
from numba.core.types import Array, BaseTuple, unliteral

from hamlet.errors import InternalError
from hamlet.kernel.kept_code import KeptCode, kept

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class _Lowered(JITCodeLibrary):
    """The code of one function as it was lowered, to be linked into that which Python calls.

    What it calls is not linked into it: functions that are called from many places would be there
    many times over, only to be found equal. It is gathered once, for what Python calls.
    """

    def add_linking_library(self, library: Any) -> None:
        super().add_linking_library(library)
        self._reload_init.update(library._reload_init)

    def finalize(self) -> None:
        """No machine code, and no optimising of more than the function: who calls it does that."""
        self._raise_if_finalized()
        self._finalized = True

    def _get_module_for_linking(self) -> Any:
        whole = super()._get_module_for_linking()
        for library in self._called():
            whole.link_in(JITCodeLibrary._get_module_for_linking(library), preserve=True)
        # Names are told apart in one process, not in two whose code is loaded together.
        own = {f.name for f in self._final_module.functions if not f.is_declaration}
        for function in whole.functions:
            if function.name not in own and not function.is_declaration:
                function.linkage = "internal"
        return whole

    def _called(self) -> list[JITCodeLibrary]:
        """All that it calls, and that these call, each once."""
        found: dict[JITCodeLibrary, None] = {}
        waiting = list(self._linking_libraries)
        while waiting:
            library = waiting.pop()
            if library not in found:
                found[library] = None
                if isinstance(library, _Lowered):
                    waiting += library._linking_libraries
        return list(found)


@register_pass(mutates_CFG=True, analysis_only=False)
class _Lowering(NativeLowering):
    """Lower a function, and make it known to callers as Numba would, but without machine code."""

    _name = "lowering_for_callers"

    def run_pass(self, state: Any) -> bool:
        state.library = _Lowered(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        state.flags.no_compile = True
        super().run_pass(state)
        if isinstance(state.pipeline, _CompilerApart):
            function = state.library._final_module.get_function(state.cr.fndesc.mangled_name)
            function.add_function_attribute("noinline")
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


class _CompilerApart(_Compiler):
    """The same, for functions that are never inlined: see `apart`."""


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

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """What is called with some types: compiled for their kinds, not for each constant."""
        wide = {name: unliteral(kind) for name, kind in kws.items()}
        return super().get_call_template(tuple(map(unliteral, args)), wide)

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


class _ForPython(_Interpretable):
    """A function that Python calls, also in its main thread: see `hamlet.kernel.stopping`."""

    def add_overload(self, result: Any) -> None:
        """Refuse to return an array: steps of Python make it, in which signals are handled."""
        returned: Any = result.signature.return_type
        is_tuple = isinstance(returned, BaseTuple)
        if any(isinstance(part, Array) for part in (returned if is_tuple else [returned])):
            message = (
                f"{self.py_func.__name__} returns an array: it has to fill one that it is given"
            )
            raise InternalError(message)
        super().add_overload(result)


def interpretable(function: Callable[..., Any]) -> Any:
    """A function for Python to call, which is kept on disk and can also run as it is written.

    It returns numbers, and fills arrays that it is given.
    """
    made: Any = _ForPython(function, targetoptions=_ALWAYS)
    made._cache = KeptCode(function)
    return made


# Wrappers for Python are not needed either. Whether a function is inlined is said of each: Numba
# would have it of whatever called it first.
_FOR_CALLERS: dict[str, Any] = {
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
    "forceinline": False,
}
# The same for Numba's decorators
OPTIONS: dict[str, Any] = {
    "nogil": True,
    "error_model": "numpy",
    "pipeline_class": _Compiler,
    **_FOR_CALLERS,
}
INLINED: dict[str, Any] = {**OPTIONS, "forceinline": True}
APART: dict[str, Any] = {**OPTIONS, "pipeline_class": _CompilerApart}


def compiled(function: Callable[..., Any]) -> Any:
    """A function for compiled functions to call; LLVM says where it is inlined."""
    return _Interpretable(
        function, targetoptions={**_ALWAYS, **_FOR_CALLERS}, pipeline_class=_Compiler
    )


def inlined(function: Callable[..., Any]) -> Any:
    """A function that becomes part of the compiled functions that call it."""
    options = {**_ALWAYS, **_FOR_CALLERS, "forceinline": True}
    return _Interpretable(function, targetoptions=options, pipeline_class=_Compiler)


def apart(function: Callable[..., Any]) -> Any:
    """A function that never becomes part of others: for what is rare or long.

    A kernel in which all is inlined takes many times as long to compile, and what is often needed
    in it is not faster for that.
    """
    return _Interpretable(
        function, targetoptions={**_ALWAYS, **_FOR_CALLERS}, pipeline_class=_CompilerApart
    )


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
    return kept(named)


def _call(*arguments: Any) -> Any:
    """Call the function that `kept_on_disk` has put among the globals of a copy of this one."""
    return work(*arguments)  # type: ignore[name-defined]  # noqa: F821
