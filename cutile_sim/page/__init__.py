"""A page in the browser that shows traces: from a local server, or as one file.

    view("run.ctrace")
    write_html("run.ctrace", "run.html")

docs/page.md says what it shows.
"""

from cutile_sim.page.html import write_html
from cutile_sim.page.server import view

__all__ = ["view", "write_html"]
