"""Published models and systems, not used by the engine: to compare with, and to look at.

cost.py has the paper's cost of sharing in both published forms, and the costs of whole plans;
choose.py who shares with whom by its pruning principles; graphlets.py a trace of shared execution
as the paper writes it; systems/ the systems that it compares with, on the plan of this engine.
"""
