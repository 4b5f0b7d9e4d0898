"""A run as one HTML page that opens offline, and as a folder that such a page is made from.

`saved.py` has the folder, `record.py` how a run came about. `columns.py` and `decisions.py` make
short columns of results and traces, `findings.py` finds what is worth saying first, and `text.py`
says it on a terminal. `page.py` puts everything into one file, with `sections.py` for what does not
change and `page.html`, `page.css`, `chart.js` and `page.js` for the rest.

Nothing is imported here: the command line looks at this package whenever it starts.
"""
