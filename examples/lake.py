"""Events in a table of a lake, results in another: a batch, then a stream that is merged into it.

python examples/lake.py delta     # or iceberg

Spark gets the packages of the format from Maven; there have to be some for this version of Spark.
Streams need Spark 4.1: before, only the batch is run.
"""

import shutil
import sys
import tempfile
from pathlib import Path

import pyspark

from hamlet import Workload
from hamlet.data import generate_table
from hamlet.spark.session import start

FORMAT = [*sys.argv, "delta"][1]
VERSION = ".".join(pyspark.__version__.split(".")[:2])
PACKAGES = {
    ("delta", "4.0"): "io.delta:delta-spark_4.0_2.13:4.4.0",
    ("delta", "4.1"): "io.delta:delta-spark_4.1_2.13:4.4.0",
    ("delta", "4.2"): "io.delta:delta-spark_4.2_2.13:4.4.0",
    ("iceberg", "4.0"): "org.apache.iceberg:iceberg-spark-runtime-4.0_2.13:1.11.0",
    ("iceberg", "4.1"): "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0",
}
ICEBERG = "org.apache.iceberg.spark"
CLASSES = {
    "delta": ("io.delta.sql.DeltaSparkSessionExtension", "delta.catalog.DeltaCatalog"),
    "iceberg": (f"{ICEBERG}.extensions.IcebergSparkSessionExtensions", "SparkSessionCatalog"),
}
if (FORMAT, VERSION) not in PACKAGES:
    sys.exit(f"no packages of {FORMAT} for Spark {VERSION} are known here")

folder = Path(tempfile.mkdtemp())
extensions, catalog = CLASSES[FORMAT]
inside = "org.apache.spark.sql" if FORMAT == "delta" else ICEBERG
settings = {
    "spark.jars.packages": PACKAGES[FORMAT, VERSION],
    "spark.sql.extensions": extensions,
    "spark.sql.catalog.spark_catalog": f"{inside}.{catalog}",
    "spark.sql.catalog.spark_catalog.type": "hadoop",
    "spark.sql.catalog.spark_catalog.warehouse": str(folder / "warehouse"),
    "spark.sql.warehouse.dir": str(folder / "warehouse"),
    "spark.sql.shuffle.partitions": "2",
}
# Names without brackets, since these are columns of tables.
workload = Workload.parse("""
    RETURN COUNT(*) AS trends, AVG(T.speed) AS speed
    PATTERN SEQ(Request, Travel T+, Pickup) GROUPBY district WITHIN 1 min""")
MERGE = """
    MERGE INTO results USING closed
    ON results.window_start = closed.window_start AND results.district = closed.district
    WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"""


def merge(closed, _):
    """Put rows where they belong: a batch of the stream that comes again changes nothing."""
    closed.createOrReplaceTempView("closed")
    closed.sparkSession.sql(MERGE)


try:
    spark = start("local[2]", settings=settings, quiet=True)
    made = generate_table("ridesharing", events=1_500, seed=1, groups=2, rate=400, burst=2)
    rides = spark.createDataFrame(made)
    middle = rides.selectExpr("percentile(unix_micros(time), 0.5)").first()[0]
    rides.where(f"unix_micros(time) < {middle}").write.format(FORMAT).saveAsTable("events")
    workload.run(spark.table("events"), wide=True).write.format(FORMAT).saveAsTable("results")
    print(f"a batch gave {spark.table('results').count()} rows")
    if VERSION != "4.0":
        rides.where(f"unix_micros(time) >= {middle}").writeTo("events").append()
        today = workload.run(spark.readStream.table("events"), wide=True).writeStream
        today = today.foreachBatch(merge).option("checkpointLocation", str(folder / "checkpoint"))
        today.trigger(availableNow=True).start().awaitTermination()
        print(f"merged with a stream {spark.table('results').count()} rows")
finally:
    shutil.rmtree(folder, ignore_errors=True)
