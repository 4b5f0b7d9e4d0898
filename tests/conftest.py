"""What all tests share: golden files, and the option that rewrites them.

`pytest --update-cases` writes what the code says now into the files below tests/cases; the
difference is then reviewed like code. `pytest -n 2 --dist loadfile` runs tests side by side, those
of one file in one process.
"""

from __future__ import annotations

import gc
import os
import shutil
import signal
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import Phase, settings
from sampling import FAST

from hamlet.engine.first_answer import VARIABLE as INTERPRET
from hamlet.share.coefficients import VARIABLE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# What was begun before all tests, and what is compiled beside them
STARTED = pytest.StashKey[list[subprocess.Popen[bytes]]]()
BESIDE = pytest.StashKey[subprocess.Popen[bytes]]()
WARM = [sys.executable, "-m", "hamlet", "warm"]
LONGEST_S = 900  # as a test: see pyproject.toml
CASES = Path(__file__).parent / "cases"
# How long an example takes depends on what is compiled for the first time, and on other work.
# What fails is made smaller, but not explained line by line: to trace what is run takes minutes.
PHASES = (Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink)
settings.register_profile("hamlet", deadline=None, phases=PHASES)
settings.register_profile("fast", deadline=None, phases=PHASES, max_examples=FAST)
# Not a module of tests unless there is a cluster: see the Makefile.
collect_ignore = [] if "HAMLET_CLUSTER_PYTHON" in os.environ else ["cluster"]
SPARK = Path(__file__).parent / "spark"
JAVA_CLASSES = Path(__file__).parents[1] / "build" / f"spark-{version('pyspark')}.jsa"
# How Java runs for Spark: its compiler stops at the first, quick stage, since no test lives long
# enough for the second, and what is run beside it is started without a helper.
JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:-UsePerfData -Xlog:disable"
JAVA += " -Djdk.lang.Process.launchMechanism=VFORK"
# Side by side, what takes minutes begins, and what takes long comes before what does not, so that
# all cores are busy to the end: one test that waits for processes of its own, then one that
# compiles, then Spark, then files in this order, then all others.
ALONE = ("test_stream_kill.py", "test_bounds.py")
LONG = (
    "test_bench_paper.py",
    "test_stream.py",
    "test_engine.py",
    "test_docs.py",
    "test_loop_groups.py",
    "test_sharon_middles.py",
    "test_bench_sharing.py",
    "test_systems.py",
    "test_random_workloads.py",
    "test_sessions.py",
    "test_case_files.py",
    "test_interrupts.py",
    "test_answers.py",
)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-cases", action="store_true", help="rewrite the golden files in tests/cases"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Choose how many examples are enough, and begin what tests side by side would wait for."""
    is_fast = config.getoption("markexpr") == "not slow"
    settings.load_profile("fast" if is_fast else "hamlet")
    # What a shell runs in the background ignores Ctrl-C, and what it starts does too: tests that
    # interrupt themselves or a process would wait for ever.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    gc.disable()  # until all is collected: see below
    if not hasattr(config, "workerinput") and getattr(config.option, "numprocesses", None):
        config.stash[STARTED] = _compiling() if is_fast else [*_compiling(), *_keeping_classes()]


def _compiling() -> list[subprocess.Popen[bytes]]:
    """Processes that compile what most tests need: else each of those that test would."""
    return [subprocess.Popen([*WARM, "--numbers", numbers]) for numbers in ("exact", "float")]


def _keeping_classes() -> Iterator[subprocess.Popen[bytes]]:
    """One that has those with Spark start in half the time, unless Java cannot do it.

    It takes about as long as two of them take without.
    """
    if not JAVA_CLASSES.exists():
        JAVA_CLASSES.parent.mkdir(exist_ok=True)
        command = [sys.executable, str(SPARK / "java_classes.py"), str(JAVA_CLASSES)]
        environment, quiet = os.environ | {"SPARK_SUBMIT_OPTS": _java()}, subprocess.DEVNULL
        yield subprocess.Popen(command, env=environment, stdout=quiet, stderr=quiet)


def _java() -> str:
    return os.environ.get("SPARK_SUBMIT_OPTS", JAVA)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_node_collection_finished(node: Any) -> None:
    """Wait for what was begun, beside which tests have been collected, before the first test.

    The first time, kernels of the compared systems are compiled while tests wait for Spark.
    """
    stash = node.config.stash
    started = stash[STARTED]
    if any([_status(process) for process in started][:2]):
        pytest.exit("the kernels cannot be compiled", returncode=3)
    if len(started) > 2 and (nice := shutil.which("nice")):
        stash[BESIDE] = subprocess.Popen([nice, "-n", "19", *WARM, "--systems"])
    stash[STARTED] = []


def _status(process: subprocess.Popen[bytes]) -> int:
    try:
        return process.wait(timeout=LONGEST_S)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()


def pytest_collection_finish() -> None:
    """Look for garbage among what tests make, and not again and again among all that is imported.

    That would be a quarter of what tests do.
    """
    gc.freeze()
    gc.enable()


def pytest_unconfigure(config: pytest.Config) -> None:
    """Let Python clear up as it does: modules in C tell of what is left."""
    gc.unfreeze()
    if (beside := config.stash.get(BESIDE, None)) is not None:
        beside.terminate()
        beside.wait()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put long files first; the tests of a file stay together, and in their order."""
    items.sort(key=_turn)


def _turn(item: pytest.Item) -> tuple[int, int]:
    name = item.path.name
    if name in ALONE:
        return 0, ALONE.index(name)
    if SPARK in item.path.parents:
        return 1, 0
    return (2, LONG.index(name)) if name in LONG else (3, 0)


@pytest.fixture(autouse=True, scope="session")
def shipped_coefficients(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What steps cost is as shipped, whatever the user of this machine has measured."""
    path = tmp_path_factory.mktemp("coefficients") / "shipped.json"
    path.write_text("{}", encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIABLE, str(path))
        yield


@pytest.fixture(autouse=True, scope="session")
def java_options() -> Iterator[None]:
    """How Java runs for Spark, in all processes that tests start."""
    options = _java()
    if JAVA_CLASSES.exists() and options == JAVA:
        # A Java that is another than that which has kept them takes no notice of them.
        options += f" -XX:SharedArchiveFile={JAVA_CLASSES}"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPARK_SUBMIT_OPTS", options)
        yield


@pytest.fixture(autouse=True, scope="session")
def compiled_code() -> Iterator[None]:
    """Runs wait for compiled code, so that no test depends on what was compiled before it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(INTERPRET, "never")
        yield


@pytest.fixture
def is_updating(request: pytest.FixtureRequest) -> bool:
    """Whether golden files are rewritten instead of compared."""
    return bool(request.config.getoption("--update-cases"))


@pytest.fixture
def golden(is_updating: bool) -> Callable[[str, str], None]:
    """Compare a text with a golden file, given by its path below tests/cases."""

    def compare(name: str, text: str) -> None:
        path = CASES / name
        if is_updating:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        assert text == path.read_text(encoding="utf-8")

    return compare
