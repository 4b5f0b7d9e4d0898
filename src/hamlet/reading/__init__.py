"""Files and rows of events to Arrow tables: every good row, and a count of the bad ones."""
