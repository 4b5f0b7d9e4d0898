"""Where things are written: places are checked before the work, and files appear whole."""
