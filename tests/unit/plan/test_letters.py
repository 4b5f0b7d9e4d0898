"""Atoms and letters: what is one atom, what is two, and in which order they are numbered.

Would catch equal conditions that do not become one atom, an atom that a template needs and the
alphabet lacks, and a wrong bound on the number of letters.
"""

from __future__ import annotations

import pytest

from hamlet import Workload
from hamlet.plan.letters import Alphabet, Atom, alphabet_of
from hamlet.plan.predicates import Column, Constant, compare


def alphabet(*queries: str) -> Alphabet:
    text = ";".join(f"RETURN COUNT(*) PATTERN {query} WITHIN 10 s" for query in queries)
    return alphabet_of(Workload.parse(text).plan.queries)


def shown(*queries: str) -> list[str]:
    return [str(atom) for atom in alphabet(*queries).atoms]


def test_equal_atoms_of_different_queries_are_one():
    assert shown("SEQ(A, B+) WHERE B.x > 1", "SEQ(C, B b+) WHERE 1 < b.x") == [
        "A",
        "B where x > 1",
        "C",
    ]


def test_the_order_of_conjuncts_does_not_make_another_atom():
    assert shown("A WHERE A.x > 1 AND A.y = 2", "A WHERE A.y = 2 AND A.x > 1") == [
        "A where x > 1 AND y = 2"
    ]


def test_constants_of_different_kinds_make_different_atoms():
    assert shown("A WHERE A.x = 1", "A WHERE A.x = 1.0", "A WHERE A.x = TRUE") == [
        "A where x = 1",
        "A where x = 1.0",
        "A where x = TRUE",
    ]


def test_atoms_of_a_type_stand_together_the_unconditional_one_first():
    assert shown("SEQ(A, B) WHERE A.x > 1", "SEQ(A, B) WHERE B.y > 1") == [
        "A",
        "A where x > 1",
        "B",
        "B where y > 1",
    ]


def test_negated_patterns_have_atoms_too():
    assert shown("SEQ(A, NOT SEQ(N, M), B) WHERE N.x = 0") == ["A", "B", "N where x = 0", "M"]


def test_what_both_sides_of_an_and_match_has_atoms_of_its_own():
    atoms = shown("A a AND A b WHERE a.x > 1 AND b.y > 1")

    assert atoms == ["A where x > 1", "A where y > 1", "A where x > 1 AND y > 1"]


def test_a_condition_that_only_an_edge_looks_at_is_an_atom():
    found = alphabet("SEQ(A a+, A b+) WHERE a.x > 1").atoms

    # Leaving the places of `a` for those of `b` alone is possible only unless x > 1.
    assert Atom("A", compare(">", Column("this", "x"), Constant.of(1))) in found
    assert Atom("A", None) in found


@pytest.mark.parametrize(
    ("queries", "most"),
    [
        (["A"], 1),
        (["A WHERE A.x > 1"], 1),
        (["A", "A WHERE A.x > 1"], 2),
        (["A WHERE A.x > 1", "A WHERE A.x > 2"], 3),
        (["A", "A WHERE A.x > 1", "A WHERE A.x > 2"], 4),
    ],
)
def test_the_empty_letter_is_not_counted(queries: list[str], most: int):
    assert alphabet(*queries).most_letters("A") == most


def test_types_come_in_the_order_they_are_first_met():
    found = alphabet("SEQ(B, NOT N, A)", "SEQ(C, A)")

    assert found.types == ("B", "A", "N", "C")
    assert [str(atom) for atom in found.of_type("A")] == ["A"]
    assert found.of_type("unknown") == ()
