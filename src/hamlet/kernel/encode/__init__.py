"""A table of events to the arrays that kernels read."""
