"""Three questions about rides in a city, asked together: one plan, one pass over the events.

python examples/ridesharing.py

The questions are text in ridesharing.hql, the events are in rides.csv beside it.
"""

from pathlib import Path

from hamlet import Workload

here = Path(__file__).parent

# Mistakes in the file would all be reported here, before any event is read.
workload = Workload.load(here / "ridesharing.hql")
print(workload.explain("sets"))

# A file, a table of Arrow, pandas or Polars, or a list of dicts: anything with a type and a time.
results = workload.run(here / "rides.csv")
print(results.statistics.events_in, "events gave", len(results), "rows\n")

# The wide form is a table for each query: a row for each window and district.
busiest = results.wide("no_pickup").sort_by([("COUNT(*)", "descending")]).slice(0, 3)
print("drivers on their way without a pickup, the three busiest windows")
for row in busiest.to_pylist():
    window = f"{row['window_start']:%H:%M}-{row['window_end']:%H:%M}"
    print(f"  {window}  {row['district']:9}  {row['COUNT(*)']:.0f} trends,", end=" ")
    print(f"{row['mean_speed']:.1f} km/h on average")
