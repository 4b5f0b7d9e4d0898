"""One system in a process of its own: points come in as lines of JSON, and figures go out.

A process of its own has its own peak of memory, and can be ended when it takes too long. Before
each measured run the peak is reset, which Linux lets a process do, and memory that is free is given
back, so that the peak above what was in use at the start is what the run took.
"""

from __future__ import annotations

import ctypes
import gc
import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hamlet.bench.paper_contenders import contender_of
from hamlet.bench.paper_streams import stored_stream, text_of
from hamlet.bench.timing import one_core
from hamlet.errors import HamletError
from hamlet.workload import Workload

if TYPE_CHECKING:
    from hamlet.bench.paper_contenders import Contender


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
    """That it can begin; that it has answered; what it did; the figures of each repetition."""
    sample, tables = stored_stream(Path(point["stream"]))
    text = text_of(point, tables[0])
    begun = time.process_time()
    workload = Workload.parse(text)
    analysis_s = time.process_time() - begun
    contender = contender_of(point, workload, tables, sample)
    contender.warm_up()
    yield {"ready": True}
    answers = contender.answer()
    yield {"answered": True}
    if answers is not None:
        _write_answers(answers, point["answers"])
    yield {
        "rows": None if answers is None else sum(len(each) for each in answers),
        "events": sum(len(table) for table in tables),
        "counts": contender.counts(),
        "analysis_s": analysis_s,
    }
    del answers
    spent_s = 0.0
    for number in range(1, point["repeat"] + 1):
        figures = _repetition(contender)
        spent_s += figures["total_s"]
        is_last = number == point["repeat"] or spent_s >= point["enough_s"]
        yield {**figures, "is_last": is_last}
        if is_last:
            return


def _repetition(contender: Contender) -> dict[str, Any]:
    """Seconds of the processor for each table, and the peak of memory."""
    start = _begin_peak()
    figures = contender.measure()
    return {**figures, "peak_mib": _peak_since(start)}


# Answers


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
