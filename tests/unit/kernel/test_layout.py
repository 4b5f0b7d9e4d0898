"""Names of the machine's arrays, which are made when layout.py is imported.

So no type checker sees a name that is misspelt, and one that nothing uses any more would stay in
every image.
"""

import ast
from collections.abc import Iterable
from pathlib import Path

import hamlet.kernel
from hamlet.kernel import layout
from hamlet.kernel.rows import layout as rows_layout

_KERNEL = Path(hamlet.kernel.__file__).parent
_OF_ROWS = sorted((_KERNEL / "rows").glob("*.py"))
# Rows have a layout of their own.
_OF_MACHINE = sorted(set(_KERNEL.rglob("*.py")) - set(_OF_ROWS))


def _names_used(paths: Iterable[Path]) -> dict[str, str]:
    """Every name that modules take from the layout that they call `at`, and a file that does."""
    used = {}
    for path in paths:
        for node in ast.walk(ast.parse(path.read_text())):
            match node:
                case ast.Attribute(value=ast.Name(id="at"), attr=name) if name.isupper():
                    used[name] = path.name
    return used


def test_every_name_that_is_used_is_declared() -> None:
    used = _names_used(_OF_MACHINE)

    unknown = {name: path for name, path in used.items() if not hasattr(layout, name)}

    assert len(used) > 150
    assert unknown == {}


def test_every_name_that_rows_use_is_declared() -> None:
    used = _names_used(_OF_ROWS)

    unknown = {name: path for name, path in used.items() if not hasattr(rows_layout, name)}

    assert len(used) > 50
    assert unknown == {}


def test_every_array_of_the_image_is_used() -> None:
    arrays = {name.upper() for name in (*layout.BatchArrays._fields, *layout.STATE)}

    assert arrays - set(_names_used(_OF_MACHINE)) == set()


def test_no_two_entries_of_the_header_have_one_place() -> None:
    declared = (*layout.Scalars._fields, *layout.CODE_ARRAYS)
    declared += (*layout.BatchArrays._fields, *layout.STATE)

    places = [getattr(layout, name.upper()) for name in declared]

    assert sorted(places) == list(range(layout.HEADER))
