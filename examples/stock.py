"""Rising prices: each trade of a trend at a higher price than the one before.

python examples/stock.py

The condition compares neighbours of a trend (an edge predicate), so which trades can follow which
is found in an order of prices and not by looking at all earlier ones. The queries are written in
Python, and made in a loop.
"""

from hamlet import Workload
from hamlet.build import attr, count, max_, next_, plus, query, seq
from hamlet.data import generate_table

# Seeded trades of five companies; the type of an event is the company.
events = generate_table("stock", events=2_000, seed=3, groups=5, burst=20)

# S001 is traded most. Its price rises step by step, after a trade of another company.
rising = (
    query()
    .returns(count(), max_("S001.price").named("top"))
    .where(attr("S001.price") < next_("S001.price"))
    .within("10 s")
)
names = ["S002", "S003", "S004", "S005"]
workload = Workload.of(
    *(rising.named(f"after_{name}").pattern(seq(name, plus("S001"))) for name in names)
)
print(workload.explain("sets"))

# Several trades may have one millisecond; the column seq says which came first.
results = workload.run(events, order="seq")

print("rises of S001 after a trade of another company, in each 10 seconds")
for name in names:
    table = results.wide(f"after_{name}")
    counts = table["COUNT(*)"].to_pylist()
    # Counts grow like 2 to the number of events; they are exact all the same.
    print(f"  {name}: {len(counts)} windows, up to {max(counts, default=0):,.0f} trends")
