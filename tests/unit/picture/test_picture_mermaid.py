"""Mermaid text: these tests would catch labels that end their quotes or are read as syntax."""

from __future__ import annotations

import re

import picture_samples as samples
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hamlet.picture import Edge, Graph, Node, render_mermaid
from hamlet.picture.text import clean

LABELLED = re.compile(
    r"    n\d+(?:\(\[\"[^\"]*\"\]\)|\[\[\"[^\"]*\"\]\]|\(\"[^\"]*\"\))"
    r"|    n\d+ (?:-->|==>|-\.->)(?:\|\"[^\"]*\"\|)? n\d+"
    r"|  subgraph g\d+\[\"[^\"]*\"\]"
    r"|    direction LR|  end|flowchart LR"
    r"|  class n\d+ [a-z]+|  classDef .*|  linkStyle \d+ stroke-width:3px"
)


def graph_with(label: str) -> Graph:
    nodes = (Node("a", (label,), "place"), Node("b", (label, label), "shared", stacked=True))
    edges = (Edge("a", "b", (label,)), Edge("b", "b", (), (label,), "shared"))
    return Graph(label, label, nodes, edges)


def decoded(label: str) -> str:
    return re.sub(r"#(quot|\d+);", lambda found: _character(found[1]), label)


def _character(code: str) -> str:
    return '"' if code == "quot" else chr(int(code))


def test_a_query_reads_as_a_flowchart() -> None:
    assert render_mermaid([samples.one_query()]).splitlines()[:13] == [
        "flowchart LR",
        '  subgraph g0["q1<br/>SEQ(Request, Travel T+, NOT Pickup)"]',
        "    direction LR",
        '    n0(["START"])',
        '    n1("Request<br/>district = 4")',
        '    n2("Travel<br/>T.speed #60; 10")',
        '    n3(["END"])',
        "    n0 --> n1",
        "    n1 --> n2",
        '    n2 -->|"T.speed #62; NEXT(T).speed"| n2',
        '    n2 -.->|"no Pickup"| n3',
        "  end",
        "  class n0 start",
    ]


def test_shared_edges_are_thick_and_guarded_ones_dotted() -> None:
    text = render_mermaid([samples.merged_workload()])

    assert 'n3 ==>|"q1 q2 q3"| n3' in text
    assert 'n3 -.->|"q1<br/>no Pickup"| n6' in text
    assert "class n3 shared" in text


def test_ids_are_unique_across_graphs() -> None:
    text = render_mermaid([samples.one_query(), samples.one_query()])

    nodes = re.findall(r"^    (n\d+)[(\[]", text, re.MULTILINE)
    assert nodes == [f"n{index}" for index in range(8)]
    assert 'subgraph g1["q1' in text


@pytest.mark.parametrize(
    "label",
    [
        'x"] --> n9["y',
        "end",
        "%%{init: {}}%%",
        "`**bold**`",
        "<script>alert(1)</script>",
        "#quot;",
        "1. one",
        "- dash",
        "a\nb",
        "|pipe|",
        "",
    ],
)
def test_a_hostile_label_stays_inside_its_quotes(label: str) -> None:
    lines = render_mermaid([graph_with(label)]).splitlines()

    assert all(LABELLED.fullmatch(line) for line in lines)


@given(st.text(st.characters(), max_size=30))
def test_any_label_stays_inside_its_quotes_and_can_be_read_back(label: str) -> None:
    text = render_mermaid([Graph("t", "", (Node("a", (label,), "place"),), ())])

    lines = text.rstrip("\n").split("\n")
    assert all(LABELLED.fullmatch(line) for line in lines)
    written = re.fullmatch(r'    n0\("(.*)"\)', lines[3])
    assert written is not None
    assert not re.search(r'[<>&"`]', written[1])
    assert decoded(written[1]) == (clean(label) or " ")


def test_the_same_graphs_give_the_same_text() -> None:
    assert render_mermaid(samples.all_samples()) == render_mermaid(samples.all_samples())
