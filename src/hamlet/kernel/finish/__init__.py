"""What kernels emit to result rows, at once or by way of partial answers.

Read in this order: words.py, integers.py and wides.py (columns of numbers of any size), rounding.py
and quotients.py (numbers to doubles), groups.py and group_text.py (groups, and their text), sums.py
and totals.py (groups added up, AND), quantities.py and formulas.py (what is computed from
aggregates), cells.py (results), answers.py (rows). Partial answers:
partial_columns.py (what they look like), packed.py (integers in bytes), merging.py (adding them
up), partial.py (there and back).
"""

from __future__ import annotations

from hamlet.kernel.finish.answers import Answer, Emitted, SetAnswers, finish, finish_together
from hamlet.kernel.finish.groups import Groups
from hamlet.kernel.finish.integers import TEXT

__all__ = ["TEXT", "Answer", "Emitted", "Groups", "SetAnswers", "finish", "finish_together"]
