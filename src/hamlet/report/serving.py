"""A page about a stream while it runs, served by the standard library.

`/` is the page, `/figures.json` and `/results.json?query=NAME` what it shows, and `/metrics` the
same for Prometheus. It is there for whoever is on this machine, unless another address is named. It
only tells: nothing can be changed by it. What the page may load is itself and these figures.
"""

from __future__ import annotations

import json
import re
import threading
from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from string import Template
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

from hamlet.errors import PlanError
from hamlet.report.page import resource, script_hash

if TYPE_CHECKING:
    from hamlet.report.live import LiveFigures

HERE = "127.0.0.1"
_NAMES_OF_HERE = ("localhost", "127.0.0.1", "[::1]")
_SCRIPTS = ("chart.js", "series.js", "live.js")
_JSON, _HTML = "application/json; charset=utf-8", "text/html; charset=utf-8"
_METRICS = "text/plain; version=0.0.4; charset=utf-8"


def address_of(written: str) -> tuple[str, int]:
    """Where a page is to be: PORT on this machine alone, or HOST:PORT.

    >>> address_of("8080"), address_of("0.0.0.0:9000")
    (('127.0.0.1', 8080), ('0.0.0.0', 9000))

    Raises:
        PlanError: It is neither.
    """
    parts = re.fullmatch(r"(?:(.+):)?(\d{1,5})", written.strip())
    if parts is None or int(parts[2]) > 65535:
        reason = f"the page is {written!r}"
        raise PlanError(reason, "Write a port, as in 8080, or HOST:PORT.")
    return parts[1] or HERE, int(parts[2])


def page_of(name: str) -> tuple[str, str]:
    """The page as HTML, and what it may do."""
    script = "".join(map(resource, _SCRIPTS))
    policy = (
        "default-src 'none'; img-src data:; connect-src 'self'; style-src 'unsafe-inline'; "
        f"script-src '{script_hash(script)}'; base-uri 'none'; form-action 'none'"
    )
    text = Template(resource("live.html")).substitute(
        title=escape(f"{name}: a stream"),
        name=escape(name),
        style=resource("page.css") + resource("live.css"),
        script=script,
    )
    return text, policy


class LivePage:
    """A page that is served while a stream runs.

    Attributes:
        url: Where it is.
    """

    def __init__(self, figures: LiveFigures, address: str) -> None:
        """Begin to serve it.

        Raises:
            PlanError: The address is none, or taken.
        """
        host, port = address_of(address)
        text, policy = page_of(figures.name)

        class Handler(_Handler):
            told, html, allowed = figures, text, policy
            is_for_here = host in _NAMES_OF_HERE

        try:
            self._server = ThreadingHTTPServer((host, port), Handler)
        except OSError as error:
            reason = f"the page cannot be at {host}:{port} ({error.strerror or error})"
            raise PlanError(reason, "Choose another port.") from error
        self._server.daemon_threads = True
        self.url = f"http://{host}:{self._server.server_port}/"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Serve it no longer."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Handler(BaseHTTPRequestHandler):
    """Answers one request."""

    told: LiveFigures
    html: str
    allowed: str
    is_for_here: bool
    server_version, sys_version = "hamlet", ""
    # Who is slow to ask, or to read, does not hold a thread for ever.
    timeout = 30

    def do_GET(self) -> None:
        """Tell what is asked for."""
        # A page of somewhere else, which has this address for its own name, is told nothing.
        name = re.sub(r":\d+$", "", self.headers.get("Host", ""))
        if self.is_for_here and name not in _NAMES_OF_HERE:
            self._tell(403, "text/plain", "this page is for this machine\n")
            return
        asked = urlsplit(self.path)
        if asked.path == "/":
            self._tell(200, _HTML, self.html)
        elif asked.path == "/figures.json":
            self._tell(200, _JSON, _json(self.told.figures()))
        elif asked.path == "/results.json":
            query = parse_qs(asked.query).get("query", [""])[0]
            self._tell(200, _JSON, _json(self.told.results_of(query)))
        elif asked.path == "/metrics":
            self._tell(200, _METRICS, self.told.metrics())
        else:
            known = "/, /figures.json, /results.json?query=NAME and /metrics"
            self._tell(404, "text/plain", f"there are {known}\n")

    def _tell(self, status: int, kind: str, text: str) -> None:
        written = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(written)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("Content-Security-Policy", self.allowed)
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Referrer-Policy", "no-referrer")
        self.end_headers()
        self.wfile.write(written)

    def log_message(self, format: str, *args: Any) -> None:
        """Requests are not worth a line each."""


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
