"""One long window of one partition by several tasks: panes of it as linear maps.

A pane is a stretch of time that no window begins or ends in. Where no edge predicate looks at pairs
of events, all that a window knows at the end of a pane is linear in what it knew at the beginning:
so many trends wait at each state. The map of a pane needs no other pane, and maps are put together
in order.

Read in this order: maps.py (the algebra), derive.py (the map of a template as queries that the
engine answers), cutting.py (how long a pane is), compose.py (from the answers for panes to what a
kernel would have emitted for windows). Nothing here knows of Spark.
"""
