"""From text to tree, with every mistake of the text and not only the first.

The text is cut into tokens, the tokens into queries at ";", a query into clauses at their
keywords, and each clause is parsed alone by Lark. So a mistake costs one clause and the rest is
still read, and a missing or repeated clause is a plain fact about the list of clauses.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cache
from importlib import resources
from itertools import pairwise, takewhile
from typing import TYPE_CHECKING, Any

from lark import Lark, Token
from lark.exceptions import UnexpectedToken
from lark.lexer import Lexer

from hamlet.errors import Problem, QueryError
from hamlet.lang import mistakes, tree
from hamlet.lang.build import TreeBuilder, name_of
from hamlet.plan.durations import UNITS

if TYPE_CHECKING:
    from collections.abc import Iterator

CLAUSES = {
    "RETURN": "return_clause",
    "PATTERN": "pattern_clause",
    "MATCH": "match_clause",
    "WHERE": "where_clause",
    "GROUPBY": "group_clause",
    "HAVING": "having_clause",
    "WITHIN": "within_clause",
    "SLIDE": "slide_clause",
}
# MATCH is a word only behind a pattern, with one of these: types and attributes may be called so.
MATCHES = ("ANY", "NEXT", "CONTIGUOUS")
KEYWORDS = (frozenset(CLAUSES) - {"MATCH"}) | {
    *("SEQ", "OR", "AND", "NOT", "AS", "IN", "IS", "NULL", "TRUE", "FALSE", "NEXT")
}
_DEFINE = "define_clause"
_ORDER = {keyword: position for position, keyword in enumerate(CLAUSES)}
_NEEDED = ("RETURN", "PATTERN", "WITHIN")
_OPENING = {"LPAR": "RPAR", "LSQB": "RSQB", "LBRACE": "RBRACE"}

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
    return tree.WorkloadTree(tuple(whole_query(query) for query in queries), queries[0].definitions)


def read(text: str) -> tuple[list[tree.PartialQuery], list[Problem]]:
    """The queries of a text, as far as they can be read, and all mistakes of syntax."""
    problems: list[Problem] = []
    parts = _split_queries(_tokens(text), problems)
    defining = list(takewhile(_defines, parts))
    definitions = tuple(
        definition for part in defining for definition in _read_definitions(part, problems)
    )
    queries = [_read_query(part, problems) for part in parts[len(defining) :]]
    if not queries and not (defining and problems):
        problems.append(mistakes.empty_workload(text))
    return [replace(query, definitions=definitions) for query in queries], problems


def _defines(parts: _Parts) -> bool:
    """Whether what stands between two semicolons are definitions and no query called DEFINE."""
    head = parts.head
    is_named = len(head) > 1 and head[1].type == "COLON"
    return bool(head) and head[0].type == "NAME" and head[0].upper() == "DEFINE" and not is_named


def _read_definitions(parts: _Parts, problems: list[Problem]) -> tuple[tree.Definition, ...]:
    """The types that a text defines, as far as they can be read."""
    tokens = [*parts.head, *(token for clause in parts.clauses for token in clause)]
    returned = next((token for token in tokens if token.type == "RETURN"), None)
    if returned is not None:
        problems.append(mistakes.missing_semicolon(returned, after_definitions=True))
        return ()
    tokens[0].type = "DEFINE"
    return _read_clause(tokens, problems) or ()


def whole_query(query: tree.PartialQuery) -> tree.QueryTree:
    """A query in which no mistake was found."""
    values = {field_.name: getattr(query, field_.name) for field_ in fields(tree.QueryTree)}
    return tree.QueryTree(**values)


class _AsGiven(Lexer):
    """What the parser takes for its lexer: the tokens of a clause are there already."""

    def __init__(self, _: Any) -> None:
        pass

    def lex(self, tokens: list[Token]) -> Iterator[Token]:  # type: ignore[override]
        """The tokens."""
        return iter(tokens)


@cache
def _lark() -> Lark:
    """The parser's tables; built once, at the first use."""
    grammar = resources.files("hamlet.lang").joinpath("grammar.lark").read_text(encoding="utf-8")
    return Lark(
        grammar,
        parser="lalr",
        lexer=_AsGiven,
        start=[*CLAUSES.values(), _DEFINE, "outside"],
        keep_all_tokens=True,
        maybe_placeholders=False,
        transformer=TreeBuilder(),
    )


# Tokens


@cache
def _terminals() -> re.Pattern[str]:
    """The terminals of the grammar as one expression; those of high priority are tried first."""
    terminals = sorted(_lark().terminals, key=lambda terminal: -terminal.priority)
    return re.compile("|".join(f"(?P<{t.name}>{t.pattern.to_regexp()})" for t in terminals))


def _tokens(text: str) -> list[Token]:
    """All tokens, words turned into keywords where they are."""
    tokens: list[Token] = []
    for match in _terminals().finditer(text):
        kind = match.lastgroup or ""
        if kind == "BLANK":
            continue
        token = Token(kind, match.group(), match.start(), end_pos=match.end())
        if kind == "NAME":
            _mark_keyword(token, tokens)
        tokens.append(token)
    _mark_match(tokens)
    return tokens


def _mark_match(tokens: list[Token]) -> None:
    """Turn MATCH with a word that ends a clause into a clause of its own.

    Only behind PATTERN is it in its place, and there it may be followed by a word that is wrong.
    """
    clause = ""
    for i, token in enumerate(tokens):
        if _is_match(tokens, i) and (clause == "PATTERN" or tokens[i + 1].upper() in MATCHES):
            token.type = "MATCH"
        if token.type in CLAUSES or token.type == "SEMICOLON":
            clause = token.type


def _is_match(tokens: list[Token], i: int) -> bool:
    """Whether a word is MATCH with one more word that is the last of its clause.

    `A MATCH` has an alias; so, with a word behind it, has no pattern.
    """
    is_word = tokens[i].type == "NAME" and tokens[i].upper() == "MATCH"
    if not is_word or tokens[i - 1].type == "PATTERN" or i + 1 >= len(tokens):
        return False
    ends = i + 2 == len(tokens) or tokens[i + 2].type in {*CLAUSES, "SEMICOLON"}
    return ends and tokens[i + 1].type in ("NAME", "NEXT")


def _mark_keyword(token: Token, before: list[Token]) -> None:
    """Turn a word into the keyword it spells; GROUP BY and GROUP-BY are folded into one token."""
    word = token.upper()
    if before and before[-1].type == "DOT":
        return  # T.in is an attribute called "in", whatever IN means elsewhere
    if word in KEYWORDS:
        token.type = word
    elif word == "BY":
        if before and before[-1].type == "MINUS" and _ends_with_group(before[-3:-1]):
            before.pop()
        if _ends_with_group(before[-2:]):
            group = before.pop()
            token.type = "GROUPBY"
            token.start_pos = group.start_pos


def _ends_with_group(tokens: list[Token]) -> bool:
    """Whether the last word is GROUP and no attribute."""
    if not tokens or tokens[-1].type != "NAME" or tokens[-1].upper() != "GROUP":
        return False
    return len(tokens) < 2 or tokens[-2].type != "DOT"


def _fits(number: Token) -> bool:
    """Whether a number can be held as a 64-bit integer or a finite double, zero only if it is."""
    if number.isdigit():
        return len(number) <= 19 and int(number) < 2**63
    if len(number) > 400 or math.isinf(float(number)):
        return False
    return float(number) != 0 or not re.search("[1-9]", re.split("[eE]", number)[0])


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


def _read_query(parts: _Parts, problems: list[Problem]) -> tree.PartialQuery:
    """One query, as far as it can be read; what is wrong with it is added to `problems`."""
    own_problems: list[Problem] = []
    name = _read_head(parts.head, parts.clauses, own_problems)
    values: dict[str, Any] = {}
    for clause in parts.clauses:
        keyword = clause[0].type
        value = _read_clause(clause, own_problems)
        if keyword in values:
            own_problems.append(mistakes.repeated_clause(clause[0]))
            value = None  # nobody knows which of them is meant
        elif values and _ORDER[keyword] < max(_ORDER[k] for k in values):
            own_problems.append(mistakes.clause_out_of_order(clause[0], list(CLAUSES)))
        values[keyword] = value
    early = values.get("WITHIN")
    if early is not None and early.shift is not None and "SLIDE" in values:
        own_problems.append(mistakes.early_shift(early.shift))
    # A clause that cannot be read may have swallowed a GROUPBY that was misspelt.
    is_ungrouped = all(value is not None for value in values.values())
    own_problems += _missing_clauses(parts, values, own_problems)
    problems += own_problems
    tokens = [*parts.head, *(clause[end] for clause in parts.clauses for end in (0, -1))]
    within, slide = values.get("WITHIN"), values.get("SLIDE")
    last = slide or within
    return tree.PartialQuery(
        name=name,
        items=values.get("RETURN"),
        pattern=values.get("PATTERN"),
        where=values.get("WHERE"),
        group_by=values.get("GROUPBY", () if is_ungrouped else None),
        within=None if within is None else within.length,
        slide=None if slide is None else slide.length,
        having=values.get("HAVING"),
        offset=None if last is None else last.offset,
        zone=None if last is None else last.zone,
        is_whole=not own_problems,
        match=values.get("MATCH"),
        span=mistakes.from_to(tokens[0], tokens[-1]),
    )


def _read_head(
    head: list[Token], clauses: list[list[Token]], problems: list[Problem]
) -> tree.Name | None:
    """The name before a query's colon, if it has one."""
    if not head:
        return None
    if len(head) == 2 and head[0].type == "NAME" and head[1].type == "COLON":
        return name_of(head[0])
    problems.append(mistakes.unreadable_head(head, bool(clauses)))
    return None


def _missing_clauses(
    parts: _Parts, values: dict[str, Any], problems: list[Problem]
) -> list[Problem]:
    """What a query lacks, unless a mistake already found may have hidden it."""
    tokens = [*parts.head, *(token for clause in parts.clauses for token in clause)]
    hidden = {word for problem in problems for word in re.findall(r"'([A-Z]+)'\?", problem.remedy)}
    if any(token.type == "UNFINISHED" for token in tokens) or _defines(parts):
        return []
    return [
        mistakes.missing_clause(keyword, _place_for(keyword, parts))
        for keyword in _NEEDED
        if keyword not in values and keyword not in hidden
    ]


def _place_for(keyword: str, parts: _Parts) -> Token:
    """The token after which a missing clause belongs, or the first where it belongs before all."""
    earlier = [c for c in parts.clauses if _ORDER[c[0].type] < _ORDER[keyword]]
    if earlier:
        return earlier[-1][-1]
    return parts.head[-1] if parts.head else parts.clauses[0][0]


# Clauses


def _read_clause(tokens: list[Token], problems: list[Problem]) -> Any:
    """The value of one clause, or None with the reason added to `problems`."""
    has_unfit = _replace_unfit(tokens, problems)
    if tokens[0].type == "PATTERN":
        _replace_odd_counts(tokens, problems)
        _mark(tokens, "ANY")
    if tokens[0].type in ("WITHIN", "SLIDE"):
        _mark(tokens, "OFFSET")
    if tokens[0].type == "MATCH":
        _mark(tokens, "ANY")
        _mark(tokens, "CONTIGUOUS")
    if tokens[0].type in ("WHERE", "HAVING", "DEFINE"):
        _mark(tokens, "BETWEEN")
        _mark(tokens, "LIKE")
        _mark_units(tokens)
    try:
        value = _lark().parse(tokens, start=CLAUSES.get(tokens[0].type, _DEFINE))
    except UnexpectedToken as error:
        # At the end of the clause it is a token that the parser has made.
        position = next((i for i, t in enumerate(tokens) if t is error.token), len(tokens))
        problems.append(
            _unreadable_token(tokens)
            or _unbalanced(tokens)
            or mistakes.unexpected(tokens, position, set(error.expected))
        )
        return None
    # A clause has at least as many tokens as levels, so short ones need no look.
    if len(tokens) > _DEEPEST and _is_too_deep(value):
        problems.append(mistakes.too_deep(mistakes.from_to(tokens[0], tokens[-1])))
        return None
    # A condition can be checked whatever its numbers are, a window cannot.
    return None if has_unfit and tokens[0].type in ("WITHIN", "SLIDE") else value


def _replace_unfit(tokens: list[Token], problems: list[Problem]) -> bool:
    """Report numbers that cannot be held, and put 0 in their place; whether there were any."""
    unfit = [i for i, token in enumerate(tokens) if token.type == "NUMBER" and not _fits(token)]
    for i in unfit:
        problems.append(mistakes.number_too_large(tokens[i]))
        tokens[i] = tokens[i].update(value="0")
    return bool(unfit)


def _replace_odd_counts(tokens: list[Token], problems: list[Problem]) -> None:
    """Report numbers of repetitions that are not whole, and put 1 in their place."""
    for i, token in enumerate(tokens):
        if token.type == "NUMBER" and not token.isdigit():
            problems.append(mistakes.odd_count(token))
            tokens[i] = token.update(value="1")


def _mark(tokens: list[Token], word: str) -> None:
    """Turn a word into the keyword that it is in this clause; T.any is an attribute still."""
    for before, token in pairwise(tokens):
        if token.type == "NAME" and token.upper() == word and before.type != "DOT":
            token.type = word


def _mark_units(tokens: list[Token]) -> None:
    """Turn the words behind numbers into units of time, where they are some."""
    for before, token in pairwise(tokens):
        if before.type == "NUMBER" and token.type == "NAME" and token.lower() in UNITS:
            token.type = "UNIT"


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
    if is_dataclass(node):
        return [getattr(node, field_.name) for field_ in fields(node) if field_.compare]
    return list(node) if isinstance(node, tuple) else []
