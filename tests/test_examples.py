"""The examples run as they stand and print what they promise.

Would catch an example that fails, that prints nothing worth reading, or that needs more than the
package, and a data set that is missing without a word.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
SCRIPTS = sorted(path.name for path in EXAMPLES.glob("*.py"))

# What each prints, as far as it is what the example is about.
PRINTED = {
    "ridesharing.py": [
        r"Travel\+ repeated by no_pickup, pool_dropoff, slow_cancel",
        r"224 events gave 88 rows",
        r"08:20-08:50  old town   45 trends, 22\.3 km/h on average",
    ],
    "stock.py": [
        r"S001\+ repeated by after_S002, after_S003, after_S004, after_S005",
        r"S002: 3 windows, up to 2,328,576,501 trends",
    ],
    "cabs.py": [
        r"6,000 positions that are made up",
        r"TRAVEL\+ repeated by rides, north",
        r"north .* northernmost +37\.71",
    ],
    "smarthome.py": [
        r"house 2: 3,570 trends, 2433 watts",
        r"from_20_watts, from_100_watts, from_150_watts +1 windows? at once",
    ],
}
# Covered by tests of their own: it writes a file, or needs Spark.
ELSEWHERE = {"make_rides.py", "streaming.py", "daily.py", "lake.py"}


def run(name: str, folder: Path, *arguments: str, **variables: str) -> str:
    """What a script prints, run in a folder where there is nothing."""
    known = {**os.environ, "PYTHONUTF8": "1", "PYTHONWARNINGS": "error", **variables}
    left = subprocess.run(
        [sys.executable, str(EXAMPLES / name), *arguments],
        cwd=folder,
        env={key: value for key, value in known.items() if value},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert left.returncode == 0, left.stderr
    return left.stdout


def test_every_example_is_tested():
    assert {*PRINTED, *ELSEWHERE} == set(SCRIPTS)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(PRINTED))
def test_an_example_prints_what_it_is_about(name, tmp_path):
    printed = run(name, tmp_path)

    for line in PRINTED[name]:
        assert re.search(line, printed), printed


@pytest.mark.parametrize("name", SCRIPTS)
def test_an_example_is_short_and_says_how_to_run_it(name):
    text = (EXAMPLES / name).read_text(encoding="utf-8")

    assert len(text.splitlines()) <= 80
    assert f"python examples/{name}" in text


@pytest.mark.slow
def test_real_data_that_is_there_is_used(tmp_path):
    rows = ["cab,latitude,longitude,occupancy,time,event"]
    for second, (event, latitude) in enumerate(
        [("PICKUP", 37.1), ("TRAVEL", 37.2), ("TRAVEL", 37.3), ("DROPOFF", 37.4)]
    ):
        rows.append(f"abboip,{latitude},-122.4,1,{60 * second},{event}")
    (tmp_path / "cabs.csv").write_text("\n".join(rows), encoding="utf-8")

    printed = run("cabs.py", tmp_path, ".")

    assert "4 positions of 1 cabs" in printed
    # Two positions on the way: either alone, or both.
    assert re.search(r"rides +\[1970-01-01 00:00:00, 00:30:00\) +{} +COUNT\(\*\) +3\n", printed)
    assert re.search(r"north .* northernmost +37\.3\n", printed)


def test_the_rides_are_those_that_the_script_makes(tmp_path):
    script = (EXAMPLES / "make_rides.py").read_text(encoding="utf-8")
    (tmp_path / "make_rides.py").write_text(script, encoding="utf-8")

    subprocess.run([sys.executable, "make_rides.py"], cwd=tmp_path, check=True)

    made = (tmp_path / "rides.csv").read_bytes()
    assert made == (EXAMPLES / "rides.csv").read_bytes()
