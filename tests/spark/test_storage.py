"""Places that only Spark reaches: URLs of workloads, events and results.

Would catch results that stay on the disks of workers, a place that is replaced without being asked,
a URL that is taken for a path, and files that tasks cannot write.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from command_runs import in_one_process
from pyarrow import parquet

from hamlet import Workload

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow
TWO = "local-cluster[2,1,1024]"
WORKLOAD = """\
q1: RETURN COUNT(*), MAX(B.x) AS top PATTERN SEQ(A, B+) GROUPBY g WITHIN 10 s;
q2: RETURN COUNT(*) PATTERN SEQ(C, B+) WITHIN 10 s
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with a workload and events, and one in it where there is nothing of them."""
    lines = (f"{t},{kind},{'uv'[t % 2]},{t}\n" for t, kind in enumerate("AACCBBBBAABB"))
    (tmp_path / "events.csv").write_text("time,type,g,x\n" + "".join(lines))
    (tmp_path / "workload.hql").write_text(WORKLOAD)
    (tmp_path / "elsewhere").mkdir()
    return tmp_path


def test_two_workers_that_share_no_folder_write_to_a_url_and_bring_home_what_is_for_a_path(
    place: Path,
):
    here = place.as_uri()
    same = ("run", f"{here}/workload.hql", "--events", f"{here}/events.csv")

    # A command that begins a session of its own, to read the workload; then those of one cluster.
    (own,) = in_one_process(
        (*same, "--master", "local[1]", "--out", f"{here}/own"), folder=place / "elsewhere"
    )
    long, again, wide, home = in_one_process(
        (*same, "--master", TWO, "--out", f"{here}/long"),
        (*same, "--out", f"{here}/long"),
        (*same, "--wide", "--out", f"{here}/wide", "--no-counts"),
        (*same, "--out", "home", "--engine", "spark"),
        folder=place / "elsewhere",
        master=TWO,
    )

    alone = Workload.load(place / "workload.hql").run(place / "events.csv")
    by = [(name, "ascending") for name in ("query", "window_start", "group", "aggregate")]
    for left, name in ((own, "own"), (long, "long")):
        assert (left.status, "Traceback" in left.err) == (0, False), left.err
        assert f"wrote {here}/{name}" in left.err
        assert (place / name / "_SUCCESS").exists()
        written = parquet.read_table(place / name).sort_by(by)
        assert written == alone.table.sort_by(by).cast(written.schema)
    assert again.status == 2
    assert "it is there already" in again.err
    assert wide.status == 0, wide.err
    found = parquet.read_table(place / "wide" / "q1")
    found = found.sort_by([("window_start", "ascending"), ("g", "ascending")])
    assert found["g"].to_pylist() == alone.wide("q1")["g"].to_pylist()
    assert [int(each) for each in found["COUNT(*)__exact"].to_pylist()] == [
        int(each) for each in alone.wide("q1")["COUNT(*)"].to_pylist()
    ]
    assert home.status == 0, home.err
    assert parquet.read_table(place / "elsewhere" / "home").num_rows == alone.table.num_rows


def test_what_cannot_be_written_there_is_refused(place: Path):
    same = ("run", "../workload.hql", "--events", "../events.csv")
    wrong = {
        ("--out", "s3a://bucket/results", "--engine", "local"): "s3a://bucket/results is not on",
        ("--out", "file:///tmp/none", "--save", "kept"): "--save and --report keep results",
    }

    found = in_one_process(*((*same, *each) for each in wrong), folder=place / "elsewhere")

    for left, message in zip(found, wrong.values(), strict=True):
        assert left.status == 2
        assert message in left.err
        assert "Traceback" not in left.err
