"""A new process does not take its temporary arrays from the system time and again."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

PROGRAM = """
import resource
import numpy as np
from cutile_sim.memory.heap import keep_freed_memory

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(20):
        several = [np.ones(1 << 17) for _ in range(8)]
        del several
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

keep_freed_memory()
faults()
print(faults())
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="a matter of GNU's C library")
def test_temporary_arrays_are_taken_from_the_process() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    # Fresh, twenty times eight arrays of 1 MiB take 40,960 pages.
    assert int(done.stdout) < 4000
