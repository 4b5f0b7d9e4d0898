"""Columns of odd texts, drawn at random: what people write where numbers, times or flags stand."""

from __future__ import annotations

import random

FAMILIES: dict[str, list[str]] = {
    "numbers": ["1", "2", "-3", "0", "+4", "10", "7", "100"],
    "fractions": ["1.5", "-.5", "2.", "1e3", "1E-2", "+0.25", "-0.0", "0.1"],
    "long": [
        "9007199254740993",
        "9223372036854775807",
        "9223372036854775808",
        "-9223372036854775808",
        "-9223372036854775809",
        "18446744073709551615",
        "18446744073709551616",
        "123456789012345678901234567890",
        "-123456789012345678901234567890",
        "9" * 400,
        "0" * 30 + "5",
        "-0",
    ],
    "codes": ["007", "02139", "00", "-01", "00.5", "+05"],
    "spaced": [
        " 1",
        "1 ",
        "\t2",
        " 3.5 ",
        "\u00a04",
        "\u30005",
        " ",
        " true",
        "x ",
        "  2026-01-01",
    ],
    "infinite": [
        "inf",
        "-inf",
        "Infinity",
        "+INF",
        "1e400",
        "-1e999",
        "1e-400",
        "1e308",
        "1.8e308",
    ],
    "missing": ["NA", "n/a", "NaN", "nan", "-nan", "null", "NULL", "None", "none", "N/A", ""],
    "other": [
        "0x10",
        "0X1F",
        "1_000",
        "1 000",
        "1d",
        "2f",
        "1e",
        "e5",
        ".",
        "-",
        "+",
        "--1",
        "1-2",
        "\u0661",
        "\u00bd",
        "1.2.3",
        "five",
        "x",
        "\u00e9",
        "12%",
        "$5",
        "#N/A",
        "0b1",
        "1L",
    ],
    "times": [
        "2026-03-08",
        "2026-03-08T02:30:00",
        "2026-03-08 02:30",
        "2026-03-08T02",
        "2026-03-08T02:30:00.5",
        "2026-03-08T02:30:00.123456789",
        "1969-12-31T23:59:59.999999",
        "0001-01-01",
        "9999-12-31T23:59:59",
    ],
    "moments": [
        "2026-03-08T02:30Z",
        "2026-03-08T02:30:00+05:30",
        "2026-03-08 02:30:00-0800",
        "2026-03-08T02+01",
        "2026-03-08T02:30:00.25Z",
    ],
    "no times": [
        "10:00",
        "10:00:00",
        "2026-02-30",
        "2026-13-01",
        "2026-03-08T24:00",
        "2026-03-08T02:60",
        "2026-03-08T02:30:60",
        "0000-01-01",
        "2026-3-8",
        "20260308",
        "2026-03-08Z",
        "2026-03-08T02:30:00+25:00",
        "2026-03-08T02:30:00 Z",
        "2026-03-08t02:30:00z",
        "12026-03-08",
        "08/03/2026",
        "2026-03",
        "2026-W10",
    ],
    "flags": ["true", "FALSE", "True", "1", "0", "t", "yes", "tru\u00e9", "fal\u017fe"],
}


def columns(count: int, rows: int, seed: int) -> list[list[str]]:
    """Columns of texts; most have one family, or two, and some have all."""
    draw = random.Random(seed)
    names = list(FAMILIES)
    found = []
    for _ in range(count):
        chosen = draw.choice([draw.sample(names, 1), draw.sample(names, 2), draw.sample(names, 2)])
        if draw.random() < 0.05:
            chosen = names
        some = [text for name in chosen for text in FAMILIES[name]]
        # Few texts of many, so that it happens that all of a column are of one kind.
        some = draw.sample(some, min(len(some), draw.choice([1, 2, 3, 6])))
        column = [draw.choice(some) for _ in range(rows)]
        if draw.random() < 0.3:
            column[draw.randrange(rows)] = ""
        found.append(column)
    return found
