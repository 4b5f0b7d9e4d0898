"""What explain says of whole workloads: golden text, and JSON and pictures that agree with it.

A case is a file in tests/cases/explain: a title, a workload (or `@` and the file that has it), and
the text that explain makes of it. Would catch a plan that changed, a fact that one format shows and
another does not, and output that depends on anything but the workload.
"""

from __future__ import annotations

import cProfile
import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import pytest

from hamlet import PlanError, Workload
from hamlet.engine import Options
from hamlet.engine.pipeline import SetPipeline
from hamlet.events.table import EventTable
from hamlet.explain import STAGES, pictures
from hamlet.explain.pictures import template_graph

if TYPE_CHECKING:
    from hamlet.picture import Graph

ROOT = Path(__file__).parents[1]
CASES = sorted((ROOT / "tests" / "cases" / "explain").glob("*.txt"))
SEPARATOR = "======== explain\n"
SVG = "{http://www.w3.org/2000/svg}"


@dataclass(frozen=True)
class Case:
    """A golden file, read."""

    path: Path
    head: str
    workload: str
    expected: str


def load(path: Path) -> Case:
    head, _, expected = path.read_text(encoding="utf-8").partition(SEPARATOR)
    title, _, workload = head.partition("\n")
    assert title.startswith("title  "), f"{path.name} starts with its title"
    if workload.startswith("@ "):
        workload = (ROOT / workload[2:].strip()).read_text(encoding="utf-8")
    return Case(path, head, workload, expected)


def parse(name: str) -> Workload:
    """The workload of a case, by the case's name."""
    path = next(path for path in CASES if path.stem == name)
    return Workload.parse(load(path).workload)


every_case = pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)


def texts_of(svg: str) -> list[str]:
    root = ElementTree.fromstring(svg)
    assert root.tag == f"{SVG}svg"
    return [element.text or "" for element in root.iter(f"{SVG}text")]


# Text


@every_case
def test_explain_says_what_the_case_says(path: Path, is_updating: bool) -> None:
    case = load(path)

    text = Workload.parse(case.workload).explain()

    if is_updating:
        path.write_text(case.head + SEPARATOR + text, encoding="utf-8")
    assert text == load(path).expected


@every_case
def test_no_line_ends_in_blanks_and_no_blank_lines_double(path: Path) -> None:
    text = load(path).expected

    assert all(line == line.rstrip() for line in text.splitlines())
    assert "\n\n\n" not in text
    assert text.endswith("\n")
    assert not text.endswith("\n\n")


@every_case
def test_all_stages_alone_are_the_whole(path: Path) -> None:
    workload = Workload.parse(load(path).workload)
    first_line = workload.summary + "\n"

    alone = [workload.explain(stage) for stage in STAGES]

    assert all(text.startswith(first_line) for text in alone)
    blocks = [text.removeprefix(first_line) for text in alone]
    assert first_line + "".join(blocks) == workload.explain()


def test_chosen_stages_come_in_their_own_order_and_once() -> None:
    workload = parse("paper_burst")

    text = workload.explain(["merged", "queries", "merged"])

    headings = [line for line in text.splitlines()[1:] if line and not line.startswith(" ")]
    assert headings == ["queries", "merged"]


def test_a_stage_with_nothing_to_say_is_left_out() -> None:
    workload = parse("paper_burst")

    assert workload.explain("predicates") == workload.summary + "\n"


@pytest.mark.parametrize("format_", ["text", "json", "mermaid", "svg"])
def test_an_unknown_stage_is_refused_with_the_nearest(format_: str) -> None:
    with pytest.raises(PlanError, match="Did you mean 'templates'") as caught:
        parse("paper_burst").explain("template", format=format_)

    assert caught.value.args[:2] == ("stage", "template")


def test_an_unknown_format_is_refused() -> None:
    with pytest.raises(PlanError, match="Formats are text, json, mermaid, svg"):
        parse("paper_burst").explain(format="png")


@pytest.mark.slow
def test_the_text_does_not_depend_on_hashing() -> None:
    script = (
        "import sys; from hamlet import Workload\n"
        "for text in sys.stdin.read().split('\\0'):\n"
        "    for format in ('text', 'json', 'mermaid', 'svg'):\n"
        "        print(Workload.parse(text).explain(format=format))\n"
    )
    texts = "\0".join(load(path).workload for path in CASES)

    outputs = {
        subprocess.run(
            [sys.executable, "-c", script],
            input=texts.encode(),
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONIOENCODING": "utf-8"},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "2")
    }

    assert len(outputs) == 1


# Panes


def test_windows_of_10_and_15_minutes_sliding_by_5_have_panes_of_5_minutes() -> None:
    assert "panes of 5 min for windows 10 min / 5 min, 15 min / 5 min" in parse(
        "paper_burst"
    ).explain("sets")


def test_the_pane_of_a_chain_of_queries_divides_every_window() -> None:
    sets = parse("apart").describe()["sets"]

    chain = next(one for one in sets if "chain_1" in one["queries"])
    assert chain["queries"] == ["chain_1", "chain_2", "chain_3"]
    assert chain["windows"] == ["6 min / 6 min", "4 min / 4 min", "9 min / 9 min"]
    assert chain["pane"] == "1 min"


# Edges


@every_case
def test_no_two_lines_of_the_edges_are_the_same(path: Path) -> None:
    lines = _block(load(path).expected, "edges")

    assert len(lines) == len(set(lines))


def test_an_index_and_a_scan_are_told_apart() -> None:
    text = (
        "RETURN COUNT(*) PATTERN SEQ(A a, B) OR SEQ(A c, B+) "
        "WHERE a.x < B.x AND B.x * NEXT(B).x < 5 WITHIN 1 s;"
        "RETURN COUNT(*) PATTERN B+ WHERE B.x < NEXT(B).x WITHIN 1 s"
    )
    workload = Workload.parse(text)

    grains = {edge["grain"] for edge in workload.describe()["edges"]}

    assert grains == {"type-grained", "event-grained, ordered", "event-grained, scan"}
    assert all(f"{grain}: " in workload.explain("edges") for grain in grains)


# Summary


def test_a_summary_has_the_name_whatever_is_in_it() -> None:
    workload = Workload.parse("RETURN COUNT(*) PATTERN A WITHIN 1 s", name="a: b")

    assert workload.summary == "a: b: 1 query, nothing to share"
    assert repr(workload) == "<Workload: 1 query, nothing to share>"


def test_many_queries_are_explained_in_work_that_grows_with_their_number() -> None:
    def calls(queries: int) -> int:
        text = ";".join(
            f"RETURN COUNT(*) PATTERN SEQ(X{i}, Travel+, NOT Y{i}) WITHIN 10 s"
            for i in range(queries)
        )
        workload = Workload.parse(text)
        with cProfile.Profile() as profile:
            workload.explain()
        return sum(entry.callcount for entry in profile.getstats())

    calls(10)

    assert calls(320) < 15 * calls(40)


# JSON


@every_case
def test_json_is_the_description(path: Path) -> None:
    workload = Workload.parse(load(path).workload)

    assert json.loads(workload.explain(format="json")) == workload.describe()


@every_case
def test_json_and_text_have_the_same_facts(path: Path) -> None:
    case = load(path)

    description = json.loads(Workload.parse(case.workload).explain(format="json"))

    for kind in ("atoms", "predicates", "templates", "sets"):
        named = [line.split()[0] for line in _block(case.expected, kind) if " := " in line]
        assert named == [each["name"] for each in description[kind]]
    queries = _block(case.expected, "queries")[1:]
    assert len(queries) == len(description["queries"])
    for line, query in zip(queries, description["queries"], strict=True):
        assert line.startswith(f"  {query['name']} ")
        having = f" HAVING {query['having']}" if "having" in query else ""
        assert line.endswith(", ".join(query["aggregates"]) + having)
    edges = [line for line in _block(case.expected, "templates") if " -> " in line]
    assert len(edges) == sum(len(each["edges"]) for each in description["templates"])
    merged = [line for line in _block(case.expected, "merged") if " -> " in line]
    assert len(merged) == sum(len(one["edges"]) for one in description["sets"])


def _block(text: str, stage: str) -> list[str]:
    """The lines of one stage of an explained workload."""
    blocks = {block.split("\n", 1)[0]: block for block in text.rstrip().split("\n\n")}
    return blocks.get(stage, stage).splitlines()[1:]


@pytest.mark.parametrize(
    ("stage", "keys"),
    [
        ("queries", {"workload", "queries"}),
        ("merged", {"workload", "sets"}),
        ("program", {"workload", "programs"}),
        ("letters", {"workload", "letters"}),
    ],
)
def test_json_of_a_stage_has_that_stage_alone(stage: str, keys: set[str]) -> None:
    assert set(json.loads(parse("paper_burst").explain(stage, format="json"))) == keys


# Pictures


@every_case
def test_a_picture_is_well_formed_and_always_the_same(path: Path) -> None:
    text = load(path).workload

    svg = Workload.parse(text).explain(format="svg")
    mermaid = Workload.parse(text).explain(format="mermaid")

    assert texts_of(svg)
    assert mermaid.startswith("flowchart LR\n")
    assert svg == Workload.parse(text).explain(format="svg")
    assert mermaid == Workload.parse(text).explain(format="mermaid")


def test_a_picture_of_the_merged_template_has_its_types_queries_and_guards() -> None:
    workload = parse("ridesharing")

    shown = texts_of(workload.explain("merged", format="svg"))

    types = {"START", "Request", "Travel", "Dropoff", "Accept", "Cancel", "END"}
    labels = {"Travel+ shared", "no_pickup", "pool_dropoff", "slow_cancel", "no Pickup"}
    assert types | labels <= set(shown)
    assert workload.summary in shown
    assert "s1: no_pickup, pool_dropoff, slow_cancel" in shown
    assert not any(line.startswith("t1") for line in shown)


def test_mermaid_has_a_thick_arrow_where_steps_are_shared_and_a_dotted_one_at_guards() -> None:
    mermaid = parse("ridesharing").explain("merged", format="mermaid")

    assert mermaid.count("==>") == 1
    # The third asks for slow Travel events, so the work on its events is its own.
    assert '==>|"no#95;pickup<br/>pool#95;dropoff"|' in mermaid
    assert mermaid.count("-.->") == 1
    assert "<br/>no Pickup" in mermaid


def test_a_picture_of_templates_has_conditions_of_states_and_predicates_of_edges() -> None:
    slow = texts_of(parse("ridesharing").explain("templates", format="svg"))
    rising = texts_of(parse("edge_predicates").explain("templates", format="svg"))

    assert "speed < 10" in slow
    assert "previous.x < next.x" in rising
    assert "t1: rising" in rising


@pytest.mark.parametrize("format_", ["mermaid", "svg"])
def test_a_stage_that_has_no_picture_is_refused(format_: str) -> None:
    with pytest.raises(PlanError, match="Pictures show merged, templates"):
        parse("paper_burst").explain("letters", format=format_)


LATE = """
    again: RETURN COUNT(*) PATTERN SEQ(Late a, (SEQ(NOT OnTime, Late b))+) WITHIN 1 h;
    often: RETURN COUNT(*) PATTERN Late+ WITHIN 1 h
"""


def is_a_way(graph: Graph, query: str, types: str) -> bool:
    """Whether the arrows of a query lead through these types from START to END."""
    name = {node.key: node.lines[0].split()[0] for node in graph.nodes}
    own = [e for e in graph.edges if query in e.lines or e.lines[0].startswith("all ")]
    at = {"START"}
    for wanted in (*types.split(), "END"):
        at = {e.target for e in own if e.source in at and name[e.target] == wanted}
    return bool(at)


def test_the_merged_picture_admits_what_each_pattern_does_and_no_more() -> None:
    (graph,) = pictures(Workload.parse(LATE).describe(), ["merged"])

    assert is_a_way(graph, "often", "Late")
    assert is_a_way(graph, "often", "Late Late Late")
    assert not is_a_way(graph, "again", "Late")
    assert is_a_way(graph, "again", "Late Late")
    assert is_a_way(graph, "again", "Late Late Late")


def test_the_sides_of_a_conjunction_are_not_mixed_in_the_picture() -> None:
    text = """
        both: RETURN COUNT(*) PATTERN SEQ(A, B+) AND SEQ(C, B+, D) WITHIN 1 h;
        one:  RETURN COUNT(*) PATTERN B+ WITHIN 1 h
    """
    (graph,) = pictures(Workload.parse(text).describe(), ["merged"])

    assert is_a_way(graph, "both (side 1)", "A B B")
    assert is_a_way(graph, "both (side 2)", "C B D")
    assert not is_a_way(graph, "both (side 1)", "A B D")
    assert not is_a_way(graph, "both (side 2)", "C B")


ASKED = """
    one:   RETURN COUNT(*) PATTERN SEQ(A, B+, NOT C) WHERE A.x < 5 AND B.x < NEXT(B).x WITHIN 1 h;
    two:   RETURN COUNT(*) PATTERN SEQ(A, B+) WHERE A.y = 'red' AND B.y != 7 WITHIN 1 h;
    three: RETURN COUNT(*) PATTERN SEQ(A, B+) WHERE A.x * B.x + 1000000 > A.y * B.y - 7000000
           WITHIN 1 h;
    apart: RETURN COUNT(*) PATTERN SEQ(D, E) WHERE D.z > 3 AND D.x < E.x AND [w] WITHIN 1 h
"""
CONDITIONS = (
    "x < 5",
    "previous.x < next.x",
    "y = 'red'",
    "y != 7",
    "previous.x * next.x + 1000000 > previous.y * next.y - 7000000",
    "z > 3",
    "no C",
    "[w]",
)


@pytest.mark.parametrize("condition", CONDITIONS)
def test_a_merged_picture_tells_every_condition(condition: str) -> None:
    workload = Workload.parse(ASKED)

    drawn = " ".join(texts_of(workload.explain("merged", format="svg")))
    mermaid = workload.explain("merged", format="mermaid")

    assert condition in drawn
    assert condition in re.sub(r"#(\d+);", lambda found: chr(int(found[1])), mermaid)


def test_queries_that_share_nothing_are_drawn_beside_those_that_do() -> None:
    shown = texts_of(Workload.parse(ASKED).explain("merged", format="svg"))

    assert {"A", "B", "D", "E"} <= set(shown)
    assert any(line.endswith(": apart") for line in shown)


def test_a_condition_that_some_queries_ask_is_told_with_them() -> None:
    (merged, *_) = pictures(Workload.parse(ASKED).describe(), ["merged"])

    assert "A: x < 5, for one" in merged.notes
    assert "A: y = 'red', for two" in merged.notes
    long = "previous.x * next.x + 1000000 > previous.y * next.y - 7000000"
    assert f"A to B: {long}, for three" in merged.notes


def test_parallel_edges_of_a_template_are_ways_of_which_one_is_enough() -> None:
    text = "q: RETURN COUNT(*) PATTERN SEQ(A, NOT C, B b1, B b2) OR SEQ(A, B b3+) WITHIN 1 s"
    workload = Workload.parse(text)

    for template in workload.describe()["templates"]:
        ends = [(edge["from"], edge["to"]) for edge in template["edges"]]
        graph = template_graph(
            template, {}, {each["name"]: each for each in workload.describe()["queries"]}
        )
        assert len(graph.edges) == len(set(ends))


# Who shares


def sharing_of(text: str) -> list[tuple[bool, list[str]]]:
    return [
        (each["shared"], each["queries"]) for each in Workload.parse(text).describe()["sharing"]
    ]


def test_queries_that_ask_different_things_of_repeated_events_do_not_share() -> None:
    text = ";".join(
        f"q{n}: RETURN COUNT(*) PATTERN SEQ(X{n}, T+) WHERE T.v > {n} WITHIN 1 h" for n in range(4)
    )

    assert sharing_of(text) == [(False, ["q0", "q1", "q2", "q3"])]
    told = Workload.parse(text).explain("sharing")
    assert (
        "per query  q0, q1, q2, q3  each has another condition on its events than the rest" in told
    )
    assert "shared" not in told
    assert "shared" not in Workload.parse(text).explain("merged")
    assert "==>" not in Workload.parse(text).explain("merged", format="mermaid")


def test_tables_of_rows_are_for_the_same_predicate_and_windows() -> None:
    text = ";".join(
        f"q{n}: RETURN COUNT(*) PATTERN SEQ(X{n}, T+) WHERE {where} WITHIN {within} s"
        for n, (where, within) in enumerate(
            [
                ("T.v < NEXT(T).v", 10),
                ("T.v < NEXT(T).v", 15),
                ("T.v > NEXT(T).v", 10),
                ("T.v < NEXT(T).v AND T.w = 1", 10),
                ("T.v < NEXT(T).v", 40),
            ]
        )
    )

    assert sharing_of(text) == [
        (True, ["q0", "q3", "q4"]),
        (False, ["q1"]),
        (False, ["q2"]),
    ]
    told = Workload.parse(text).explain("sharing")
    for query, part in (("q1", "window"), ("q2", "edge predicate")):
        assert f"per query  {query}          another {part} than q0\n" in told
    assert "for each burst; an event for some of them is a snapshot by itself\n" in told


@pytest.mark.parametrize("path", [*CASES], ids=lambda path: path.stem)
def test_nothing_is_said_to_pay_always(path: Path) -> None:
    assert "always" not in Workload.parse(load(path).workload).explain("sharing")


def test_who_shares_is_who_has_one_accumulator_in_the_compiled_code() -> None:
    text = """
        a: RETURN COUNT(*) PATTERN SEQ(X, T+) WITHIN 10 s;
        b: RETURN COUNT(*) PATTERN SEQ(Y, T+) WITHIN 20 s;
        c: RETURN COUNT(*) PATTERN SEQ(X, T+) WHERE T.v > 1 WITHIN 10 s;
        d: RETURN COUNT(*) PATTERN SEQ(X, T+) WHERE T.v < NEXT(T).v WITHIN 10 s;
        e: RETURN COUNT(*) PATTERN SEQ(Y, T+) WHERE T.v < NEXT(T).v WITHIN 10 s;
        f: RETURN COUNT(*) PATTERN SEQ(Y, T+) WHERE T.v < NEXT(T).v WITHIN 20 s
    """
    plan = Workload.parse(text).plan
    table = EventTable.of([{"time": 1, "type": "T", "v": 1.0}], plan)
    pipeline = SetPipeline.of(plan, plan.sets[0], Options())
    program, compiled = pipeline.program, pipeline.compile(pipeline.encode(table))

    names = [plan.queries[number].query.name for number in program.queries]
    of_template = [names[query] for query in program.template_query]
    by_accumulator: dict[int, list[str]] = {}
    for unit, template in enumerate(compiled.code.u_template):
        for atom in compiled.code.burst_atoms(unit):
            by_accumulator.setdefault(atom, []).append(of_template[template])
    tables = [[of_template[u.template] for u in g.group.units] for g in compiled.row_groups]

    shared = [names for is_shared, names in sharing_of(text) if is_shared]
    assert sorted(shared) == sorted(
        group for group in [*by_accumulator.values(), *tables] if len(group) > 1
    )


# Thirty queries


def test_types_that_stand_alike_are_drawn_as_one_box() -> None:
    shown = texts_of(parse("thirty").explain("merged", format="svg"))

    assert "30 types" in shown
    assert "X1, X2 ... X30" in shown
    assert "X7" not in shown
    assert "Travel+ shared" in shown
    assert "all 30 queries" in shown


def test_templates_that_differ_only_in_a_type_of_their_own_are_drawn_as_one() -> None:
    thirty = texts_of(parse("thirty").explain("templates", format="svg"))
    two = texts_of(parse("paper_burst").explain("templates", format="svg"))

    assert "30 types" in thirty
    assert sum(line.startswith("SEQ(") for line in thirty) == 1
    assert {"t1: q1", "t2: q2"} <= set(two)


def test_two_alike_types_are_not_folded() -> None:
    shown = texts_of(parse("paper_burst").explain("merged", format="svg"))

    assert {"A", "B", "C", "B+ shared", "all 2 queries"} <= set(shown)
    assert not any("types" in line and line[0].isdigit() for line in shown)


def test_folding_leaves_text_and_json_whole() -> None:
    workload = parse("thirty")

    assert len(workload.describe()["templates"]) == 30
    assert "START   -> X17     q17\n" in workload.explain("merged")
    assert "Travel  -> Travel  all 30 queries  shared\n" in workload.explain("merged")
