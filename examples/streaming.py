"""A stream of files: each window is answered once, when no event of it can come any more.

python examples/streaming.py

It needs Spark, which comes with pip install 'hamlet-trends[spark]'.

Files with rides arrive in a folder, out of order. Spark reads them as a stream; a window comes out
when the latest event seen is 90 s past its end.
"""

import os
import shutil
import tempfile
import time
from pathlib import Path

import pyarrow.parquet as pq

from hamlet import Workload
from hamlet.build import avg, count, plus, query, seq
from hamlet.data import generate_table
from hamlet.spark.session import start

workload = Workload.of(
    query("waits")
    .returns("district", count(), avg("T.speed").named("speed"))
    .pattern(seq("Request", plus("Travel", alias="T"), "Pickup"))
    .group_by("district")
    .within("1 min")
)

folder = Path(tempfile.mkdtemp())
try:
    # Six files of some 40 s, the second before the first: that is late, but not by 90 s.
    # Spark reads them in the order of their times.
    events = generate_table("ridesharing", events=1_500, seed=1, groups=2, rate=400, burst=2)
    incoming, now = folder / "incoming", time.time()
    incoming.mkdir()
    for number, part in enumerate((1, 0, 2, 3, 4, 5)):
        path = incoming / f"{number}.parquet"
        pq.write_table(events.slice(part * 250, 250), path)
        os.utime(path, (now + number, now + number))

    spark = start("local[2]", settings={"spark.sql.shuffle.partitions": "2"}, quiet=True)
    stream = (
        spark.readStream.schema(spark.read.parquet(str(incoming)).schema)
        .option("maxFilesPerTrigger", 1)
        .parquet(str(incoming))
    )
    results = workload.run(stream, lateness="90 s")

    # Any sink of Spark takes it; a table in memory is one to look at.
    running = (
        results.writeStream.format("memory")
        .queryName("waits")
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    running.awaitTermination()

    rows = spark.table("waits").where("aggregate = 'COUNT(*)'").orderBy("window_start", "group")
    print("windows that have closed")
    for row in rows.collect():
        print(f"  {row.window_start:%H:%M} {row.group}: {int(row.exact):,} trends")

    # The same events as one table give the same rows, and those of the last, open window.
    whole = workload.run(events).wide("waits")
    print(f"{rows.count()} of {whole.num_rows} rows; the others are of windows still open")
finally:
    shutil.rmtree(folder)
