"""The local server of the page. It answers on the loopback address only, and only to pages that it served."""

from __future__ import annotations

import os
import webbrowser
from collections.abc import Callable
from typing import Any

from cutile_sim.errors import CutileSimError, UsageError
from cutile_sim.page import assets
from cutile_sim.page.answers import answer
from cutile_sim.traces.reader import Trace, load_trace

HOST = "127.0.0.1"
_TYPES = {".js": "text/javascript", ".css": "text/css"}
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


def make_app(trace: Trace, port: int) -> Any:
    """The WSGI application for a trace. Raises UsageError where Flask is not installed."""
    flask = _flask()
    app = flask.Flask("cutile_sim.page", static_folder=None)
    allowed = {f"{host}:{port}" for host in (HOST, "localhost")}

    @app.before_request
    def only_here() -> Any:
        # A page of another site may reach this address by a name of its own; the name tells.
        if flask.request.headers.get("Host") not in allowed:
            return flask.Response(f"This server answers to {HOST}:{port} only.\n", 403, mimetype="text/plain")
        return None

    @app.after_request
    def guarded(response: Any) -> Any:
        response.headers.update(_HEADERS)
        return response

    @app.get("/")
    def page() -> Any:
        return flask.Response(assets.served_page(), mimetype="text/html")

    @app.get("/static/<name>")
    def static(name: str) -> Any:
        if name not in assets.names():
            flask.abort(404)
        return flask.Response(assets.read(name), mimetype=_TYPES[os.path.splitext(name)[1]])

    @app.get("/data/<name>")
    def data(name: str) -> Any:
        try:
            return flask.jsonify(answer(trace, name, flask.request.args))
        except CutileSimError as error:
            return flask.jsonify({"error": error.reason}), 400

    @app.get("/favicon.ico")
    def icon() -> Any:
        return flask.Response(status=204)

    return app


def view(
    trace: Trace | str | os.PathLike[str],
    *,
    port: int = 0,
    open_browser: bool = True,
    ready: Callable[[str], object] | None = None,
) -> None:
    """Serve the page of a trace on 127.0.0.1 until interrupted.

    Args:
        trace: A trace or the path of its file.
        port: Where; 0 for any that is free.
        open_browser: Open the page in the browser.
        ready: Called with the page's address once it can be opened.

    Raises:
        UsageError: Flask is not installed, the port is taken, or the file is no trace.
    """
    server, address = make_server(load_trace(trace) if not isinstance(trace, Trace) else trace, port)
    try:
        if ready is not None:
            ready(address)
        if open_browser:
            webbrowser.open(address)
        server.serve_forever()
    except KeyboardInterrupt:
        pass
    finally:
        server.server_close()


def make_server(trace: Trace, port: int) -> tuple[Any, str]:
    """(a server that listens, the page's address). Raises UsageError where it cannot."""
    _flask()
    from werkzeug.serving import WSGIRequestHandler
    from werkzeug.serving import make_server as make

    class Quiet(WSGIRequestHandler):
        def log(self, type: str, message: str, *args: Any) -> None:
            """Requests are not printed."""

    import socket

    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((HOST, port))
        listening.listen(128)
    except (OSError, OverflowError) as error:
        listening.close()
        reason = getattr(error, "strerror", None) or error
        raise UsageError(f"cannot listen on {HOST}:{port}: {reason}; choose another port") from None
    chosen = listening.getsockname()[1]
    app = make_app(trace, chosen)
    server = make(HOST, chosen, app, threaded=True, request_handler=Quiet, fd=listening.fileno())
    # The server has a socket of its own for the same place.
    listening.close()
    return server, f"http://{HOST}:{chosen}/"


def _flask() -> Any:
    try:
        import flask
    except ModuleNotFoundError:
        raise UsageError(
            "the page's server needs Flask: pip install 'cutile-sim[view]'; or write the page into a file with --html"
        ) from None
    return flask
