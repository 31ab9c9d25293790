"""What a trace says, in numbers: pure functions of a `LaunchTrace` that need NumPy alone.

launch = load_trace("run.ctrace").launches[0]
lines(launch)                           # what each source line did
touches(launch, "x").loads              # how often each element was loaded
coverage(launch, "y").unwritten         # which were never written
first_touches(launch, "x")              # the record that touched it first
tile_map(launch, "y")                   # which blocks touch which part of it
who(launch, "y", (3, 4))                # the blocks that touched an element
tiles_of(launch, (1, 2))                # what a block loads and stores
summary(launch, gpu="h100")             # bytes, reuse, intensity, idle lanes, a roofline estimate
dataflow(launch)                        # the kernel's operations, laid out to be drawn
"""

from cutile_sim.analysis.blocks import (
    ArrayComparison,
    BlockComparison,
    BlockTile,
    LineComparison,
    compare_blocks,
    tiles_of,
)
from cutile_sim.analysis.element_counts import NEVER, Coverage, Touches, coverage, first_touches, touches
from cutile_sim.analysis.gpus import GPUS, Gpu, Roofline
from cutile_sim.analysis.graph import DataFlow, Edge, Node, dataflow
from cutile_sim.analysis.source_lines import Line, lines
from cutile_sim.analysis.tile_maps import TileMap, tile_map
from cutile_sim.analysis.tma import TmaRule
from cutile_sim.analysis.totals import ArrayTraffic, EdgeWaste, Summary, summary
from cutile_sim.analysis.visitors import Touch, Visitors, who

__all__ = [
    "GPUS",
    "NEVER",
    "ArrayComparison",
    "ArrayTraffic",
    "BlockComparison",
    "BlockTile",
    "Coverage",
    "DataFlow",
    "Edge",
    "EdgeWaste",
    "Gpu",
    "Line",
    "LineComparison",
    "Node",
    "Roofline",
    "Summary",
    "TileMap",
    "TmaRule",
    "Touch",
    "Touches",
    "Visitors",
    "compare_blocks",
    "coverage",
    "dataflow",
    "first_touches",
    "lines",
    "summary",
    "tile_map",
    "tiles_of",
    "touches",
    "who",
]
