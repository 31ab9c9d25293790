"""NVIDIA's own compiler for Tile IR, `tileiras`, where it is installed: what it says of a kernel for one GPU.

It runs on the CPU and comes with `pip install 'cuda-tile[tileiras]'` or with the CUDA toolkit.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from cutile_sim.errors import UsageError
from cutile_sim.tileir.core import Location

TIMEOUT_SECONDS = 300
_PROGRAM = "tileiras"
_LINE = re.compile(
    r"(?:(?P<loc>loc\(.*\): )|(?P<file>.+?):(?P<line>\d+):(?P<column>\d+): )?(?P<severity>error|warning): (?P<text>.*)"
)
_PLACE = re.compile(r'"(?P<file>[^"]+)":(?P<line>\d+):(?P<column>\d+)')
# What it adds after the error proper.
_CHATTER = ("verification failed for deserialized", "input does not correspond to Tile IR bytecode")


@dataclass(frozen=True)
class Complaint:
    """An error or a warning of the compiler."""

    severity: str
    message: str
    location: Location | None = None


def find_tileiras() -> str | None:
    """Path of the program: the one installed beside cuda-tile, else the one on PATH; None if there is none."""
    package = find_spec("nvidia")
    for place in package.submodule_search_locations or () if package else ():
        for program in sorted(Path(place).glob(f"cu*/bin/{_PROGRAM}*"), reverse=True):
            if program.stem == _PROGRAM:
                return str(program)
    return shutil.which(_PROGRAM)


def compile_bytecode(program: str, bytecode: bytes, arch: str) -> list[Complaint]:
    """Compile bytecode for a GPU such as `sm_90`, and throw the result away; empty if the compiler is content.

    Raises UsageError where the program cannot be run or does not know the GPU.
    """
    with tempfile.TemporaryDirectory(prefix="cutile-sim-") as folder:
        source, target = Path(folder, "kernel.tileirbc"), Path(folder, "kernel.cubin")
        source.write_bytes(bytecode)
        command = [program, "--gpu-name", arch, "--output-file", str(target), str(source)]
        try:
            done = subprocess.run(
                command, stdin=subprocess.DEVNULL, capture_output=True, timeout=TIMEOUT_SECONDS, check=False
            )
        except subprocess.TimeoutExpired:
            return [Complaint("warning", f"tileiras had not finished after {TIMEOUT_SECONDS} s and was stopped")]
        except OSError as error:
            raise UsageError(f"cannot run {program}: {error.strerror or error}") from None
    said = done.stderr.decode(errors="replace") + done.stdout.decode(errors="replace")
    if "--gpu-name option" in said:
        raise UsageError(f"tileiras does not know the GPU {arch}; `{program} --help` lists those it knows")
    complaints = list(read_complaints(said))
    if done.returncode and not any(c.severity == "error" for c in complaints):
        last = said.strip().splitlines()[-1:] or [f"it ended with code {done.returncode} and no message"]
        complaints.append(Complaint("error", last[0]))
    return complaints


def read_complaints(said: str) -> Iterator[Complaint]:
    """Errors and warnings in what the compiler printed, with their places where it names them."""
    errors = 0
    for line in said.splitlines():
        found = _LINE.match(line)
        if found is None:
            continue
        severity, text = found["severity"], found["text"]
        if errors and text.startswith(_CHATTER):
            continue
        errors += severity == "error"
        place = _PLACE.search(found["loc"]) if found["loc"] else (found if found["file"] else None)
        location = Location(place["file"], int(place["line"]), int(place["column"])) if place else None
        yield Complaint(severity, text, location)
