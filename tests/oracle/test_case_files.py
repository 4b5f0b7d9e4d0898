"""The readable cases of the language, by the reference and by the engine in every way of running.

Would catch a construct whose meaning has moved: each file is one feature, and each case says in its
title what it shows. `pytest --update-cases` writes what the reference says into the files.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import pytest
from case_files import case_files, read_cases, shown, write_cases
from conformance import (
    differences,
    engine_rows,
    reference_rows,
    scaled_reference_rows,
    ways_of_running,
)

if TYPE_CHECKING:
    from pathlib import Path

    from case_files import ReadableCase

FILES = case_files()


def by_name(path: Path) -> str:
    return path.stem


@pytest.mark.parametrize("path", FILES, ids=by_name)
def test_the_reference_says_what_the_file_says(path: Path, is_updating: bool) -> None:
    cases = read_cases(path)
    said = [shown(reference_rows(case.workload, case.events, case.order)) for case in cases]
    if is_updating:
        write_cases(path, [replace(c, expected=e) for c, e in zip(cases, said, strict=True)])
        cases = read_cases(path)

    assert {c.title: c.expected for c in cases} == dict(
        zip((c.title for c in cases), said, strict=True)
    )


@lru_cache(maxsize=1)
def answered(path: Path) -> list[tuple[ReadableCase, list[Any]]]:
    """The cases of a file, each with what must come out, worked out once for all ways to run."""
    return [
        (case, scaled_reference_rows(case.workload, case.events, case.order))
        for case in read_cases(path)
    ]


@pytest.mark.parametrize(("numbers", "sharing"), ways_of_running())
@pytest.mark.parametrize("path", FILES, ids=by_name)
def test_the_engine_says_what_the_reference_says(path: Path, numbers: str, sharing: str) -> None:
    wrong = {}
    for case, true in answered(path):
        rows = engine_rows(case.workload, case.events, case.order, numbers=numbers, sharing=sharing)
        told = differences(true, rows, numbers)
        if told:
            wrong[case.title] = told

    assert not wrong


@pytest.mark.parametrize("path", FILES, ids=by_name)
def test_a_file_shows_a_feature_from_several_sides(path: Path) -> None:
    """Titles are sentences of their own, and no case is there twice."""
    cases = read_cases(path)

    assert len(cases) >= 4
    assert len({case.title for case in cases}) == len(cases)
    assert len({(case.queries, case.event_lines, case.order) for case in cases}) == len(cases)
