"""The example of a stream runs in the session of these tests and says what came out.

Would catch an example that no longer fits the interface of streams, or whose stream gives other
rows than the same events as one table.
"""

from __future__ import annotations

import re
import runpy
from importlib.util import find_spec
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "streaming.py"


@pytest.mark.skipif(
    find_spec("hamlet.spark.stream") is None, reason="streams are not in this build"
)
def test_the_stream_prints_the_windows_that_have_closed(spark, capsys):
    found = runpy.run_path(str(EXAMPLE))

    printed = capsys.readouterr().out
    closed = re.findall(r"^  \d\d:\d\d (\{.*\}): ([\d,]+) trends$", printed, re.MULTILINE)
    table = found["whole"]
    whole = zip(table["district"].to_pylist(), table["COUNT(*)"].to_pylist(), strict=True)
    expected = [(f'{{"district": {d}}}', f"{count:,.0f}") for d, count in whole]
    assert closed
    assert closed == expected[: len(closed)]
    assert f"{len(closed)} of {len(expected)} rows" in printed
