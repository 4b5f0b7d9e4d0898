"""The SVG document as a whole.

These tests would catch documents that do not parse, labels that are lost or unescaped, cards that
overlap or leave the page, a legend that explains what is not there, and output that changes.
"""

from __future__ import annotations

import time
from itertools import combinations
from xml.etree import ElementTree

import picture_samples as samples
from hypothesis import given, settings
from hypothesis import strategies as st

from hamlet.picture import Edge, Graph, Node, render_svg
from hamlet.picture.cards import MARGIN, arrange, make_card
from hamlet.picture.layout import lay_out
from hamlet.picture.legend import signs_in
from hamlet.picture.text import clean, shorten, text_width, wrap

SVG = "{http://www.w3.org/2000/svg}"
# Includes control characters and lone surrogates, which XML forbids.
ANY_TEXT = st.text(st.characters(), max_size=50)


def texts_of(document: str) -> list[str]:
    return [element.text or "" for element in ElementTree.fromstring(document).iter(f"{SVG}text")]


def hovers_of(document: str) -> list[str]:
    return [element.text or "" for element in ElementTree.fromstring(document).iter(f"{SVG}title")]


def legend_of(*graphs: Graph) -> list[str]:
    root = ElementTree.fromstring(render_svg(graphs))
    legends = [group for group in root.iter(f"{SVG}g") if group.get("class") == "legend"]
    return [text.text or "" for legend in legends for text in legend.iter(f"{SVG}text")]


@settings(deadline=None)
@given(ANY_TEXT, ANY_TEXT, ANY_TEXT)
def test_any_text_gives_well_formed_xml_and_survives_cleaned(
    heading: str, label: str, detail: str
) -> None:
    graph = Graph(
        heading,
        detail,
        (samples.START, Node("x", (label, detail), "shared", accepting=True, stacked=True)),
        (Edge("start", "x", (label,), (detail,)), Edge("x", "x", (detail,))),
    )

    document = render_svg([graph], heading=heading)

    document.encode("utf-8")
    shown = texts_of(document)
    # A parser normalises nothing in our texts: they have no line breaks left.
    assert shown.count(shorten(clean(label))) >= 2
    assert shown.count(shorten(clean(detail))) >= 2


def test_every_label_of_every_sample_is_shown() -> None:
    shown = texts_of(render_svg(samples.all_samples(), heading="All samples"))

    assert "All samples" in shown
    for graph in samples.all_samples():
        assert graph.title in shown
        assert graph.subtitle in shown
        lines = [line for node in graph.nodes for line in node.lines]
        lines += [line for edge in graph.edges for line in (*edge.lines, *edge.guards)]
        assert set(lines) <= set(shown)


def test_a_long_label_is_cut_in_the_drawing_and_whole_on_hover() -> None:
    long = "speed > 10 AND district = 4 AND driver = rider AND price < 100"
    graph = Graph("g", "", (Node("x", ("X", long), "place"),), ())

    document = render_svg([graph])

    assert long not in texts_of(document)
    assert "speed > 10 AND district = 4 AND dri…" in texts_of(document)
    assert f"X\n{long}" in hovers_of(document)


def test_the_same_graphs_give_the_same_document() -> None:
    assert render_svg(samples.all_samples()) == render_svg(samples.all_samples())


def test_nothing_in_a_document_needs_an_id() -> None:
    root = ElementTree.fromstring(render_svg(samples.all_samples()))

    assert all(element.get("id") is None for element in root.iter())


def test_no_graphs_give_an_empty_page() -> None:
    assert texts_of(render_svg([], heading="Nothing")) == ["Nothing"]
    assert texts_of(render_svg([])) == []


def test_the_legend_of_a_plain_chain_explains_only_start_and_end() -> None:
    graph = Graph(
        "q",
        "",
        (samples.START, samples.place("A"), samples.END),
        (Edge("start", "A"), Edge("A", "end")),
    )

    assert legend_of(graph) == ["start of a trend", "end of a trend"]


def test_the_legend_explains_everything_that_occurs() -> None:
    assert legend_of(*samples.all_samples()) == [
        "start of a trend",
        "end of a trend",
        "a trend may end here",
        "Kleene type shared by several queries",
        "step shared by several queries",
        "only if no such event lies between",
        "several event types folded into one",
    ]


def test_a_graph_without_signs_has_no_legend() -> None:
    graph = Graph("g", "", (samples.place("A"),), ())

    assert signs_in([graph]) == []
    assert legend_of(graph) == []


def test_guarded_edges_are_dashed_and_shared_ones_thicker() -> None:
    guarded = render_svg([samples.one_query()])
    shared = render_svg([samples.folded_starts()])

    assert "stroke-dasharray" in guarded
    assert "stroke-dasharray" not in shared
    widths = {
        element.get("stroke-width")
        for element in ElementTree.fromstring(shared).iter(f"{SVG}path")
        if element.get("fill") == "none"
    }
    assert widths == {"1.5", "2.8"}


def test_small_graphs_stand_side_by_side_and_cards_never_overlap() -> None:
    graphs = [*samples.small_templates(7), samples.merged_workload(), samples.wide_fan()]
    cards = [make_card(graph, lay_out(graph)) for graph in graphs]

    placed = arrange(cards, None, MARGIN)

    assert [card.content for card in placed] == cards
    assert placed[0].box.y == placed[1].box.y
    for one, other in combinations(placed, 2):
        assert not samples.overlap(one.box, other.box)
    for card in placed:
        assert card.box.width >= card.content.width
        assert card.box.height >= card.content.height


def test_the_number_of_columns_can_be_set() -> None:
    cards = [make_card(graph, lay_out(graph)) for graph in samples.small_templates(5)]

    placed = arrange(cards, 3, MARGIN)

    assert len({card.box.x for card in placed}) == 3
    assert len({card.box.y for card in placed}) == 2


def test_thirty_small_graphs_fit_a_screen_and_take_little_time() -> None:
    graphs = samples.small_templates(30)
    began = time.perf_counter()

    document = render_svg(graphs)

    # Ten times what it takes on a slow machine; meant to catch a change of complexity.
    assert time.perf_counter() - began < 1.0
    assert float(ElementTree.fromstring(document).get("width", "0")) <= 1540


def test_wide_characters_count_as_wide() -> None:
    assert text_width("事件", 10) > text_width("ab", 10) * 1.5
    assert text_width("e\u0301", 10) == text_width("e", 10)


@given(ANY_TEXT, st.integers(20, 400), st.integers(1, 3))
def test_wrapped_text_fits_its_width_and_number_of_lines(text: str, width: int, most: int) -> None:
    lines = wrap(text, 12, width, most)

    assert len(lines) <= most
    assert all(text_width(line, 12) <= width + 1e-6 for line in lines)
