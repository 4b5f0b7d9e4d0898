"""Types by condition: what `DEFINE` says, before the queries that use it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hamlet.lang import tree
from hamlet.lang.printer import print_definitions

if TYPE_CHECKING:
    from hamlet.lang.builder.conditions import Expression


@dataclass(frozen=True, slots=True)
class Definition:
    """A type by condition, to be given before queries; `str` is its text."""

    tree: tree.Definition

    def __str__(self) -> str:
        return print_definitions((self.tree,))

    __repr__ = __str__


def define(name: str, condition: Expression, *, type: str | None = None) -> Definition:
    """A type by condition: `DEFINE Late AS delay > 15`.

    >>> from hamlet.build import attr
    >>> define("Late", attr("delay") > 15)
    DEFINE Late AS delay > 15
    >>> define("Big", attr("volume") > 1000, type="Trade")
    DEFINE Big AS Trade WHERE volume > 1000

    Args:
        name: What stands in patterns.
        condition: What an event satisfies; attributes are given without a variable.
        type: The type that it has as well; any where left out.
    """
    base = None if type is None else tree.Name(type)
    return Definition(tree.Definition(tree.Name(name), base, condition.tree))
