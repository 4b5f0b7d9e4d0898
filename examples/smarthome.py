"""Plugs of smart homes: how often a load stays high until it goes off, for each house.

python examples/smarthome.py

Three queries differ only in the least load that counts. Where an event passes all three tests or
none, one snapshot stands for all of them; `analyze` shows how often that was so.
"""

from hamlet import Workload
from hamlet.build import attr, avg, count, equal, plus, query, seq
from hamlet.data import generate_table

# Each plug reports its load now and then; the type is the level: OFF, LOW, MEDIUM or HIGH.
events = generate_table("smarthome", events=3_000, seed=5, groups=20, houses=4, burst=6)

base = (
    query()
    .returns("house", count(), avg("H.value").named("watts"))
    .pattern(seq("MEDIUM", plus("HIGH", alias="H"), "OFF"))
    .where(equal("household", "plug"))
    .group_by("house")
    .within("5 s")
)
workload = Workload.of(
    *(base.named(f"from_{w}_watts").where(attr("MEDIUM.value") >= w) for w in (20, 100, 150))
)
results = workload.run(events)

for name in results.queries:
    print(name)
    for row in results.wide(name).slice(0, 4).to_pylist():
        print(f"  house {row['house']}: {row['COUNT(*)']:,.0f} trends, {row['watts']:.0f} watts")

print()
print(workload.analyze(events))
