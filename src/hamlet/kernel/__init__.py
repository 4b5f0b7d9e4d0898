"""WORK: what turns events into results; each kernel must return what `reference` returns."""
