"""What all tests share: golden files, and the option that rewrites them.

`pytest --update-cases` writes what the code says now into the files below tests/cases; the
difference is then reviewed like code.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hamlet.share.coefficients import VARIABLE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

CASES = Path(__file__).parent / "cases"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-cases", action="store_true", help="rewrite the golden files in tests/cases"
    )


@pytest.fixture(autouse=True, scope="session")
def shipped_coefficients(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What steps cost is as shipped, whatever the user of this machine has measured."""
    path = tmp_path_factory.mktemp("coefficients") / "shipped.json"
    path.write_text("{}", encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIABLE, str(path))
        yield


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
