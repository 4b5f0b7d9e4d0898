"""QUERIES FROM PYTHON: the same trees as text makes, put together by functions and operators.

Nothing here checks what a query means: it is printed, and the text is read and checked like any
other, so that a mistake is the same mistake however the query was written. `hamlet.build` has the
names that users import.
"""
