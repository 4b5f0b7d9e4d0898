"""`python -m hamlet` is the same as `hamlet`."""

from hamlet.cli import main

main()
