"""`cutile-sim view`: a page that shows a trace."""

from __future__ import annotations

import os

import click

from cutile_sim.cli.output import json_option, print_json
from cutile_sim.page import view, write_html
from cutile_sim.traces import load_trace


@click.command("view")
@click.argument("path", metavar="RUN.ctrace")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Where to serve it; 0 takes a free port.")
@click.option("--no-browser", is_flag=True, help="Print the address only.")
@click.option("--html", "html", metavar="OUT.html", help="Write the page as one file, and serve nothing.")
@json_option
def view_(path: str, port: int, no_browser: bool, html: str | None, as_json: bool) -> None:
    """Show a trace as a page in the browser.

    Served on 127.0.0.1 until interrupted, or written as one file. Serving needs pip install 'cutile-sim[view]'.

    \b
    Example:
      cutile-sim trace examples/matmul.py -o run.ctrace --contents
      cutile-sim view run.ctrace
    """
    with load_trace(path) as trace:
        if html is not None:
            write_html(trace, html)
            written = os.path.getsize(html)
            if as_json:
                print_json({"html": html, "bytes": written})
            else:
                click.echo(f"{html}: {written:,} bytes")
            return

        def ready(address: str) -> None:
            if as_json:
                print_json({"address": address})
            else:
                click.echo(f"{address}  (Ctrl+C ends it)")

        view(trace, port=port, open_browser=not no_browser, ready=ready)
