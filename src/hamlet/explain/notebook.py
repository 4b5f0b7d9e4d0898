"""Plans in notebooks: HTML of what `explain` returns and of a whole workload.

A picture goes in as an image of its own, so nothing of it can touch the rest of a page, and text
is escaped: names in a query may hold anything.
"""

from __future__ import annotations

import base64
import html
from typing import Any

from hamlet.explain.pictures import pictures
from hamlet.explain.text import explain_text
from hamlet.picture import render_svg

_MOST_SETS = 6
_MOST_LINES = 60


class Explanation(str):
    r"""Text that a notebook shows as it is meant: pictures drawn, lines kept apart.

    >>> Explanation("a < b\n")._repr_html_()
    '<pre>a &lt; b\n</pre>'
    """

    __slots__ = ()

    def _repr_html_(self) -> str:
        return image(self, "the plan") if self.startswith("<svg") else _pre(str(self))


def image(svg: str, says: str) -> str:
    """An SVG picture as an image element that has it inside."""
    data = base64.b64encode(svg.encode()).decode()
    style = "max-width: 100%; height: auto"
    says = html.escape(says)
    return f'<img alt="{says}" style="{style}" src="data:image/svg+xml;base64,{data}">'


def workload_html(description: dict[str, Any], summary: str) -> str:
    """The templates as a picture, and the sets below it; of very many, first those in common."""
    sets = sorted(description["sets"], key=lambda one: not one["shared"])
    drawn = pictures({**description, "sets": sets[:_MOST_SETS]}, ["merged"])
    heading, _, told = explain_text(description, ["sets"]).partition("\n")
    lines = told.strip("\n").split("\n")
    if len(lines) > _MOST_LINES:
        left_out = len(lines) - _MOST_LINES
        lines = [*lines[:_MOST_LINES], f"... and {left_out:,} more lines; see explain('sets')"]
    return image(render_svg(drawn, heading=summary), heading) + _pre("\n".join(lines))


def _pre(text: str) -> str:
    return f"<pre>{html.escape(text)}</pre>"
