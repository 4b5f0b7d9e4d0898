"""A run as a folder: what was asked, what came out, what was done and decided.

    results.parquet   the long form of the results
    trace.parquet     what was decided about sharing, where the run kept it
    statistics.json   what the run did
    workload.hql      what was asked
    run.json          how: command, options, engine, events, versions, machine
    examples.json     trends behind some rows of the results, where there are any

The folder appears whole or not at all, and is all that a report is made from.
"""

from __future__ import annotations

import json
import shlex
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyarrow import parquet

from hamlet.engine.statistics import RunStatistics
from hamlet.errors import PlanError, QueryError, ReadError, WriteError, listed, reason_of
from hamlet.explain.planned import PlannedWorkload, read_text
from hamlet.io.long_form import COLUMNS
from hamlet.io.targets import check_file, check_folder, is_folder
from hamlet.io.whole import put_whole
from hamlet.io.writers import write_parquet
from hamlet.report.record import circumstances_of
from hamlet.share.cost import FOREVER

if TYPE_CHECKING:
    from hamlet.results import Results

RESULTS, TRACE, STATISTICS = "results.parquet", "trace.parquet", "statistics.json"
WORKLOAD, HOW, EXAMPLES = "workload.hql", "run.json", "examples.json"
FILES = (RESULTS, TRACE, STATISTICS, WORKLOAD, HOW, EXAMPLES)
_VERSION = 1


@dataclass(frozen=True, slots=True)
class Run:
    """Everything that a report is made from.

    Attributes:
        workload: What was asked.
        table: The long form of the results.
        statistics: What the run did.
        trace: What was decided about sharing; None where the run did not keep it.
        bundles: With a trace, the queries that could be one while they behaved alike.
        engine: "local" or "spark".
        events: Where the events came from.
        options: The options of the run, by name.
        command: The command as it can be typed again; empty for a run from Python.
        begun: When it began, ISO 8601.
        circumstances: Machine and versions.
        notes: What may be a mistake, and why queries have no rows.
        examples: Trends behind some rows of the results: see `hamlet.report.examples`.
    """

    workload: PlannedWorkload
    table: Any
    statistics: RunStatistics
    trace: Any = None
    bundles: tuple[dict[str, Any], ...] = ()
    engine: str = "local"
    events: str = ""
    options: dict[str, str | None] = field(default_factory=dict)
    command: str = ""
    begun: str = ""
    circumstances: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    examples: tuple[dict[str, Any], ...] = ()

    @staticmethod
    def of(results: Results, workload: PlannedWorkload | None = None) -> Run:
        """A run that has just been done.

        Args:
            results: What it returned.
            workload: What was asked; for results that do not know it, such as those of Spark.

        Raises:
            PlanError: The results do not know what was asked, and it is not given.
        """
        record = results.record
        asked = workload or (record.workload if record else None)
        if asked is None:
            remedy = "Pass workload=, or take the results of Workload.run, which know it."
            raise PlanError("these results do not know their workload", remedy)
        run = Run(
            asked,
            results.table,
            results.statistics,
            results.trace,
            tuple(
                {
                    "set": one.sharable_set,
                    "type": one.type,
                    "queries": list(one.queries),
                    "windows": one.size.windows,
                    "patience": None if one.patience == FOREVER else one.patience,
                }
                for one in results.bundles
            ),
            circumstances=circumstances_of(record.engine if record else "local"),
            notes=results.notes,
            examples=tuple(results.drawn),
        )
        if record is None:
            return run
        return _with(
            run,
            engine=record.engine,
            events=record.events,
            options=dict(record.options),
            command=shlex.join(record.command),
            begun=record.begun,
        )

    def save(self, folder: str | Path, *, overwrite: bool = False) -> Path:
        """Write the folder.

        Raises:
            WriteError: It is there already, or cannot be written.
        """
        folder = Path(folder)
        check_run_target(folder, overwrite=overwrite)
        with put_whole(folder) as partial:
            self._write(partial)
        return folder

    def _write(self, folder: Path) -> None:
        folder.mkdir()
        write_parquet(self.table, folder / RESULTS)
        if self.trace is not None:
            write_parquet(self.trace, folder / TRACE)
        _write_json(folder / STATISTICS, asdict(self.statistics))
        (folder / WORKLOAD).write_text(self.workload.text, encoding="utf-8")
        how = {
            "version": _VERSION,
            "workload": self.workload.name,
            "engine": self.engine,
            "events": self.events,
            "options": self.options,
            "command": self.command,
            "begun": self.begun,
            "bundles": list(self.bundles),
            "circumstances": self.circumstances,
            "notes": list(self.notes),
        }
        _write_json(folder / HOW, how)
        if self.examples:
            _write_json(folder / EXAMPLES, {"examples": list(self.examples)})

    @staticmethod
    def load(folder: str | Path) -> Run:
        """Read a folder that `save` has written.

        Raises:
            ReadError: It is no such folder, or something in it cannot be read.
        """
        folder = Path(folder)
        if not (folder / HOW).is_file():
            there = "no such folder" if not folder.is_dir() else f"there is no {HOW} in it"
            raise ReadError(str(folder), f"{there}; hamlet run --save writes such a folder")
        how = _read_json(folder / HOW)
        if how.get("version") != _VERSION:
            reason = f"it is of version {how.get('version')}, and this hamlet reads {_VERSION}"
            raise ReadError(str(folder / HOW), reason)
        text = read_text(folder / WORKLOAD)
        try:
            workload = PlannedWorkload.parse(text, name=str(how["workload"]))
            statistics = RunStatistics(**_read_json(folder / STATISTICS))
            run = Run(
                workload,
                _read_table(folder / RESULTS),
                statistics,
                _read_table(folder / TRACE) if (folder / TRACE).exists() else None,
                **{name: how[name] for name in _OF_HOW},
                notes=tuple(how.get("notes", ())),  # runs of earlier versions have none
                examples=_read_examples(folder / EXAMPLES),
            )
        except (KeyError, TypeError) as error:
            reason = f"it is not what hamlet run --save wrote ({error})"
            raise ReadError(str(folder), reason) from error
        except QueryError as error:
            raise ReadError(str(folder / WORKLOAD), "its text is not a workload") from error
        missing = [name for name in COLUMNS if name not in run.table.column_names]
        if missing:
            raise ReadError(str(folder / RESULTS), f"it has no column {listed(missing)}")
        return run


_OF_HOW = ("engine", "events", "options", "command", "begun", "circumstances", "bundles")


def _with(run: Run, **changed: Any) -> Run:
    kept = {field_.name: getattr(run, field_.name) for field_ in fields(run)}
    return Run(**{**kept, **changed})


def check_run_target(folder: Path, *, overwrite: bool) -> None:
    """Refuse a place that a run cannot, or may not, be saved to.

    Only a folder that holds nothing but a run is replaced.

    Raises:
        WriteError: It is there already, or cannot be written.
    """
    if not is_folder(folder):
        raise WriteError(str(folder), "a run is a folder: choose a name without an ending")
    check_folder(
        folder, overwrite=overwrite, holds="a run", is_ours=lambda each: each.name in FILES
    )


def check_page_target(path: Path, *, overwrite: bool) -> None:
    """Refuse a place that a report cannot, or may not, be written to.

    Raises:
        WriteError: It is there already, or cannot be written.
    """
    if path.suffix.lower() not in (".html", ".htm"):
        raise WriteError(str(path), "a report is one file that ends with .html")
    check_file(path, overwrite=overwrite)


def _write_json(path: Path, value: Any) -> None:
    text = json.dumps(value, indent=2, ensure_ascii=False) + "\n"
    path.write_text(text, encoding="utf-8")


def _read_json(path: Path) -> dict[str, Any]:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ReadError(str(path), reason_of(error)) from error
    except ValueError as error:
        raise ReadError(str(path), "it is not JSON") from error
    if not isinstance(document, dict):
        raise ReadError(str(path), "it is not a JSON object")
    return document


def _read_examples(path: Path) -> tuple[dict[str, Any], ...]:
    return tuple(_read_json(path)["examples"]) if path.exists() else ()


def _read_table(path: Path) -> Any:
    try:
        with path.open("rb") as file:
            return parquet.read_table(file)
    except OSError as error:
        raise ReadError(str(path), reason_of(error)) from error
    except pa.ArrowInvalid as error:
        raise ReadError(str(path), "it is not a Parquet file") from error
