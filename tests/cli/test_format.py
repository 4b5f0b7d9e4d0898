"""Every command has --format, and with json prints one document and nothing else.

Would catch a command without the option or with another name for it, talk among the data, a
document that says less than the text, and a mistake that is told otherwise than by `hamlet run`.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click
import pytest
from click.shell_completion import ShellComplete

from hamlet.bench import engine, paper_points, peers, sharing
from hamlet.bench.real.workloads import workloads
from hamlet.cli import cli

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

GOOD = "q1: RETURN COUNT(*) PATTERN SEQ(A, B+) WITHIN 10 min; RETURN COUNT(*) PATTERN A WITHIN 1 s"
WRONG = """\
q1: RETURN COUNT(*), MEDIAN(B.x) PATTERN SEQ(A, B+) WITHIN 10 min;
q2: RETURN COUNT(*) PATTERN SEQ(A, B+) WITHIN 10 min SLIDE 15 min
"""


def leaves(group: click.Group, path: tuple[str, ...] = ()) -> Iterator[tuple[str, click.Command]]:
    """Every command of a tree that does something itself."""
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from leaves(command, (*path, name))
        else:
            yield " ".join((*path, name)), command


COMMANDS = dict(leaves(cli))


# The option


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_the_option_last(name: str):
    option = COMMANDS[name].params[-1]

    assert option.opts == ["--format"]
    assert option.default == "text"
    assert list(option.type.choices)[:2] == ["text", "json"]
    assert option.help.endswith("[default: text]")


@pytest.mark.parametrize("name", COMMANDS)
def test_the_shell_completes_its_values(name: str):
    complete = ShellComplete(cli, {}, "hamlet", "_HAMLET_COMPLETE")

    found = complete.get_completions([*name.split(), "--format"], "j")

    assert [each.value for each in found] == ["json"]


@pytest.mark.parametrize("name", COMMANDS)
def test_another_value_is_refused_with_those_there_are(hamlet, name: str):
    status, out, err = hamlet(*name.split(), "--format", "xml")

    assert (status, out) == (2, "")
    assert "'xml' is not one of 'text', 'json'" in err


# check


def test_check_has_the_queries_of_a_right_workload(hamlet):
    status, out, err = hamlet("check", "-", "--format", "json", stdin=GOOD.encode())

    assert (status, err) == (0, "")
    assert json.loads(out) == {
        "workload": "<stdin>",
        "ok": True,
        "summary": "2 queries, nothing to share",
        "queries": [
            {
                "name": "q1",
                "text": "q1: RETURN COUNT(*)\nPATTERN SEQ(A, B+)\nWITHIN 10 min",
            },
            {"name": "q2", "text": "RETURN COUNT(*)\nPATTERN A\nWITHIN 1 s"},
        ],
        "errors": [],
    }


def test_check_has_every_error_with_its_place(hamlet, tmp_path: Path):
    path = tmp_path / "wrong.hql"
    path.write_text(WRONG, encoding="utf-8")

    as_text = hamlet("check", path)
    status, out, err = hamlet("check", path, "--format", "json")

    document = json.loads(out)
    assert (status, err) == (1, "")
    assert (document["workload"], document["ok"]) == (str(path), False)
    for error in document["errors"]:
        place = f"{path}:{error['line']}:{error['column']}"
        assert f"{place}: {error['message']}  [{error['code']}]\n" in as_text.err
        assert error["remedy"] in as_text.err
    assert [error["text"] for error in document["errors"]] == ["MEDIAN", "15 min"]


def test_check_of_what_cannot_be_read_is_one_sentence(hamlet, tmp_path: Path):
    status, out, err = hamlet("check", tmp_path / "none.hql", "--format", "json")

    assert (status, out) == (2, "")
    assert err.startswith("hamlet: cannot read ")


# bench


def bench(hamlet: Callable[..., Any], *arguments: str | Path) -> tuple[dict[str, Any], str]:
    """The document that a measurement prints, and what it says meanwhile."""
    status, out, err = hamlet(*arguments, "--format", "json")
    assert status == 0
    found = json.loads(out)
    assert isinstance(found, dict)
    return found, err


def test_bench_engine_prints_what_it_writes(hamlet, tmp_path: Path):
    out = tmp_path / "engine.json"

    found, err = bench(hamlet, *("bench", "engine", "--quick", "--only", "exact", "--out", out))

    assert found == json.loads(out.read_text(encoding="utf-8"))
    assert [figure["case"] for figure in found["figures"]] == ["exact"]
    assert err.startswith("measuring exact: ")
    assert err.endswith(f"wrote {out}\n")


def test_bench_peers_prints_what_it_writes(hamlet, tmp_path: Path):
    out = tmp_path / "peers.json"

    found, _ = bench(hamlet, *("bench", "peers", "--quick", "--only", "edge", "--out", out))

    assert found == json.loads(out.read_text(encoding="utf-8"))
    assert [point["name"] for point in found["points"]] == ["edge"]


@pytest.mark.slow
def test_bench_real_prints_what_it_writes_and_names_files_that_are_missing(hamlet, tmp_path: Path):
    out = tmp_path / "real.json"
    only = ("--only", "plugs", "--only", "trips", "--data", tmp_path, "--repeat", 1)

    found, err = bench(hamlet, *("bench", "real", "--quick", *only, "--out", out))

    assert found == json.loads(out.read_text(encoding="utf-8"))
    plugs, trips = found["points"]
    assert (plugs["queries"], plugs["not by hand"]) == (6, {})
    assert {each["median"] > 0 for each in plugs["seconds"].values()} == {True}
    assert list(plugs["seconds"]) == [
        "hand loops",
        "together, float",
        "one by one, float",
        "together, exact",
        "one by one, exact",
        "DuckDB",
        "together, those in SQL",
    ]
    assert "taxi_trips.csv.gz: there is no such file" in trips["missing"]
    assert trips["missing"] in err


@pytest.mark.parametrize(
    ("name", "names"),
    [
        ("engine", list(engine.CASES)),
        ("sharing", list(sharing.NAMES)),
        ("paper", list(paper_points.SWEEPS)),
        ("peers", [case.name for case in peers.cases(quick=True)]),
        ("real", [one.name for one in workloads()]),
    ],
)
def test_names_of_measurements_are_a_document_too(hamlet, name: str, names: list[str]):
    found, err = bench(hamlet, "bench", name, "--only", "list")

    assert (found, err) == ({"names": names}, "")


@pytest.mark.parametrize("name", ["engine", "sharing", "paper", "peers", "real"])
def test_a_mistake_is_a_sentence_on_standard_error(hamlet, name: str):
    status, out, err = hamlet("bench", name, "--only", "speed", "--format", "json")

    assert (status, out) == (2, "")
    assert err.startswith("hamlet: there is no ")


# compare


def figures(*medians: float) -> str:
    spread = [{"median": m, "low": m, "high": m} for m in medians]
    return json.dumps({"figures": [{"name": f"f{i}", "found": s} for i, s in enumerate(spread)]})


def test_compare_has_every_figure_and_its_verdict(hamlet, tmp_path: Path):
    old, new = tmp_path / "old.json", tmp_path / "new.json"
    old.write_text(figures(1.0, 1.0, 1.0, 0.0), encoding="utf-8")
    new.write_text(figures(1.05, 2.0, 0.5, 1.0, 7.0), encoding="utf-8")

    status, out, err = hamlet("bench", "compare", old, new, "--format", "json")

    document = json.loads(out, parse_constant=pytest.fail)
    assert (status, err) == (1, "")
    assert (document["old"], document["new"], document["band"]) == (str(old), str(new), 0.1)
    assert document["rows"][1] == {
        "name": "f1 found",
        "old": {"median": 1.0, "low": 1.0, "high": 1.0},
        "new": {"median": 2.0, "low": 2.0, "high": 2.0},
        "ratio": 2.0,
        "verdict": "worse",
    }
    verdicts = [(row["ratio"], row["verdict"]) for row in document["rows"]]
    assert verdicts[::2] == [(1.05, "no change"), (0.5, "better")]
    assert verdicts[3] == (None, "no change")
    assert document["counts"] == {"better": 1, "worse": 1, "no change": 2}
    assert document["in_one_file_only"] == ["f4 found"]
