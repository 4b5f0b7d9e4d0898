"""A run as one HTML page that opens offline, and as a folder that such a page is made from.

`saved.py` has the folder, `record.py` how a run came about. `columns.py` and `decisions.py` make
short columns of results and traces, `findings.py` finds what is worth saying first, `shared.py`
what sharing did, and `text.py` says it on a terminal. `page.py` puts everything into one file, with
`sections.py` for what does not change; the rest is `page.html`, `page.css` and four scripts:
`series.js` puts windows together, `chart.js` and `heat.js` draw, `page.js` is what one chooses.

Nothing is imported here: the command line looks at this package whenever it starts.
"""
