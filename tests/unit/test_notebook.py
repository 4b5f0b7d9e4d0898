"""What notebooks show: plans drawn, text escaped, and never more than a screen or two.

Would catch names that become markup, a plan that is shown as one long line, and a workload of
thousands of queries that fills a page.
"""

from __future__ import annotations

import base64
import json
import re
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest

from hamlet import Workload
from hamlet.build import count, plus, query, seq

BASE = query().returns(count()).within("10 min").slide("5 min")
ODD = '<b>&"it\'s"</b>'


class Reader(HTMLParser):
    """The elements of a piece of HTML, which must all be closed, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[str] = []
        self.text = ""
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.elements.append(tag)
        if tag != "img":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def picture_in(page: str) -> str:
    (data,) = re.findall(r'src="data:image/svg\+xml;base64,([^"]+)"', page)
    svg = base64.b64decode(data).decode()
    ElementTree.fromstring(svg)
    return svg


@pytest.fixture
def workload() -> Workload:
    return Workload.of(
        *(BASE.named(q).pattern(seq(t, plus("B"))) for q, t in [("q", "A"), ("r", ODD)])
    )


def test_a_workload_is_its_picture_and_its_sets(workload):
    page = Reader(workload._repr_html_())

    assert page.elements == ["img", "pre"]
    assert "B+ repeated by q, r" in page.text
    assert picture_in(workload._repr_html_()) == workload.explain("merged", format="svg")


def test_a_name_is_never_markup(workload):
    named = Workload.of(BASE.named(ODD).pattern(plus(ODD)), name=ODD)

    for page in (named._repr_html_(), named.explain()._repr_html_(), workload._repr_html_()):
        assert "<b>" not in page
        assert set(Reader(page).elements) <= {"img", "pre"}
    assert ODD in Reader(named.explain()._repr_html_()).text


def test_a_workload_that_shares_nothing_is_drawn_too():
    alone = Workload.of(BASE.pattern(seq("A", "B")))

    assert "nothing in common" in Reader(alone._repr_html_()).text
    assert "A" in picture_in(alone._repr_html_())


def test_a_query_that_shares_nothing_is_drawn_beside_those_that_do(workload):
    mixed = Workload.of(
        *(BASE.named(q).pattern(seq(q, plus("B"))) for q in ("q", "r")),
        BASE.named("lonely").pattern(seq("Only", "Here")),
    )

    shown = picture_in(mixed._repr_html_())

    assert {"Only", "Here"} <= {each.text for each in ElementTree.fromstring(shown).iter()}


def test_very_many_sets_are_cut_and_said_to_be():
    many = Workload.of(*(BASE.pattern(seq(f"A{i}", plus(f"B{i}"))) for i in range(300)))

    page = many._repr_html_()

    assert "more lines; see explain('sets')" in Reader(page).text
    assert len(page) < 100_000


@pytest.mark.parametrize("format", ["text", "json", "mermaid", "svg"])
def test_what_explain_returns_is_text_that_shows_well(workload, format):
    shown = workload.explain(format=format)

    page = shown._repr_html_()

    assert isinstance(shown, str)
    if format == "svg":
        assert Reader(page).elements == ["img"]
        assert picture_in(page) == shown
    else:
        assert Reader(page).elements == ["pre"]
        assert Reader(page).text == shown
    assert json.loads(json.dumps(shown)) == shown


def test_what_a_run_decided_shows_well(workload):
    page = workload.analyze([{"time": 1, "type": "A"}, {"time": 2, "type": "B"}])._repr_html_()

    assert Reader(page).elements == ["pre"]
    assert "known before the run" in Reader(page).text
