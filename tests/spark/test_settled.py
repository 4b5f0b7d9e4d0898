"""What a worker has loaded is left out of looks for garbage: would catch one that costs each task.

In a process of its own, since what is left out once is so for good.
"""

from __future__ import annotations

import subprocess
import sys

_LOOKS = """
import gc
import hamlet.engine.session
from hamlet.spark.settled import settle

class Ring:
    def __init__(self):
        self.itself = self

many, few = len(gc.get_objects()), gc.get_freeze_count()
for _ in range(1000):
    Ring()
settle()
assert many > 20_000 and few == 0
assert len(gc.get_objects()) < many / 10
assert not any(isinstance(each, Ring) for each in gc.get_objects())
frozen = gc.get_freeze_count()
settle()
assert gc.get_freeze_count() == frozen
"""


def test_what_is_loaded_is_left_out_once_and_garbage_is_not():
    subprocess.run([sys.executable, "-c", _LOOKS], check=True, timeout=100)
