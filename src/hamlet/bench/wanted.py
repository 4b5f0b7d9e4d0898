"""A figure that was measured, and the floor it is held against."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from hamlet.bench.timing import Spread


@dataclass(frozen=True, slots=True)
class Wanted:
    """A figure, and the least or the most that it should be."""

    what: str
    limit: float
    unit: Literal["x the time", "x as fast"]
    found: Spread

    @property
    def is_kept(self) -> bool:
        """Whether it is as wanted."""
        median = self.found.median
        return median <= self.limit if self.unit == "x the time" else median >= self.limit

    def as_data(self) -> dict[str, Any]:
        """The figure as plain data."""
        return {
            "what": self.what,
            "limit": self.limit,
            "unit": self.unit,
            "found": self.found._asdict(),
            "ok": self.is_kept,
        }


def wanted_line(each: dict[str, Any]) -> str:
    """A figure in a line of text."""
    spread = Spread(**each["found"])
    at = "at most" if each["unit"] == "x the time" else "at least"
    figures = f"{spread.median:8.3f}  {spread.low:.3f} .. {spread.high:.3f}"
    limit = f"{at} {each['limit']:g} {each['unit']}"
    return f"{each['what']:<72}{figures:<28}{limit:<24}{'ok' if each['ok'] else 'short'}"
