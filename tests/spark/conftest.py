"""One Spark session for all tests of this folder: two cores, few partitions, little talk."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING, Any

import pytest

from hamlet.spark.session import QUICK_WORKERS, start

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

    from pyspark.sql import SparkSession

# Not the zone of any machine that tests run on, and with a summer time: it should not matter.
_ZONE = "America/New_York"
# What tests take so long or short by
_LASTING = (
    "spark.sql.adaptive.enabled",
    "spark.sql.codegen.wholeStage",
    "spark.sql.session.timeZone",
    "spark.sql.shuffle.partitions",
)

# A stream may wait for rows for ever; where pytest is killed for that, processes are left behind.
_MOST_SECONDS = 840


@pytest.fixture(autouse=True)
def an_end(request: pytest.FixtureRequest) -> Iterator[None]:
    """A test that takes for ever fails, and whatever it has begun is ended by its fixtures."""
    most = getattr(request.module, "MOST_SECONDS", _MOST_SECONDS)

    def too_long(_number: int, _frame: FrameType | None) -> None:
        told = f"{request.node.name} takes more than {most} seconds"
        raise TimeoutError(told)

    before = signal.signal(signal.SIGALRM, too_long)
    signal.alarm(most)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """The session; tests set what they need otherwise with `settings`."""
    folder = tmp_path_factory.mktemp("spark")
    if remote := os.environ.get("HAMLET_TEST_REMOTE"):
        # The same tests over Spark Connect: see test_connect.py.
        session = start(remote=remote, settings={"spark.sql.session.timeZone": _ZONE})
        yield session
        session.stop()
        return
    session = start(
        "local[2]",
        settings=QUICK_WORKERS
        | {
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.host": "127.0.0.1",
            "spark.local.dir": str(folder),
            # Costs a job for each stage; tests that are about it turn it on.
            "spark.sql.adaptive.enabled": "false",
            # Few rows are sooner interpreted than code for them is compiled: see `generated_code`.
            "spark.sql.codegen.factoryMode": "NO_CODEGEN",
            "spark.sql.codegen.wholeStage": "false",
            "spark.sql.session.timeZone": _ZONE,
            "spark.sql.shuffle.partitions": "2",
            "spark.sql.warehouse.dir": str(folder / "warehouse"),
            "spark.ui.enabled": "false",
        },
        quiet=True,
    )
    yield session
    session.stop()


@pytest.fixture(autouse=True)
def _settings_stay_as_they_are(request: pytest.FixtureRequest) -> Iterator[None]:
    """A test that leaves another number of tasks behind would make all after it take longer."""
    if "spark" not in request.fixturenames:
        yield
        return
    conf = request.getfixturevalue("spark").conf
    before = {name: conf.get(name) for name in _LASTING}
    yield
    assert {name: conf.get(name) for name in _LASTING} == before


@pytest.fixture
def new_session(spark: SparkSession) -> Iterator[Callable[[], SparkSession]]:
    """Sessions beside that of all tests, which is the active one again afterwards.

    Spark takes a session for the active one from when it has made a DataFrame of Python's rows: the
    commands of later tests would run in one that these do not look at.
    """
    yield spark.newSession
    spark.createDataFrame([(0,)], "x int")


@pytest.fixture
def settings(spark: SparkSession) -> Iterator[Callable[..., None]]:
    """Change settings of the session for one test; dots in their names are written __.

    They are those of spark.sql, and of spark.hamlet where that is said. None is Spark's own value.
    """
    before: dict[str, str | None] = {}

    def change(**changes: Any) -> None:
        for name, value in changes.items():
            full = "spark." if name.startswith("hamlet") else "spark.sql."
            full += name.replace("__", ".")
            before.setdefault(full, spark.conf.get(full, None))
            _set(spark, full, value)

    yield change
    for name, value in before.items():
        _set(spark, name, value)


def _set(spark: SparkSession, name: str, value: Any) -> None:
    if value is None:
        spark.conf.unset(name)
    else:
        spark.conf.set(name, str(value))


@pytest.fixture
def generated_code(settings: Callable[..., None]) -> None:
    """Have Spark compile expressions, as it does for users: for tests of what they mean.

    A server of Connect is told the same expressions, and compiles them as others do.
    """
    if "HAMLET_TEST_REMOTE" in os.environ:
        return
    settings(codegen__factoryMode="FALLBACK", codegen__wholeStage="true")
