"""Real data: positions of San Francisco cabs, and how far passengers are carried.

HAMLET_DATA=folder python examples/cabs.py

The folder has cabs.csv.gz (or cabs.csv): docs/data.md says which columns. Without it this script
says so and ends.
"""

import sys

from hamlet import ReadError, Workload
from hamlet.data import read_real

try:
    events = read_real("cabs")
except ReadError as error:
    print("no real data here:", error)
    sys.exit()
print(f"{events.num_rows:,} positions of {len(events['cab'].unique()):,} cabs")
events = events.slice(0, 100_000)  # all of it takes somewhat longer

# A ride with passengers: a pickup, positions on the way, a dropoff; and one that heads north all
# the way, which compares neighbours.
workload = Workload.parse("""
    rides: RETURN COUNT(*)
           PATTERN SEQ(PICKUP, TRAVEL+, DROPOFF)
           WHERE [cab]
           WITHIN 30 min SLIDE 10 min;

    north: RETURN COUNT(*), MAX(T.latitude) AS northernmost
           PATTERN SEQ(PICKUP, TRAVEL T+, DROPOFF)
           WHERE [cab] AND T.latitude < NEXT(T).latitude
           WITHIN 30 min SLIDE 10 min
""")
print(workload.explain("sets"))

# Counts of trends are large, so doubles with long exponents will do.
results = workload.run(events, numbers="float")
print(results)
