"""CHOICE: which queries share which burst; results never depend on it, only how fast they come."""
