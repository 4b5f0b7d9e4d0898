"""The experiments as pictures: a panel for each figure of the paper, PNG and SVG.

All axes of figures are logarithmic and say so; a system has the same colour, marker and dash
everywhere, so that it is told apart in grey too. Where a system gave up or passed its limit, a
cross at the top of the panel says so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.axes import Axes


class CurveStyle(NamedTuple):
    """How a system or policy is drawn."""

    label: str
    colour: str
    marker: str
    dash: str


LOOKS = {
    "hamlet": CurveStyle("Hamlet", "#0b5fa5", "o", "-"),
    "greta": CurveStyle("GRETA", "#d1491b", "s", "--"),
    "greta apart": CurveStyle("GRETA, encoding for each query", "#e59a7d", "s", ":"),
    "sharon": CurveStyle("SHARON", "#3a8f3d", "^", "-."),
    "mcep": CurveStyle("MCEP", "#7a4fa3", "D", ":"),
    "loops": CurveStyle("loops by hand", "#6b6b6b", "v", "--"),
    # Policies as in the picture of `bench sharing`
    "dynamic": CurveStyle("dynamic", "#101b3b", "o", "-"),
    "static": CurveStyle("static", "#9a8fd0", "D", "-."),
    "always": CurveStyle("always", "#2b7a78", "^", "--"),
    "never": CurveStyle("never", "#b3541e", "s", ":"),
    "apart": CurveStyle("apart", "#c7a02c", "P", "-."),
    "session": CurveStyle("session in one process", "#4b8fc4", "o", "-"),
    "spark": CurveStyle("Spark stream", "#e25a1c", "s", "--"),
}
METRICS = {
    "latency_s": ("latency, ms", 1e3),
    "kernel_s": ("of it kernel, ms", 1e3),
    "events_per_s": ("throughput, events/s", 1.0),
    "peak_mib": ("peak memory, MiB", 1.0),
}
PACED = {"latency_s": ("median latency, ms", 1e3), "p99_s": ("99 of 100 within, ms", 1e3)}
XS = {
    "ridesharing-events": "Ridesharing: events per minute",
    "ridesharing-queries": "Ridesharing: queries",
    "real-low-events": "Real cabs: events per minute",
    "real-low-queries": "Real cabs: queries",
    "taxi-events": "Taxi: events per minute",
    "taxi-queries": "Taxi: queries",
    "smarthome-events": "Smart home: events per minute",
    "smarthome-queries": "Smart home: queries",
    "cabs-events": "Real cabs: events per minute",
    "cabs-queries": "Real cabs: queries",
    "cabs-groups": "Real cabs: cabs",
    "plugs-events": "Real plugs: events per minute",
    "stock-events": "Stock: events per minute",
    "stock-queries": "Stock: queries",
    "stock-edges-events": "Stock, neighbours: events per minute",
    "stock-edges-queries": "Stock, neighbours: queries",
    "trades-queries": "Real trades: queries",
    "trades-edges-events": "Real trades, neighbours: events per minute",
    "trades-edges-queries": "Real trades, neighbours: queries",
    "stock-twins": "Stock, twins: queries",
    "paced": "events per minute, 60 of these in one of the clock",
    "growth": "events of a district in a window",
}
PICTURES = {
    "paper-systems": (
        *("ridesharing-events", "ridesharing-queries"),
        *("real-low-events", "real-low-queries"),
    ),
    "paper-greta": ("taxi-events", "taxi-queries", "smarthome-events", "smarthome-queries"),
    "paper-greta-real": ("cabs-events", "cabs-queries", "cabs-groups", "plugs-events"),
    "paper-sharing": ("stock-events", "stock-queries", "trades-queries", "stock-twins"),
    "paper-sharing-edges": (
        *("stock-edges-events", "stock-edges-queries"),
        *("trades-edges-events", "trades-edges-queries"),
    ),
    "paper-paced": ("paced",),
    "paper-growth": ("growth",),
}
LOG_X = ("growth", "cabs-groups", "paced")
_GREY = "#5f6b76"


def draw(report: dict[str, Any], folder: Path) -> list[Path]:
    """Draw every picture that there are figures for."""
    written = []
    for name, sweeps in PICTURES.items():
        there = [s for s in sweeps if any(p["sweep"] == s for p in report["points"])]
        if not there:
            continue
        figure = _figure(report, there)
        for kind in ("png", "svg"):
            written.append(folder / f"{name}.{kind}")
            figure.savefig(written[-1], dpi=130)
    return written


def _figure(report: dict[str, Any], sweeps: list[str]) -> Figure:
    is_single = len(sweeps) == 1
    metrics = PACED if sweeps == ["paced"] else METRICS
    rows, columns = (1, len(metrics)) if is_single else (len(metrics), len(sweeps))
    size = (3.9 * columns, 3.9) if is_single else (3.3 * columns + 1.2, 2.7 * rows + 1.4)
    figure = Figure(figsize=size, layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(rows, columns, squeeze=False)
    for row, (metric, (shown, _)) in enumerate(metrics.items()):
        for column, sweep in enumerate(sweeps):
            panel = panels[0, row] if is_single else panels[row, column]
            points = [p for p in report["points"] if p["sweep"] == sweep]
            _panel(panel, points, metric)
            if row == len(metrics) - 1 or is_single:
                panel.set_xlabel(f"{XS[sweep]} (log)" if sweep in LOG_X else XS[sweep])
            if column == 0:
                panel.set_ylabel(f"{shown} (log)")
    _legend(figure, panels, report)
    return figure


def _panel(panel: Axes, points: list[dict[str, Any]], metric: str) -> None:
    scale = (METRICS | PACED)[metric][1]
    for name in points[0]["series"]:
        look = LOOKS[name]
        known = [p for p in points if metric in p["found"][name]]
        spreads = [p["found"][name][metric] for p in known]
        # A peak of nothing has no place on a logarithmic axis.
        least = 0.05 if metric == "peak_mib" else 0.0
        middle = [max(scale * s["median"], least) for s in spreads]
        low = [max(scale * s["low"], least) for s in spreads]
        high = [max(scale * s["high"], least) for s in spreads]
        below = [one - other for one, other in zip(middle, low, strict=True)]
        above = [one - other for one, other in zip(high, middle, strict=True)]
        panel.errorbar(
            [p["x"] for p in known],
            middle,
            yerr=(below, above),
            color=look.colour,
            marker=look.marker,
            linestyle=look.dash,
            markersize=4.5,
            linewidth=1.6,
            capsize=2.5,
            elinewidth=1.0,
            label=look.label,
        )
        _crosses(panel, [p for p in points if p["found"][name]["status"] != "measured"], name)
    _axes(panel, points)


def _crosses(panel: Axes, lost: list[dict[str, Any]], name: str) -> None:
    """Where a system has no figure."""
    order = list(LOOKS).index(name) % 6
    for point in lost:
        panel.plot(
            [point["x"]],
            [1.01 + 0.035 * order],
            transform=panel.get_xaxis_transform(),
            color=LOOKS[name].colour,
            marker="x",
            markersize=5,
            markeredgewidth=1.6,
            linestyle="none",
            clip_on=False,
        )


def _axes(panel: Axes, points: list[dict[str, Any]]) -> None:
    panel.set_yscale("log")
    xs = sorted({p["x"] for p in points})
    if points[0]["sweep"] in LOG_X:
        panel.set_xscale("log")
        panel.xaxis.set_minor_locator(NullLocator())
    panel.set_xticks(xs)
    panel.xaxis.set_major_formatter(FuncFormatter(lambda x, _: _short(x)))
    low, high = panel.get_ylim()
    if high / low < 10:  # a small difference is not to look like a large one
        middle = (low * high) ** 0.5
        low, high = middle / 10**0.5, middle * 10**0.5
        panel.set_ylim(low, high)
    subs = (1.0, 2.0, 5.0) if high / low < 2000 else (1.0,)
    panel.yaxis.set_major_locator(LogLocator(subs=subs, numticks=30))
    panel.yaxis.set_major_formatter(FuncFormatter(lambda y, _: _short(y)))
    panel.yaxis.set_minor_locator(NullLocator())
    panel.grid(True, which="major", color="#d8dde2", linewidth=0.7)
    panel.set_axisbelow(True)
    for side in ("top", "right"):
        panel.spines[side].set_visible(False)
    panel.tick_params(labelsize=8)


def _short(value: float) -> str:
    """A number with few characters.

    >>> _short(12500), _short(2e6), _short(0.1)
    ('12.5K', '2M', '0.1')
    """
    for limit, unit in ((1e6, "M"), (1e3, "K")):
        if value >= limit:
            return f"{value / limit:g}{unit}"
    return f"{value:g}"


def _legend(figure: Figure, panels: Any, report: dict[str, Any]) -> None:
    handles, labels = panels[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False, fontsize=9)
    machine = report["machine"]["processor"]
    figure.suptitle(
        f"{machine}, one core, medians of {report['repeat']} with least and greatest, "
        f"{report['scale']} mode\n"
        f"x at the top: no result within {report['limit_s']:g} s, or too large",
        fontsize=9,
        color=_GREY,
        x=0.01,
        ha="left",
    )
