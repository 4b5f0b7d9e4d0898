"""Texts as typed columns with Arrow, by the rule of `rules.py`: what there is, and its values.

A piece whose texts all are plain numbers or times costs one cast; others are looked at text by
text. The cast is kept, so that a plain piece is read once.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hamlet.events import text_rules as rules
from hamlet.plan.local_times import DAY_US

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from hamlet.events.text_rules import Facts, Sort

    # A column, and which of its rows are faulty where any is.
    Typed = tuple[pa.Array, NDArray[np.bool_] | None]

TYPES: dict[Sort, pa.DataType] = {
    "nothing": pa.null(),
    "long": pa.int64(),
    "unsigned": pa.uint64(),
    "double": pa.float64(),
    "boolean": pa.bool_(),
    "date": pa.date32(),
    "clock": pa.timestamp("us"),
    "moment": pa.timestamp("us", "UTC"),
    "text": pa.large_string(),
}


def _table(letters: bytes) -> NDArray[np.bool_]:
    """For each byte whether it is one of some letters."""
    table = np.zeros(256, np.bool_)
    table[list(letters)] = True
    return table


_PLAIN_NUMBER, _DIGIT = _table(b"0123456789+-.eE"), _table(b"0123456789")
_SIGN, _MARK, _ONE = _table(b"+-"), _table(b".eE"), _table(b"01")
_ZERO = ord("0")
# No number of 64 bits has more digits.
_MOST_DIGITS = 20
# So many texts are cast, and looked at, before all are.
_TRIED, _FIRST = 30, 100


class TextLook(NamedTuple):
    """What some texts are, and their values where that was a cast."""

    facts: Facts
    plain: pa.Array | None


# What there is


def look_at(texts: pa.Array) -> TextLook:
    """Facts about some texts (see `rules.py`).

    >>> sorted(look_at(pa.array(["1", "-2", None])).facts.items())
    [('booleans', 1), ('given', 2), ('longs', 2), ('numbers', 2), ('plain', 2), ('unsigned', 1)]
    """
    if not pa.types.is_large_string(texts.type) and not pa.types.is_string(texts.type):
        texts = texts.cast(pa.large_string())
    given = len(texts) - texts.null_count
    if not given:
        return TextLook(Counter(), None)
    look = _plain_numbers(texts, given) or _plain_times(texts, given)
    return look or TextLook(_odd(texts), None)


def are_texts(texts: pa.Array) -> bool:
    """Whether the first texts show that a column, of which its values alone decide, is text."""
    return rules.has_plain_text(look_at(texts[:_FIRST]).facts)


def _cast(texts: pa.Array, kind: pa.DataType) -> pa.Array | None:
    """Texts as another type where every one fits.

    Some are tried first: Arrow goes on after the first that does not, and that takes long.
    """
    try:
        if len(texts) > _TRIED:
            pc.cast(texts[:_TRIED], kind)
        return pc.cast(texts, kind)
    except pa.ArrowInvalid:
        return None


def _plain_numbers(texts: pa.Array, given: int) -> TextLook | None:
    """A look at texts that are all numbers, with nothing around them.

    Arrow reads more than the rule, such as 0x10 and inf, but all of that has other letters.
    """
    there = texts.drop_null() if texts.null_count else texts
    if not _PLAIN_NUMBER[_Bytes.of(there[:_TRIED]).letters].all():
        return None
    known = _Bytes.of(there)
    if not _PLAIN_NUMBER[known.letters].all():
        return None
    are_whole = known.are_whole()
    if are_whole.all():
        integers = _cast(texts, pa.int64())
        if integers is None:
            return None
        facts = known.facts() + _of_integers(integers)
        return TextLook(+(facts + Counter(given=given, plain=given)), integers)
    doubles = _cast(texts, pa.float64())
    if doubles is None or pc.any(pc.is_inf(doubles)).as_py():
        return None
    wholes = _cast(there.filter(pa.array(are_whole)), pa.int64())
    if wholes is None:
        return None  # some are too long, and have to be looked at one by one
    facts = known.facts() + _of_integers(wholes)
    facts["numbers"] = given
    return TextLook(+(facts + Counter(given=given, plain=given)), pc.add(doubles, 0.0))


class _Bytes(NamedTuple):
    """The bytes of texts that look like numbers, and where each text begins and ends."""

    letters: NDArray[np.uint8]
    starts: NDArray[Any]
    ends: NDArray[Any]

    @staticmethod
    def of(texts: pa.Array) -> _Bytes:
        """Those of a column without nulls."""
        _, offsets, data = texts.buffers()
        kind = np.int64 if pa.types.is_large_string(texts.type) else np.int32
        bounds = np.frombuffer(offsets, kind)[texts.offset : texts.offset + len(texts) + 1]
        letters = np.frombuffer(data, np.uint8) if data is not None else np.zeros(0, np.uint8)
        bounds = bounds.astype(np.int64)
        return _Bytes(
            letters[bounds[0] : bounds[-1]], bounds[:-1] - bounds[0], bounds[1:] - bounds[0]
        )

    def facts(self) -> Facts:
        """How many begin with a zero that is not the only digit, and how many are 0 or 1."""
        padded = np.append(self.letters, np.zeros(2, np.uint8))
        begin = padded[self.starts]
        first = self.starts + _SIGN[begin]
        has_more = _DIGIT[padded[first + 1]] & (first + 1 < self.ends)
        is_code = has_more & (padded[first] == _ZERO)
        is_one = _ONE[begin] & (self.ends - self.starts == 1)
        counts = {"codes": np.count_nonzero(is_code), "booleans": np.count_nonzero(is_one)}
        return Counter({fact: int(count) for fact, count in counts.items()})

    def are_whole(self) -> NDArray[np.bool_]:
        """Which have neither a point nor an exponent."""
        are_marks = _MARK[self.letters]
        if not are_marks.any():
            return np.ones(len(self.starts), np.bool_)
        marks = np.append(0, np.cumsum(are_marks))
        return marks[self.ends] == marks[self.starts]  # type: ignore[no-any-return]


def _of_integers(column: pa.Array) -> Facts:
    given = len(column) - column.null_count
    if not given:
        return Counter()
    size = pc.min_max(column).as_py()
    unsigned = given if size["min"] >= 0 else pc.sum(pc.greater_equal(column, 0)).as_py()
    facts = Counter(numbers=given, longs=given, unsigned=unsigned)
    if size["min"] <= -rules.EXACT or size["max"] >= rules.EXACT:
        is_rough = pc.or_(
            pc.greater_equal(column, rules.EXACT), pc.less_equal(column, -rules.EXACT)
        )
        facts["rough"] = pc.sum(is_rough).as_py()
    return facts


def _plain_times(texts: pa.Array, given: int) -> TextLook | None:
    """A look at texts that are all ISO 8601 of one form, which Arrow reads as the rule says."""
    for fact, sort in _FORMS.items():
        column = _cast(texts, TYPES[sort])
        if column is not None:
            if pc.min(column.cast(_COUNT[sort])).as_py() < _YEAR_ONE[sort]:
                return None  # Arrow knows of a year 0
            # A cast to a clock takes dates too.
            dates = pc.sum(_matches(texts, rules.DATE)).as_py() if fact == "clocks" else 0
            counts = Counter({"given": given, fact: given - dates, "plain times": given})
            return TextLook(+(counts + Counter(dates=dates)), column)
    return None


_COUNT = {"date": pa.int32(), "clock": pa.int64(), "moment": pa.int64()}
_YEAR_ONE = {"date": -719_162, "clock": -719_162 * DAY_US, "moment": -719_161 * DAY_US}
_FORMS: dict[str, Sort] = {"dates": "date", "clocks": "clock", "moments": "moment"}


def _odd(texts: pa.Array) -> Facts:
    """Facts about texts one by one; each distinct one is looked at once."""
    counted = texts.value_counts()
    words = counted.field("values").cast(pa.large_string())
    counts = counted.field("counts").to_numpy()

    def how_many(which: pa.Array) -> int:
        return int(counts[which.fill_null(False).to_numpy(zero_copy_only=False)].sum())

    known = _known(words)
    numbers = _numbers(known, "double").is_valid()
    whole = pc.if_else(pc.and_(numbers, _matches(known, rules.INTEGER)), known, None)
    longs, unsigned, rough = _sizes(whole)
    stamps = _stamps(known).is_valid()
    dates, moments = _matches(known, rules.DATE), _matches(known, rules.MOMENT)
    facts = Counter(
        given=how_many(words.is_valid()),
        missing=how_many(pc.and_(words.is_valid(), known.is_null())),
        numbers=how_many(numbers),
        codes=how_many(pc.and_(numbers, _matches(known, rules.CODE))),
        longs=how_many(longs),
        unsigned=how_many(unsigned),
        rough=how_many(rough),
        dates=how_many(pc.and_(stamps, dates)),
        moments=how_many(pc.and_(stamps, moments)),
        clocks=how_many(pc.and_not(pc.and_not(stamps, dates), moments)),
        booleans=how_many(_booleans(known).is_valid()),
    )
    return +facts


def _sizes(whole: pa.Array) -> tuple[pa.Array, pa.Array, pa.Array]:
    """Which texts of whole numbers fit 64 bits, are unsigned then, and are too long for doubles."""
    values = [None if text is None else _integer(text) for text in whole.to_pylist()]

    def fit(some: range) -> pa.Array:
        return pa.array([value is not None and value in some for value in values], pa.bool_())

    exact = range(1 - rules.EXACT, rules.EXACT)
    rough = pa.array([value is not None and value not in exact for value in values], pa.bool_())
    return fit(rules.LONGS), fit(rules.UNSIGNED), rough


def _integer(text: str) -> int:
    """A whole number; one that is longer than any that matters is some other such number."""
    digits = text.lstrip("+-").lstrip("0") or "0"
    size = int(digits) if len(digits) <= _MOST_DIGITS else 10**_MOST_DIGITS
    return -size if text.startswith("-") else size


# Values


def values_of_texts(texts: pa.Array, sort: Sort, look: TextLook | None = None) -> Typed:
    """Texts as values of a sort; what is none and not missing either is faulty.

    Args:
        texts: The texts.
        sort: What they are.
        look: What was seen of them, if they were looked at.
    """
    kind = TYPES[sort]
    if sort == "text":
        return texts, None
    if sort == "nothing":
        return pa.nulls(len(texts)), None
    if look is not None and look.plain is not None:
        column = _widened(look.plain, kind)
        if column is not None:
            return column, None
    once = texts.dictionary_encode()
    words = once.dictionary.cast(pa.large_string())
    known = _known(words)
    values = _READERS[sort](known, sort)
    if values.type != kind:
        values = values.cast(kind)
    faulty = pc.and_(known.is_valid(), values.is_null())
    column = values.take(once.indices)
    if not pc.any(faulty).as_py():
        return column, None
    return column, faulty.take(once.indices).fill_null(False).to_numpy(zero_copy_only=False)


def _widened(plain: pa.Array, kind: pa.DataType) -> pa.Array | None:
    """A cast as the type of the whole column, where it is one of the same kind."""
    if plain.type == kind:
        return plain
    if pa.types.is_integer(plain.type) and pa.types.is_floating(kind):
        return plain.cast(kind, safe=False)
    if pa.types.is_integer(plain.type) and pa.types.is_unsigned_integer(kind):
        return _cast(plain, kind)
    if pa.types.is_date(plain.type) and pa.types.is_timestamp(kind):
        return plain.cast(pa.timestamp("us")).cast(kind)
    if plain.type == TYPES["clock"] and kind == TYPES["moment"]:
        return plain.cast(kind)
    return None


def _matches(texts: pa.Array, pattern: str) -> pa.Array:
    return pc.match_substring_regex(texts, rules.whole(pattern))


def _known(words: pa.Array) -> pa.Array:
    """Trimmed texts; null for what stands for a missing value."""
    trimmed = pc.utf8_trim(words, rules.SPACES)
    return pc.if_else(_matches(trimmed, rules.MISSING), pa.scalar(None, trimmed.type), trimmed)


def _numbers(known: pa.Array, sort: Sort) -> pa.Array:
    """Finite numbers as doubles, or whole numbers that fit as such."""
    nothing = pa.scalar(None, known.type)
    if sort == "double":
        doubles = pc.cast(pc.if_else(_matches(known, rules.NUMBER), known, nothing), pa.float64())
        # There is one zero, however it is signed.
        return pc.add(pc.if_else(pc.is_inf(doubles), pa.scalar(None, pa.float64()), doubles), 0.0)
    some = rules.LONGS if sort == "long" else rules.UNSIGNED
    texts = pc.if_else(_matches(known, rules.INTEGER), known, nothing).to_pylist()
    values = [None if text is None else _integer(text) for text in texts]
    return pa.array([v if v is not None and v in some else None for v in values], TYPES[sort])


def _booleans(known: pa.Array, sort: Sort = "boolean") -> pa.Array:
    is_true = _matches(known, rules.TRUE)
    return pc.if_else(pc.or_(is_true, _matches(known, rules.FALSE)), is_true, None)


_FINE = r"(\.[0-9]{6})[0-9]+"


def _stamps(known: pa.Array, sort: Sort = "moment") -> pa.Array:
    """ISO 8601 as timestamps in UTC; finer than microseconds is cut off."""
    nothing = pa.scalar(None, known.type)
    iso = pc.if_else(_matches(known, rules.ISO), known, nothing)
    iso = pc.replace_substring_regex(iso, _FINE, r"\1")
    zoned = _matches(known, rules.MOMENT)
    utc = TYPES["moment"]
    with_zone = _cast_what_fits(pc.if_else(zoned, iso, nothing), utc)
    without = _cast_what_fits(pc.if_else(zoned, nothing, iso), TYPES["clock"]).cast(utc)
    moments = pc.coalesce(with_zone, without)
    if sort == "date":
        moments = pc.if_else(_matches(known, rules.DATE), moments, pa.scalar(None, utc))
    # Among clocks there is a moment in a stream alone, where the first files had none.
    return moments if sort == "moment" else moments.cast(TYPES["clock"])


def _cast_what_fits(texts: pa.Array, kind: pa.DataType) -> pa.Array:
    """A cast that gives null instead of failing; what does not fit is found by halving."""
    column = _cast(texts, kind)
    if column is not None:
        return column
    if len(texts) == 1:
        return pa.nulls(1, kind)
    middle = len(texts) // 2
    halves = [_cast_what_fits(half, kind) for half in (texts[:middle], texts[middle:])]
    return pa.concat_arrays(halves)


_READERS = {
    "long": _numbers,
    "unsigned": _numbers,
    "double": _numbers,
    "boolean": _booleans,
    "date": _stamps,
    "clock": _stamps,
    "moment": _stamps,
}


# Whole columns


def times_of_texts(texts: pa.Array) -> Typed:
    """Texts as times: ISO 8601 or numbers of seconds, whichever are more."""
    look = look_at(texts)
    return values_of_texts(texts, rules.sort_of(look.facts, None, is_time=True), look)


def moments_of_texts(texts: pa.Array) -> pa.Array:
    """ISO 8601 text as timestamps in microseconds; null where it is no such thing.

    They are in UTC where any text has a zone, and have none where no text has.

    >>> moments_of_texts(pa.array(["2026-03-02T08:00:00+01:00", "soon"])).is_valid().to_pylist()
    [True, False]
    """
    return values_of_texts(texts, "moment" if look_at(texts).facts["moments"] else "clock")[0]


def added(looks: Sequence[TextLook]) -> Facts:
    """The facts of several pieces of a column."""
    return sum((look.facts for look in looks), Counter[str]())
