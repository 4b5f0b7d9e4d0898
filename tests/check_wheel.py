"""Build the wheel, install it into an empty folder, and use it there, without the sources.

python tests/check_wheel.py

Would catch a file that is missing from the wheel (the grammar, data, pages), an import of something
that only the checkout has, and a command that does not start. What Hamlet depends on is taken from
the environment that runs this; hatchling too, where it is there, and from the package index else.
"""

import os
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
QUERY = "RETURN COUNT(*) PATTERN SEQ(A, B+) WITHIN 10 s"
ANSWER = """
import hamlet, pathlib, sys
assert pathlib.Path(hamlet.__file__).is_relative_to(sys.argv[1]), hamlet.__file__
from hamlet.data import generate_table
assert generate_table("stock", events=10, seed=1).num_rows == 10
events = [{"time": t, "type": kind} for t, kind in enumerate("AABB")]
workload = hamlet.Workload.of(
    hamlet.query("q").returns(hamlet.build.count())
    .pattern(hamlet.build.seq("A", hamlet.build.plus("B"))).within("10 s")
)
assert workload.explain("merged", format="svg").startswith("<svg")
from hamlet.kernel import reference
assert reference.__file__.startswith(sys.argv[1])
# Where Spark finds our data source
assert (pathlib.Path(sys.argv[1]) / "pyspark_hamlet" / "__init__.py").exists()
print("planned", len(workload.queries), "query")
"""


def run(*command: str, cwd: Path, path: Path | None = None, stdin: str | None = None) -> str:
    """What a command prints; its own words and exit status where it fails."""
    kept = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    env = kept if path is None else {**kept, "PYTHONPATH": str(path), "PYTHONWARNINGS": "error"}
    left = subprocess.run(
        command, cwd=cwd, env=env, input=stdin, capture_output=True, text=True, check=False
    )
    if left.returncode:
        sys.exit(f"{' '.join(command[:4])} failed:\n{left.stdout}{left.stderr}")
    return left.stdout


def main() -> None:
    """Build, install, use; the first thing that fails ends it with status 1."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet")
        here = ("--no-build-isolation", "--no-index") if find_spec("hatchling") else ()
        run(*pip, "wheel", "--no-deps", *here, "--wheel-dir", name, str(ROOT), cwd=folder)
        (wheel,) = folder.glob("*.whl")
        site = folder / "site"
        alone = ("--no-deps", "--no-index", "--target", str(site))
        run(*pip, "install", *alone, str(wheel), cwd=folder)

        command = (sys.executable, "-m", "hamlet")
        said = run(*command, "check", "-", cwd=folder, path=site, stdin=QUERY)
        assert said.startswith("ok  <stdin>: 1 query"), said
        assert (site / "bin" / "hamlet").exists(), "the command is not installed"
        planned = run(sys.executable, "-c", ANSWER, str(site), cwd=folder, path=site)
        print(f"{wheel.name}: {wheel.stat().st_size:,} bytes; {said.strip()}; {planned.strip()}")


if __name__ == "__main__":
    main()
