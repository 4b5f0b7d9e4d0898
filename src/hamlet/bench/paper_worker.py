"""One system in a process of its own: points come in as lines of JSON, and figures go out.

A process of its own has its own peak of memory, and can be ended when it takes too long. Before
each measured run the peak is reset, which Linux lets a process do, and memory that is free is given
back, so that the peak above what was in use at the start is what the run took.
"""

from __future__ import annotations

import ctypes
import gc
import json
import math
import sys
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hamlet.bench.paper_points import SEED
from hamlet.bench.paper_stages import Stages
from hamlet.bench.timing import one_core
from hamlet.data import generate_table
from hamlet.data.workloads import first, second
from hamlet.engine import Options
from hamlet.errors import HamletError
from hamlet.workload import Workload

if TYPE_CHECKING:
    import pyarrow as pa


def main() -> None:
    """Read points until there are no more."""
    with one_core():
        for line in sys.stdin:
            point = json.loads(line)
            try:
                for found in measured(point):
                    print(json.dumps(found), flush=True)
            except HamletError as error:
                print(json.dumps({"refused": str(error), "code": error.code}), flush=True)


def measured(point: dict[str, Any]) -> Any:
    """That it can begin; then the answers, untimed; then the figures of each repetition."""
    tables = tables_of(point)
    text = text_of(point, tables[0])
    begun = time.process_time()
    workload = Workload.parse(text)
    analysis_s = time.process_time() - begun
    chosen = "sharing" if point["are_policies"] else "system"
    order = "seq" if point["data_set"] == "stock" else None
    options = Options(numbers="float", order=order, **{chosen: point["name"]})
    _warm_up(options)
    yield {"ready": True}
    answers = []
    done = Counter[str]()
    for table in tables:
        stages = Stages(workload, table, options)
        answers.append(stages.results)
        done.update(stages.counts)
    _write_answers([each.table for each in answers], point["answers"])
    counts = dict(done)
    if point["are_policies"]:
        given: Any = {"sharing": point["name"], "numbers": "float", "order": order}
        traced = [workload.run(each, trace=True, **given) for each in tables]
        counts["decisions"] = sum(len(each.trace) for each in traced)
    yield {
        "rows": sum(len(each) for each in answers),
        "events": sum(len(table) for table in tables),
        "counts": counts,
        "analysis_s": analysis_s,
    }
    del answers, stages
    for _ in range(point["repeat"]):
        yield _repetition(workload, tables, options)


def _warm_up(options: Options) -> None:
    """Have kernels of both sizes of numbers compiled, or read from disk."""
    events = [{"time": t, "type": "ABC"[min(t, 1)], "x": t % 7} for t in range(1200)]
    some = events if options.system != "mcep" else events[:5]
    text = "q: RETURN COUNT(*), SUM(B.x), MAX(B.x) PATTERN SEQ(A, NOT C, B+) WITHIN 1 h"
    Stages(Workload.parse(text), some, Options(numbers="float", system=options.system))
    if options.system == "hamlet":
        edge = Workload.parse(text.replace("WITHIN", "WHERE B.x < NEXT(B).x WITHIN"))
        Stages(edge, some, Options(numbers="float", sharing=options.sharing))


def _repetition(workload: Workload, tables: list[Any], options: Options) -> dict[str, Any]:
    """Seconds of the processor for each table, and the peak of memory."""
    found: list[dict[str, float]] = []
    start = _begin_peak()
    for table in tables:
        found.append(Stages(workload, table, options).seconds)
    peak = _peak_since(start)
    latencies = [sum(each.values()) - each["plan"] for each in found]
    return {
        "latency_s": sum(latencies) / len(latencies),
        "total_s": sum(latencies),
        "kernel_s": sum(each["run"] for each in found) / len(found),
        "plan_s": sum(each["plan"] for each in found) / len(found),
        "peak_mib": peak,
    }


# Points


def text_of(point: dict[str, Any], table: Any) -> str:
    """The queries."""
    if point["kind"] == "twins":
        return _twins(point["queries"], point["within"], table)
    if point["kind"] == "second":
        return second(point["data_set"], point["queries"], SEED)
    window = f"{round(1000 * point['within'])} ms"
    return first(point["data_set"], point["queries"], SEED, within=window, slide=window)


def _twins(queries: int, within: float, table: Any) -> str:
    """Queries that differ in the least price of the trade that enters them.

    Prices walk, so for a while a trade is for all queries or for none, and then for some.
    """
    import pyarrow.compute as pc

    prices = table.filter(pc.equal(table["type"], "S002"))["price"].to_numpy()
    low, high = np.quantile(prices, (0.0, 0.5))
    return ";\n".join(
        f"q{n}: RETURN COUNT(*), MAX(S001.volume) PATTERN SEQ(S002, S001+) "
        f"WHERE S002.price >= {low + (high - low) * n / queries:.6f} "
        f"WITHIN {within:g} s SLIDE {within / 4:g} s"
        for n in range(queries)
    )


def tables_of(point: dict[str, Any]) -> list[pa.Table]:
    """The events, cut where windows of the first kind end."""
    import pyarrow as pa
    import pyarrow.compute as pc

    per_piece = point["rate"] * point["minutes"]
    settings = {name: point[name] for name in ("groups", "burst") if point[name] is not None}
    table = generate_table(
        point["data_set"],
        events=math.ceil(per_piece * point["pieces"]),
        seed=SEED,
        rate=point["rate"],
        **settings,
    )
    if point["pieces"] == 1:
        return [table]
    us = table["time"].cast("int64").to_numpy()
    length = round(60e6 * point["minutes"])
    piece = (us - us[0] // length * length) // length
    cut = [table.filter(pc.equal(pa.array(piece), n)) for n in range(point["pieces"])]
    return [each for each in cut if len(each)]


def _write_answers(tables: list[Any], path: str) -> None:
    import pyarrow as pa
    from pyarrow import feather

    feather.write_feather(pa.concat_tables(tables), path, compression="uncompressed")


# Memory


def _begin_peak() -> float | None:
    """What is in use now, in MiB, with the peak reset to it; None where that cannot be done."""
    gc.collect()
    try:
        ctypes.CDLL(None).malloc_trim(0)
        Path("/proc/self/clear_refs").write_text("5")
        return _status("VmRSS")
    except (OSError, AttributeError):
        return None


def _peak_since(start: float | None) -> float | None:
    return None if start is None else max(_status("VmHWM") - start, 0.0)


def _status(field: str) -> float:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) / 1024
    raise OSError(field)


if __name__ == "__main__":
    main()
