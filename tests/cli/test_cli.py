"""The command line as a user meets it: standard output, standard error and exit status.

Status 0 is fine, 1 means that the workload is wrong, 2 that the command could not be carried out.
Would catch talk on standard output, a stack trace for a user's mistake, a half-written file, and a
change of the help texts that nobody meant.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import pytest

from hamlet import __version__

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[2]
RIDES = str(ROOT / "examples" / "ridesharing.hql")
GOOD = "q1: RETURN COUNT(*) PATTERN SEQ(A, B+) WITHIN 10 min SLIDE 5 min"
WRONG = """\
q1: RETURN COUNT(*), MEDIAN(B.x) PATTERN SEQ(A, B+) WITHIN 10 min;
q2: RETURN COUNT(*) PATTERN SEQ(A, B+) WITHIN 10 min SLIDE 15 min
"""


@pytest.fixture
def good(tmp_path: Path) -> Path:
    path = tmp_path / "good.hql"
    path.write_text(GOOD, encoding="utf-8")
    return path


@pytest.fixture
def wrong(tmp_path: Path) -> Path:
    path = tmp_path / "wrong.hql"
    path.write_text(WRONG, encoding="utf-8")
    return path


def one_sentence(text: str) -> bool:
    """Whether a message is one line that says who speaks, without a stack trace."""
    return text.startswith("hamlet: ") and text.count("\n") == 1 and "Traceback" not in text


# check


def test_check_says_ok_and_the_plan_in_one_line(hamlet):
    left = hamlet("check", RIDES)

    assert left == (0, f"ok  {RIDES}: 3 queries, 3 of them repeat Travel+ in 1 set\n", "")


def test_check_lists_every_error_with_its_place_and_code(hamlet, wrong):
    status, out, err = hamlet("check", wrong)

    assert status == 1
    assert out == ""
    assert f"{wrong}:1:22: there is no aggregate MEDIAN  [unknown-aggregate]" in err
    assert f"{wrong}:2:60: WITHIN 10 min SLIDE 15 min leaves gaps" in err
    assert err.endswith(f"\n2 errors in {wrong}\n")
    assert "Traceback" not in err


def test_check_counts_one_error_in_the_singular(hamlet):
    left = hamlet("check", "-", stdin=b"RETURN COUNT(*) PATTERN A+")

    assert left.status == 1
    assert left.err.endswith("\n1 error in <stdin>\n")


@pytest.mark.parametrize("command", ["check", "explain"])
def test_a_dash_reads_standard_input(hamlet, command: str):
    status, out, err = hamlet(command, "-", stdin=GOOD.encode())

    assert (status, err) == (0, "")
    assert "<stdin>: 1 query, nothing to share" in out


@pytest.mark.parametrize("command", ["check", "explain"])
def test_a_byte_order_mark_is_not_part_of_the_workload(hamlet, command: str, good: Path):
    good.write_bytes(b"\xef\xbb\xbf" + GOOD.encode())

    assert hamlet(command, good).status == 0
    assert hamlet(command, "-", stdin=b"\xef\xbb\xbf" + GOOD.encode()).status == 0


# What cannot be read


@pytest.mark.parametrize("command", ["check", "explain"])
def test_a_missing_file_is_one_sentence_and_status_2(hamlet, command: str, tmp_path: Path):
    status, out, err = hamlet(command, tmp_path / "none.hql")

    assert (status, out) == (2, "")
    assert one_sentence(err)
    assert "none.hql: no such file" in err


@pytest.mark.parametrize("command", ["check", "explain"])
def test_a_directory_is_one_sentence_and_status_2(hamlet, command: str, tmp_path: Path):
    status, out, err = hamlet(command, tmp_path)

    assert (status, out) == (2, "")
    assert one_sentence(err)
    assert "is a directory" in err


def test_text_that_is_not_utf_8_is_one_sentence_and_status_2(hamlet, good: Path):
    good.write_bytes(b"\xff\xfe" + GOOD.encode("utf-16-le"))

    for left in (hamlet("check", good), hamlet("check", "-", stdin=b"\xff\xfe")):
        assert (left.status, left.out) == (2, "")
        assert one_sentence(left.err)
        assert "not UTF-8" in left.err


def test_an_empty_file_is_a_wrong_workload(hamlet, good: Path):
    good.write_text("-- nothing here yet\n", encoding="utf-8")

    status, out, err = hamlet("check", good)

    assert (status, out) == (1, "")
    assert "[empty-workload]" in err


# Schemas


def test_a_schema_that_fits_changes_nothing(hamlet, tmp_path: Path, good: Path):
    schema = tmp_path / "schema.json"
    schema.write_text(json.dumps({"types": {"A": {}, "B": {"x": "number"}}}), encoding="utf-8")

    assert hamlet("check", good, "--schema", schema).status == 0
    assert hamlet("explain", good, "--schema", schema).out == hamlet("explain", good).out


@pytest.mark.parametrize("name", ["events.csv", "events.jsonl", "events.parquet"])
def test_the_columns_of_events_are_a_schema(hamlet, tmp_path: Path, name: str):
    import pyarrow as pa
    from pyarrow import csv, parquet

    events = pa.table({"type": ["A", "B"], "time": [1, 2], "speed": [2.5, 3], "driver": ["d", "e"]})
    path = tmp_path / name
    if name.endswith(".csv"):
        csv.write_csv(events, path)
    elif name.endswith(".jsonl"):
        lines = (json.dumps(row) + "\n" for row in events.to_pylist())
        path.write_text("".join(lines), encoding="utf-8")
    else:
        parquet.write_table(events, path)
    text = "RETURN SUM(B.{}) PATTERN SEQ(A, B+) WITHIN 10 s"

    right = hamlet("check", "-", "--schema", path, stdin=text.format("speed").encode())
    unknown = hamlet("check", "-", "--schema", path, stdin=text.format("speeed").encode())
    not_a_number = hamlet("check", "-", "--schema", path, stdin=text.format("driver").encode())

    assert right.status == 0
    assert unknown.status == 1
    assert "[unknown-attribute]" in unknown.err
    assert "Did you mean 'speed'?" in unknown.err
    assert not_a_number.status == 1
    assert "[wrong-kind]" in not_a_number.err


def test_an_unknown_type_is_an_error_where_types_are_known(hamlet, tmp_path: Path, good: Path):
    schema = tmp_path / "schema.json"
    schema.write_text(json.dumps({"types": {"A": {}}}), encoding="utf-8")

    status, _, err = hamlet("check", good, "--schema", schema)

    assert status == 1
    assert "no event has type B  [unknown-type]" in err


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("missing.json", None, "o such file"),
        ("missing.csv", None, "cannot read"),
        ("missing.parquet", None, "cannot read"),
        ("broken.json", "{", "it is not JSON"),
        ("list.json", "[]", "expected an object"),
        ("entry.json", '{"attribute": {}}', 'unknown entry "attribute"'),
        ("kind.json", '{"attributes": {"x": "numbr"}}', "Did you mean 'number'?"),
        ("types.json", '{"types": []}', "must be an object"),
        ("broken.parquet", "not parquet", "cannot read"),
        ("empty.csv", "", "cannot read"),
        ("events.txt", "x", "a schema is a .json file, or one of .parquet, .csv"),
    ],
)
def test_a_bad_schema_is_one_sentence_and_status_2(
    hamlet, tmp_path: Path, good: Path, name: str, content: str | None, told: str
):
    schema = tmp_path / name
    if content is not None:
        schema.write_text(content, encoding="utf-8")

    status, out, err = hamlet("check", good, "--schema", schema)

    assert (status, out) == (2, "")
    assert one_sentence(err)
    assert name in err
    assert told in err


# explain


def test_explain_prints_text(hamlet, good: Path):
    status, out, err = hamlet("explain", good)

    assert (status, err) == (0, "")
    assert out.startswith(f"{good}: 1 query, nothing to share\n\nqueries\n")
    assert out.endswith("\n")


def test_explain_prints_the_chosen_stages(hamlet):
    status, out, _ = hamlet("explain", RIDES, "--stage", "sets", "--stage", "letters")

    headings = [line for line in out.splitlines()[1:] if line and not line.startswith(" ")]
    assert status == 0
    assert headings == ["sets", "letters"]


def test_explain_prints_json_and_pictures(hamlet):
    as_json = hamlet("explain", RIDES, "--format", "json")
    as_svg = hamlet("explain", RIDES, "--format", "svg")
    as_mermaid = hamlet("explain", RIDES, "--format", "mermaid")

    assert [left.status for left in (as_json, as_svg, as_mermaid)] == [0, 0, 0]
    assert len(json.loads(as_json.out)["queries"]) == 3
    assert ElementTree.fromstring(as_svg.out).tag.endswith("svg")
    assert as_mermaid.out.startswith("flowchart")


def test_explain_of_a_wrong_workload_says_what_check_says(hamlet, wrong: Path):
    assert hamlet("explain", wrong) == hamlet("check", wrong)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["explain", RIDES, "--stage", "template"], "'template' is not one of"),
        (["explain", RIDES, "--format", "png"], "'png' is not one of"),
        (
            ["explain", RIDES, "--stage", "letters", "--format", "svg"],
            "letters has no picture",
        ),
        (["explain", RIDES, "--sage", "sets"], "No such option"),
        (["explain"], "Missing argument 'WORKLOAD'"),
        (["check", RIDES, RIDES], "unexpected extra argument"),
        (["chek", RIDES], "No such command 'chek'"),
    ],
)
def test_a_wrong_use_of_the_command_is_told_on_standard_error(
    hamlet, arguments: list[str], told: str
):
    status, out, err = hamlet(*arguments)

    assert (status, out) == (2, "")
    assert told in err
    assert "Traceback" not in err


# --out


def test_out_writes_the_whole_file_and_says_so(hamlet, tmp_path: Path):
    path = tmp_path / "rides.svg"
    path.write_text("what was there before", encoding="utf-8")

    refused = hamlet("explain", RIDES, "--format", "svg", "--out", path)
    assert refused.status == 2
    assert "it is there already" in refused.err
    assert path.read_text(encoding="utf-8") == "what was there before"

    left = hamlet("explain", RIDES, "--format", "svg", "--out", path, "--overwrite")

    assert left == (0, "", f"wrote {path}\n")
    assert path.read_text(encoding="utf-8") == hamlet("explain", RIDES, "--format", "svg").out
    assert [each.name for each in tmp_path.iterdir()] == ["rides.svg"]


def test_out_writes_utf_8(hamlet, tmp_path: Path):
    path = tmp_path / "out.txt"
    text = "été: RETURN COUNT(*) PATTERN `événement`+ WITHIN 10 s"

    assert hamlet("explain", "-", "--out", path, stdin=text.encode()).status == 0
    assert "événement" in path.read_text(encoding="utf-8")


def test_out_of_a_wrong_workload_writes_nothing(hamlet, wrong: Path, tmp_path: Path):
    path = tmp_path / "out.txt"

    assert hamlet("explain", wrong, "--out", path).status == 1
    assert not path.exists()


def test_out_that_cannot_be_written_is_one_sentence_and_status_2(hamlet, tmp_path: Path):
    in_the_way = tmp_path / "folder"
    in_the_way.mkdir()

    for path in (tmp_path / "none" / "out.txt", in_the_way, Path(RIDES) / "out.txt"):
        status, out, err = hamlet("explain", RIDES, "--out", path)

        assert (status, out) == (2, "")
        assert one_sentence(err)
        assert err.startswith(f"hamlet: cannot write {path}: ")
    assert [each.name for each in tmp_path.iterdir()] == ["folder"]


# --debug


@pytest.mark.parametrize(
    ("text", "status", "kind"),
    [(None, 2, "ReadError"), (WRONG, 1, "QueryError")],
    ids=["missing file", "wrong workload"],
)
def test_debug_shows_the_stack_and_changes_no_status(
    hamlet, tmp_path: Path, text: str | None, status: int, kind: str
):
    path = tmp_path / "w.hql"
    if text is not None:
        path.write_text(text, encoding="utf-8")

    left = hamlet("--debug", "check", path)

    assert (left.status, left.out) == (status, "")
    assert left.err.startswith("Traceback")
    assert f"hamlet.errors.{kind}: " in left.err


# Help


@pytest.mark.parametrize(
    "command",
    [[], ["check"], ["explain"], ["run"], ["examples"], ["bench", "engine"]],
    ids=["hamlet", "check", "explain", "run", "examples", "bench engine"],
)
def test_help_is_complete_and_short(
    hamlet, golden: Callable[[str, str], None], monkeypatch: pytest.MonkeyPatch, command: list[str]
):
    monkeypatch.setenv("COLUMNS", "100")

    long, short = hamlet(*command, "--help"), hamlet(*command, "-h")

    assert (long.status, long.err) == (0, "")
    assert short == long
    assert len(long.out.splitlines()) <= 30
    assert all(len(line) <= 100 for line in long.out.splitlines())
    golden(f"cli/help_{'_'.join(command or ['hamlet'])}.txt", long.out)


def test_no_command_shows_the_help(hamlet):
    status, out, err = hamlet()

    assert status == 2
    assert "Commands:" in out + err


def test_version(hamlet):
    assert hamlet("--version") == (0, f"hamlet, version {__version__}\n", "")


# As a process


def process(*arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        input=stdin,
        capture_output=True,
        encoding="utf-8",
        env={**os.environ, "PYTHONUTF8": "1"},
        check=False,
    )


def test_the_module_is_the_command():
    left = process("-m", "hamlet", "check", "-", stdin=GOOD)

    assert left.returncode == 0
    assert left.stdout == "ok  <stdin>: 1 query, nothing to share\n"
    assert left.stderr == ""


def test_a_process_shows_a_stack_trace_only_with_debug(tmp_path: Path):
    missing = str(tmp_path / "none.hql")

    plain = process("-m", "hamlet", "check", missing)
    debug = process("-m", "hamlet", "--debug", "check", missing)

    assert plain.returncode == 2
    assert one_sentence(plain.stderr)
    assert debug.returncode == 2
    assert "Traceback" in debug.stderr
    assert "ReadError" in debug.stderr


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [["explain", RIDES], ["check", RIDES], ["--help"]])
def test_standard_output_that_is_full_is_one_sentence_and_status_2(arguments: list[str]):
    with Path("/dev/full").open("w") as full:
        left = subprocess.run(
            [sys.executable, "-m", "hamlet", *arguments],
            stdout=full,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            check=False,
        )

    assert left.returncode == 2
    assert left.stderr == "hamlet: cannot write standard output: no space left on device\n"


@pytest.mark.slow
@pytest.mark.parametrize(("reader", "lines"), [("head -1", 1), ("true", 0)])
def test_a_reader_that_had_enough_ends_the_command_quietly(tmp_path: Path, reader: str, lines: int):
    many = tmp_path / "many.hql"
    many.write_text(";\n".join([GOOD.removeprefix("q1: ")] * 2000), encoding="utf-8")

    left = subprocess.run(
        [
            "bash",
            "-c",
            f'set -o pipefail; "$0" -m hamlet explain "$1" | {reader}',
            sys.executable,
            many,
        ],
        capture_output=True,
        encoding="utf-8",
        check=False,
    )

    assert left.returncode == 0
    assert left.stdout.count("\n") == lines
    assert left.stderr == ""


def test_importing_hamlet_imports_nothing_heavy():
    script = (
        "import sys, hamlet, hamlet.cli\n"
        "heavy = ('numba', 'pyspark', 'pyarrow', 'pandas', 'hypothesis', 'rich')\n"
        "print([name for name in heavy if name in sys.modules])"
    )

    left = process("-c", script)

    assert (left.returncode, left.stdout) == (0, "[]\n"), left.stderr
