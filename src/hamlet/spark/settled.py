"""A Python worker that need not look for garbage among all that it has loaded.

After every task a worker of Spark looks through all that Python has, for what nobody refers to any
more. Modules and compiled code are most of that and stay for ever; among some hundred thousand
objects a look takes longer than a small task. So once they are there, they are left out of it.
"""

from __future__ import annotations

import gc

# A look at so many objects takes some milliseconds.
_MANY = 20_000


def settle() -> None:
    """Leave what is there now out of every later look, if it is much: at the end of a task.

    Such objects are still freed when the last reference to them goes, but not in cycles: so what is
    garbage already is looked for before.
    """
    if len(gc.get_objects()) > _MANY:
        gc.collect()
        gc.freeze()
