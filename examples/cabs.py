"""Positions of cabs, and how far passengers are carried.

python examples/cabs.py             # twenty cabs that are made up
python examples/cabs.py FOLDER      # those of San Francisco

The folder has cabs.csv.gz (or cabs.csv): docs/data.md says which columns. Without it the script
makes cabs that wander, some of the time with passengers.
"""

import random
import sys

from hamlet import Workload
from hamlet.data import read_real


def made_up(cabs=20, positions=300):
    """A position a minute of each cab, as rows of the same columns as the real ones."""
    rng = random.Random(1)
    rows = []
    for cab in range(cabs):
        latitude, rides = 37.7, 0
        for minute in range(positions):
            latitude += rng.uniform(-0.002, 0.003)
            ends = rides == 1
            rides = rides - 1 if rides else rng.choice([0, 0, 0, rng.randint(2, 9)])
            kind = "DROPOFF" if ends else "CRUISE" if not rides else "TRAVEL"
            if rides and (not rows or rows[-1]["cab"] != cab or rows[-1]["type"] in ENDED):
                kind = "PICKUP"
            rows.append({"type": kind, "time": 60 * minute, "cab": cab, "latitude": latitude})
    return rows


ENDED = ("CRUISE", "DROPOFF")
if len(sys.argv) > 1:
    events = read_real("cabs", sys.argv[1])
    print(f"{events.num_rows:,} positions of {len(events['cab'].unique()):,} cabs")
    events = events.slice(0, 100_000)  # all of it takes somewhat longer
else:
    events = made_up()
    print(f"{len(events):,} positions that are made up")

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
