"""What all tests share: golden files, and the option that rewrites them.

`pytest --update-cases` writes what the code says now into the files below tests/cases; the
difference is then reviewed like code.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

CASES = Path(__file__).parent / "cases"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-cases", action="store_true", help="rewrite the golden files in tests/cases"
    )


@pytest.fixture
def is_updating(request: pytest.FixtureRequest) -> bool:
    """Whether golden files are rewritten instead of compared."""
    return bool(request.config.getoption("--update-cases"))


@pytest.fixture
def golden(is_updating: bool) -> Callable[[str, str], None]:
    """Compare a text with a golden file, given by its path below tests/cases."""

    def compare(name: str, text: str) -> None:
        path = CASES / name
        if is_updating:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        assert text == path.read_text(encoding="utf-8")

    return compare
