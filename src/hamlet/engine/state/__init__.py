"""What a session keeps between tables: rows that wait, partitions by their keys, and pages."""
