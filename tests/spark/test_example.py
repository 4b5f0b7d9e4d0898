"""The example of a stream runs in the session of these tests and says what came out.

Would catch an example that no longer fits the interface of streams, or whose stream gives other
rows than the same events as one table.
"""

from __future__ import annotations

import re
import runpy
from pathlib import Path

EXAMPLE = Path(__file__).parents[2] / "examples" / "streaming.py"


def test_the_stream_prints_the_windows_that_have_closed(spark, capsys):
    found = runpy.run_path(str(EXAMPLE))

    printed = capsys.readouterr().out
    closed = re.findall(r"^  \d\d:\d\d (\{.*\}): ([\d,]+) trends$", printed, re.MULTILINE)
    whole = found["workload"].run(found["events"]).table.to_pylist()
    counts = [row for row in whole if row["aggregate"] == "COUNT(*)"]
    expected = [(row["group"], f"{int(row['exact']):,}") for row in counts]
    assert closed
    assert closed == expected[: len(closed)]
    assert f"{len(closed)} of {len(expected)} rows" in printed
