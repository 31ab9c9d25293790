"""`python -m cutile_sim script.py ARGS...`: the command `cutile-sim exec`."""

import sys

from cutile_sim.cli.main import cli

if __name__ == "__main__":
    cli(["exec", *sys.argv[1:]], prog_name="python -m cutile_sim")
