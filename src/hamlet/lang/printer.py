"""From tree back to canonical text: the parser's partner.

Law: `parse_tree(print_workload(t)) == t` for every tree the parser makes. Brackets are written
only where the tree needs them, keywords in capitals, each clause on a line of its own.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import TYPE_CHECKING, assert_never

from hamlet.lang import tree
from hamlet.lang.parser import KEYWORDS
from hamlet.plan.query import show_times

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_PLAIN = re.compile(r"[^\W\d]\w*")

# How tightly an operator binds; an operand that binds less tightly than its place wants brackets.
_OR, _AND, _NOT, _POSTFIX = 1, 2, 3, 4
_COMPARISON, _SUM, _PRODUCT, _UNARY, _ATOM = 4, 5, 6, 7, 8


def print_workload(workload: tree.WorkloadTree) -> str:
    """What is defined and all queries, separated by semicolons."""
    defined = [print_definitions(workload.definitions)] if workload.definitions else []
    return ";\n\n".join([*defined, *map(print_query, workload.queries)]) + "\n"


def print_definitions(definitions: tuple[tree.Definition, ...]) -> str:
    """Types by condition, each on a line of its own.

    >>> from hamlet.lang.parser import parse_tree
    >>> text = "define Late as delay>15, Big as Trade where volume>1000;"
    >>> query = "return count(*) pattern Late within 1 h"
    >>> print(print_definitions(parse_tree(text + query).definitions))
    DEFINE Late AS delay > 15,
           Big AS Trade WHERE volume > 1000
    """
    lines = []
    for definition in definitions:
        of = f"{print_name(definition.type)} WHERE " if definition.type else ""
        lines.append(
            f"{print_name(definition.name)} AS {of}{print_condition(definition.condition)}"
        )
    return "DEFINE " + ",\n       ".join(lines)


def print_query(query: tree.QueryTree | tree.PartialQuery) -> str:
    """One query, a line for each clause that it has.

    >>> from hamlet.lang.parser import parse_tree
    >>> text = "q: return count(*) pattern ((A a)+ or SEQ(B, not C, D)) within 10 seconds"
    >>> print(print_query(parse_tree(text).queries[0]))
    q: RETURN COUNT(*)
    PATTERN A a+ OR SEQ(B, NOT C, D)
    WITHIN 10 s
    """
    label = f"{print_name(query.name)}: " if query.name else ""
    return label + "\n".join(_clauses(query))


def _clauses(query: tree.QueryTree | tree.PartialQuery) -> Iterator[str]:
    """The clauses that are there."""
    if query.items:
        yield f"RETURN {', '.join(map(print_item, query.items))}"
    if query.pattern is not None:
        match = "" if query.match is None else f" MATCH {query.match.word}"
        yield f"PATTERN {print_pattern(query.pattern)}{match}"
    if query.where is not None:
        yield f"WHERE {print_condition(query.where)}"
    if query.group_by:
        yield f"GROUPBY {', '.join(map(print_name, query.group_by))}"
    if query.having is not None:
        yield f"HAVING {print_condition(query.having)}"
    lengths = {"WITHIN": query.within, "SLIDE": query.slide}
    written = [f"{word} {print_duration(length)}" for word, length in lengths.items() if length]
    if written:
        yield " ".join(written) + _print_shift(query.offset, query.zone)


def print_name(name: tree.Name) -> str:
    """A name, in backticks where it could not stand bare."""
    if _PLAIN.fullmatch(name.text) and not _is_reserved(name.text):
        return name.text
    return "`" + name.text.replace("`", "``") + "`"


def _is_reserved(word: str) -> bool:
    # GROUP and BY are words only together, but a type GROUP with an alias BY would be such a pair.
    # ANY is a word in patterns only, BETWEEN and LIKE in conditions, DEFINE at the beginning, MATCH
    # behind a pattern, OFFSET behind windows.
    more = ("GROUP", "BY", "ANY", "BETWEEN", "LIKE", "DEFINE", "MATCH", "OFFSET")
    return word.upper() in KEYWORDS or word.upper() in more


def print_item(item: tree.ReturnItem) -> str:
    """What is returned, with its new name where it has one."""
    if isinstance(item, tree.GroupItem):
        return print_name(item.name)
    text = print_condition(item.expression)
    return text + (f" AS {print_name(item.alias)}" if item.alias else "")


def print_duration(duration: tree.Duration) -> str:
    """A length of time without needless digits."""
    amount = duration.amount
    # Digits where the parser takes as many, otherwise with an exponent; never rounded.
    digits = f"{amount:f}" if -20 < amount.adjusted() < 18 else f"{amount:e}"
    if "." in digits and "e" not in digits:
        digits = digits.rstrip("0").rstrip(".")
    return f"{digits if amount != 0 else Decimal(0)} {print_name(duration.unit)}"


def _print_shift(offset: tree.Duration | None, zone: tree.Literal | None) -> str:
    """How windows are shifted, with a blank before it; empty where they are not."""
    shown = f" OFFSET {print_duration(offset)}" if offset else ""
    return shown + (f" IN {print_literal(zone.value)}" if zone else "")


def print_pattern(pattern: tree.Pattern, place: int = 0) -> str:
    """A pattern, in brackets where it binds less tightly than its place wants."""
    match pattern:
        case tree.TypePattern(type=name, alias=alias):
            return print_name(name) + (f" {print_name(alias)}" if alias else "")
        case tree.AnyPattern(alias=alias):
            return "ANY" + (f" {print_name(alias)}" if alias else "")
        case tree.KleenePattern(body=body):
            return print_pattern(body, _POSTFIX) + "+"
        case tree.CountedPattern(body=body, least=least, most=most):
            return print_pattern(body, _POSTFIX) + show_times(least, most)
        case tree.NotPattern(body=body):
            return _bracketed(f"NOT {print_pattern(body, _NOT)}", _NOT, place)
        case tree.SeqPattern(items=items):
            return f"SEQ({', '.join(print_pattern(item) for item in items)})"
        case tree.AndPattern(items=items):
            text = " AND ".join(print_pattern(item, _AND + 1) for item in items)
            return _bracketed(text, _AND, place)
        case tree.OrPattern(items=items):
            text = " OR ".join(print_pattern(item, _OR + 1) for item in items)
            return _bracketed(text, _OR, place)
        case _:
            assert_never(pattern)


def print_condition(node: tree.Expression, place: int = 0) -> str:
    """An expression, in brackets where it binds less tightly than its place wants."""
    show = print_condition
    match node:
        case tree.AttributeRef(variable=variable, attribute=attribute, is_next=is_next):
            shown = f"NEXT({print_name(variable)})" if is_next else print_name(variable)
            return f"{shown}.{print_name(attribute)}"
        case tree.BareName(name=name):
            return print_name(name)
        case tree.Call(function=function, arguments=arguments):
            given = ("*" if isinstance(a, tree.Star) else show(a, _SUM) for a in arguments)
            return f"{print_name(function)}({', '.join(given)})"
        case tree.Literal(value=value):
            return print_literal(value)
        case tree.Duration():
            return print_duration(node)
        case tree.Moment(word=name, text=text):
            return f"{print_name(name)} {print_literal(text)}"
        case tree.Equivalence(attributes=names):
            return f"[{', '.join(print_name(name) for name in names)}]"
        case tree.Negative(operand=operand):
            # A minus before a minus would begin a comment.
            inner = _ATOM if isinstance(operand, tree.Negative) else _UNARY
            return _bracketed(f"-{show(operand, inner)}", _UNARY, place)
        case tree.Arithmetic():
            return _print_arithmetic(node, place)
        case tree.Comparison(operator=operator, left=left, right=right):
            return _bracketed(
                f"{show(left, _SUM)} {operator} {show(right, _SUM)}", _COMPARISON, place
            )
        case tree.InList(operand=operand, items=items, is_negated=is_negated):
            listed = ", ".join(show(item) for item in items)
            word = "NOT IN" if is_negated else "IN"
            return _bracketed(f"{show(operand, _SUM)} {word} ({listed})", _COMPARISON, place)
        case tree.IsNull(operand=operand, is_negated=is_negated):
            word = "IS NOT NULL" if is_negated else "IS NULL"
            return _bracketed(f"{show(operand, _SUM)} {word}", _COMPARISON, place)
        case tree.Between(operand=operand, low=low, high=high, is_negated=is_negated):
            word = "NOT BETWEEN" if is_negated else "BETWEEN"
            limits = f"{show(low, _SUM)} AND {show(high, _SUM)}"
            return _bracketed(f"{show(operand, _SUM)} {word} {limits}", _COMPARISON, place)
        case tree.Like(operand=operand, pattern=pattern, is_negated=is_negated):
            word = "NOT LIKE" if is_negated else "LIKE"
            return _bracketed(f"{show(operand, _SUM)} {word} {show(pattern)}", _COMPARISON, place)
        case tree.NotCondition(operand=operand):
            return _bracketed(f"NOT {show(operand, _NOT)}", _NOT, place)
        case tree.AndCondition(items=items):
            return _joined(show, " AND ", items, _AND, place)
        case tree.OrCondition(items=items):
            return _joined(show, " OR ", items, _OR, place)
        case _:
            assert_never(node)


def print_literal(value: int | float | str | bool | None) -> str:
    """A literal as it is written in a query.

    >>> [print_literal(v) for v in (True, None, 3, 0.5, "it's")]
    ['TRUE', 'NULL', '3', '0.5', "'it''s'"]
    """
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return repr(value)


def _print_arithmetic(node: tree.Arithmetic, place: int) -> str:
    level = _SUM if node.operator in "+-" else _PRODUCT
    right = print_condition(node.right, level + 1)
    # "a - -b" keeps its blank, so that the two signs are not read as a comment.
    return _bracketed(f"{print_condition(node.left, level)} {node.operator} {right}", level, place)


def _joined(
    show: Callable[[tree.Expression, int], str],
    word: str,
    items: tuple[tree.Expression, ...],
    level: int,
    place: int,
) -> str:
    return _bracketed(word.join(show(item, level + 1) for item in items), level, place)


def _bracketed(text: str, level: int, place: int) -> str:
    return f"({text})" if level < place else text
