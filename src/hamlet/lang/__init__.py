"""TEXT -> TREE: grammar, syntax tree, parser, printer, and binding of names to a query."""
