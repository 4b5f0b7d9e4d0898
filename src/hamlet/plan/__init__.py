"""MEANING: what is asked and how it will be computed; immutable values without source positions."""
