"""What a run or a measurement was made on and with."""

from __future__ import annotations

import platform
import shlex
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

_PACKAGES = ("hamlet-trends", "numba", "numpy", "pyarrow")


def circumstances() -> dict[str, Any]:
    """What figures were measured on and with: machine, versions, commit and command."""
    return {
        "command": shlex.join(["hamlet", *sys.argv[1:]]),
        "machine": {"processor": _processor(), "system": platform.platform(), "cores_used": 1},
        "python": platform.python_version(),
        "versions": {name: version(name) for name in _PACKAGES},
        "commit": _commit(),
    }


def _processor() -> str:
    cpus = Path("/proc/cpuinfo")
    lines = cpus.read_text(encoding="utf-8").splitlines() if cpus.exists() else []
    models = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor() or platform.machine()


def _commit() -> str | None:
    try:
        command = ["git", "describe", "--always", "--dirty"]
        here = Path(__file__).parent
        ended = subprocess.run(command, cwd=here, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return ended.stdout.strip()
