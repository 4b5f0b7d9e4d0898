"""The map of where sharing wins and loses: own columns against snapshots, by n, b, k and w.

A panel for each number of queries and of windows. In each, a cell for each length of windows and of
bursts says how many times as long rows over own columns take as rows over snapshots: above 1 to
share is better. A frame marks where the dynamic policy is slower than the better of the two.
"""

from __future__ import annotations

from math import log10
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.axes import Axes

# To share is worse, no matter, better; told apart without colour by the figures
_COLORS = LinearSegmentedColormap.from_list("sharing", ["#b3541e", "#f4f1ea", "#2b7a78"])
_MOST = 2.0  # a hundred times, as a power of ten
_SLOWER = 1.3


def draw_map(grid: list[dict[str, Any]], report: dict[str, Any], folder: Path) -> list[Path]:
    """Draw the grid of a report; returns the file written, none where there is no grid."""
    if not grid:
        return []
    queries, windows = _values(grid, "queries"), _values(grid, "windows")
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "hamlet", "font.size": 8}):
        size = (1.2 + 2.9 * len(queries), 1.5 + 1.9 * len(windows))
        figure = Figure(figsize=size, layout="constrained")
        panels = figure.subplots(len(windows), len(queries), squeeze=False)
        for row, w in zip(panels, windows, strict=True):
            for panel, k in zip(row, queries, strict=True):
                some = [p for p in grid if (p["queries"], p["windows"]) == (k, w)]
                _draw_panel(panel, some, _values(grid, "live"), _values(grid, "burst"))
                panel.set_title(f"{k} queries, {w} window{'s' * (w > 1)}", fontsize=9, loc="left")
        for panel in panels[-1]:
            panel.set_xlabel("b, events in a burst")
        for panel in panels[:, 0]:
            panel.set_ylabel("n, events in a window")
        machine = report["machine"]["processor"]
        figure.suptitle(
            "Time of own columns over time of snapshots: above 1x (green) to share is better.\n"
            f"Framed: dynamic takes more than {_SLOWER} times the better one. {machine}, one core",
            fontsize=10,
            x=0.01,
            ha="left",
        )
        path = folder / "sharing-map.svg"
        figure.savefig(path, metadata={"Date": None})
    return [path]


def _values(grid: list[dict[str, Any]], name: str) -> list[int]:
    return sorted({point[name] for point in grid})


def _draw_panel(
    panel: Axes, points: list[dict[str, Any]], lives: list[int], bursts: list[int]
) -> None:
    for point in points:
        x, y = bursts.index(point["burst"]), lives.index(point["live"])
        times = point["took_ns"]["never"] / point["took_ns"]["always"]
        shade = 0.5 + 0.5 * max(-1.0, min(1.0, log10(times) / _MOST))
        is_slower = point["over_best"] > _SLOWER
        panel.add_patch(
            Rectangle(
                (x - 0.48, y - 0.46),
                0.96,
                0.92,
                facecolor=_COLORS(shade),
                edgecolor="#101b3b" if is_slower else "white",
                linewidth=1.6 if is_slower else 0.5,
            )
        )
        color = "white" if abs(shade - 0.5) > 0.36 else "#101b3b"
        panel.text(x, y, _told(times), ha="center", va="center", color=color, fontsize=7.5)
    panel.set_xlim(-0.6, len(bursts) - 0.4)
    panel.set_ylim(-0.6, len(lives) - 0.4)
    panel.set_xticks(range(len(bursts)), [f"{value:,}" for value in bursts])
    panel.set_yticks(range(len(lives)), [f"{value:,}" for value in lives])
    panel.tick_params(length=0)
    panel.spines[:].set_visible(False)


def _told(times: float) -> str:
    """A ratio with as many digits as matter.

    >>> _told(0.031), _told(1.26), _told(36.4)
    ('0.03x', '1.3x', '36x')
    """
    return f"{times:.0f}x" if times >= 10 else f"{times:.1f}x" if times >= 1 else f"{times:.2f}x"
