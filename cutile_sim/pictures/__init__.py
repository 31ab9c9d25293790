"""Pictures of traces without a browser: figures of matplotlib, and the HTML that Jupyter shows.

plot(load_trace("run.ctrace").launches[0], "c").savefig("c.png")
"""

from cutile_sim.pictures.figure import WHATS, expect_picture, plot, save

__all__ = ["WHATS", "expect_picture", "plot", "save"]
