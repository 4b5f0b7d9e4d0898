"""How long analysing a workload takes: from its text to the plan and the programs.

    python benchmarks/analysis.py [--sizes 10,100,1000] [--repeat 5] [--kind NAME] [--without-gc]
                                  [--json FILE]

Times `Workload.parse` and `compile_set` for each sharable set, on several kinds of workload of
growing size. Imports, and the tables of the parser, which are built once, are not in the times.
The last column is the time for one query against that of the same kind with 100 queries: about
1.00 everywhere means that the time is linear in the number of queries. Python's garbage collector
walks all that is alive again and again while a plan grows; --without-gc leaves it out of the times.
"""

from __future__ import annotations

import argparse
import gc
import json
import platform
import shlex
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from hamlet import Workload
from hamlet.plan.program import compile_set

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SIZES = (10, 100, 300, 1000, 3000)
BASE = 100  # the size that times are compared with


# Workloads: a kind is a function from a query's number to its text


def one_set(i: int) -> str:
    """Each query has a start type of its own; all share one Kleene type."""
    return f"RETURN COUNT(*) PATTERN SEQ(X{i}, Travel+) WITHIN 10 min SLIDE 5 min"


def rides(i: int) -> str:
    """Queries like those of the ride-sharing example: negation, conditions, groups, aggregates."""
    end = ("NOT Pickup", "Dropoff", "Cancel")[i % 3]
    return (
        f"RETURN district, COUNT(*), AVG(T.speed) PATTERN SEQ(Request R, Travel T+, {end}) "
        f"WHERE [driver, rider] AND R.kind = 'k{i % 40}' AND T.speed < {i} "
        f"GROUPBY district WITHIN {10 + 5 * (i % 5)} min SLIDE 5 min"
    )


def many_sets(i: int) -> str:
    """Ten queries at a time share; sets differ in their types."""
    kleene = f"E{i // 10}"
    return f"RETURN COUNT(*), SUM({kleene}.x) PATTERN SEQ(S{i}, {kleene}+) WITHIN {1 + i % 3} h"


def intricate(i: int) -> str:
    """Nesting, edge predicates, a guard on a sequence, and a type in two places."""
    return (
        "RETURN COUNT(*), COUNT(B), MAX(B.x) "
        f"PATTERN (SEQ(A{i % 20}, B b+, NOT SEQ(N, M), (C OR B c)+))+ "
        f"WHERE B.x < NEXT(B).x AND A{i % 20}.y = {i} AND N.x > 3 WITHIN 1 h SLIDE 10 min"
    )


KINDS = {"one set": one_set, "rides": rides, "many sets": many_sets, "intricate": intricate}


# Measuring


class Row(NamedTuple):
    """What was measured of one kind and size; times in seconds."""

    kind: str
    queries: int
    sets: int
    median_s: float
    fastest_s: float
    slowest_s: float

    @property
    def per_query_s(self) -> float:
        """The median time for one query."""
        return self.median_s / self.queries


def analyse(text: str) -> tuple[int, int]:
    """What is timed; the number of queries and of sharable sets."""
    plan = Workload.parse(text).plan
    programs = [compile_set(plan, one) for one in plan.sets]
    return sum(len(program.queries) for program in programs), len(programs)


def measure(
    kind: str, query: Callable[[int], str], size: int, repeat: int, without_gc: bool
) -> Row:
    text = ";\n".join(query(i) for i in range(size))
    queries, sets = analyse(text)  # also warms up
    if queries != size:
        message = f"{kind}: {size} queries went in, {queries} came out"
        raise SystemExit(message)
    times = []
    for _ in range(repeat):
        gc.collect()
        if without_gc:
            gc.disable()
        began = time.perf_counter()
        analyse(text)
        times.append(time.perf_counter() - began)
        gc.enable()
    return Row(kind, size, sets, median(times), min(times), max(times))


def ratios(rows: list[Row]) -> list[float | None]:
    """For each row the time for one query against that of the base size of its kind."""
    base = {row.kind: row.per_query_s for row in rows if row.queries == BASE}
    return [row.per_query_s / base[row.kind] if row.kind in base else None for row in rows]


# Reporting


def machine() -> dict[str, str | int]:
    """What the figures were measured on."""
    names = [platform.processor() or platform.machine()]
    cpus = Path("/proc/cpuinfo")
    lines = cpus.read_text(encoding="utf-8").splitlines() if cpus.exists() else []
    models = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return {"processor": (models or names)[0], "cores": len(models), "system": platform.platform()}


def commit() -> str | None:
    """The commit that was measured, where it is known."""
    try:
        command = ["git", "describe", "--always", "--dirty"]
        found = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return found.stdout.strip()


def table(rows: list[Row]) -> Iterator[str]:
    yield f"{'workload':<10} {'queries':>7} {'sets':>5} {'median':>10} {'spread':>19} " + (
        f"{'per query':>10} {f'against {BASE}':>12}"
    )
    for row, ratio in zip(rows, ratios(rows), strict=True):
        spread = f"{row.fastest_s * 1e3:.1f} .. {row.slowest_s * 1e3:.1f} ms"
        yield (
            f"{row.kind:<10} {row.queries:>7} {row.sets:>5} {row.median_s * 1e3:>7.1f} ms "
            f"{spread:>19} {row.per_query_s * 1e6:>7.0f} us "
            f"{'-' if ratio is None else f'{ratio:.2f}':>12}"
        )


def report(rows: list[Row], repeat: int) -> dict[str, object]:
    """Everything that was measured, and on what."""
    return {
        "command": shlex.join([Path(sys.executable).name, *sys.argv]),
        "machine": machine(),
        "python": platform.python_version(),
        "versions": {name: version(name) for name in ("hamlet-trends", "lark", "numpy")},
        "commit": commit(),
        "repeat": repeat,
        "rows": [
            {**row._asdict(), "per_query_s": row.per_query_s, f"against_{BASE}": ratio}
            for row, ratio in zip(rows, ratios(rows), strict=True)
        ],
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description="Measure how long analysing a workload takes, from text to programs."
    )
    sizes = ",".join(map(str, SIZES))
    parser.add_argument("--sizes", default=sizes, help=f"numbers of queries (default: {sizes})")
    parser.add_argument("--repeat", type=int, default=5, help="measurements of each (default: 5)")
    parser.add_argument("--kind", choices=KINDS, help="one kind of workload instead of all")
    parser.add_argument("--without-gc", action="store_true", help="switch garbage collection off")
    parser.add_argument("--json", metavar="FILE", type=Path, help="write the figures here too")
    options = parser.parse_args()
    kinds = {options.kind: KINDS[options.kind]} if options.kind else KINDS
    rows = [
        measure(kind, query, int(size), options.repeat, options.without_gc)
        for kind, query in kinds.items()
        for size in options.sizes.split(",")
    ]
    found = machine()
    print(f"{found['processor']}, {found['cores']} cores, Python {platform.python_version()}")
    gc_note = ", garbage collection off" if options.without_gc else ""
    print(f"medians of {options.repeat}, spread from fastest to slowest{gc_note}\n")
    print("\n".join(table(rows)))
    if options.json:
        text = json.dumps(report(rows, options.repeat), indent=2) + "\n"
        options.json.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
