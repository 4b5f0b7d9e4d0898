"""Sources of events to one table: files, text to typed columns, times."""
