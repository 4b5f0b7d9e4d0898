"""A stream that runs for long, whose groups come and go: whether it takes more and more memory.

Rows arrive as files, as fast as they are answered. Each batch has some groups that were not there
before, and others are not seen again. Memory of Java and of each Python worker, and the state, are
looked at all the time; a stream that keeps nothing of what is over has as much of it in the last
quarter as in the second. The first is left out: there caches and heaps fill.
"""

from __future__ import annotations

import json
import os
import tempfile
import threading
import time
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from hamlet.bench import streams
from hamlet.io.circumstances import circumstances
from hamlet.spark.session import running, start
from hamlet.workload import Workload

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

ROWS, GROUPS, NEW_GROUPS, QUERIES, WITHIN_S = 20_000, 500, 25, 20, 60
# Memory in the last quarter may be so many times that of the second.
MOST_GROWTH = 1.15
_LOOK_EVERY_S = 2.0
_FILES_AHEAD = 5
_SCHEMA = "type string, time long, g long, v long"


def soak(minutes: float, tell: Callable[[str], None], master: str | None = None) -> dict[str, Any]:
    """Run a stream for some minutes and report what it took.

    Args:
        minutes: How long.
        tell: Is told how it goes.
        master: Where to run; all cores of this machine when left out.
    """
    is_ours = running() is None
    spark = start(master, settings={"spark.driver.memory": "2g"}, quiet=True)
    try:
        with tempfile.TemporaryDirectory(prefix="hamlet-soak-") as folder:
            report = _run(spark, Path(folder), 60 * minutes, tell)
    finally:
        if is_ours:
            spark.stop()
    return {**circumstances(), "minutes": minutes, **report, "kept": all_kept(report)}


def all_kept(found: dict[str, Any]) -> bool:
    """Whether nothing has grown."""
    return all(each["growth"] is None or each["growth"] <= MOST_GROWTH for each in found["figures"])


def _run(spark: Any, folder: Path, seconds: float, tell: Callable[[str], None]) -> dict[str, Any]:
    source = folder / "in"
    source.mkdir()
    is_over = threading.Event()
    done = [0]
    writer = threading.Thread(target=_write, args=(source, is_over, done), daemon=True)
    writer.start()
    text = streams.workload(QUERIES, WITHIN_S, WITHIN_S // 2, group_by="g")
    rising = "rising: RETURN COUNT(*) PATTERN SEQ(X0, T+) WHERE T.v < NEXT(T).v GROUPBY g"
    workload = Workload.parse(f"{text};\n{rising} WITHIN {WITHIN_S} s")
    reader = spark.readStream.schema(_SCHEMA).option("maxFilesPerTrigger", 1)
    # What has been read is taken away.
    events = reader.option("cleanSource", "delete").parquet(str(source))
    results = workload.run(events, lateness="5 s", checkpoint=folder / "state")
    query = (
        results.writeStream.format("noop").option("checkpointLocation", f"{folder}/state").start()
    )
    looks: list[dict[str, float]] = []
    begun, told = time.monotonic(), 0.0
    rows = 0
    while (spent := time.monotonic() - begun) < seconds and query.isActive:
        time.sleep(min(_LOOK_EVERY_S, seconds))
        last = query.lastProgress
        if last is None:
            continue
        progress = json.loads(last.json) if hasattr(last, "json") else last
        done[0] = progress["batchId"]
        rows = progress["batchId"] * ROWS
        looks.append({"at": spent, "batch": progress["batchId"], **_memory(), **_state(progress)})
        if spent - told > max(10.0, seconds / 20):
            told = spent
            shown = ", ".join(
                f"{k} {v / 2**20:,.0f} MiB" for k, v in looks[-1].items() if "_b" in k
            )
            tell(f"  {spent / 60:.1f} min, batch {progress['batchId']:,}: {shown}")
    failure = query.exception()
    query.stop()
    is_over.set()
    writer.join()
    if failure is not None:
        raise failure
    names = [name for name in looks[0] if name not in ("at", "batch")] if looks else []
    return {
        "batches": done[0],
        "rows": rows,
        "figures": [_figure(name, [look[name] for look in looks]) for name in names],
    }


def _figure(name: str, values: Sequence[float]) -> dict[str, Any]:
    """What there was of something in each quarter of the time."""
    quarters = [median(part.tolist()) for part in np.array_split(np.array(values), 4) if len(part)]
    growth = quarters[3] / quarters[1] if len(quarters) == 4 and quarters[1] else None
    return {"what": name, "quarters": quarters, "most": max(values), "growth": growth}


def _write(folder: Path, is_over: threading.Event, done: list[int]) -> None:
    """Files, some ahead of the batches that are done."""
    chance = np.random.default_rng(1)
    number = 0
    while not is_over.is_set():
        if number > done[0] + _FILES_AHEAD:
            is_over.wait(0.05)
            continue
        groups = NEW_GROUPS * number + chance.integers(0, GROUPS, ROWS)
        time_s = 10 * number + np.sort(chance.integers(0, 10, ROWS))
        kind = chance.integers(0, QUERIES + 40, ROWS)
        names = pa.array([f"X{k}" if k < QUERIES else "T" for k in range(QUERIES + 40)])
        columns = {"type": names.take(pa.array(kind)), "time": time_s, "g": groups}
        columns["v"] = chance.integers(0, 1 << 20, ROWS)
        partial = folder / f".{number}"
        parquet.write_table(pa.table(columns), partial)
        partial.rename(folder / f"{number:08d}.parquet")
        number += 1


def _state(progress: dict[str, Any]) -> dict[str, float]:
    operators = progress.get("stateOperators") or []
    return {
        "state_entries": sum(each["numRowsTotal"] for each in operators),
        "state_bytes": sum(each["memoryUsedBytes"] for each in operators),
    }


def _memory() -> dict[str, float]:
    """Memory of Java, and of the largest Python, that this process has started."""
    java = python = 0
    for pid, name, resident in _children(os.getpid()):
        if "java" in name:
            java += resident
        elif pid != os.getpid():
            python = max(python, resident)
    return {"java_bytes": java, "python_bytes": python}


def _children(process: int) -> Iterator[tuple[int, str, int]]:
    """What a process has started, with their names and memory; where Linux tells."""
    parents: dict[int, list[tuple[int, str, int]]] = {}
    page = os.sysconf("SC_PAGE_SIZE")
    for each in Path("/proc").glob("[0-9]*/stat"):
        try:
            head, _, rest = each.read_text().rpartition(")")
        except OSError:
            continue
        fields = rest.split()
        pid, name = head.split(" (", 1)
        child = int(pid), name, int(fields[21]) * page
        parents.setdefault(int(fields[1]), []).append(child)
    waiting = [process]
    while waiting:
        for child in parents.get(waiting.pop(), []):
            yield child
            waiting.append(child[0])


def as_text(report: dict[str, Any]) -> str:
    """A report as lines of text."""
    lines = [
        "",
        f"a stream of {report['minutes']:g} min: {report['batches']:,} batches, "
        f"{report['rows']:,} rows, groups that come and go",
    ]
    for each in report["figures"]:
        scale = 1 if each["what"] == "state_entries" else 2**20
        unit = "" if scale == 1 else " MiB"
        shown = ", ".join(f"{quarter / scale:,.1f}" for quarter in each["quarters"])
        growth = "" if each["growth"] is None else f", last / second {each['growth']:.2f}"
        lines.append(f"{each['what']}: by quarters {shown}{unit}{growth}")
    lines.append("flat" if report["kept"] else f"it grows: more than {MOST_GROWTH:g} times")
    return "\n".join(lines) + "\n"
