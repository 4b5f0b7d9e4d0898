"""Text as a drawing needs it: cleaned, shortened, wrapped and measured without a font at hand.

Widths are estimates for sans-serif faces, taken from the wider ones in use (DejaVu, Verdana) so
that a narrower face leaves a little air and never an overflow.
"""

from __future__ import annotations

import re
import unicodedata

MAX_CHARS = 36
ELLIPSIS = "…"

# XML 1.0 forbids most control characters, lone surrogates and the two non-characters; the C1
# controls are allowed there but show as nothing useful.
_FORBIDDEN = re.compile("[^\t\n\r -~\u0085\u00a0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_BREAKS = re.compile("[\t\n\r\u0085\u2028\u2029]+")

# Width in thousandths of the font size, for ASCII; letters and digits not named here share one.
_WIDTHS = {
    **dict.fromkeys("ijl'|", 300),
    **dict.fromkeys(" .,:;!", 350),
    **dict.fromkeys('ftrI()[]/\\-"`', 410),
    **dict.fromkeys("csvxyzkJ_?*", 560),
    **dict.fromkeys("ABCDEFGHKLNOPQRSTUVXYZ&", 730),
    **dict.fromkeys("+<>=~^#", 840),
    **dict.fromkeys("mwMW@%", 1000),
}
_USUAL = 635
_OTHER_SCRIPT = 900
_WIDE = 1300
_BOLD = 1.1


def clean(text: str) -> str:
    r"""One line of text with only characters that XML allows.

    >>> clean("a\x00b\nc")
    'ab c'
    """
    return _BREAKS.sub(" ", _FORBIDDEN.sub("", text))


def shorten(text: str, limit: int = MAX_CHARS) -> str:
    """The text, or its beginning and an ellipsis if it has more than `limit` characters."""
    return text if len(text) <= limit else text[: limit - 1].rstrip() + ELLIPSIS


def text_width(text: str, size: float, *, bold: bool = False) -> float:
    """Estimated width in pixels at font size `size`."""
    thousandths = sum(_char_width(char) for char in text)
    return thousandths * size / 1000 * (_BOLD if bold else 1.0)


def wrap(text: str, size: float, width: float, max_lines: int, *, bold: bool = False) -> list[str]:
    """Break text at spaces into at most `max_lines` lines of the given width in pixels.

    What does not fit ends in an ellipsis. A single word wider than the line is cut.
    """
    lines: list[str] = []
    words = text.split()
    while words and len(lines) < max_lines:
        taken = 1
        while taken < len(words) and _fits(words[: taken + 1], size, width, bold):
            taken += 1
        # The last line allowed takes all that is left, and is cut to fit below.
        taken = len(words) if len(lines) == max_lines - 1 else taken
        lines.append(_cut(" ".join(words[:taken]), size, width, bold))
        words = words[taken:]
    return lines


def _fits(words: list[str], size: float, width: float, bold: bool) -> bool:
    return text_width(" ".join(words), size, bold=bold) <= width


def _cut(text: str, size: float, width: float, bold: bool) -> str:
    room = (width * 1000) / (size * (_BOLD if bold else 1.0))
    if sum(map(_char_width, text)) <= room:
        return text
    room -= _OTHER_SCRIPT
    kept = 0
    while kept < len(text) and (room := room - _char_width(text[kept])) >= 0:
        kept += 1
    return text[:kept].rstrip() + ELLIPSIS


def _char_width(char: str) -> int:
    if char in _WIDTHS:
        return _WIDTHS[char]
    if char.isascii():
        return _USUAL
    if unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    if unicodedata.east_asian_width(char) in ("W", "F"):
        return _WIDE
    return _OTHER_SCRIPT
