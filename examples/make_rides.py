"""Write examples/rides.csv: an hour of rides in a city, the same on every run.

python examples/make_rides.py
"""

import csv
import random
from datetime import datetime, timedelta
from pathlib import Path

rng = random.Random(7)
start = datetime(2026, 3, 2, 8, 0)
rows = []
for ride in range(40):
    who = {"district": rng.choice(["harbour", "old town"]), "driver": ride % 9, "rider": ride}
    at = start + timedelta(seconds=rng.randrange(2700))
    ends = rng.choice([["Pickup", "Dropoff"], ["Pickup", "Dropoff"], ["Dropoff"], ["Cancel"], []])
    kind = rng.choice(["Pool", "Pool", "Solo"])
    for name in ["Request", "Accept", *["Travel"] * rng.randrange(1, 5), *ends]:
        row = {"time": at.isoformat(), "type": name, **who}
        if name == "Request":
            row["kind"] = kind
        if name == "Travel":
            row |= {"speed": rng.randrange(3, 40), "duration": rng.randrange(60, 240)}
        rows.append(row)
        at += timedelta(seconds=rng.randrange(20, 240))
rows.sort(key=lambda row: row["time"])
with Path(__file__).with_name("rides.csv").open("w", newline="", encoding="utf-8") as file:
    columns = ["time", "type", "district", "driver", "rider", "kind", "speed", "duration"]
    writer = csv.DictWriter(file, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
