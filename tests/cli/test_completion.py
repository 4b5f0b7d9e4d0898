"""The shell completes commands, options and their values.

Would catch a command line under another name than `hamlet`, or options that completion cannot see.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

HAMLET = Path(sys.executable).with_name("hamlet")


def asked(**variables: str) -> str:
    """What the command says to a shell."""
    left = subprocess.run(
        [str(HAMLET)],
        env={**os.environ, **variables},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert left.stderr == ""
    return left.stdout


@pytest.mark.slow
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_gets_a_script(shell):
    assert "_HAMLET_COMPLETE" in asked(_HAMLET_COMPLETE=f"{shell}_source")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "completed"),
    [
        ("hamlet expl", "plain,explain"),
        ("hamlet explain --sta", "plain,--stage"),
        ("hamlet run --numbers fl", "plain,float"),
        ("hamlet generate smart", "plain,smarthome"),
        ("hamlet generate taxi --file-format c", "plain,csv"),
        ("hamlet bench compare --format j", "plain,json"),
    ],
)
def test_words_are_completed(words, completed):
    said = asked(
        _HAMLET_COMPLETE="bash_complete",
        COMP_WORDS=words,
        COMP_CWORD=str(len(words.split()) - 1),
    )

    assert completed in said.splitlines()
