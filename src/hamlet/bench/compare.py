"""Two files of figures side by side: what became faster, slower, or stayed as it was.

Any .json file that a benchmark of this package writes will do. Two figures are called the same when
their spreads overlap, or when they are closer than a band that is wider than chance usually makes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hamlet.bench.timing import Spread

if TYPE_CHECKING:
    from collections.abc import Iterator

# What grows when things become faster; of everything else less is better.
_MORE_IS_BETTER = ("events_per_s", "rate", "throughput", "per_s")
# What names a point, in the order in which it is said.
_NAMES = ("sweep", "name", "what", "case", "x", "system")
VERDICTS = ("better", "worse", "no change")


@dataclass(frozen=True, slots=True)
class Change:
    """One figure before and after."""

    what: str
    old: Spread
    new: Spread
    more_is_better: bool

    @property
    def ratio(self) -> float:
        """The new figure over the old one."""
        return self.new.median / self.old.median if self.old.median else float("nan")

    def verdict(self, band: float) -> str:
        """Better, worse, or no change.

        >>> slow, fast = Spread(2.0, 1.9, 2.1), Spread(1.0, 0.9, 1.1)
        >>> Change("a", slow, fast, more_is_better=False).verdict(0.1)
        'better'
        >>> Change("a", slow, Spread(2.1, 2.0, 2.2), more_is_better=False).verdict(0.1)
        'no change'
        """
        overlap = self.new.low <= self.old.high and self.old.low <= self.new.high
        if overlap or abs(self.ratio - 1) <= band or self.ratio != self.ratio:
            return "no change"
        return "better" if (self.ratio > 1) == self.more_is_better else "worse"


def changes(old: dict[str, Any], new: dict[str, Any]) -> tuple[list[Change], list[str]]:
    """Every figure that both have, and the names of those that one of them has alone."""
    before, after = dict(_figures(old)), dict(_figures(new))
    both = [
        Change(what, before[what], after[what], any(word in what for word in _MORE_IS_BETTER))
        for what in before
        if what in after
    ]
    return both, sorted(before.keys() ^ after.keys())


def _figures(found: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, Spread]]:
    """Everything with a median, by where it stands."""
    if isinstance(found, dict):
        if set(found) == set(Spread._fields):
            yield " ".join(path), Spread(**found)
            return
        own = tuple(
            _shown(found[name]) for name in _NAMES if isinstance(found.get(name), str | int | float)
        )
        for name, value in found.items():
            yield from _figures(value, (*path, *own, name) if own else (*path, name))
    elif isinstance(found, list):
        for number, value in enumerate(found):
            is_named = isinstance(value, dict) and any(name in value for name in _NAMES)
            # The name of a list says nothing where its items have names of their own.
            yield from _figures(value, path[:-1] if is_named else (*path, str(number)))


def _shown(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def as_data(found: list[Change], alone: list[str], band: float) -> dict[str, Any]:
    """All figures and how many changed, as plain data."""
    verdicts = [change.verdict(band) for change in found]
    return {
        "band": band,
        "rows": [
            {
                "name": change.what,
                "old": change.old._asdict(),
                "new": change.new._asdict(),
                # JSON has no word for what is not a number.
                "ratio": change.ratio if math.isfinite(change.ratio) else None,
                "verdict": verdict,
            }
            for change, verdict in zip(found, verdicts, strict=True)
        ],
        "counts": {verdict: verdicts.count(verdict) for verdict in VERDICTS},
        "in_one_file_only": alone,
    }


def as_text(found: list[Change], alone: list[str], band: float) -> str:
    """A table of all figures, and how many changed."""
    width = max((len(change.what) for change in found), default=10) + 2
    lines = [f"{'':<{width}}{'old':>12}{'new':>12}{'new/old':>9}"]
    for change in found:
        lines.append(
            f"{change.what:<{width}}{change.old.median:>12.5g}{change.new.median:>12.5g}"
            f"{change.ratio:>9.2f}  {change.verdict(band)}"
        )
    verdicts = [change.verdict(band) for change in found]
    counts = ", ".join(f"{verdicts.count(verdict)} {verdict}" for verdict in VERDICTS)
    lines += ["", f"{counts}; the same within {band:.0%}, or where spreads overlap"]
    if alone:
        lines.append(f"{len(alone)} figures are in one file only")
    return "\n".join(lines) + "\n"
