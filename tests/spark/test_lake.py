"""The examples of a lake and of a day, as they stand.

Would catch an example that no longer fits, a type that a table does not take, and rows of a stream
that are not those of a batch. Tables need packages that Spark gets from Maven, of which there are
none for every version.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
EXAMPLES = Path(__file__).parents[2] / "examples"


def printed(folder: Path, name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(EXAMPLES / name), *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, check=False)


def test_yesterday_as_a_batch_and_today_as_a_stream_are_one_table(tmp_path: Path):
    done = printed(tmp_path, "daily.py")

    assert done.returncode == 0, done.stderr
    assert "columns: window_start, window_end, district, trends, speed, part" in done.stdout
    rows = dict(re.findall(r"^(\w+): (\d+)", done.stdout, re.MULTILINE))
    assert int(rows["yesterday"]) >= int(rows["today"]) > 0
    assert int(rows["alerts"]) > 0


@pytest.mark.parametrize("form", ["delta", "iceberg"])
def test_a_stream_is_merged_into_a_table_of_a_lake(tmp_path: Path, form: str):
    done = printed(tmp_path, "lake.py", form)

    if "no packages" in done.stderr or "unresolved dependency" in done.stderr:
        # Jars of this format for this Spark are not where this machine may fetch them from.
        pytest.skip(done.stderr.strip().splitlines()[-1])
    assert done.returncode == 0, done.stderr
    first, merged = map(int, re.findall(r"(\d+) rows", done.stdout))
    assert 0 < first < merged
