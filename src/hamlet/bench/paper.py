"""The experiments of the paper: latency, throughput and memory of all systems and policies.

At each point every system answers first, in a process of its own, and the answers are compared:
where they differ nothing is reported. A system that takes longer than the limit for one run is
shown so. Latency is the time of the processor from handing over the events of a window until the
results are there: the last event that contributes arrives with the others. What is made once for a
workload, the plan and the code or the sequences that a system runs by, is not in it.
"""

from __future__ import annotations

import hashlib
import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import hamlet
from hamlet.bench.paper_points import FULL, HOSTS, QUICK, SEED, SWEEPS, Scale, SweepPoint
from hamlet.bench.paper_streams import write_stream
from hamlet.bench.timing import Spread
from hamlet.data.real import path_of, real_files
from hamlet.errors import InternalError, ReadError, UnknownName, listed
from hamlet.io.circumstances import circumstances

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["FULL", "QUICK", "as_text", "measure", "names"]

_FIGURES = ("latency_s", "p99_s", "total_s", "kernel_s", "plan_s", "peak_mib")


def names() -> list[str]:
    """The sweeps."""
    return list(SWEEPS)


def measure(
    only: Sequence[str] = (),
    *,
    scale: Scale = FULL,
    data: str | None = None,
    known: dict[str, Any] | None = None,
    keep: Callable[[dict[str, Any]], None] = lambda report: None,
    tell: Callable[[str, float], None] = lambda what, done: None,
) -> dict[str, Any]:
    """Measure all sweeps, or some, and report everything as plain data.

    Args:
        only: The sweeps.
        scale: How large, and how often.
        data: The folder with the real files; without one, that of the variable HAMLET_DATA. Sweeps
            over files that are not there are left out, unless they are asked for by name.
        known: A report to go on with; what it has is not measured again.
        keep: Called with the report after every point.
        tell: Called with what is being done, and which part of the whole has been done.
    """
    for name in only:
        if name not in SWEEPS:
            raise UnknownName("experiment", name, f"There are {listed(SWEEPS)}.")
    missing = _missing(data)
    for name in only:
        if name in missing:
            raise missing[name]
    names = [name for name in SWEEPS if name in only or not (only or name in missing)]
    points = [point for name in names for point in SWEEPS[name](scale)]
    report = {
        **circumstances(),
        "seed": SEED,
        "scale": scale.name,
        "repeat": scale.repeat,
        "limit_s": scale.limit_s,
        "sources": _sources(),
        "left_out": {} if only else {name: str(why) for name, why in missing.items()},
        "points": _still_right(known, scale, points),
    }
    done = {_key(each) for each in report["points"]}
    with _Workers(data) as workers:
        for number, point in enumerate(points):
            if _key(point.as_dict()) in done:
                continue

            def tell_point(series: str, number: int = number, point: SweepPoint = point) -> None:
                tell(f"{point.sweep} {point.x:g}: {series}", number / len(points))

            report["points"].append(measure_point(point, scale, workers, tell_point))
            keep(report)
    tell("done", 1.0)
    return report


def _missing(data: str | None) -> dict[str, ReadError]:
    """The sweeps over real files that are not there, and what is said of them."""
    missing: dict[str, ReadError] = {}
    for name, sweep in SWEEPS.items():
        data_set = next(iter(sweep(QUICK))).data_set
        if data_set in real_files():
            try:
                path_of(data_set, data)
            except ReadError as error:
                missing[name] = error
    return missing


def _key(point: dict[str, Any]) -> str:
    """What makes two points the same."""
    return json.dumps({name: point[name] for name in SweepPoint.__slots__}, sort_keys=True)


def _still_right(
    known: dict[str, Any] | None, scale: Scale, points: list[SweepPoint]
) -> list[dict[str, Any]]:
    """The points of an earlier report that need not be measured again."""
    same = circumstances()
    if known is None or known.get("scale") != scale.name or known.get("repeat") != scale.repeat:
        return []
    if known.get("sources") != _sources():
        return []
    if any(known.get(name) != same[name] for name in ("machine", "versions")):
        return []
    wanted = {_key(point.as_dict()) for point in points}
    return [each for each in known["points"] if _key(each) in wanted]


def _sources() -> str:
    """What stands for all modules of the package: figures of others are not gone on with."""
    digest = hashlib.sha256()
    for path in sorted(Path(hamlet.__file__).parent.rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def measure_point(
    point: SweepPoint, scale: Scale, workers: _Workers, tell: Callable[[str], None]
) -> dict[str, Any]:
    """Figures of every series at one point."""
    series: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        try:
            write_stream(point.as_dict(), Path(folder), workers.data)
        except ReadError as error:
            refused = {"status": "refused", "why": str(error), "code": error.code}
            return {**point.as_dict(), "found": dict.fromkeys(point.series, refused)}
        expected: Any = None
        for name in point.series:
            tell(name)
            path = Path(folder) / f"{name}.arrow"
            task = {
                **point.as_dict(),
                "name": name,
                "repeat": scale.paced_repeat if name in HOSTS else scale.repeat,
                "enough_s": scale.enough_s,
                "stream": folder,
                "answers": str(path),
                "are_policies": point.are_policies,
            }
            series[name] = _measure_series(workers, task, scale)
            if series[name]["status"] != "measured":
                continue
            if series[name]["rows"] is None:  # compared already, by the process itself
                continue
            answers = _read(path)
            if expected is None:
                expected = answers
            check_equal(point, name, answers, expected)
    return {**point.as_dict(), "found": series}


def _measure_series(workers: _Workers, task: dict[str, Any], scale: Scale) -> dict[str, Any]:
    """The figures of one system or policy at one point, or why there are none."""
    worker = workers.of(task["name"])
    worker.send(task)
    # Kernels may have to be compiled at first; the limit is for what answers, not for counting what
    # was done.
    # Nobody is slow who waits for events that come at a pace.
    limit = _START_S if task["name"] in HOSTS else scale.limit_s * task["pieces"]
    first: dict[str, Any] | None = None
    for seconds in (_START_S, limit, _START_S):
        first = worker.receive(seconds)
        if first is None or "refused" in first:
            break
    if first is not None and "refused" in first:
        return {"status": "refused", "why": first["refused"], "code": first["code"]}
    runs: list[dict[str, Any]] = []
    while first is not None and not (runs and runs[-1]["is_last"]):
        figures = worker.receive(limit)
        if figures is None:
            break
        runs.append(figures)
    if first is None or not (runs and runs[-1]["is_last"]):
        workers.end(task["name"])
        return {"status": "over limit", "why": f"a run takes longer than {scale.limit_s:g} s"}
    spreads = {
        name: Spread.of([run[name] for run in runs])._asdict()
        for name in _FIGURES
        if all(run.get(name) is not None for run in runs)
    }
    rates = [first["events"] / run["total_s"] for run in runs]
    return {
        "status": "measured",
        **{name: first[name] for name in ("rows", "events", "counts", "analysis_s")},
        **spreads,
        "events_per_s": Spread.of(rates)._asdict(),
    }


# Answers


def _read(path: Path) -> Any:
    from pyarrow import feather

    return feather.read_table(path)


def check_equal(point: SweepPoint, name: str, found: Any, expected: Any) -> None:
    """Refuse answers that differ in a row, or in a value by more than nine places."""
    where = f"{point.sweep} {point.x:g}: {name} and {point.series[0]}"
    keys = ["query", "window_start", "window_end", "group", "aggregate"]
    if found.select(keys) != expected.select(keys):
        message = f"{where} differ in their rows"
        raise InternalError(message)
    for column in ("value", "log10"):
        one, other = (table[column].to_numpy() for table in (found, expected))
        if not np.allclose(one, other, rtol=1e-9, atol=1e-12, equal_nan=True):
            message = f"{where} differ in their {column}s"
            raise InternalError(message)


# Processes

_START_S = 300.0
# How often a silent process is looked at, and how much longer than its limit it is waited for.
_LOOK_S = 0.2
_PATIENCE = 30


@dataclass(slots=True)
class _Worker:
    """A process that measures one system."""

    process: subprocess.Popen[str]
    lines: queue.Queue[str] = field(default_factory=queue.Queue)

    @staticmethod
    def started() -> _Worker:
        """A new one."""
        process = subprocess.Popen(
            [sys.executable, "-m", "hamlet.bench.paper_worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        worker = _Worker(process)
        threading.Thread(target=worker._listen, daemon=True).start()
        return worker

    def _listen(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put("")

    def send(self, task: dict[str, Any]) -> None:
        """Give it something to do."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(task) + "\n")
        self.process.stdin.flush()

    def receive(self, seconds: float) -> dict[str, Any] | None:
        """What it says next; None if it says nothing for so long.

        Seconds are those of the processor where they are known, so that what else the machine does
        makes no system slow.
        """
        used, waited = self._used(), 0.0
        while True:
            try:
                line = self.lines.get(timeout=_LOOK_S)
                break
            except queue.Empty:
                waited += _LOOK_S
                now = self._used()
                took = waited if used is None or now is None else now - used
                if took > seconds or waited > _PATIENCE * seconds:
                    return None
        if not line:
            message = f"a measuring process ended with {self.process.wait()}"
            raise InternalError(message)
        said: dict[str, Any] = json.loads(line)
        return said

    def _used(self) -> float | None:
        """The seconds of the processor that it took so far."""
        try:
            stat = Path(f"/proc/{self.process.pid}/stat").read_text()
        except OSError:
            return None
        user, system = stat.rpartition(")")[2].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    def end(self) -> None:
        """End the process, whatever it does."""
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                stream.close()


class _Workers:
    """A process for each system, started when it is first needed.

    Attributes:
        data: The folder with the real files of which streams are made for them.
    """

    def __init__(self, data: str | None = None) -> None:
        self.data = data
        self.running: dict[str, _Worker] = {}

    def __enter__(self) -> _Workers:
        return self

    def __exit__(self, *_: object) -> None:
        for name in list(self.running):
            self.end(name)

    def of(self, name: str) -> _Worker:
        """The process of a system."""
        if name not in self.running:
            self.running[name] = _Worker.started()
        return self.running[name]

    def end(self, name: str) -> None:
        """End the process of a system; the next point gets a new one."""
        self.running.pop(name).end()


# Report


def as_text(report: dict[str, Any]) -> str:
    """A report as tables of text, a line for each point and system."""
    machine = report["machine"]
    versions = ", ".join(f"{name} {number}" for name, number in report["versions"].items())
    head = (
        f"{'':<12}{'latency ms':>12}{'spread':>20}{'kernel ms':>12}{'plan ms':>10}"
        f"{'events/s':>14}{'MiB':>8}"
    )
    lines = [
        f"{machine['processor']}, one core, Python {report['python']}, {versions}",
        f"commit {report['commit']}, medians of {report['repeat']}, seed {report['seed']}, "
        f"limit {report['limit_s']:g} s for a run, scale {report['scale']}",
        report["command"],
    ]
    if report["left_out"]:
        why = next(iter(report["left_out"].values()))
        lines.append(f"left out: {', '.join(report['left_out'])}: {why}")
    for point in report["points"]:
        lines += ["", f"{point['sweep']} {point['x']:g}", head]
        best = point["found"][point["series"][0]]
        for name, found in point["found"].items():
            lines.append(_line(name, found, best))
    return "\n".join(lines) + "\n"


def _line(name: str, found: dict[str, Any], best: dict[str, Any]) -> str:
    if found["status"] != "measured":
        return f"{name:<12}  {found['status']}: {found['why']}"
    latency = found["latency_s"]
    spread = f"{1e3 * latency['low']:.2f} .. {1e3 * latency['high']:.2f}"
    over = ""
    if best["status"] == "measured" and best is not found:
        over = f"  {_times(found, best, 'latency_s'):.2f}x the latency"
        if "kernel_s" in found and "kernel_s" in best:
            over += f", {_times(found, best, 'kernel_s'):.1f}x the kernel"
    if "p99_s" in found:
        over += f"  99 of 100 within {1e3 * found['p99_s']['median']:.1f} ms"
    counts = {what: n for what, n in found["counts"].items() if n}
    if counts:
        over += f"\n{'':<14}" + ", ".join(f"{n:,} {what}" for what, n in counts.items())
    return (
        f"{name:<12}{1e3 * latency['median']:>12.2f}{spread:>20}"
        f"{_shown(found, 'kernel_s', 1e3, '.2f'):>12}{_shown(found, 'plan_s', 1e3, '.2f'):>10}"
        f"{found['events_per_s']['median']:>14,.0f}{_shown(found, 'peak_mib', 1.0, '.1f'):>8}{over}"
    )


def _times(found: dict[str, Any], best: dict[str, Any], name: str) -> float:
    ratio: float = found[name]["median"] / best[name]["median"]
    return ratio


def _shown(found: dict[str, Any], name: str, scale: float, form: str) -> str:
    return format(scale * found[name]["median"], form) if name in found else "-"
