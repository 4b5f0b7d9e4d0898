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
from numba.core.types import unliteral


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


# Wrappers for Python are not needed either, and no divisor is ever 0: nothing has to be raised.
# Whether a function is inlined is said of each: Numba would have it of whatever called it first.
OPTIONS: dict[str, Any] = {
    "error_model": "numpy",
    "forceinline": False,
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
    "nogil": True,
    "pipeline_class": _Compiler,
}
INLINED: dict[str, Any] = {**OPTIONS, "forceinline": True}
APART: dict[str, Any] = {**OPTIONS, "pipeline_class": _CompilerApart}


def compiled(function: Any) -> Any:
    """Compile a function that compiled functions call; LLVM says where it is inlined."""
    return _for_kinds(njit(**OPTIONS)(function))


def inlined(function: Any) -> Any:
    """The same, and have its code wherever it is called."""
    return _for_kinds(njit(**INLINED)(function))


def apart(function: Any) -> Any:
    """The same, and keep its code out of others: of what is rare or long.

    A kernel in which all is inlined takes many times as long to compile, and what is often needed
    in it is not faster for that.
    """
    return _for_kinds(njit(**APART)(function))


def _for_kinds(dispatcher: Any) -> Any:
    """Compile a function for the kinds of its arguments, not for each constant among them."""
    template = dispatcher.get_call_template

    def for_kinds(args: Any, kws: Any) -> Any:
        wide = {name: unliteral(kind) for name, kind in kws.items()}
        return template(tuple(map(unliteral, args)), wide)

    dispatcher.get_call_template = for_kinds
    return dispatcher


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
