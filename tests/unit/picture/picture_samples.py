"""Graphs that look like real templates, one for each shape the pictures must handle."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hamlet.picture import Edge, Graph, Node

if TYPE_CHECKING:
    from hamlet.picture.geometry import Box

START = Node("start", ("START",), "start")
END = Node("end", ("END",), "end")


def place(name: str, *details: str) -> Node:
    return Node(name, (name, *details), "place")


def one_query() -> Graph:
    """SEQ(Request, Travel T+, NOT Pickup) with predicates and a guarded end."""
    return Graph(
        "q1",
        "SEQ(Request, Travel T+, NOT Pickup)",
        (
            START,
            place("Request", "district = 4"),
            Node("Travel", ("Travel", "T.speed < 10"), "place", accepting=True),
            END,
        ),
        (
            Edge("start", "Request"),
            Edge("Request", "Travel"),
            Edge("Travel", "Travel", ("T.speed > NEXT(T).speed",)),
            Edge("Travel", "end", (), ("no Pickup",)),
        ),
    )


def merged_workload() -> Graph:
    """Three queries that share Travel+."""
    shared = Node("Travel", ("Travel", "q1 q2 q3"), "shared")
    return Graph(
        "Merged template of q1, q2, q3",
        "Travel+ is shared by three queries",
        (
            START,
            place("Request"),
            place("Accept"),
            shared,
            place("Dropoff"),
            place("Cancel"),
            END,
        ),
        (
            Edge("start", "Request", ("q1 q2",)),
            Edge("start", "Accept", ("q3",)),
            Edge("Request", "Travel", ("q1 q2",)),
            Edge("Accept", "Travel", ("q3",)),
            Edge("Travel", "Travel", ("q1 q2 q3",), kind="shared"),
            Edge("Travel", "end", ("q1",), ("no Pickup",)),
            Edge("Travel", "Dropoff", ("q2",)),
            Edge("Travel", "Cancel", ("q3",)),
            Edge("Dropoff", "end", ("q2",)),
            Edge("Cancel", "end", ("q3",)),
        ),
    )


def nested_kleene() -> Graph:
    """(SEQ(A, B+))+ and (SEQ(C, B+))+ merged: B leads back to A and to C."""
    return Graph(
        "Merged template of q4, q5",
        "(SEQ(A, B+))+ and (SEQ(C, B+))+",
        (START, place("A"), place("C"), Node("B", ("B",), "shared"), END),
        (
            Edge("start", "A", ("q4",)),
            Edge("start", "C", ("q5",)),
            Edge("A", "B", ("q4",)),
            Edge("C", "B", ("q5",)),
            Edge("B", "B", ("q4 q5",), kind="shared"),
            Edge("B", "A", ("q4",)),
            Edge("B", "C", ("q5",)),
            Edge("B", "end", ("q4 q5",)),
        ),
    )


def folded_starts() -> Graph:
    """Thirty start types as one stacked node."""
    return Graph(
        "30 queries, folded",
        "SEQ(Xi, T+) for i = 1 ... 30",
        (
            START,
            Node("X", ("X1 … X30", "30 types, q1 … q30"), "place", stacked=True),
            Node("T", ("T", "q1 … q30"), "shared"),
            END,
        ),
        (
            Edge("start", "X", ("one query each",)),
            Edge("X", "T", ("one query each",)),
            Edge("T", "T", ("q1 … q30",), kind="shared"),
            Edge("T", "end", ("q1 … q30",)),
        ),
    )


def wide_fan(count: int = 12) -> Graph:
    """Distinct start types, each with its query, fanning into one shared type."""
    names = [f"X{index}" for index in range(1, count + 1)]
    return Graph(
        f"{count} queries, unfolded",
        f"SEQ(Xi, T+) for i = 1 ... {count}",
        (START, *map(place, names), Node("T", ("T", f"q1 … q{count}"), "shared"), END),
        (
            *(Edge("start", name) for name in names),
            *(Edge(name, "T", (f"q{name[1:]}",)) for name in names),
            Edge("T", "T", (f"q1 … q{count}",), kind="shared"),
            Edge("T", "end", (f"q1 … q{count}",)),
        ),
    )


def alternatives() -> Graph:
    """SEQ(A, (B OR C)+, NOT D, E): B and C lead to each other and to themselves."""
    return Graph(
        "q6",
        "SEQ(A, (B OR C)+, NOT D, E)",
        (START, place("A"), place("B"), place("C"), place("E"), END),
        (
            Edge("start", "A"),
            Edge("A", "B"),
            Edge("A", "C"),
            Edge("B", "B"),
            Edge("C", "C"),
            Edge("B", "C"),
            Edge("C", "B"),
            Edge("B", "E", (), ("no D",)),
            Edge("C", "E", (), ("no D",)),
            Edge("E", "end"),
        ),
    )


def long_way_back() -> Graph:
    """(SEQ(A, B+, C, D))+ with a labelled edge from D back to A."""
    names = ("A", "B", "C", "D")
    return Graph(
        "q7",
        "(SEQ(A, B+, C, D))+",
        (START, *map(place, names), END),
        (
            Edge("start", "A"),
            Edge("A", "B", ("A.x < B.x",)),
            Edge("B", "B"),
            Edge("B", "C"),
            Edge("C", "D", (), ("no E", "no F")),
            Edge("D", "A", ("again",)),
            Edge("D", "B", ("q9",)),
            Edge("D", "end"),
        ),
    )


def small_templates(count: int = 30) -> list[Graph]:
    """Many small queries of varying shape, for the grid."""
    graphs = []
    for index in range(1, count + 1):
        first, last = f"Type{index}", ("Dropoff", "Cancel", "Pickup")[index % 3]
        guards = ("no Pickup",) if index % 4 == 0 else ()
        graphs.append(
            Graph(
                f"q{index}",
                f"SEQ({first}, Travel+, {last})",
                (START, place(first), place("Travel"), place(last), END),
                (
                    Edge("start", first),
                    Edge(first, "Travel"),
                    Edge("Travel", "Travel"),
                    Edge("Travel", last, (), guards),
                    Edge(last, "end"),
                ),
            )
        )
    return graphs


def all_samples() -> list[Graph]:
    """One graph of each shape."""
    return [
        one_query(),
        merged_workload(),
        nested_kleene(),
        folded_starts(),
        wide_fan(),
        alternatives(),
        long_way_back(),
    ]


def overlap(one: Box, other: Box) -> bool:
    """Whether two rectangles share an area."""
    across = one.x < other.right and other.x < one.right
    return across and one.y < other.bottom and other.y < one.bottom
