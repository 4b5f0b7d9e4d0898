"""A workload over a streaming DataFrame: results of each window once, when the watermark passes it.

The watermark is set before rows are packed, so that Spark drops none: which rows are late the
buckets decide, and count. Spark finds letters and leaves out rows that no query asks for, after
they have moved the watermark. From there on a row travels as a few bytes among others of its
bucket. One stateful operator answers all queries, in as many buckets as there are tasks to share;
where groups are spread over buckets, what these give of a window meets in one more shuffle. Windows
come out in append mode. A second, tiny stream next to the events says when everything is to close.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import functions as F
from pyspark.sql import types as T
from pyspark.sql.pandas.types import from_arrow_schema

from hamlet.errors import PlanError, SchemaError
from hamlet.events.required_columns import needs_of, types_by_key
from hamlet.events.times import FARTHEST_US, SECONDS
from hamlet.plan.durations import show_duration
from hamlet.plan.letters import alphabet_of
from hamlet.share.policy import NOTHING_FIXED
from hamlet.spark.derived import with_derived
from hamlet.spark.events import LACKING, are_given, events_of, lacking
from hamlet.spark.kinds import FLOATING, NUMBERS, TEXT, arrow_type, microseconds
from hamlet.spark.letter_columns import count_where, letters_of
from hamlet.spark.settings import parallelism
from hamlet.spark.stream.bucket import TOLD
from hamlet.spark.stream.course import course_of
from hamlet.spark.stream.frames import marked, started_with
from hamlet.spark.stream.generations import EVER_US
from hamlet.spark.stream.job import BATCH, FINAL, LANES_OF_LONG, ORDER, PACKED, StreamJobs, job_of
from hamlet.spark.stream.settings import PROVIDER, ROCKSDB
from hamlet.spark.stream.state import ANSWERED, EVER, BucketProcessor
from hamlet.spark.versions import check_version
from hamlet.spark.wide import chosen, wide_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from pyspark.sql import Column, DataFrame, SparkSession

    from hamlet.engine import Options
    from hamlet.plan.workload import WorkloadPlan
    from hamlet.spark.derived import Derived
    from hamlet.spark.events import EventFrame
    from hamlet.spark.letter_columns import LetterColumns
    from hamlet.spark.stream.checkpoint import Checkpoint
    from hamlet.spark.stream.generations import Live
    from hamlet.spark.stream.job import StreamJob
    from hamlet.spark.stream.settings import StreamSettings

# The names under which Spark's progress has what was counted: of rows that came in, and of work.
EVENTS, WORK = "hamlet_events", "hamlet_work"
ROWS, USED = "rows", "used"
# Before the name of an attribute: rows that take no part because they have no value for it.
WITHOUT = "without "
# How times are written in JSON.
JSON = {"timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX", "timeZone": "UTC"}
JSON |= {"timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS", "ignoreNullFields": "false"}
_SHUFFLE = "spark.sql.shuffle.partitions"
# What is written with each batch is what has changed.
_CHANGELOG = "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled"
# A bucket that has rows in a batch costs 2 to 4 ms of a core, besides what its rows cost.
_LEAST_BUCKETS, _MOST_BUCKETS = 16, 1024
_TIME, _ORDER, _EVENT_TIME, _ROW = "time", "order", "event_time", "row"
_GIVEN, _LANES, _ATTRIBUTE = "given", "lanes", "attribute"


def answer_stream(
    plan: WorkloadPlan,
    frame: DataFrame,
    options: Options,
    settings: StreamSettings,
    *,
    checkpoint: Checkpoint | None = None,
    flush: bool = False,
    name: str = "events",
    reasons: Sequence[str] = (),
    text: str = "",
    source: Mapping[str, Any] | None = None,
    output: str | None = None,
    wide: str | None = None,
    showing: Callable[[Any], Any] | None = None,
) -> DataFrame:
    """The results of every query, as a stream in append mode.

    They have the watermark of the events, so that they can be aggregated by the ends of windows.
    No setting of the session is changed: see `frames.py`.

    Args:
        plan: The workload.
        frame: The events, a stream.
        options: How to run it.
        settings: How to run it as a stream.
        checkpoint: Where Spark will write its checkpoint; then what the stream is begun with is
            noted there, it can be ended, and can go on with another workload.
        flush: Whether the next batch is the last, and closes all windows.
        name: What to call the events in a message.
        reasons: What was wrong with rows when they were read; see `events_of`.
        text: How the workload is written, to be noted in the checkpoint.
        source: What the rows of the source are, to be noted there.
        output: Where results go, which is to be the same whenever the stream goes on.
        wide: A query whose results are wanted alone, in the wide form.
        showing: What makes rows of results is put into it, so that it can show some of them.

    Raises:
        SchemaError: A column is missing, or is not what the workload uses it for.
        ReadError: The checkpoint is of another stream.
        PlanError: A stream without a checkpoint is to be ended.
    """
    options.check()
    settings.check()
    check_version(frame.sparkSession.version, is_stream=True)
    if flush and checkpoint is None:
        raise PlanError("flush needs a checkpoint", "Say where the checkpoint of the stream is.")
    _check_time(frame, options, name)
    course = course_of(
        plan,
        text,
        options,
        settings,
        checkpoint,
        default_buckets(parallelism(frame.sparkSession)),
    )
    parts = [_part(live, frame, options, settings, name, reasons) for live in course.live]
    jobs = StreamJobs.of(part.job for part in parts)
    parts = [replace(part, job=job) for part, job in zip(parts, jobs.jobs, strict=True)]
    light = jobs.without_templates()
    rows = _rows(parts, settings, frame.columns[:-1] if reasons else frame.columns)
    packed = rows.mapInArrow(light.packed, _spark_schema(PACKED))
    if checkpoint is not None:
        facts = _facts(options, settings, jobs.jobs[-1])
        facts |= {} if output is None else {"output": output}
        course.note(checkpoint, facts, [part.facts() for part in parts], source)
        packed = _with_end(packed, checkpoint, jobs.buckets if flush else ())
    answered = (
        packed.groupBy("bucket")
        .transformWithState(
            BucketProcessor(jobs), ANSWERED, "Append", "EventTime", eventTimeColumnName=EVER
        )
        .drop(EVER)
    )
    if jobs.has_partial:
        # All that is known of a window comes in one batch, so nothing has to be kept here.
        answered = answered.repartition("place")
    unpacked = light.unpacked if showing is None else showing(light.unpacked)
    results = _without_told(answered.mapInArrow(unpacked, _spark_schema(jobs.long_schema)))
    if wide is not None:
        queries = [planned.query for planned in plan.queries]
        beside = [each for each in (FINAL, BATCH) if each in results.columns]
        results = wide_rows(results, chosen(wide, queries), frame, options, beside)
    if jobs.jobs[-1].times != SECONDS:
        results = marked(results, "window_end")
    return started_with(results, _needed(frame.sparkSession, jobs, settings.tasks))


def default_buckets(cores: int) -> int:
    """Some more buckets than there are cores to work on them: there may be more cores later."""
    return min(max(4 * cores, _LEAST_BUCKETS), _MOST_BUCKETS)


def _with_end(packed: DataFrame, checkpoint: Checkpoint, ended: Sequence[int]) -> DataFrame:
    """Rows, and what ends the stream in buckets; in some of them with the next batch."""
    ends = checkpoint.ends()
    if ended:
        checkpoint.end(ended)
    nothing = F.lit(None).cast("binary").alias("data")
    return packed.union(ends.select(F.col("bucket").cast("int"), nothing))


def _check_time(frame: DataFrame, options: Options, name: str) -> None:
    kinds = {field.name: field.dataType for field in frame.schema.fields}
    if isinstance(kinds.get(options.time), TEXT):
        reason = f"column '{options.time}' is text, and in a stream nobody can look at all of it"
        raise SchemaError(name, f"{reason}; cast it to a timestamp or to a number of seconds first")


# What is done


def _shipped_fields(events: EventFrame, keys: frozenset[str]) -> Iterator[pa.Field]:
    """The attributes as they travel; what is always null may be text."""
    for field in events.arrow_schema():
        kind = field.type
        if pa.types.is_null(kind):
            kind = pa.string()
        elif pa.types.is_decimal(kind) and field.name not in keys:
            term = events.term(field.name)
            kind = pa.int64() if term.is_integer and term.is_long else kind
        yield pa.field(field.name, kind)


def _order_type(events: EventFrame) -> pa.DataType | None:
    if events.order is None:
        return None
    return arrow_type(events.frame.select(events.order).schema.fields[0].dataType)


def _facts(options: Options, settings: StreamSettings, job: StreamJob) -> dict[str, Any]:
    """What a stream is begun with for ever, by what to call it."""
    return {
        "lateness": "0 s" if not settings.lateness_us else show_duration(settings.lateness_us),
        "numbers": options.numbers,
        "type column": options.type,
        "time column": options.time,
        "order column": options.order or "none",
        "times in": job.times,
        "pages": settings.pages,
    }


def _needed(spark: SparkSession, jobs: StreamJobs, tasks: int | None) -> dict[str, str]:
    """Settings of a query that are needed, or better, where nobody has chosen them."""
    known = spark.conf.getAll
    needed = {PROVIDER: ROCKSDB}
    if tasks is not None:
        needed[_SHUFFLE] = str(tasks)
    elif _SHUFFLE not in known:
        cores = parallelism(spark)
        needed[_SHUFFLE] = str(max(1, min(len(jobs.buckets), cores)))
    if _CHANGELOG not in known:
        needed[_CHANGELOG] = "true"
    return needed


# Generations


@dataclass(frozen=True, slots=True)
class _Part:
    """A generation as Spark sees it: which columns tell what an event is to it.

    Names of columns begin with the number of the generation.
    """

    live: Live
    letters: LetterColumns
    derived: Derived
    job: StreamJob

    @property
    def tag(self) -> str:
        """What the names of its columns begin with."""
        return self.letters.tag

    @property
    def attributes(self) -> list[str]:
        """The attributes that travel."""
        return [attribute for attribute in self.job.schema.names if attribute != ORDER]

    def facts(self) -> dict[str, Any]:
        """What its state depends on, by what to call it."""
        schema = self.letters.events.schema
        kinds = {name: kind.simpleString() for name, (_, kind) in sorted(schema.items())}
        return {"column": kinds, "state": self.job.settings}

    def named(self) -> dict[str, Column]:
        """The columns that it needs of every row, by name."""
        events, lanes = self.letters.events, self.job.lanes
        named = dict(self.letters.named())
        keys = {key for lane in lanes for key in lane.partition}
        for place, attribute in enumerate(self.attributes):
            column = self.derived.shipped(events, attribute, is_key=attribute in keys)
            named[f"{self.tag}{_ATTRIBUTE}{place}"] = column
        for number, lane in enumerate(lanes):
            given = are_given([events.schema[key] for key in lane.keys])
            named[f"{self.tag}{_GIVEN}{number}"] = given
        return named

    def lanes(self) -> tuple[list[Column], list[Column]]:
        """For each lane which rows it uses, whatever conditions say, and which take part in it."""
        is_used, takes_part = [], []
        for number, lane in enumerate(self.job.lanes):
            alphabet = alphabet_of(self.live.plan.queries[each] for each in lane.queries)
            given = F.col(f"{self.tag}{_GIVEN}{number}")
            is_asked = self.letters.is_good() & self.letters.is_one_of(alphabet.types)
            is_used.append(is_asked & given)
            takes_part.append(self.letters.takes_part(alphabet) & given)
        return is_used, takes_part

    def packed(self, takes_part: list[Column]) -> list[Column | str]:
        """The columns that its job packs."""
        common = [_TIME] if self.letters.events.order is None else [_TIME, _ORDER]
        own = [F.col(name).alias(f"{self.tag}{name}") for name in common]
        attributes = [f"{self.tag}{_ATTRIBUTE}{i}" for i in range(len(self.attributes))]
        lanes = _lane_columns(takes_part, self.tag) if self.job.lane_longs else []
        rows = [F.col(_ROW).alias(f"{self.tag}{_ROW}")] if self.job.keeps else []
        return [*lanes, *self.letters.columns(), *own, *attributes, *rows]


def _part(
    live: Live,
    frame: DataFrame,
    options: Options,
    settings: StreamSettings,
    name: str,
    reasons: Sequence[str],
) -> _Part:
    """A generation over the rows of a stream."""
    generation, plan = live.generation, live.plan
    events = events_of(frame, plan, options, name=name, reasons=reasons)
    letters = letters_of(events, plan, tag=f"{generation.number} ")
    # A row travels once for all queries.
    derived = with_derived(plan, letters, [range(len(plan.queries))])
    if live.span.ends_us < EVER_US:
        # What a static policy has decided is about the queries of the newest.
        options = replace(options, sharing=generation.sharing, fixed=NOTHING_FIXED)
    job = job_of(
        derived.plan,
        pa.schema([*_shipped_fields(events, needs_of(plan).partition), *derived.fields()]),
        options,
        replace(settings, buckets=generation.buckets),
        lettering=letters.lettering,
        order=_order_type(events),
        times=events.times,
        generation=generation.number,
        span=live.span,
    )
    return _Part(live, letters, derived, job)


# Rows


def _rows(parts: Sequence[_Part], settings: StreamSettings, names: Sequence[str]) -> DataFrame:
    """The rows that take part in any generation, with the columns that are packed.

    Rows count as used by their types and keys, whatever conditions say of them, and by the newest
    generation.

    Args:
        parts: The generations.
        settings: How to run the stream.
        names: What the columns of the events are called.
    """
    newest = parts[-1]
    events, letters = newest.letters.events, newest.letters
    named = {_TIME: events.time}
    if events.order is not None:
        named[_ORDER] = events.order
    for part in parts:
        named |= part.named()
    if newest.job.keeps:
        own = zip(events.frame.columns, names, strict=False)
        named[_ROW] = F.to_json(F.struct(*(F.col(c).alias(name) for c, name in own)), JSON)
    asked = types_by_key(newest.live.plan)
    named |= {f"{LACKING}{i}": each for i, each in enumerate(lacking(events, asked))}
    frame = events.frame.select(*(column.alias(n) for n, column in named.items()))
    time_kind = events.time_kind
    if not settings.has_watermark:
        moment = F.when(letters.is_good(), _timestamp(F.col(_TIME), time_kind))
        milliseconds = -(-settings.lateness_us // 1000)
        frame = frame.select("*", moment.alias(_EVENT_TIME))
        frame = frame.withWatermark(_EVENT_TIME, f"{milliseconds} milliseconds")
    by_part = [part.lanes() for part in parts]
    is_used, _ = by_part[-1]
    counts = [F.count(F.lit(1)).alias(ROWS), count_where(reduce(or_, is_used)).alias(USED)]
    for number, (_, reason) in enumerate(events.faults):
        counts.append(count_where(letters.is_fault(number)).alias(reason))
    for number, (attribute, types) in enumerate(asked.items()):
        is_lacking = letters.is_good() & letters.is_one_of(types) & F.col(f"{LACKING}{number}")
        counts.append(count_where(is_lacking).alias(f"{WITHOUT}{attribute}"))
    # Watched rows also keep Spark from filtering first: every row moves the watermark.
    every = [is_in_lane for _, takes_part in by_part for is_in_lane in takes_part]
    frame = frame.observe(EVENTS, *counts).where(reduce(or_, every))
    columns: list[Column | str] = []
    for part, (_, takes_part) in zip(parts, by_part, strict=True):
        columns += part.packed(takes_part)
    return frame.select(*columns)


def _lane_columns(takes_part: list[Column], tag: str) -> list[Column]:
    """Longs whose bits say which lanes a row is in."""
    longs: list[Column] = []
    for begin in range(0, len(takes_part), LANES_OF_LONG):
        bits = [
            F.when(is_in_lane, F.lit(1 << bit).cast("long")).otherwise(F.lit(0).cast("long"))
            for bit, is_in_lane in enumerate(takes_part[begin : begin + LANES_OF_LONG])
        ]
        whole = reduce(lambda one, other: one.bitwiseOR(other), bits)
        longs.append(whole.alias(f"{tag}{_LANES}{len(longs)}"))
    return longs


def _timestamp(column: Column, kind: T.DataType) -> Column:
    """A time as a timestamp, for the watermark; never after the time that it is."""
    if isinstance(kind, T.DecimalType):
        column, kind = column.cast("double"), T.DoubleType()
    if isinstance(kind, FLOATING):
        return F.timestamp_micros(F.floor(column * F.lit(1e3)).cast("long") * F.lit(1000))
    if isinstance(kind, NUMBERS):
        seconds = column.cast("long")
        farthest = FARTHEST_US // 10**6
        return F.timestamp_micros(F.when(seconds.between(-farthest, farthest), seconds) * 10**6)
    return F.timestamp_micros(microseconds(column, kind))


# Results


def _without_told(rows: DataFrame) -> DataFrame:
    """Rows of results; those that tell of the work are counted, and taken out."""
    is_told = F.col("query").isNull()
    numbers = [
        F.coalesce(
            F.sum(F.when(is_told & (F.col("aggregate") == name), F.col("value"))), F.lit(0.0)
        )
        .cast("long")
        .alias(name)
        for name in TOLD
    ]
    results = F.count_if(~is_told).alias("results")
    return rows.observe(WORK, *numbers, results).where(~is_told)


def _spark_schema(schema: pa.Schema) -> T.StructType:
    spark_schema: Any = from_arrow_schema(schema, prefer_timestamp_ntz=True)
    return spark_schema  # type: ignore[no-any-return]
