"""CHOICE: what queries share, and when; results never depend on it, only how fast they come."""
