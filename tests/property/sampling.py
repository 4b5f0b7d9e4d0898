"""How many random examples a test looks at: all that it asks for, or in a fast run a fifth of them.

Which of the two it is, the profile says that tests/conftest.py has loaded: fast is `-m 'not slow'`.
"""

from __future__ import annotations

from typing import Any

from hypothesis import settings

# What profiles are said in: Hypothesis takes as many examples unless it is told otherwise.
USUAL = 100
FAST = USUAL // 5
_FEWEST = 5


def random_sample(examples: int, **more: Any) -> settings:
    """Settings for a test with some number of examples in a whole run.

    How long an example takes depends on what is compiled for the first time: there is no deadline.
    """
    scaled = max(min(examples, _FEWEST), examples * settings().max_examples // USUAL)
    return settings(max_examples=scaled, deadline=None, **more)
