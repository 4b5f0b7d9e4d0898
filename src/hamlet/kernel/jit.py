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

from types import FunctionType
from typing import Any

from numba import _dynfunc, njit  # type: ignore[attr-defined]
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.typed_passes import NativeLowering


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


# Wrappers for Python are not needed either.
OPTIONS: dict[str, Any] = {
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
    "nogil": True,
    "pipeline_class": _Compiler,
}
compiled = njit(**OPTIONS)
inlined = njit(**OPTIONS, forceinline=True)


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
