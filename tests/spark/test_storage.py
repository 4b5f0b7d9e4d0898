"""Places that only Spark reaches: URLs of workloads, events and results.

Would catch results that stay on the disks of workers, a place that is replaced without being asked,
a URL that is taken for a path, and files that tasks cannot write.
"""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from pyarrow import parquet

from hamlet import Workload

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow
WORKLOAD = """\
q1: RETURN COUNT(*), MAX(B.x) AS top PATTERN SEQ(A, B+) GROUPBY g WITHIN 10 s;
q2: RETURN COUNT(*) PATTERN SEQ(C, B+) WITHIN 10 s
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with a workload and events."""
    lines = (f"{t},{kind},{'uv'[t % 2]},{t}\n" for t, kind in enumerate("AACCBBBBAABB"))
    (tmp_path / "events.csv").write_text("time,type,g,x\n" + "".join(lines))
    (tmp_path / "workload.hql").write_text(WORKLOAD)
    return tmp_path


def hamlet(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """What the command says, run where there is nothing of the events."""
    (folder / "elsewhere").mkdir(exist_ok=True)
    command = [sys.executable, "-m", "hamlet", "run", *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, cwd=folder / "elsewhere", check=False
    )


def test_two_workers_that_share_no_folder_write_to_a_url_and_bring_home_what_is_for_a_path(
    place: Path,
):
    here = place.as_uri()
    same = (f"{here}/workload.hql", "--events", f"{here}/events.csv")
    two = ("--master", "local-cluster[2,1,1024]")

    long = hamlet(place, *same, *two, "--out", f"{here}/long")
    again = hamlet(place, *same, "--out", f"{here}/long")
    wide = hamlet(place, *same, "--wide", "--out", f"{here}/wide", "--no-counts")
    home = hamlet(place, *same, *two, "--out", "home")

    alone = Workload.load(place / "workload.hql").run(place / "events.csv")
    assert (long.returncode, "Traceback" in long.stderr) == (0, False), long.stderr
    assert f"wrote {here}/long" in long.stderr
    assert (place / "long" / "_SUCCESS").exists()
    by = [(name, "ascending") for name in ("query", "window_start", "group", "aggregate")]
    assert parquet.read_table(place / "long").sort_by(by) == alone.table.sort_by(by).cast(
        parquet.read_table(place / "long").schema
    )
    assert again.returncode == 2
    assert "it is there already" in again.stderr
    assert wide.returncode == 0, wide.stderr
    found = parquet.read_table(place / "wide" / "q1")
    found = found.sort_by([("window_start", "ascending"), ("g", "ascending")])
    assert found["g"].to_pylist() == alone.wide("q1")["g"].to_pylist()
    assert [int(each) for each in found["COUNT(*)__exact"].to_pylist()] == [
        int(each) for each in alone.wide("q1")["COUNT(*)"].to_pylist()
    ]
    assert home.returncode == 0, home.stderr
    assert parquet.read_table(place / "elsewhere" / "home").num_rows == alone.table.num_rows


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--out", "s3a://bucket/results", "--engine", "local"), "s3a://bucket/results is not on"),
        (("--out", "file:///tmp/none", "--save", "kept"), "--save and --report keep results"),
    ],
)
def test_what_cannot_be_written_there_is_refused(
    place: Path, arguments: tuple[str, ...], message: str
):
    left = hamlet(place, "../workload.hql", "--events", "../events.csv", *arguments)

    assert left.returncode == 2
    assert message in left.stderr
    assert "Traceback" not in left.stderr
