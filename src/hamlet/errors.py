"""Every exception of the package, and the one renderer that underlines source text.

Facts stand in `args` and the sentence is built in `__str__`, so errors compare and pickle: a Spark
worker can raise one and the driver prints it whole. A wrong workload has many mistakes at once, so
a `QueryError` carries a tuple of `Problem`s, each with a stable code; tests match the code, not
the prose.
"""

from __future__ import annotations

import os
import unicodedata
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

# Source lines longer than this are cut to the part around the mistake.
_LINE_WIDTH = 96


class Span(NamedTuple):
    """A stretch of source text, as offsets from its start."""

    start: int
    end: int

    def to(self, other: Span) -> Span:
        """The stretch from here to the end of `other`."""
        return Span(self.start, other.end)


@dataclass(frozen=True, slots=True)
class Problem:
    """One mistake: a stable code, what is wrong, what would work, and where."""

    code: str
    message: str
    remedy: str
    at: Span


class HamletError(Exception):
    """The root of everything a user of the package may want to catch; compared by its facts."""

    code = "hamlet"

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self.args == other.args

    def __hash__(self) -> int:
        return hash((type(self), self.args))


class QueryError(HamletError):
    """The text of a workload is wrong; carries every problem found in it.

    >>> problem = Problem("demo", "x is odd", "Use y.", Span(7, 8))
    >>> print(QueryError("q.hql", "RETURN x", (problem,)))
    q.hql:1:8: x is odd  [demo]
        RETURN x
               ^
        Use y.
    """

    code = "query"

    def __init__(self, name: str, text: str, problems: tuple[Problem, ...]) -> None:
        super().__init__(name, text, problems)
        self.name = name
        self.text = text
        self.problems = problems

    def __str__(self) -> str:
        return "\n\n".join(render(problem, self.name, self.text) for problem in self.problems)


class SchemaError(HamletError):
    """The data, or a description of it, does not fit."""

    code = "schema"

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(name, reason)
        self.name = name
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.name}: {self.reason}"


class ReadError(HamletError):
    """A file cannot be read."""

    code = "read"

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(path, reason)
        self.path = path
        self.reason = reason

    def __str__(self) -> str:
        return f"cannot read {self.path}: {self.reason}"


class WriteError(HamletError):
    """Something cannot be written where it should go."""

    code = "write"

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(path, reason)
        self.path = path
        self.reason = reason

    def __str__(self) -> str:
        return f"cannot write {self.path}: {self.reason}"


class PlanError(HamletError):
    """Something was asked that cannot be done: options do not go together, or a value will not do.

    >>> print(PlanError("on Spark no trace is kept", "Run it with --engine local."))
    on Spark no trace is kept. Run it with --engine local.
    """

    code = "plan"

    def __init__(self, reason: str, remedy: str) -> None:
        super().__init__(reason, remedy)
        self.reason = reason
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.reason}. {self.remedy}"


class UnknownName(PlanError):
    """Something was asked for by a name that nothing has.

    >>> print(UnknownName("stage", "mrged", "Stages are merged."))
    there is no stage 'mrged'. Stages are merged.
    """

    code = "unknown-name"

    def __init__(self, what: str, name: str, remedy: str) -> None:
        super().__init__(f"there is no {what} '{name}'", remedy)
        # What it is made from again, where it is unpickled.
        self.args = (what, name, remedy)
        self.what = what
        self.name = name


class RunError(HamletError):
    """Something failed while a workload was run."""

    code = "run"

    def __init__(self, where: str, reason: str) -> None:
        super().__init__(where, reason)
        self.where = where
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.where}: {self.reason}"


class SystemCannot(HamletError):
    """A system that the engine is compared with has no way to answer a query."""

    code = "system-cannot"

    def __init__(self, system: str, query: str, reason: str) -> None:
        super().__init__(system, query, reason)
        self.system = system
        self.query = query
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.system} cannot answer {self.query}: {self.reason}. Run it with hamlet."


class SystemLimit(HamletError):
    """A system that the engine is compared with would take too much memory or time."""

    code = "system-limit"

    def __init__(self, system: str, reason: str) -> None:
        super().__init__(system, reason)
        self.system = system
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.system} gave up: {self.reason}. Run it with hamlet, or over fewer events."


class InternalError(Exception):
    """A bug of ours, not a mistake of the caller."""

    def __str__(self) -> str:
        return f"internal: {self.args[0]}. This is a bug in hamlet; report it with the line above"


def reason_of(error: OSError) -> str:
    """Why the system could not read or write something, as the end of a sentence.

    >>> reason_of(FileNotFoundError(2, "whatever a library made of it"))
    'no such file or directory'
    """
    return os.strerror(error.errno).lower() if error.errno else str(error)


def near_path(path: Path) -> str:
    """An offer of what is there in the place of a path that is not: `. Did you mean 'rides.csv'?`.

    >>> from pathlib import Path
    >>> near_path(Path("no-such-folder/rides.csv"))
    ''
    """
    try:
        there = [each.name for each in path.parent.iterdir()]
    except OSError:
        return ""
    guess = did_you_mean(path.name, there, cutoff=0.75)
    return f".{guess}" if guess else ""


def line_and_column(text: str, offset: int) -> tuple[int, int]:
    r"""Line and column of an offset, both counted from 1.

    >>> line_and_column("ab\ncd", 4)
    (2, 2)
    """
    before = text[:offset]
    return before.count("\n") + 1, offset - (before.rfind("\n") + 1) + 1


def render(problem: Problem, name: str, text: str) -> str:
    """A problem as a person reads it: place, sentence, underlined text, what would work."""
    line, column = line_and_column(text, problem.at.start)
    shown, mark = _underline(text, problem.at)
    lines = [f"{name}:{line}:{column}: {problem.message}  [{problem.code}]"]
    if shown.strip():
        lines += [f"    {shown}", f"    {mark}"]
    if problem.remedy:
        lines.append(f"    {problem.remedy}")
    return "\n".join(lines)


def did_you_mean(word: str, known: Iterable[str], cutoff: float = 0.6) -> str:
    """A closing sentence that offers the nearest known word, or nothing where none is near.

    >>> did_you_mean("speeed", ["speed", "driver"])
    " Did you mean 'speed'?"
    """
    candidates = sorted(set(known))
    by_folded = {candidate.casefold(): candidate for candidate in candidates}
    near = get_close_matches(word.casefold(), by_folded, n=1, cutoff=cutoff)
    return f" Did you mean '{by_folded[near[0]]}'?" if near else ""


def counted(number: int, one: str, many: str = "") -> str:
    """A number and what it counts.

    >>> counted(1, "set"), counted(2000, "query", "queries")
    ('1 set', '2,000 queries')
    """
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def listed(words: Iterable[str], most: int = 12) -> str:
    """Words as a readable list, cut when there are very many.

    >>> listed(["a", "b", "c"], most=2)
    'a, b and 1 more'
    """
    all_words = list(words)
    if len(all_words) <= most:
        return ", ".join(all_words)
    return ", ".join(all_words[:most]) + f" and {len(all_words) - most} more"


def _underline(text: str, at: Span) -> tuple[str, str]:
    """The first source line of a span and a line of carets below it, aligned on a terminal."""
    begin = text.rfind("\n", 0, at.start) + 1
    end = text.find("\n", at.start)
    end = len(text) if end < 0 else end
    end -= text[begin:end].endswith("\r")
    low, high = at.start, max(at.start + 1, min(at.end, end))
    if end - begin > _LINE_WIDTH:
        begin = max(begin, low - _LINE_WIDTH // 2)
        end = min(end, begin + _LINE_WIDTH)
        high = min(high, max(end, low + 1))
    line = "".join(_printable(character) for character in text[begin:end])
    pad = "".join(" " * _cells(character) for character in text[begin:low])
    marked = sum(_cells(character) for character in text[low:high]) or 1
    return line.rstrip(), pad + "^" * marked


def _printable(character: str) -> str:
    if character == "\t":
        return " "
    return character if character.isprintable() else "\N{REPLACEMENT CHARACTER}"


def _cells(character: str) -> int:
    """How many terminal cells a character takes."""
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
