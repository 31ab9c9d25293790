"""The pytest plugin: `pytest --cutile-sim` runs GPU tests without a GPU. Without the option it imports nothing."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, nullcontext
from typing import Any

import pytest

_ACTIVE = pytest.StashKey[str]()
_SESSION = pytest.StashKey[Any]()
NAME_LENGTH = 200
"""Of a trace's file name, in characters; file systems allow 255 bytes."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options and their ini twins."""
    group = parser.getgroup("cutile-sim", "cuTile kernels without a GPU")
    group.addoption(
        "--cutile-sim",
        action="store_true",
        default=False,
        help="Simulate launches of cuTile kernels on the CPU, and let torch do without a GPU.",
    )
    group.addoption("--cutile-sim-arch", metavar="GPU", default=None, help="The GPU to stand in for. Default: sm_90.")
    group.addoption(
        "--cutile-sim-force", action="store_true", default=False, help="Simulate also where a real GPU is present."
    )
    group.addoption(
        "--cutile-sim-sanitize",
        action="store_true",
        default=False,
        help="Sanitize simulated launches: a test fails on errors found in them, and warnings are shown.",
    )
    group.addoption(
        "--cutile-sim-trace",
        metavar="DIR",
        default=None,
        help="Record simulated launches: one trace a test, in this directory (cutile-sim view shows them).",
    )
    parser.addini("cutile_sim", "As the option --cutile-sim.", type="bool", default=False)
    parser.addini("cutile_sim_arch", "As the option --cutile-sim-arch.", default="")


# Before the conftest files: code at their top, and that of test modules, already asks for a GPU.
@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Put the stand-ins in place, for this process and those that it starts."""
    options = early_config.known_args_namespace
    if not (options.cutile_sim or options.cutile_sim_force or early_config.getini("cutile_sim")):
        return
    from cutile_sim.errors import UsageError
    from cutile_sim.standin import activation

    arch = options.cutile_sim_arch or early_config.getini("cutile_sim_arch") or None
    try:
        activation.install(arch, force=options.cutile_sim_force)
    except UsageError as error:
        raise pytest.UsageError(str(error)) from None
    early_config.add_cleanup(activation.uninstall)
    early_config.add_cleanup(activation.pass_on(force=options.cutile_sim_force))
    early_config.stash[_ACTIVE] = activation.current_gpu().arch
    if options.cutile_sim_sanitize:
        from cutile_sim.sanitize import Session
        from cutile_sim.standin import launches

        session = early_config.stash[_SESSION] = Session()
        stack = ExitStack()
        stack.enter_context(launches.watched_by(session.watching))
        early_config.add_cleanup(stack.close)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Record a test's launches, and fail it on the errors that were found in them; warnings go into its report."""
    session = item.config.stash.get(_SESSION, None)
    directory = item.config.option.cutile_sim_trace
    with _recorded(item.nodeid, directory) if directory else nullcontext():
        if session is None:
            return (yield)
        session.take()
        result = yield
    found = session.take()
    if warnings := [str(f) for f in found if f.severity != "error"]:
        item.add_report_section("call", "cutile_sim", "\n".join(warnings))
    if errors := [str(f) for f in found if f.severity == "error"]:
        pytest.fail("the sanitizer found:\n" + "\n".join(errors), pytrace=False)
    return result


def _recorded(test: str, directory: str) -> AbstractContextManager[object]:
    """A block whose launches are recorded into a file of the test's own; one without launches leaves none."""
    from cutile_sim.traces import TraceOptions
    from cutile_sim.traces.active import tracing_everywhere

    os.makedirs(directory, exist_ok=True)
    name = re.sub(r"[^\w.\-\[\]]+", "_", test)[:NAME_LENGTH]
    return tracing_everywhere(os.path.join(directory, f"{name}.ctrace"), TraceOptions())


def pytest_report_header(config: pytest.Config) -> str | None:
    """A line that says so."""
    arch = config.stash.get(_ACTIVE, None)
    return None if arch is None else f"cutile_sim: launches are simulated on the CPU ({arch})"


def pytest_configure(config: Any) -> None:
    """Refuse what would do nothing without --cutile-sim."""
    for option in ("arch", "sanitize", "trace"):
        if getattr(config.option, f"cutile_sim_{option}") and _ACTIVE not in config.stash:
            raise pytest.UsageError(f"--cutile-sim-{option} needs --cutile-sim")
