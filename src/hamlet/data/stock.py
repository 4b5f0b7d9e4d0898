"""Trades of companies: bursts of one company after bursts of another.

Prices walk at random by whole cents, most trades at the price before, and turn around at half and
at one and a half of where they began. Buyers and sellers take turns, as in the real file about
every six trades of a company.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from hamlet.data.columns import BLOCK, TEXT, TIME, start_us, texts, times
from hamlet.data.draws import Clock, Draws, WeightedChoice, geometric_inverse, running, shares, zipf
from hamlet.data.tape import Tape

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hamlet.data.settings import Stock

    Ints = NDArray[np.int64]

SCHEMA = pa.schema(
    [
        ("time", TIME),
        ("type", TEXT),
        ("seq", pa.int64()),
        ("symbol", TEXT),
        ("price", pa.float64()),
        ("volume", pa.int32()),
        ("side", TEXT),
    ]
)
SIDES = ("B", "S")
_MOVING = 0.15  # the share of trades at another price than the one before
_TURNING = 1 / 6.3
_VOLUMES = np.array([100] * 9 + [200] * 3 + [300, 400, 500, 500, 1000, 2000, 30, 50], np.int32)


class StockStream:
    """The stream, block after block."""

    schema = SCHEMA

    def __init__(self, settings: Stock, seed: int) -> None:
        companies = settings.groups
        self._symbols = settings.types
        self._draws = Draws(seed)
        means = np.array([settings.mean_of(name) for name in settings.types])
        self._inverse = geometric_inverse(means)
        # A burst has a share of the events like its company's, so long bursts are begun less often.
        begun = zipf(companies, settings.skew) / means
        self._companies = WeightedChoice(shares(begun))
        mean = float(np.cumsum(self._companies.shares * means)[-1])
        self._tape = Tape(1, self._write, mean)
        self._clock = Clock(start_us(settings), settings.rate)
        self._seq = 0
        self._first = self._draws.below(11_501, companies) + 500
        self._walk = np.zeros(companies, np.int64)
        self._turns = self._draws.below(2, companies)

    def _write(self, groups: Ints) -> dict[str, NDArray[Any]]:
        """A burst of some company for each chapter."""
        company = self._companies.draw(self._draws, len(groups))
        length = self._draws.geometric(self._inverse[company], len(groups))
        return {"group": groups, "length": length, "company": company}

    def block(self) -> Any:
        """The next events."""
        draws, size = self._draws, BLOCK
        company = self._tape.read(np.zeros(size, np.int64))["company"]
        milliseconds = self._clock.next(draws, size) // 1000
        symbol = texts(company, self._symbols)
        columns = [
            times(milliseconds * 1000),
            symbol,
            np.arange(self._seq, self._seq + size),
            symbol,
            self._cents(company) / 100.0,
            _VOLUMES[draws.below(len(_VOLUMES), size)],
            texts(self._sides(company), SIDES),
        ]
        self._seq += size
        return pa.record_batch(columns, schema=SCHEMA)

    def _cents(self, company: Ints) -> Ints:
        """Prices: an endless walk, folded into its range as a strip of paper is."""
        luck = self._draws.uniform(len(company))
        steps = (luck < _MOVING).astype(np.int64) - 2 * (luck < _MOVING / 2)
        first = self._first[company]
        lowest, width = first // 2, first
        walked = running(company, steps, self._walk) + first - lowest
        folded = walked % (2 * width)
        cents: Ints = lowest + np.minimum(folded, 2 * width - folded)
        return cents

    def _sides(self, company: Ints) -> Ints:
        turned = (self._draws.uniform(len(company)) < _TURNING).astype(np.int64)
        return running(company, turned, self._turns) % 2
