"""From description to stable text, stage by stage; golden tests compare it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hamlet.errors import UnknownName, counted, did_you_mean, listed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    Description = dict[str, Any]


def explain_text(description: Description, stages: Sequence[str] | None = None) -> str:
    """The chosen stages, or all of them, under a line that sums the workload up."""
    chosen = [stage_named(stage) for stage in stages or STAGES]
    blocks = [f"{description['workload']}: {description['summary']}"]
    for stage, block in STAGES.items():
        if stage in chosen:
            lines = list(block(description))
            if lines:
                blocks.append("\n".join([stage, *(f"  {line}".rstrip() for line in lines)]))
    return "\n\n".join(blocks) + "\n"


def shown_queries(names: Sequence[str], of: Sequence[str], most: int = 6) -> str:
    """Some of the queries of a set, short where they are many.

    >>> shown_queries(["q1", "q2"], of=["q1", "q2"])
    'q1, q2'
    >>> shown_queries([f"q{i}" for i in range(30)], of=[f"q{i}" for i in range(30)])
    'all 30 queries'
    """
    if len(names) <= most:
        return ", ".join(names)
    if len(names) == len(of):
        return f"all {len(of)} queries"
    if len(of) - len(names) <= 2:
        missing = set(of) - set(names)
        return f"all but {', '.join(name for name in of if name in missing)}"
    return listed(names, most - 1)


def table_lines(rows: list[list[str]], indent: str = "") -> Iterator[str]:
    """Rows with aligned columns."""
    if not rows:
        return
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        yield (indent + "  ".join(cells)).rstrip()


def _queries(description: Description) -> Iterator[str]:
    rows = [
        [
            query["name"],
            query["set"],
            _template_reference(query["templates"]),
            f"{query['within']} / {query['slide']}" + _shift_text(query),
            _partition_text(query),
            ", ".join(query["aggregates"]) + _having_text(query),
        ]
        for query in description["queries"]
    ]
    header = ["name", "set", "template", "window", "grouped by [and equal in]", "returns"]
    yield from table_lines([header, *rows])


def _shift_text(query: Description) -> str:
    return f" {query['shift']}" if "shift" in query else ""


def _having_text(query: Description) -> str:
    return f" HAVING {query['having']}" if "having" in query else ""


def _partition_text(query: Description) -> str:
    grouped = ", ".join(query["group_by"]) or "-"
    equal = ", ".join(query["equivalence"])
    return f"{grouped} [{equal}]" if equal else grouped


def _template_reference(names: list[str]) -> str:
    if len(names) == 1:
        return names[0]
    return f"{names[0]} AND {names[1]}, both {names[2]}"


def _atoms(description: Description) -> Iterator[str]:
    rows = [
        [atom["name"], f":= {atom['type']}" + _where(atom["condition"])]
        for atom in description["atoms"]
    ]
    yield from table_lines(rows)


def _where(condition: str | None) -> str:
    return f" where {condition}" if condition else ""


def _predicates(description: Description) -> Iterator[str]:
    rows = []
    for predicate in description["predicates"]:
        written = predicate["written"]
        rearranged = f"from {written}" if written != predicate["predicate"] else ""
        rows.append(
            [predicate["name"], f":= {predicate['predicate']}", predicate["form"], rearranged]
        )
    yield from table_lines(rows)


def _templates(description: Description) -> Iterator[str]:
    all_queries = [query["name"] for query in description["queries"]]
    for template in description["templates"]:
        atoms = [f"{state['label']} = {state['atom']}" for state in template["states"]]
        note = "  (states are sets of places)" if atoms and template["determinised"] else ""
        queries = shown_queries(template["queries"], all_queries)
        yield f"{template['name']} := {template['pattern']}  for {queries}{note}"
        yield f"     {', '.join(atoms) or 'matches nothing'}"
        rows = [[edge["from"], f"-> {edge['to']}", _edge_text(edge)] for edge in template["edges"]]
        yield from table_lines(rows, indent="     ")


def _edge_text(edge: Description) -> str:
    return str(edge.get("condition") or ", ".join([*edge["guards"], *edge["predicates"]]))


def _sets(description: Description) -> Iterator[str]:
    for one in description["sets"]:
        queries = shown_queries(one["queries"], one["queries"], most=8)
        shared = ", ".join(
            f"{name}+ repeated by {shown_queries(names, one['queries'], most=8)}"
            for name, names in one["shared"].items()
        )
        yield f"{one['name']} := {queries}"
        yield f"      {shared or 'nothing in common'}"
        by = f"partition [{', '.join(one['partition'])}]"
        yield f"      {by if one['partition'] else 'one partition'}"
        yield f"      panes of {one['pane']} for windows {listed(one['windows'], 6)}"


def _merged(description: Description) -> Iterator[str]:
    for one in description["sets"]:
        is_once = len(one["states"]) == len(one["types"])
        often = "each type once" if is_once else "a type for each place that one pattern has it at"
        yield f"{one['name']} := {often}, each edge with its queries"
        for state in one["states"]:
            for condition, names in state["conditions"]:
                yield f"      {state['name']} where {condition}{_for(names, one)}"
        rows = [
            [
                edge["from"],
                f"-> {edge['to']}",
                shown_queries(edge["queries"], one["members"]) + _asked_text(edge, one),
                _shared_text(edge, one),
            ]
            for edge in one["edges"]
        ]
        yield from table_lines(rows, indent="      ")


def _asked_text(edge: Description, one: Description) -> str:
    asked = [
        text if len(names) == len(edge["queries"]) else text + _for(names, one)
        for text, names in (*edge["guards"], *edge["conditions"])
    ]
    return f" ({'; '.join(asked)})" if asked else ""


def _for(names: list[str], one: Description) -> str:
    return f" for {shown_queries(names, one['members'], most=3)}"


def _shared_text(edge: Description, one: Description) -> str:
    """Whose work on the events of a loop is done once."""
    groups = edge["shared_by"]
    if [len(group) for group in groups] == [len(edge["queries"])]:
        return "shared"
    shown = (shown_queries(group, one["members"], most=3) for group in groups)
    return f"shared by {'; by '.join(shown)}" if groups else ""


def _apart(description: Description) -> Iterator[str]:
    apart = description["apart"]
    partitions = apart["partitions"]
    if len(partitions) > 1:
        is_shifted = any("shift" in partition for partition in partitions)
        yield "different partition attributes" + (" or shifts of windows:" if is_shifted else ":")
        rows = [
            [_apart_text(partition), listed([one["set"] for one in partition["sets"]])]
            for partition in partitions
        ]
        yield from table_lines(rows, indent="  ")
    for partition in partitions:
        repeating = [one for one in partition["sets"] if one["kleene"]]
        if len(repeating) > 1:
            yield f"no Kleene type in common, under {_apart_text(partition)}:"
            rows = [[one["set"], ", ".join(f"{k}+" for k in one["kleene"])] for one in repeating]
            yield from table_lines(rows, indent="  ")
    if apart["without_kleene"] and len(description["sets"]) > 1:
        yield f"repeats no single type: {listed(apart['without_kleene'])}"


def _apart_text(partition: Description) -> str:
    return f"[{', '.join(partition['attributes'])}]{_shift_text(partition)}"


def _letters(description: Description) -> Iterator[str]:
    rows = [
        [
            letter["type"],
            " ".join(letter["atoms"]),
            f"at most {_letter_count(letter['most_letters'])}",
        ]
        for letter in description["letters"]
    ]
    yield from table_lines(rows)


def _letter_count(number: int) -> str:
    if number > 1_000_000:
        return f"about 2^{(number + 1).bit_length() - 1} letters"
    return counted(number, "letter")


def _edges(description: Description) -> Iterator[str]:
    sets = {one["name"]: one["queries"] for one in description["sets"]}
    rows = [
        [
            edge["set"],
            edge["from"],
            f"-> {edge['to']}",
            edge["grain"],
            " ".join(edge["predicates"]),
            shown_queries(edge["queries"], sets[edge["set"]]),
        ]
        for edge in description["edges"]
    ]
    yield from table_lines(rows)
    costs = (f"{edge['grain']}: {edge['cost']}" for edge in description["edges"])
    yield from dict.fromkeys(costs)


def sharing_lines(description: Description) -> Iterator[str]:
    """What is known at plan time of each E+ that queries of a set have in common."""
    sets = {one["name"]: one["queries"] for one in description["sets"]}
    yield from table_lines(
        [
            [
                loop["set"],
                f"{loop['type']}+",
                "shared" if loop["shared"] else "per query",
                shown_queries(loop["queries"], sets[loop["set"]]),
                loop["why"],
            ]
            for loop in description["sharing"]
        ]
    )


def _programs(description: Description) -> Iterator[str]:
    keys = ["set", "templates", "states", "edges", "conditions", "columns", "bytes"]
    rows = [[str(program[key]) for key in keys] for program in description["programs"]]
    yield from table_lines([keys, *rows])


STAGES: dict[str, Callable[[Description], Iterator[str]]] = {
    "queries": _queries,
    "atoms": _atoms,
    "predicates": _predicates,
    "templates": _templates,
    "sets": _sets,
    "merged": _merged,
    "apart": _apart,
    "letters": _letters,
    "edges": _edges,
    "sharing": sharing_lines,
    "program": _programs,
}


def stage_named(name: str) -> str:
    """A stage by its name, or an error that offers the nearest."""
    if name in STAGES:
        return name
    remedy = f"Stages are {listed(STAGES)}." + did_you_mean(name, STAGES)
    raise UnknownName("stage", name, remedy)
