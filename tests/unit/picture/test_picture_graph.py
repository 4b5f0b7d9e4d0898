"""Checks a graph makes on itself: these would catch a typo in an edge that silently vanishes."""

from __future__ import annotations

import picture_samples as samples
import pytest

from hamlet.picture import Edge, Graph


def test_an_edge_to_an_unknown_node_is_rejected() -> None:
    with pytest.raises(ValueError, match="'nowhere'"):
        Graph("g", "", (samples.START,), (Edge("start", "nowhere"),))


def test_an_edge_from_an_unknown_node_is_rejected() -> None:
    with pytest.raises(ValueError, match="'nowhere'"):
        Graph("g", "", (samples.START,), (Edge("nowhere", "start"),))


def test_two_nodes_with_one_key_are_rejected() -> None:
    with pytest.raises(ValueError, match="two nodes with key 'start'"):
        Graph("g", "", (samples.START, samples.START), ())
