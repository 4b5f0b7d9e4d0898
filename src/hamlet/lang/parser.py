"""From text to tree, with every mistake of the text and not only the first.

The text is cut into tokens, the tokens into queries at ";", a query into clauses at their
keywords, and each clause is parsed alone. So a mistake costs one clause and the rest is still
read, and a missing or repeated clause is a plain fact about the list of clauses. Lark does the
lexing and the parsing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cache
from importlib import resources
from typing import Any

from lark import Lark, Token
from lark.exceptions import UnexpectedToken

from hamlet.errors import Problem, QueryError, Span
from hamlet.lang import mistakes, tree
from hamlet.lang.build import TreeBuilder, name_of

CLAUSES = {
    "RETURN": "return_clause",
    "PATTERN": "pattern_clause",
    "WHERE": "where_clause",
    "GROUPBY": "group_clause",
    "WITHIN": "within_clause",
    "SLIDE": "slide_clause",
}
KEYWORDS = frozenset(CLAUSES) | {
    *("SEQ", "OR", "AND", "NOT", "AS", "IN", "IS", "NULL", "TRUE", "FALSE", "NEXT")
}
_ORDER = {keyword: position for position, keyword in enumerate(CLAUSES)}
_NEEDED = ("RETURN", "PATTERN", "WITHIN")
_OPENING = {"LPAR": "RPAR", "LSQB": "RSQB"}

# Deeper nesting than this is refused rather than risking Python's own recursion limit.
_DEEPEST = 100


def parse_tree(text: str, name: str = "<workload>") -> tree.WorkloadTree:
    """Read a workload, or raise a `QueryError` with every mistake in it.

    >>> parse_tree("RETURN COUNT(*) PATTERN A+ WITHIN 10 s").queries[0].pattern
    KleenePattern(body=TypePattern(type=Name(text='A'), alias=None))
    """
    queries, problems = read(text)
    if problems:
        raise QueryError(name, text, tuple(problems))
    return tree.WorkloadTree(tuple(query for query in queries if query is not None))


def read(text: str) -> tuple[list[tree.QueryTree | None], list[Problem]]:
    """The queries of a text, None where one could not be read, and all mistakes of syntax."""
    problems: list[Problem] = []
    tokens = _tokenise(text, problems)
    queries = [_read_query(part, problems) for part in _split_queries(tokens, problems)]
    if not queries:
        problems.append(mistakes.empty_workload(text))
    return queries, problems


@cache
def _lark() -> Lark:
    """The parser's tables; built once, at the first use."""
    grammar = resources.files("hamlet.lang").joinpath("grammar.lark").read_text(encoding="utf-8")
    return Lark(
        grammar,
        parser="lalr",
        lexer="basic",
        start=[*CLAUSES.values(), "outside"],
        keep_all_tokens=True,
        maybe_placeholders=False,
        transformer=TreeBuilder(),
    )


# Tokens


def _tokenise(text: str, problems: list[Problem]) -> list[Token]:
    """All tokens, words turned into keywords where they are, numbers checked to fit."""
    tokens: list[Token] = []
    for token in _lark().lex(text):
        if token.type == "NAME":
            _mark_keyword(token, tokens)
        elif token.type == "NUMBER" and not _fits(token):
            problems.append(mistakes.number_too_large(token))
            token = token.update(value="0")
        tokens.append(token)
    return tokens


def _mark_keyword(token: Token, before: list[Token]) -> None:
    """Turn a word into the keyword it spells; GROUP BY and GROUP-BY are folded into one token."""
    word = token.upper()
    if before and before[-1].type == "DOT":
        return  # T.in is an attribute called "in", whatever IN means elsewhere
    if word in KEYWORDS:
        token.type = word
    elif word == "BY":
        if before and before[-1].type == "MINUS":
            group = before[-2] if len(before) > 1 else None
            if group is not None and group.type == "NAME" and group.upper() == "GROUP":
                before.pop()
        if before and before[-1].type == "NAME" and before[-1].upper() == "GROUP":
            group = before.pop()
            token.type = "GROUPBY"
            token.start_pos = group.start_pos


def _fits(number: Token) -> bool:
    """Whether a number can be held as a 64-bit integer or a finite double."""
    if number.isdigit():
        return len(number) <= 19 and int(number) < 2**63
    return float(number) != float("inf") and len(number) <= 400


# Queries


@dataclass(slots=True)
class _Parts:
    """The tokens of one query, cut at its clauses."""

    head: list[Token] = field(default_factory=list)
    clauses: list[list[Token]] = field(default_factory=list)


def _split_queries(tokens: list[Token], problems: list[Problem]) -> list[_Parts]:
    """Cut tokens at semicolons, and where a second RETURN shows that one was forgotten."""
    queries = [_Parts()]
    for token in tokens:
        parts = queries[-1]
        if token.type == "SEMICOLON":
            if not parts.head and not parts.clauses:
                problems.append(mistakes.empty_query(token))
            else:
                queries.append(_Parts())
        elif token.type in CLAUSES:
            if token.type == "RETURN" and any(c[0].type == "WITHIN" for c in parts.clauses):
                problems.append(mistakes.missing_semicolon(token))
                queries.append(_Parts(head=_take_label(parts.clauses[-1])))
            queries[-1].clauses.append([token])
        elif parts.clauses:
            parts.clauses[-1].append(token)
        else:
            parts.head.append(token)
    return [parts for parts in queries if parts.head or parts.clauses]


def _take_label(clause: list[Token]) -> list[Token]:
    """Remove a query's name and colon from the end of the clause that swallowed them."""
    if len(clause) > 2 and clause[-1].type == "COLON":
        label = clause[-2:]
        del clause[-2:]
        return label
    return []


def _read_query(parts: _Parts, problems: list[Problem]) -> tree.QueryTree | None:
    """One query, or None with the reasons added to `problems`."""
    found: list[Problem] = []
    name = _read_head(parts.head, parts.clauses, found)
    values: dict[str, Any] = {}
    for clause in parts.clauses:
        keyword = clause[0].type
        if keyword in values:
            found.append(mistakes.repeated_clause(clause[0]))
        elif values and _ORDER[keyword] < max(_ORDER[k] for k in values):
            found.append(mistakes.clause_out_of_order(clause[0], list(CLAUSES)))
        values.setdefault(keyword, None)
        value = _read_clause(clause, found)
        if values[keyword] is None:
            values[keyword] = value
    found += _missing_clauses(parts, values, found)
    problems += found
    if found:
        return None
    end = parts.clauses[-1][-1]
    start = parts.head[0] if parts.head else parts.clauses[0][0]
    return tree.QueryTree(
        name=name,
        items=values["RETURN"],
        pattern=values["PATTERN"],
        where=values.get("WHERE"),
        group_by=values.get("GROUPBY") or (),
        within=values["WITHIN"],
        slide=values.get("SLIDE"),
        span=Span(start.start_pos or 0, end.end_pos or 0),
    )


def _read_head(
    head: list[Token], clauses: list[list[Token]], found: list[Problem]
) -> tree.Name | None:
    """The name before a query's colon, if it has one."""
    if not head:
        return None
    if len(head) == 2 and head[0].type == "NAME" and head[1].type == "COLON":
        return name_of(head[0])
    found.append(mistakes.unreadable_head(head, bool(clauses)))
    return None


def _missing_clauses(parts: _Parts, values: dict[str, Any], found: list[Problem]) -> list[Problem]:
    """What a query lacks, unless a mistake already found may have hidden it."""
    tokens = [*parts.head, *(token for clause in parts.clauses for token in clause)]
    hidden = {word for problem in found for word in re.findall(r"'([A-Z]+)'\?", problem.remedy)}
    if any(token.type == "UNFINISHED" for token in tokens):
        return []
    return [
        mistakes.missing_clause(keyword, tokens)
        for keyword in _NEEDED
        if keyword not in values and keyword not in hidden
    ]


# Clauses


def _read_clause(tokens: list[Token], found: list[Problem]) -> Any:
    """The value of one clause, or None with the reason added to `found`."""
    problem = _unreadable_token(tokens) or _unbalanced(tokens)
    if problem is not None:
        found.append(problem)
        return None
    parser = _lark().parse_interactive(start=CLAUSES[tokens[0].type])
    position = 0
    try:
        for position, token in enumerate(tokens):  # noqa: B007 (read when a token does not fit)
            parser.feed_token(token)
        position = len(tokens)
        value = parser.feed_eof(tokens[-1])  # type: ignore[no-untyped-call]
    except UnexpectedToken as error:
        found.append(mistakes.unexpected(tokens, position, set(error.expected)))
        return None
    # A clause has at least as many tokens as levels, so short ones need no look.
    if len(tokens) > _DEEPEST and _is_too_deep(value):
        found.append(mistakes.too_deep(mistakes.before_to(tokens[0], tokens[-1])))
        return None
    return value


def _unreadable_token(tokens: list[Token]) -> Problem | None:
    for token in tokens:
        if token.type in ("UNFINISHED", "UNKNOWN"):
            return mistakes.unreadable(token)
    return None


def _unbalanced(tokens: list[Token]) -> Problem | None:
    """A bracket that is never closed or was never opened."""
    opened: list[Token] = []
    for token in tokens:
        if token.type in _OPENING:
            opened.append(token)
        elif token.type in _OPENING.values():
            if not opened or _OPENING[opened[-1].type] != token.type:
                return mistakes.unopened_bracket(token)
            opened.pop()
    return mistakes.unclosed_bracket(opened[-1]) if opened else None


def _is_too_deep(value: Any) -> bool:
    """Whether a tree has more levels than any later pass should walk by recursion."""
    level = [value]
    for _ in range(_DEEPEST):
        level = [child for node in level for child in _children(node)]
        if not level:
            return False
    return True


def _children(node: Any) -> list[Any]:
    if isinstance(node, tuple):
        return list(node)
    if not is_dataclass(node) or isinstance(node, Span):
        return []
    return [getattr(node, each.name) for each in fields(node)]
