"""A map of where sharing wins and loses: the time of each policy over the best, sweep by sweep.

A policy has the same colour, line and mark in every panel; lines and marks alone tell them apart
where there is no colour.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullLocator

from hamlet.bench.sharing_kernels import POLICIES
from hamlet.bench.sharing_map import draw_map

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.axes import Axes


class CurveStyle(NamedTuple):
    """How a policy is drawn."""

    color: str
    line: Any
    mark: str
    width: float


# Dynamic is broad and below the others, so that those which run along it are seen too.
LOOKS = {
    "never": CurveStyle("#b3541e", (0, (1, 1.5)), "s", 1.6),
    "always": CurveStyle("#2b7a78", (0, (5, 2)), "^", 1.6),
    "static": CurveStyle("#9a8fd0", (0, (6, 2, 1, 2)), "D", 1.6),
    "dynamic": CurveStyle("#101b3b", "-", "o", 4.5),
}
# Of each sweep its title, what its axis counts, and whether that axis is logarithmic
PANELS = {
    "burst": ("Length of bursts", "Ts after each X", True),
    "queries": ("Number of queries", "queries", True),
    "disagree": ("Entries that predicates disagree on", "percent of Xs", False),
    "disagree-exact": ("The same, exact numbers", "percent of Xs", False),
    "windows": ("Overlapping windows", "windows open at once", True),
    "burst-edge": ("Length of bursts, edge predicate", "Ts after each X", True),
    "queries-edge": ("Number of queries, edge predicate", "queries", True),
    "changing": ("A stream that changes its character", "events until it changes", True),
    "changing-exact": ("The same, exact numbers", "events until it changes", True),
}
_COLUMNS = 3


def draw(report: dict[str, Any], folder: Path) -> list[Path]:
    """Draw a report; returns the files written: sharing.png and .svg, and sharing-map.svg."""
    return [*_draw_sweeps(report, folder), *draw_map(report["grid"], report, folder)]


def _draw_sweeps(report: dict[str, Any], folder: Path) -> list[Path]:
    by_sweep: dict[str, list[dict[str, Any]]] = {}
    for point in report["points"]:
        by_sweep.setdefault(point["sweep"], []).append(point)
    names = [name for name in PANELS if name in by_sweep]
    if not names:
        return []
    rows, columns = -(-len(names) // _COLUMNS), min(_COLUMNS, len(names))
    # Text stays text in SVG, and the same figures give the same file.
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "hamlet", "font.size": 9}):
        height = 1.7 + 2.9 * rows
        figure = Figure(figsize=(3.9 * max(columns, 2), height), layout="constrained")
        panels = figure.subplots(rows, columns, squeeze=False, sharey=True).ravel()
        for panel, name in zip(panels, names, strict=False):
            _draw_panel(panel, name, by_sweep[name])
        _tick_times(panels[0])
        for panel in panels[len(names) :]:
            panel.set_axis_off()
        _caption(figure, panels[0], report)
        paths = [folder / "sharing.png", folder / "sharing.svg"]
        figure.savefig(paths[0], dpi=150)
        figure.savefig(paths[1], metadata={"Date": None})
    return paths


def _draw_panel(panel: Axes, name: str, points: list[dict[str, Any]]) -> None:
    title, axis, is_log = PANELS[name]
    points = sorted(points, key=lambda point: point["x"])
    x = [point["x"] for point in points]
    places = x if is_log else list(range(len(x)))
    for policy in POLICIES:
        look = LOOKS[policy]
        over = [_over_best(point, policy) for point in points]
        panel.plot(
            places,
            over,
            color=look.color,
            linestyle=look.line,
            marker=look.mark,
            linewidth=look.width,
            markersize=9 if policy == "dynamic" else 5.5,
            markeredgecolor="white",
            markeredgewidth=0.8,
            label=policy,
            zorder=2 if policy == "dynamic" else 3,
        )
    panel.axhline(1, color="#8a93a3", linewidth=0.8, zorder=1)
    panel.set_title(title, fontsize=10, loc="left")
    panel.set_yscale("log")
    panel.set_xlabel(f"{axis} (log scale)" if is_log else axis)
    if is_log:
        panel.set_xscale("log")
    panel.set_xticks(places, [f"{value:,}" for value in x])
    panel.xaxis.set_minor_locator(NullLocator())
    panel.tick_params(labelleft=True)
    panel.grid(axis="y", color="#e3e7ee", linewidth=0.8)
    panel.spines[["top", "right"]].set_visible(False)


def _over_best(point: dict[str, Any], policy: str) -> float:
    medians = {name: point["seconds"][name]["median"] for name in POLICIES}
    return float(medians[policy] / min(medians.values()))


def _tick_times(panel: Axes) -> None:
    """Round figures on the axis of times, as many as there is room for."""
    low, high = panel.get_ylim()
    high = max(high, 2.2)
    ticks = [t for t in (1, 1.5, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000) if t <= high]
    if len(ticks) > 7:
        ticks = [t for t in ticks if t in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)]
    panel.set_ylim(min(low, 0.95), high)
    panel.set_yticks(ticks)
    panel.yaxis.set_minor_locator(NullLocator())
    panel.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}x"))


def _caption(figure: Figure, panel: Axes, report: dict[str, Any]) -> None:
    handles, labels = panel.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False, fontsize=10)
    machine = report["machine"]["processor"]
    small = ", small sizes" if report["quick"] else ""
    figure.suptitle(
        "Time of each policy of sharing over the best one: 1x is the best, log scale\n"
        f"{machine}, one core, processor time, medians of {report['repeat']}{small}",
        fontsize=11,
        x=0.01,
        ha="left",
    )
