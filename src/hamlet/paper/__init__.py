"""Published models and systems, not used by the engine: to compare with, and to look at.

cost.py has the paper's cost of sharing in both published forms; systems/ the systems that it
compares with, on the plan of this engine.
"""
