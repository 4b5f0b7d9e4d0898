"""The public face of a workload: parse it, look at it, and (with an engine) run it."""

from __future__ import annotations

import json
from contextlib import nullcontext
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from hamlet.errors import PlanError, UnknownName
from hamlet.explain.notebook import Explanation
from hamlet.explain.planned import PlannedWorkload
from hamlet.kernel.compiling import when_compiling

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import timedelta

    from pyspark.sql import DataFrame

    from hamlet.engine import Options, Progress
    from hamlet.engine.pipeline import Pipelines
    from hamlet.plan.number_mode import Numbers
    from hamlet.results import Results
    from hamlet.share.policy import Policy
    from hamlet.spark.stream.settings import Emit


class Workload(PlannedWorkload):
    """Queries over one stream of events, analysed together.

    >>> workload = Workload.parse('''
    ...     q1: RETURN COUNT(*) PATTERN SEQ(A, B+) WITHIN 10 min SLIDE 5 min;
    ...     q2: RETURN COUNT(*) PATTERN SEQ(C, B+) WITHIN 15 min SLIDE 5 min
    ... ''')
    >>> workload
    <Workload: 2 queries, 2 of them repeat B+ in 1 set>
    >>> print(workload.explain("merged"))
    workload: 2 queries, 2 of them repeat B+ in 1 set
    <BLANKLINE>
    merged
      s1 := each type once, each edge with its queries
            START  -> A    q1
            START  -> C    q2
            A      -> B    q1
            B      -> B    q1, q2  shared
            B      -> END  q1, q2
            C      -> B    q2
    <BLANKLINE>
    """

    @cached_property
    def _kept(self) -> Pipelines:
        """What runs of this workload have worked out that does not depend on the events."""
        from hamlet.engine.pipeline import Pipelines

        return Pipelines(self.plan)

    @overload
    def run(
        self,
        events: DataFrame,
        *,
        type: str = ...,
        time: str = ...,
        order: str | None = ...,
        numbers: Numbers = ...,
        sharing: Policy = ...,
        sample: Any = ...,
        rates: Mapping[str, float] | None = ...,
        wide: bool | str = ...,
        lateness: str | float | timedelta | None = ...,
        checkpoint: str | Path | None = ...,
        flush: bool = ...,
        emit: Emit | None = ...,
        late: str | Path | None = ...,
    ) -> DataFrame: ...

    @overload
    def run(
        self,
        events: Any,
        *,
        type: str = ...,
        time: str = ...,
        order: str | None = ...,
        separator: str | None = ...,
        numbers: Numbers = ...,
        sharing: Policy = ...,
        sample: Any = ...,
        rates: Mapping[str, float] | None = ...,
        trace: bool | str | Path = ...,
        system: str = ...,
        progress: Progress | None = ...,
    ) -> Results: ...

    def run(
        self,
        events: Any,
        *,
        type: str = "type",
        time: str = "time",
        order: str | None = None,
        separator: str | None = None,
        numbers: Numbers = "exact",
        sharing: Policy = "dynamic",
        sample: Any = None,
        rates: Mapping[str, float] | None = None,
        trace: bool | str | Path = False,
        system: str = "hamlet",
        progress: Progress | None = None,
        wide: bool | str = False,
        lateness: str | float | timedelta | None = None,
        checkpoint: str | Path | None = None,
        flush: bool = False,
        emit: Emit | None = None,
        late: str | Path | None = None,
    ) -> Results | DataFrame:
        """Answer every query over a table of events.

        A DataFrame of Spark gives a DataFrame of results, which are computed when they are asked
        for; `hamlet.spark.batch.answer` gives what the run did as well. One that is a stream gives
        a stream, in append mode: see docs/streaming.md.

        >>> events = [{"time": t, "type": k} for t, k in enumerate("AACBBBB")]
        >>> workload = Workload.parse("RETURN COUNT(*) PATTERN SEQ(A, B+) WITHIN 10 s")
        >>> workload.run(events).table["exact"].to_pylist()
        ['30']

        Args:
            events: An Arrow, pandas, Polars or Spark table, a relation of DuckDB, a list of dicts,
                or the path of a file, a folder or a glob: CSV, TSV, JSON lines or Parquet, also
                compressed with gzip.
            type: The column that holds the types.
            time: The column that holds the times: timestamps, dates, or numbers of seconds.
            order: The column that orders events of equal time; without one they are simultaneous.
            separator: What stands between the columns of text files, such as ";", where it is not
                what their ending says: a comma in .csv, a tab in .tsv.
            numbers: "exact" for integers of any length, "float" for doubles of any magnitude.
            sharing: "dynamic" decides burst by burst which queries share their work, "always" and
                "never" do not ask, "static" decides for each loop once, before the run, and "apart"
                runs each query by itself. Results are the same.
            sample: With sharing "static": events from before the run, as `events`, from which it
                decides. Without them, and without rates, all is shared that can be.
            rates: With sharing "static", instead of a sample: how many events of each type come in
                a second, to one group.
            trace: Whether to keep what was decided, as `.trace` of the results; or a .csv, .jsonl
                or .parquet file to write it to as well.
            system: "hamlet", or one that it is compared with, for experiments: "greta", "sharon"
                or "mcep". Results are the same, where it has any.
            progress: Called with what is being done and which part of the whole has been done
                before, from 0 to 1.
            wide: On Spark, the name of a query: its rows alone, with a column for each grouping
                attribute and each result, of their own types. True where there is one query.
            lateness: Of a stream, how long rows are waited for: "10 s", seconds or a timedelta.
            checkpoint: Of a stream, the folder that is its checkpointLocation. What it is begun
                with is noted there: another workload, or policy, is a change that is taken over,
                and other events or options are refused.
            flush: Of a stream that has read what there is, whether its next batch is the last and
                closes every window.
            emit: Of a stream, "final" for results of windows that are over, each once, or "update"
                for those of open windows as well, whenever they have changed: then rows say whether
                they are `final`, and with which `batch` they came.
            late: Of a stream, a folder for rows that come too late, as JSON lines.

        Raises:
            ReadError: A file cannot be read, or a checkpoint is of another stream.
            SchemaError: A column is missing, or is not what the workload uses it for.
            WriteError: The trace cannot be written.
            PlanError: An option is not for these events.
            SystemCannot: The system has no way to answer a query.
            SystemLimit: It would take too much memory or time.
        """
        from hamlet.engine import options_for, run_workload
        from hamlet.engine.examples import Origin
        from hamlet.io.writers import check_trace_target
        from hamlet.report.record import record_of
        from hamlet.results import Results
        from hamlet.share.coefficients import load_coefficients

        stream_options = {
            "lateness": lateness,
            "checkpoint": checkpoint,
            "flush": flush or None,
            "emit": emit,
            "late": late,
        }
        path = None if isinstance(trace, bool) else Path(trace)
        if path is not None:
            check_trace_target(path, overwrite=False)
        keep = trace is not False
        options = options_for(
            self.plan,
            sample=sample,
            rates=rates,
            type=type,
            time=time,
            order=order,
            numbers=numbers,
            sharing=sharing,
            coefficients=load_coefficients(),
            trace=keep,
            system=system,
            separator=separator,
            interprets=True,
        )
        if _is_of_spark(events):
            if keep:
                raise PlanError("on Spark no trace is kept", "Run without it.")
            return self._on_spark(events, options, wide, stream_options)
        _refuse_stream_options(stream_options)
        if wide is not False:
            raise PlanError("wide is for Spark", "Results of a local run have a method wide.")
        record = record_of(self, "local", events, options)
        # Who follows the progress is told of compilation by it: see console.py.
        with when_compiling() if progress is None else nullcontext():
            run = run_workload(self.plan, events, options, progress, self._kept)
            results = Results.of_run(run)
        results.record = record
        results.origin = Origin.of(self.plan, events, options)
        if path is not None:
            results.write_trace(path)
        return results

    def _on_spark(
        self,
        events: DataFrame,
        options: Options,
        wide: bool | str,
        stream_options: dict[str, Any],
    ) -> DataFrame:
        """The answer of Spark: a DataFrame, which is a stream where events are one."""
        from hamlet.spark.batch import answer
        from hamlet.spark.wide import chosen

        if options.separator is not None:
            raise PlanError("a DataFrame has no separator", "Leave it out.")
        if options.system != "hamlet":
            reason = f"{options.system} does not run on Spark"
            raise PlanError(reason, "Systems are compared by local runs.")
        asked = None if wide is False else chosen(wide, self.queries).name
        if events.isStreaming:
            return self._streamed(events, options, wide=asked, **stream_options)
        _refuse_stream_options(stream_options)
        answers = answer(self.plan, events, options)
        return answers.table if asked is None else answers.wide(asked)

    def _streamed(
        self,
        events: DataFrame,
        options: Options,
        *,
        lateness: str | float | timedelta | None,
        checkpoint: str | Path | None,
        flush: bool | None,
        emit: Emit | None,
        late: str | Path | None,
        wide: str | None,
    ) -> DataFrame:
        from hamlet.spark.stream.answers import answer_stream
        from hamlet.spark.stream.checkpoint import Checkpoint
        from hamlet.spark.stream.settings import StreamSettings, duration_us
        from hamlet.spark.stream.watermark import lateness_of

        asked = None if lateness is None else duration_us(lateness)
        known = lateness_of(events, options.time, asked)
        settings = StreamSettings(
            lateness_us=(asked or 0) if known is None else known,
            emit=emit or "final",
            late_rows=None if late is None else str(late),
            has_watermark=known is not None,
        )
        folder = None if checkpoint is None else Checkpoint(events.sparkSession, str(checkpoint))
        if flush and folder is not None:
            folder.check_was_read()
        return answer_stream(
            self.plan,
            events,
            options,
            settings,
            checkpoint=folder,
            flush=bool(flush),
            text=self.text,
            wide=wide,
        )

    def analyze(
        self, events: Any, *, format: str = "text", sharing: Policy = "dynamic", **options: Any
    ) -> str:
        """Run the workload, and show what was decided about sharing and why.

        Args:
            events: What `run` takes, but for a DataFrame of Spark.
            format: "text" or "json".
            sharing: The policy to look at.
            **options: Any other option of `run`.

        Raises:
            PlanError: There is no such format.
        """
        from hamlet.explain.analysis import analysis, analysis_text

        if format not in ("text", "json"):
            raise UnknownName("format", format, "What a run decided is shown as text or json.")
        results = self.run(events, sharing=sharing, **{"trace": True, **options})
        decided = analysis(self.plan, self.name, sharing, results)
        if format == "text":
            return Explanation(analysis_text(decided))
        return Explanation(json.dumps(decided, indent=2, ensure_ascii=False) + "\n")

    def graphlets(
        self, events: Any, *, format: str = "text", sharing: Policy = "dynamic", **options: Any
    ) -> str:
        """Show how a small stream is executed: graphlets, snapshots, and counts of each event.

        Args:
            events: What `run` takes, but for a DataFrame of Spark; a few of them.
            format: "text" or "json".
            sharing: The policy to look at.
            **options: Options of the columns, as in `run`.

        Raises:
            PlanError: There are too many events, or there is no such format.
        """
        from hamlet.engine import options_for
        from hamlet.engine.graphlets import executed
        from hamlet.explain.graphlets import graphlets_text

        if format not in ("text", "json"):
            raise UnknownName("format", format, "Graphlets are shown as text or json.")
        how = options_for(self.plan, sharing=sharing, **options)
        with when_compiling():
            execution = executed(self.plan, self.name, events, how)
        if format == "text":
            return Explanation(graphlets_text(execution))
        return Explanation(json.dumps(execution.as_data(), indent=2, ensure_ascii=False) + "\n")


def _is_of_spark(events: Any) -> bool:
    """Whether events are a DataFrame of Spark, found out without importing it."""
    return str(type(events).__module__).split(".")[0] == "pyspark"


def _refuse_stream_options(given: Mapping[str, Any]) -> None:
    for name, value in given.items():
        if value is not None:
            remedy = f"Leave {name} out: these events are not a stream."
            reason = f"{name} is for streams"
            raise PlanError(reason, remedy)
