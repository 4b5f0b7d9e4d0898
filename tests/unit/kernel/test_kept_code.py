"""Where compiled code is kept, tried with a small function in processes of their own.

Would catch a package that cannot be imported where it may only be read and there is no home, code
of an image that is compiled again by who may not write beside it, and processes that compile the
same side by side.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

MODULE = """
import os, sys, time
from pathlib import Path
from hamlet.kernel.kept_code import kept

def twice(number):
    return 2 * number

twice = kept(twice)

if __name__ == "__main__":
    import pieces
    from numba.core import event
    compiled = []

    class Slow(event.Listener):
        def on_start(self, event):
            compiled.append(event.kind)
            time.sleep(float(os.environ.get("SECONDS", "0")))
        def on_end(self, event):
            pass

    with event.install_listener("numba:compile", Slow()):
        assert pieces.twice(21) == 42
    print(len(compiled), pieces.twice._cache.cache_path)
"""


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A folder with a module that has a compiled function."""
    folder = tmp_path / "package"
    folder.mkdir()
    (folder / "pieces.py").write_text(MODULE, encoding="utf-8")
    return folder


def started(package: Path, **environment: str) -> subprocess.Popen[str]:
    named = {"PATH": os.environ["PATH"], "PYTHONPATH": str(package), **environment}
    command = [sys.executable, str(package / "pieces.py")]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, env=named, stdout=pipe, stderr=pipe, text=True)


def ended(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    """How many functions were compiled, where they are kept, and what was said."""
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    count, folder = out.split()
    return int(count), folder, err


def run(package: Path, **environment: str) -> tuple[int, str, str]:
    return ended(started(package, **environment))


def no_writing(package: Path) -> dict[str, str]:
    """An environment in which the package and the home are no places to write to.

    Where a user may do anything, as root may, rights do not keep it from writing: a file that is
    where the folder would be does.
    """
    if not (package / "__pycache__").exists():
        (package / "__pycache__").write_text("", encoding="utf-8")
    return {"HOME": "/dev/null", "XDG_CACHE_HOME": "/dev/null"}


@pytest.mark.slow
def test_code_is_kept_beside_the_sources_and_found_there(package: Path, tmp_path: Path):
    assert run(package)[:2] == (1, str(package / "__pycache__"))
    assert run(package)[0] == 0
    # As code of an image is, by who writes elsewhere.
    own = tmp_path / "own"
    compiled, folder, _ = run(package, HAMLET_CACHE_DIR=str(own))
    assert (compiled, Path(folder).parent) == (0, own)


@pytest.mark.slow
def test_without_a_place_to_write_code_is_kept_among_temporary_files(package: Path, tmp_path: Path):
    nowhere = no_writing(package) | {"TMPDIR": str(tmp_path)}

    compiled, folder, _ = run(package, **nowhere)

    own = tmp_path / f"hamlet-{os.getuid()}"
    assert (compiled, Path(folder).parent) == (1, own)
    assert own.stat().st_mode & 0o077 == 0
    assert run(package, **nowhere)[0] == 0


@pytest.mark.slow
def test_a_temporary_folder_that_others_can_write_to_is_not_read(package: Path, tmp_path: Path):
    own = tmp_path / f"hamlet-{os.getuid()}"
    own.mkdir()
    own.chmod(0o777)

    _, folder, _ = run(package, **no_writing(package), TMPDIR=str(tmp_path))

    assert Path(folder).parent != own
    assert list(own.iterdir()) == []


@pytest.mark.slow
def test_a_folder_that_is_named_is_taken(package: Path, tmp_path: Path):
    chosen = tmp_path / "chosen"

    compiled, folder, _ = run(package, HAMLET_CACHE_DIR=str(chosen))

    assert (compiled, Path(folder).parent) == (1, chosen)
    assert run(package, HAMLET_CACHE_DIR=str(chosen))[0] == 0


@pytest.mark.slow
def test_of_several_processes_one_compiles_and_the_others_wait(package: Path):
    processes = [started(package, SECONDS="4") for _ in range(3)]

    found = [ended(process) for process in processes]

    assert sorted(compiled for compiled, _, _ in found) == [0, 0, 1]
    assert any("waiting for another process" in said for _, _, said in found)
