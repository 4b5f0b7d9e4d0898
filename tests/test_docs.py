"""The documents tell the truth: code runs, files exist, and the error codes are all there.

A Python block is run and prints the text block that follows it (blocks with `>>>` are doctests).
In a console block each line after `$` is run and prints the lines below it. A workload block is
accepted, and where "over `events` is" follows it, the text block after that is its answer. Blocks
marked `sh` set things up and are not run; those marked `sql` are of other systems.
"""

from __future__ import annotations

import ast
import contextlib
import doctest
import io
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from hamlet import Workload
from hamlet.kernel.compiling import COMPILING
from hamlet.lang.parser import _NEEDED
from hamlet.testing import stream

ROOT = Path(__file__).parents[1]
SOURCES = ROOT / "src" / "hamlet"
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
ALL_DOCUMENTS = [*DOCUMENTS, ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md"]
KINDS = {"python", "text", "console", "hql", "sh", "sql"}
SUFFIXES = "md|py|hql|lark|toml|txt|svg|json|csv"


class Block(NamedTuple):
    """A fenced block of a document."""

    document: Path
    line: int
    kind: str
    text: str
    after: str  # what stands between it and the next block

    def __str__(self) -> str:
        return f"{self.document.name}:{self.line}"


def blocks_of(document: Path) -> list[Block]:
    text = document.read_text(encoding="utf-8")
    return [
        Block(document, text.count("\n", 0, found.start()) + 1, found[1], found[2], found[3])
        for found in re.finditer(r"^```(\w*)\n(.*?)^```$(.*?)(?=^```|\Z)", text, re.M | re.S)
    ]


BLOCKS = [block for document in DOCUMENTS for block in blocks_of(document)]


def blocks(kind: str) -> pytest.MarkDecorator:
    """The blocks of a kind; those that start Spark are slow."""
    wanted = [
        pytest.param(block, marks=[pytest.mark.slow] if "hamlet.spark" in block.text else [])
        for block in BLOCKS
        if block.kind == kind
    ]
    return pytest.mark.parametrize("block", wanted, ids=str)


def test_every_block_says_what_it_is():
    assert {block.kind for block in BLOCKS} <= KINDS
    assert {"python", "console", "hql"} <= {block.kind for block in BLOCKS}


# Code


@blocks("python")
def test_python_prints_what_the_document_says(block: Block, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(ROOT)
    if ">>>" in block.text:
        test = doctest.DocTestParser().get_doctest(block.text, {}, str(block), None, block.line)
        assert doctest.DocTestRunner().run(test).failed == 0
        return
    printed = io.StringIO()

    with contextlib.redirect_stdout(printed):
        exec(compile(block.text, str(block), "exec"), {})

    after = BLOCKS[BLOCKS.index(block) + 1]
    assert after.kind == "text", f"{block} is followed by what it prints"
    assert printed.getvalue() == after.text


def timeless(text: str) -> str:
    """What a command prints, without what depends on the machine."""
    text = re.sub(f"^{COMPILING}.*\n", "", text, flags=re.M)
    return re.sub(r"^seconds  .*$", "seconds", text, flags=re.MULTILINE)


@pytest.mark.slow
@blocks("console")
def test_commands_print_what_the_document_says(block: Block):
    commands = re.findall(r"^\$ (.+)\n((?:(?!\$ ).*\n)*)", block.text, re.MULTILINE)
    assert commands
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])

    for command, expected in commands:
        left = subprocess.run(
            ["bash", "-c", command],
            cwd=ROOT,
            env={**os.environ, "PATH": path, "PYTHONUTF8": "1", "COLUMNS": "80"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            check=False,
        )
        assert timeless(left.stdout) == timeless(expected), command


@blocks("hql")
def test_workloads_are_accepted(block: Block):
    assert Workload.parse(block.text, name=str(block)).queries


def events_of(block: Block) -> str | None:
    """The events that a workload block is answered over, if it is."""
    found = re.fullmatch(r"\s*over `([^`]+)` is\s*", block.after)
    return found[1] if found else None


@pytest.mark.parametrize("block", [b for b in BLOCKS if events_of(b) is not None], ids=str)
def test_workloads_are_answered_as_the_document_says(block: Block):
    results = Workload.parse(block.text).run(stream(events_of(block) or ""))

    answer = BLOCKS[BLOCKS.index(block) + 1]
    assert answer.kind == "text"
    assert answer.text.splitlines() == repr(results).splitlines()[1:]


# Each construct of the language, as a part of a workload.
CONSTRUCTS = (
    *(r"^\w+: ", r"^`[^`]+`: ", r";", r"-- ", r"COUNT\(\*\)", r"COUNT\(\w+\)", r"SUM\(", r"AVG\("),
    *(r"MIN\(", r"MAX\(", r" AS ", r"RETURN (\w+, )+COUNT", r"PATTERN A ", r"Travel T\+", r"A\+"),
    *(r"\)\+", r"SEQ\(", r" OR B", r"SEQ\(A, NOT C", r"SEQ\(NOT ", r", NOT \w+\)", r"NOT SEQ\("),
    *(
        r"PATTERN A\+ AND ",
        r"\(SEQ\(A, B\+\)\)\+",
        r"SEQ\(Trade first, .*Trade later",
        r"WHERE T\.",
    ),
    *(
        r"\w\.\w+ [<>=]+ NEXT\(",
        r"WHERE A\.x < B\.x",
        r"\[driver, rider\]",
        r"'it''s",
        r"\d\.\d",
        r"1e3",
    ),
    *(
        r" \+ ",
        r" - ",
        r" \* ",
        r" / ",
        r" % ",
        r" -A\.",
        r" = ",
        r" == ",
        r" != ",
        r" <> ",
        r" < ",
        r" <= ",
    ),
    *(r" > ", r" >= ", r" AND ", r" OR ", r"WHERE NOT ", r" IN \(", r" NOT IN \(", r" IS NULL"),
    *(
        r" IS NOT NULL",
        r"TRUE",
        r"FALSE",
        r"GROUPBY",
        r"GROUP BY",
        r"WITHIN 10 s$",
        r"SLIDE 5 s",
        r" ms",
    ),
    *(r" min", r" h\b", r" hours", r" d\b", r" days", r" sec\b"),
)


def test_the_language_reference_answers_an_example_of_every_construct():
    reference = [b for b in BLOCKS if b.document.name == "language.md" and b.kind == "hql"]
    text = "\n".join(b.text for b in reference if events_of(b) is not None)

    assert [c for c in CONSTRUCTS if not re.search(c, text, re.MULTILINE)] == []
    assert [str(b) for b in reference if events_of(b) is None] == []


# Facts


def test_the_picture_is_that_of_the_example():
    # The name is the path as it is typed on the command line.
    example = "examples/ridesharing.hql"
    text = (ROOT / example).read_text(encoding="utf-8")

    svg = Workload.parse(text, name=example).explain("merged", format="svg")

    shown = (ROOT / "docs" / "pictures" / "ridesharing.svg").read_text(encoding="utf-8")
    assert svg == shown, "make it again with hamlet explain --stage merged --format svg --out"


def test_the_table_of_what_is_shared_is_that_of_the_example():
    description = Workload.load(ROOT / "examples" / "ridesharing.hql").describe()
    queries = len(description["queries"])
    shared, alone = (
        [each["queries"] for each in description["sharing"] if each["shared"] == is_shared]
        for is_shared in (True, False)
    )
    runs = len(shared) + sum(len(names) for names in alone)
    states = sum(len(template["states"]) for template in description["templates"])

    rows = [
        f"| passes over the events | {queries} | {len(description['sets'])} |",
        f"| runs of `Travel` that are worked on | {queries} | {runs}: one for "
        f"`{'` and `'.join(shared[0])}`, one for `{alone[0][0]}` |",
        f"| tests of type and condition on an event | {states} | {len(description['atoms'])} |",
    ]

    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for row in rows:
        assert row in readme


@pytest.mark.parametrize("path", [*ALL_DOCUMENTS, *SOURCES.rglob("*.py")], ids=str)
def test_nothing_says_that_sharing_always_pays(path: Path):
    text = " ".join(path.read_text(encoding="utf-8").split())

    assert not re.search(r"always (pays|wins|shared)|shared always|is never wrong", text)


def codes_of_the_sources() -> set[str]:
    """Every error code: the hyphenated words in the sources of the language, and missing-CLAUSE."""
    texts = {
        node.value
        for path in (SOURCES / "lang").glob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    codes = {text for text in texts if re.fullmatch(r"[a-z]+(-[a-z]+)+", text)}
    return codes | {f"missing-{keyword.lower()}" for keyword in _NEEDED}


def test_the_language_reference_has_every_error_code_and_no_other():
    text = (ROOT / "docs" / "language.md").read_text(encoding="utf-8")
    table = text[text.index("| code | what is wrong |") :]

    listed = re.findall(r"^\| `([a-z-]+)` \|", table, re.MULTILINE)

    assert len(listed) == len(set(listed))
    assert set(listed) == codes_of_the_sources()


def test_the_codes_of_refused_workloads_are_listed():
    text = (ROOT / "docs" / "language.md").read_text(encoding="utf-8")
    shown = re.findall(r"\[([a-z]+(?:-[a-z]+)+)\]$", text, re.MULTILINE)

    assert shown
    assert set(shown) <= codes_of_the_sources()


# Files


@pytest.mark.parametrize("document", ALL_DOCUMENTS, ids=lambda path: path.name)
def test_every_file_that_is_named_exists(document: Path):
    # Fenced blocks are looked at above.
    text = re.sub(r"^```.*?^```$", "", document.read_text(encoding="utf-8"), flags=re.M | re.S)
    links = [found.split("#")[0] for found in re.findall(r"\]\(([^)\s]+)\)", text)]
    words = [word for quoted in re.findall(r"`([^`\n]+)`", text) for word in quoted.split()]
    paths = [w for w in words if re.fullmatch(rf"[\w./-]+(\.({SUFFIXES})|/)", w)]

    for link in filter(None, links):
        assert (document.parent / link).exists(), link
    for path in paths:
        # What `make demo` writes is not there before.
        assert path == "demo/" or (ROOT / path).exists() or (SOURCES / path).exists(), path


@pytest.mark.parametrize("document", ALL_DOCUMENTS, ids=lambda path: path.name)
def test_links_inside_documents_lead_to_a_heading(document: Path):
    text = document.read_text(encoding="utf-8")

    for file, anchor in re.findall(r"\]\(([^)#\s]*)#([^)\s]+)\)", text):
        target = (document.parent / file if file else document).read_text(encoding="utf-8")
        headings = re.findall(r"^#+ (.+)$", target, re.MULTILINE)
        assert anchor in [heading.lower().replace(" ", "-") for heading in headings]


def test_every_module_of_the_pipeline_is_in_the_architecture():
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")

    for package in ("lang", "plan", "explain"):
        for module in (SOURCES / package).glob("[a-z]*.py"):
            assert f"`{package}/{module.name}`" in text


def test_every_path_in_the_architecture_is_there():
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    named = re.findall(r"`([a-z_/]+(?:\.(?:py|lark)|/))`", text)

    assert len(named) > 100
    assert [path for path in named if not (SOURCES / path).exists()] == []


def test_every_page_is_in_the_index_and_the_index_in_the_readme():
    index = ROOT / "docs" / "index.md"
    links = re.findall(r"\]\(([^)#\s]+)\)", index.read_text(encoding="utf-8"))

    pages = {path.relative_to(index.parent).as_posix() for path in index.parent.rglob("*.md")}
    assert pages - {"index.md"} <= set(links)
    assert "(docs/index.md)" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_glossary_names_what_is_in_the_code():
    text = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    cells = [line.split(" | ")[-1] for line in text.splitlines() if line.startswith("| ")]
    named = [name for cell in cells for name in re.findall(r"`([\w.]+)`", cell)]
    words = {part for name in named for part in name.split(".") if part and "/" not in name}

    sources = "\n".join(path.read_text(encoding="utf-8") for path in SOURCES.rglob("*.py"))
    known = set(re.findall(r"\w+", sources)) | {path.stem for path in SOURCES.rglob("*")}
    assert len(words) > 30
    assert sorted(words - known) == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_a_document_speaks_of_the_product_alone(document: Path):
    text = document.read_text(encoding="utf-8")

    assert re.findall(r"(?i)\btodo\b|\bfixme\b|#\d{2,}\b", text) == []
    # Of whole paths only those that stand for the reader's own, never those of some machine
    paths = re.findall(r"(?<![\w.:/~*)\]`-])/[a-z]+/[\w/.-]+", text)
    assert [
        path
        for path in paths
        if not path.startswith(("/opt/", "/path/to/", "/nowhere/", "/dev/null"))
    ] == []
