"""Measurements of the package itself: what is measured, on what, and how it compares."""
