"""A run as one HTML page that opens offline, and as a folder that such a page is made from.

`saved.py` has the folder, `record.py` how a run came about. `columns.py` and `decisions.py` make
short columns of results and traces, `findings.py` finds what is worth saying first, and `page.py`
puts everything into one file with `page.html`, `page.css` and `page.js`.
"""

from hamlet.report.page import render_report, write_report
from hamlet.report.saved import Run

__all__ = ["Run", "render_report", "write_report"]
