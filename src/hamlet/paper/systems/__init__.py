"""The systems that the paper compares with: GRETA, SHARON and MCEP, on the plan of this engine.

Each is the published idea, written with the same care, the same numbers and the same compiler as
the engine itself, so that a difference in time is one of the algorithm. They read the same events,
by the same templates, and give the same results: only what lies between is theirs.
"""

SYSTEMS = ("hamlet", "greta", "sharon", "mcep")
