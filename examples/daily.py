"""The same workload over yesterday as a batch and over today as a stream, with alerts to a topic.

python examples/daily.py
python examples/daily.py kafka-host:9092

It needs Spark, which comes with pip install 'hamlet-trends[spark]'. Without a server of Kafka the
topic is a folder of JSON lines.
"""

import shutil
import sys
import tempfile
from pathlib import Path

from pyspark.sql import functions as F

from hamlet import Workload
from hamlet.build import avg, count, plus, query, seq
from hamlet.data import generate_table
from hamlet.spark.session import start

SERVER = sys.argv[1] if len(sys.argv) > 1 else None
workload = Workload.of(
    query("waits")
    .returns(count().named("trends"), avg("T.speed").named("speed"))
    .pattern(seq("Request", plus("Travel", alias="T"), "Pickup"))
    .group_by("district")
    .within("1 min")
)
folder = Path(tempfile.mkdtemp())
table = str(folder / "results")


def send(rows):
    """Slow rides are an alert: a message with the district as its key."""
    slow = rows.where("speed < 30")
    messages = slow.select(F.col("district").alias("key"), F.to_json(F.struct("*")).alias("value"))
    if SERVER is None:
        messages.write.mode("append").json(str(folder / "alerts"))
    else:
        options = {"kafka.bootstrap.servers": SERVER, "topic": "alerts"}
        messages.write.format("kafka").options(**options).save()


def keep(rows, number):
    """What a batch of the stream has closed; written again, it takes its own place."""
    rows.persist()
    rows.write.mode("overwrite").parquet(f"{table}/part=today-{number}")
    send(rows)
    rows.unpersist()


try:
    spark = start("local[2]", settings={"spark.sql.shuffle.partitions": "2"}, quiet=True)
    for day, seed in (("yesterday", 1), ("today", 2)):
        events = generate_table("ridesharing", events=1_500, seed=seed, groups=2, rate=400, burst=2)
        spark.createDataFrame(events).write.parquet(str(folder / day))

    # A batch has all events, so every window comes out.
    rows = workload.run(spark.read.parquet(str(folder / "yesterday")), wide=True)
    rows.write.parquet(f"{table}/part=yesterday")

    # A stream gives the rows of a window when no event of it can come any more.
    today = spark.readStream.schema(spark.read.parquet(str(folder / "today")).schema)
    rows = workload.run(today.parquet(str(folder / "today")), wide=True)
    stream = rows.writeStream.foreachBatch(keep).trigger(availableNow=True)
    stream.option("checkpointLocation", str(folder / "checkpoint")).start().awaitTermination()

    # Both have the columns of the events and of the query, of the same types.
    print(f"columns: {', '.join(spark.read.parquet(table).columns)}")
    counted = spark.read.parquet(table).groupBy(F.left("part", F.lit(5)).alias("day")).count()
    for row in counted.orderBy("day").collect():
        print(f"{'today' if row.day == 'today' else 'yesterday'}: {row['count']} rows")
    if SERVER is None and (folder / "alerts").exists():
        print(f"alerts: {spark.read.json(str(folder / 'alerts')).count()}")
finally:
    shutil.rmtree(folder, ignore_errors=True)
