"""What to say about text that does not parse: one short function for each kind of mistake.

Every message says what is wrong and, in the remedy, what to type instead.
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

from hamlet.errors import Problem, Span, did_you_mean, listed
from hamlet.lang.build import token_span
from hamlet.plan.durations import UNIT_US, UNITS

if TYPE_CHECKING:
    from lark import Token

_CLAUSE_WORDS = ("RETURN", "PATTERN", "WHERE", "GROUPBY", "HAVING", "WITHIN", "SLIDE")

_EXAMPLES = {
    "DEFINE": "DEFINE Late AS delay > 15, Big AS Trade WHERE volume > 1000;",
    "RETURN": "RETURN COUNT(*), AVG(T.speed) AS speed",
    "PATTERN": "PATTERN SEQ(Request, Travel T+, NOT Pickup)",
    "MATCH": "PATTERN SEQ(Request, Travel T+) MATCH NEXT",
    "WHERE": "WHERE [driver] AND T.speed < 10 AND T.speed < NEXT(T).speed",
    "GROUPBY": "GROUPBY district",
    "HAVING": "HAVING COUNT(*) > 10 AND MAX(T.speed) - MIN(T.speed) > 5",
    "WITHIN": "WITHIN 30 min SLIDE 5 min",
    "SLIDE": "WITHIN 30 min SLIDE 5 min",
    "OFFSET": "WITHIN 2 d SLIDE 1 d OFFSET 6 h",
    "IN": "WITHIN 2 d SLIDE 1 d IN 'Europe/Rome'",
}

# Comparisons that SQL has, and what to write here.
_FOREIGN = {
    "ILIKE": "Write LOWER(T.city) LIKE 'san%'.",
    "REGEXP": "Write T.city LIKE 'San%', with % for any text and _ for one character.",
    "RLIKE": "Write T.city LIKE 'San%', with % for any text and _ for one character.",
    "SIMILAR": "Write T.city LIKE 'San%', with % for any text and _ for one character.",
    "ESCAPE": "% and _ always stand for other text: no sign takes that meaning away.",
    "WHEN": "There is no CASE: write each case with AND, and OR between them.",
}

# Clauses that are not there, and what to do instead.
_NOT_THERE = {
    "ORDER": "Results are a table, a row for each window and group: sort that.",
    "LIMIT": "Results are a table: take its first rows, or have fewer with HAVING COUNT(*) > 10.",
    "FROM": "Events are given to a run: hamlet run QUERIES --events FILE.",
    "AFTER": "Every trend counts, also those with events in common: none is skipped.",
}

# Functions that look at other events of a match in other languages, and what to write here.
_NEIGHBOUR = "Say it of the event after: T.speed > PREV(T).speed is NEXT(T).speed > T.speed."
_END = "Give it a name of its own, SEQ(T a, T+ b), and compare neighbours: a.speed < b.speed."
FOREIGN_FUNCTIONS = {
    "PREV": _NEIGHBOUR,
    "PREVIOUS": _NEIGHBOUR,
    "LAG": _NEIGHBOUR,
    "LEAD": "Write NEXT(T).speed.",
    "FIRST": _END,
    "LAST": _END,
}

# Aggregates of other languages, and what to write here.
_ONE_END = "Give that event a name of its own, SEQ(T a, T+), and aggregate it: MIN(a.speed)."
_SPREAD = "How values are spread say MIN, AVG, MAX, STDDEV and VARIANCE."
_LISTED = "Trends are counted, not listed; hamlet examples shows some of them."
FOREIGN_AGGREGATES = {
    **dict.fromkeys(("FIRST", "LAST"), _ONE_END),
    **dict.fromkeys(("MEDIAN", "PERCENTILE", "QUANTILE", "MODE"), _SPREAD),
    **dict.fromkeys(("LIST", "LISTAGG", "COLLECT", "ARRAY_AGG"), _LISTED),
}

# Units that time has elsewhere, and what to write here.
_FOREIGN_UNITS = {
    **dict.fromkeys(("month", "months", "year", "years"), "Count days: 30 d or 365 d."),
    **dict.fromkeys(
        ("event", "events", "row", "rows"),
        "Windows are of time; how many events a trend has says the pattern: A{2,5}.",
    ),
}

# Words that begin a clause in other languages, and what begins it here.
_FOREIGN_CLAUSES = {
    "SELECT": "RETURN",
    "FILTER": "WHERE",
    "WHEN": "WHERE",
    "PARTITION": "GROUPBY",
    "WINDOW": "WITHIN",
    "EVERY": "SLIDE",
    "SLIDING": "SLIDE",
}

# Signs that patterns have in other languages, and what to write here.
_FOREIGN_SIGNS = {
    "MINUS": "There is no '->': one after the other is SEQ(A, B).",
}

# Characters that mean nothing here, and what to write instead.
_FOREIGN_CHARACTERS = {
    "&": "AND",
    "|": "OR",
    "~": "LIKE, with % for any text and _ for one character",
    "!": "NOT, or != for 'is not equal'",
}

# What a token is called in a sentence that says which one was expected.
_WORDS = {
    "NAME": "a name",
    "NUMBER": "a number",
    "STRING": "text in single quotes",
    "COMPARE": "a comparison such as = or <",
    "COMMA": "','",
    "DOT": "'.'",
    "LPAR": "'('",
    "RPAR": "')'",
    "LSQB": "'['",
    "RSQB": "']'",
    "LBRACE": "'{'",
    "RBRACE": "'}'",
    "QUESTION": "'?'",
    "PLUS": "'+'",
    "MINUS": "'-'",
    "STAR": "'*'",
    "SLASH": "'/'",
    "PERCENT": "'%'",
    "UNIT": "a unit of time",
}


def empty_workload(text: str) -> Problem:
    """A text without any query."""
    return Problem(
        "empty-workload",
        "there is no query here",
        "Write one: RETURN COUNT(*) PATTERN SEQ(A, B+) WITHIN 10 min",
        Span(0, min(1, len(text))),
    )


def empty_query(semicolon: Token) -> Problem:
    """Two semicolons with nothing between them."""
    return Problem(
        "empty-query",
        "there is no query before this semicolon",
        "Remove the semicolon, or write a query before it.",
        token_span(semicolon),
    )


def missing_semicolon(token: Token, *, after_definitions: bool = False) -> Problem:
    """A second RETURN where the query before it is complete, or a first one in definitions."""
    if after_definitions:
        message, remedy = "a query starts here without ';' before it", "Put ';' after definitions."
    else:
        message = "a new query starts here without ';' after the one before"
        remedy = "Put ';' between two queries."
    return Problem("missing-semicolon", message, remedy, token_span(token))


def unreadable_head(head: list[Token], has_clauses: bool) -> Problem:
    """Something other than a name and a colon before the first clause."""
    first = head[0]
    if first.upper() == "DEFINE":
        return Problem(
            "clause-order",
            "definitions stand before the first query",
            f"Begin the text with them: {_EXAMPLES['DEFINE']}",
            token_span(first),
        )
    span = Span(first.start_pos or 0, head[-1].end_pos or 0)
    if first.type in ("UNFINISHED", "UNKNOWN"):
        return unreadable(first)
    if len(head) == 1 and first.type == "NAME" and has_clauses:
        return Problem(
            "missing-colon",
            f"the query's name {first} is not followed by ':'",
            _offered(first, f"Write {first}: RETURN ..."),
            span,
        )
    return Problem(
        "unexpected-text",
        "a query starts with RETURN, or with a name and ':'",
        _offered(first, f"Begin like this: q1: {_EXAMPLES['RETURN']}"),
        span,
    )


def missing_clause(keyword: str, at: Token) -> Problem:
    """A query without one of the clauses that every query has, at the place it belongs."""
    return Problem(
        f"missing-{keyword.lower()}",
        f"this query has no {keyword}",
        f"Add, for example: {_EXAMPLES[keyword]}",
        token_span(at),
    )


def repeated_clause(token: Token) -> Problem:
    """The same clause twice in one query."""
    joined = {
        "WHERE": "Join the conditions with AND.",
        "RETURN": "List all aggregates after one RETURN, or put ';' between two queries.",
        "GROUPBY": "List all attributes after one GROUPBY.",
        "HAVING": "Join the conditions with AND.",
    }
    remedy = joined.get(token.type, f"Keep one {token.type}.")
    return Problem(
        "repeated-clause", f"this is the query's second {token.type}", remedy, token_span(token)
    )


def clause_out_of_order(token: Token, order: list[str]) -> Problem:
    """A clause that stands after one that it should precede."""
    return Problem(
        "clause-order",
        f"{token.type} stands too late in the query",
        f"The order is {' '.join(order)}.",
        token_span(token),
    )


def early_shift(token: Token) -> Problem:
    """OFFSET or IN before SLIDE."""
    return Problem(
        "clause-order",
        f"{token.type} stands after SLIDE",
        f"Write, for example: {_EXAMPLES[token.type]}",
        token_span(token),
    )


def number_too_large(token: Token) -> Problem:
    """A number that neither a 64-bit integer nor a double can hold."""
    if not token.isdigit() and float(token) == 0:
        message, remedy = "this number is too near to zero to be held", "Write 0, or a larger one."
        return Problem("number-range", message, remedy, token_span(token))
    return Problem(
        "number-range",
        "this number does not fit: integers go up to 9223372036854775807",
        "Write a smaller number, or a fractional one such as 1e20.",
        token_span(token),
    )


def odd_count(token: Token) -> Problem:
    """A number of repetitions that is not whole."""
    return Problem(
        "odd-count",
        f"{token} is not a number of repetitions",
        "Write digits: B{2}, B{2,} or B{2,5}.",
        token_span(token),
    )


def unreadable(token: Token) -> Problem:
    """A character that means nothing here, or a quote that is never closed."""
    span = token_span(token)
    if token.startswith("'"):
        return Problem(
            "unterminated-string",
            "this text has no closing quote on its line",
            "Close it with a single quote; a quote inside text is written twice: 'it''s'.",
            span,
        )
    if token.startswith("`"):
        return Problem(
            "unterminated-name",
            "this name has no closing backtick on its line",
            "Close it with a backtick: `case id`.",
            span,
        )
    remedy = "Remove it."
    if token == '"':
        remedy = "Write text in single quotes, 'like this', and unusual names in backticks."
    elif token in _FOREIGN_CHARACTERS:
        remedy = f"Write {_FOREIGN_CHARACTERS[str(token)]}."
    shown = repr(str(token))
    return Problem(
        "unexpected-character", f"the character {shown} means nothing here", remedy, span
    )


def unopened_bracket(token: Token) -> Problem:
    """A closing bracket without its opening one."""
    return Problem(
        "unopened-bracket",
        f"this '{token}' closes nothing",
        "Remove it, or open the bracket before it.",
        token_span(token),
    )


def unclosed_bracket(token: Token) -> Problem:
    """An opening bracket that its clause never closes."""
    closing = {"(": ")", "[": "]", "{": "}"}[str(token)]
    return Problem(
        "unclosed-bracket",
        f"this '{token}' is never closed",
        f"Add '{closing}' where it ends.",
        token_span(token),
    )


def too_deep(span: Span) -> Problem:
    """Nesting beyond any use; a sum is nested too, each term in the sum before it."""
    return Problem(
        "too-deep",
        "this is nested too deeply, or has a sum or product of too many terms",
        "Keep below 100 levels and terms: write 2 * T.x for T.x + T.x, cut a condition at AND, or "
        "compute the sum into an attribute beforehand.",
        span,
    )


def unknown_unit(unit: str, at: Span) -> Problem:
    """A number with something else behind it than a unit of time."""
    remedy = _FOREIGN_UNITS.get(unit.lower()) or did_you_mean(unit, UNITS).strip()
    return Problem(
        "unknown-unit",
        f"{unit} is not a unit of time",
        f"Units are {listed(tuple(UNIT_US))}. {remedy}".rstrip(),
        at,
    )


def unexpected(tokens: list[Token], position: int, expected: set[str]) -> Problem:
    """A token that cannot stand where it does, or an end that comes too soon."""
    clause = tokens[0].type
    example = _example_of(clause)
    before = tokens[position - 1]
    if position == len(tokens):
        return _ends_too_soon(tokens, example)
    token = tokens[position]
    missing = _not_there(clause, token, before) or _foreign_call(tokens, position)
    if missing is not None:
        return missing
    if clause == "PATTERN" and before.type == "NAME" and _clause_meant(before):
        token = before  # a misspelt clause has been taken for an alias
    if clause == "PATTERN":
        example = _FOREIGN_SIGNS.get(token.type, example)
        if token.type == "NAME" and _clause_meant(token) is None:
            example = f"One after the other is a sequence: {_EXAMPLES['PATTERN']}"
        if before.type == "NUMBER":
            example = "Write a count like this: B{2,5}"
        if before.type == "LBRACE":
            example = "Write a count like this: B{2}, B{2,} or B{0,5}"
        if {"MATCH", "NEXT", "CONTIGUOUS"} & {before.upper(), token.upper()}:
            example = _example_of("MATCH")
    if clause in ("WHERE", "HAVING"):
        example = _FOREIGN.get(token.upper(), example)
        odd_next = _odd_next(tokens, position)
        if odd_next is not None:
            return odd_next
    span = token_span(token)
    if token.type == "RPAR" and before.type == "LPAR":
        word = str(tokens[position - 2]).upper() if position > 1 else ""
        what = f"{word}()" if word.isidentifier() else "()"
        return Problem("empty-brackets", f"{what} is empty", example, from_to(before, token))
    if token.type == "RSQB" and before.type == "LSQB":
        return Problem(
            "empty-equivalence",
            "[] names no attribute",
            "Name the attributes that all events of a trend share: [driver, rider]",
            from_to(before, token),
        )
    if token.type in ("COMMA", "RPAR", "RSQB") and before.type in ("COMMA", "LPAR", "LSQB"):
        return Problem("missing-item", f"something is missing before this '{token}'", example, span)
    if clause in ("WITHIN", "SLIDE"):
        return _odd_duration(tokens, position, example)
    if before.type == "NUMBER" and token.type == "NAME" and _clause_meant(token) is None:
        return unknown_unit(str(token), span)
    if clause in ("WHERE", "HAVING") and "COMPARE" in expected:
        return Problem(
            "missing-comparison",
            f"expected a comparison, AND or OR before {_shown(token)}",
            example if token.upper() in _FOREIGN else _exemplified(token, example),
            span,
        )
    remedy = example
    if token.type.isalpha() and token.type.isupper() and token.upper() == token.type:
        if token.type in ("NEXT", "ANY") and before.upper() == "MATCH":
            remedy = f"MATCH stands behind the pattern: {_EXAMPLES['MATCH']}"
        elif "NAME" in expected and token.type != "NAME":
            remedy = f"{token.type} is a keyword; as a name it is written in backticks: `{token}`"
    elif token.type == "NAME":
        remedy = _exemplified(token, example)
    return Problem(
        "unexpected-text",
        f"expected {_expectation(expected)} but found {_shown(token)}",
        remedy,
        span,
    )


def _not_there(clause: str, token: Token, before: Token) -> Problem | None:
    """A clause that other languages have and this one has not."""
    # Behind a pattern it has been taken for an alias.
    for name in [before, token] if clause == "PATTERN" else [token]:
        word = name.upper()
        if name.type == "NAME" and word in _NOT_THERE:
            return Problem(
                "no-such-clause", f"there is no {word}", _NOT_THERE[word], token_span(name)
            )
    return None


def _foreign_call(tokens: list[Token], position: int) -> Problem | None:
    """A function that other languages have, written around what cannot be read."""
    clause, token, before = tokens[0].type, tokens[position], tokens[position - 1]
    if position < 4:
        return None
    if before.upper() == "DISTINCT" and tokens[position - 2].type == "LPAR":
        function = tokens[position - 3].upper()
        return Problem(
            "unknown-aggregate",
            f"there is no {function}(DISTINCT",
            "GROUPBY that attribute: results have a row for each of its values, to be counted.",
            from_to(tokens[position - 3], token),
        )
    if clause not in ("WHERE", "HAVING") or token.type != "DOT" or before.type != "RPAR":
        return None
    # NAME ( NAME ) .
    function = tokens[position - 4]
    if tokens[position - 3].type != "LPAR" or function.upper() not in FOREIGN_FUNCTIONS:
        return None
    return Problem(
        "unknown-function",
        f"there is no {function.upper()}",
        FOREIGN_FUNCTIONS[function.upper()],
        from_to(function, before),
    )


def _odd_next(tokens: list[Token], position: int) -> Problem | None:
    """NEXT around an attribute, or around another NEXT."""
    token, before = tokens[position], tokens[position - 1]
    kinds = [one.type for one in tokens[max(0, position - 3) : position]]
    if token.type == "DOT" and kinds == ["NEXT", "LPAR", "NAME"]:
        attribute = next(iter(tokens[position + 1 : position + 2]), "speed")
        message, remedy = "NEXT is around a variable alone", f"Write NEXT({before}).{attribute}"
        return Problem("odd-next", message, remedy, from_to(tokens[position - 3], token))
    if token.type == "NEXT" and kinds[-2:] == ["NEXT", "LPAR"]:
        message = "NEXT(NEXT( is of the event after the next one"
        remedy = "Only neighbours are compared: write NEXT(T).speed"
        return Problem("odd-next", message, remedy, from_to(tokens[position - 2], token))
    return None


def from_to(first: Token, last: Token) -> Span:
    """From the start of one token to the end of another."""
    return Span(first.start_pos or 0, last.end_pos or 0)


def _ends_too_soon(tokens: list[Token], example: str) -> Problem:
    clause, last = tokens[0].type, tokens[-1]
    span = token_span(last)
    if len(tokens) == 1:
        return Problem("empty-clause", f"nothing stands after {clause}", example, span)
    if clause in ("WITHIN", "SLIDE"):
        return _odd_duration(tokens, len(tokens), example)
    return Problem("incomplete-clause", f"something is missing after {_shown(last)}", example, span)


def _odd_duration(tokens: list[Token], position: int, example: str) -> Problem:
    """A duration that lacks its number or unit, or is followed by something else."""
    span = token_span(tokens[min(position, len(tokens) - 1)])
    begin = max((i for i in range(position) if tokens[i].type in ("OFFSET", "IN")), default=0)
    tokens, position, clause = tokens[begin:], position - begin, tokens[begin].type
    if begin:
        example = _example_of(clause)
    if clause == "IN" and 1 < position < len(tokens) and tokens[position].type == "OFFSET":
        message, remedy = (
            "OFFSET stands before IN",
            "Write, for example: OFFSET 1 d IN 'Europe/Rome'",
        )
        return Problem("clause-order", message, remedy, token_span(tokens[position]))
    if clause == "IN" and position == 1:
        message = "IN needs a time zone in single quotes"
        return Problem("missing-zone", message, example, span)
    if any(token.type == "NUMBER" for token in tokens[:position]):
        if position >= 2 and position < len(tokens) and tokens[position - 1].type == "NAME":
            missing = _not_there(clause, tokens[position], tokens[position])
            if missing is not None:
                return missing
            after = Span(tokens[position].start_pos or 0, tokens[-1].end_pos or 0)
            remedy = "Put ';' before another query, or remove this."
            return Problem(
                "text-after-query",
                "the query ends before this text",
                _offered(tokens[position], remedy),
                after,
            )
        return Problem("missing-unit", f"{clause} has a number without a unit", example, span)
    return Problem("missing-duration", f"{clause} needs a number and a unit", example, span)


def _offered(word: str, remedy: str) -> str:
    """A remedy, after an offer of the clause that a word may be meant to begin if there is one.

    An offer stands first: an example behind which it stood would seem to go on.
    """
    clause = _clause_meant(word)
    return remedy if clause is None else f"Did you mean '{clause}'? {remedy}"


def _exemplified(word: str, example: str) -> str:
    """The example of the clause that a word may be meant to begin, or that of another clause."""
    clause = _clause_meant(word)
    return _offered(word, example if clause is None else _example_of(clause))


def _example_of(clause: str) -> str:
    return f"Write, for example: {_EXAMPLES[clause]}"


def _clause_meant(word: str) -> str | None:
    """The clause that a word may be meant to begin, if it is near: LIKE is no SLIDE."""
    if word.upper() in _FOREIGN_CLAUSES:
        return _FOREIGN_CLAUSES[word.upper()]
    return next(iter(get_close_matches(word.upper(), _CLAUSE_WORDS, n=1, cutoff=0.75)), None)


def _shown(token: Token) -> str:
    return f"'{token}'"


def _expectation(expected: set[str]) -> str:
    words = sorted(_WORDS.get(kind, kind) for kind in expected if kind != "$END")
    if not words:
        return "the clause to end here"
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " or " + words[-1]
