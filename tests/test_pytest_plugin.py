"""`pytest --cutile-sim`, on a small repository with GPU tests."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from cutile_sim.traces import load_trace

pytest.importorskip("cuda.tile")
pytestmark = [
    pytest.mark.cutile,
    pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="the repository's tests use torch"),
]

FILES = {
    "mykernels.py": """
import torch
from cuda.tile import Constant, bid, kernel, launch, load, store

assert torch.cuda.is_available(), "this library needs a GPU"
SCALE = torch.tensor([2.0], device="cuda")

@kernel
def scale(x, factor, y, TILE: Constant[int]):
    t = load(x, index=(bid(0),), shape=(TILE,))
    store(y, index=(bid(0),), tile=t * load(factor, index=(0,), shape=(1,)))

class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.empty_like(x)
        launch(torch.cuda.current_stream(), (x.numel() // 16,), scale, (x, SCALE, y, 16))
        return y

    @staticmethod
    def backward(ctx, grad):
        assert grad.is_cuda
        out = torch.empty(grad.shape, device="cuda")
        launch(torch.cuda.current_stream(), (grad.numel() // 16,), scale, (grad.contiguous(), SCALE, out, 16))
        return out
""",
    "conftest.py": """
import pytest, torch
CAPABILITY = torch.cuda.get_device_capability()

@pytest.fixture
def x():
    torch.manual_seed(0)
    return torch.randn(64, device="cuda")
""",
    "test_scale.py": """
import subprocess, sys
import pytest, torch
from concurrent.futures import ThreadPoolExecutor
from mykernels import Scale

needs_blackwell = pytest.mark.skipif(torch.cuda.get_device_capability()[0] < 10, reason="needs Blackwell")

def test_forward(x):
    torch.testing.assert_close(Scale.apply(x), 2 * x)

def test_backward(x):
    x.requires_grad_()
    Scale.apply(x).sum().backward()
    torch.testing.assert_close(x.grad, torch.full((64,), 2.0, device="cuda"))

def test_threads(x):
    with ThreadPoolExecutor(4) as pool:
        for k, y in enumerate(pool.map(lambda k: Scale.apply(torch.full((16,), float(k), device="cuda")), range(8))):
            assert y.tolist() == [2.0 * k] * 16

def test_child_process():
    code = "import torch, mykernels; print(mykernels.Scale.apply(torch.ones(16, device='cuda')).sum().item())"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "32.0"

@needs_blackwell
def test_blackwell():
    pass

def test_wrong_device():
    with pytest.raises(ValueError, match="not on a CUDA device"):
        Scale.apply(torch.zeros(64))
""",
}


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def run_pytest(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("CUTILE_SIM", "PYTEST", "COV_"))}
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", "-rs", "-W", "error", *words]
    return subprocess.run(command, cwd=folder, env=clean, capture_output=True, text=True, timeout=300)


def test_the_repository_passes_unedited(repository: Path) -> None:
    done = run_pytest(repository, "--cutile-sim", "--cutile-sim-force", "-v")
    assert "5 passed, 1 skipped" in done.stdout, done.stdout + done.stderr
    assert "cutile_sim: launches are simulated on the CPU (sm_90)" in done.stdout
    assert "needs Blackwell" in done.stdout


def test_the_architecture_is_chosen(repository: Path) -> None:
    done = run_pytest(
        repository, "--cutile-sim", "--cutile-sim-force", "--cutile-sim-arch", "sm_100", "-k", "blackwell"
    )
    assert "1 passed" in done.stdout, done.stdout + done.stderr


def test_the_ini_file_asks(repository: Path) -> None:
    (repository / "pytest.ini").write_text("[pytest]\ncutile_sim = true\ncutile_sim_arch = sm_100\n")
    done = run_pytest(repository, "--cutile-sim-force", "-k", "blackwell")
    assert "1 passed" in done.stdout, done.stdout + done.stderr


def test_each_test_has_its_trace(repository: Path) -> None:
    done = run_pytest(repository, "--cutile-sim", "--cutile-sim-force", "--cutile-sim-trace", "traces")
    assert "5 passed, 1 skipped" in done.stdout, done.stdout + done.stderr
    launches = {}
    for path in (repository / "traces").iterdir():
        with load_trace(path) as found:
            launches[path.name] = [launch.kernel for launch in found.launches]
    assert launches == {
        "test_scale.py_test_forward.ctrace": ["scale"],
        "test_scale.py_test_backward.ctrace": ["scale"] * 2,
        "test_scale.py_test_threads.ctrace": ["scale"] * 8,
    }


def test_wrong_options(repository: Path) -> None:
    alone = run_pytest(repository, "--cutile-sim-arch", "sm_90", "--noconftest", "mykernels.py")
    assert alone.returncode == 4
    assert "--cutile-sim-arch needs --cutile-sim" in alone.stderr
    unknown = run_pytest(repository, "--cutile-sim", "--cutile-sim-force", "--cutile-sim-arch", "sm_1")
    assert unknown.returncode == 4
    assert "no stand-in for a GPU" in unknown.stderr


def test_it_is_inert_without_the_option(tmp_path: Path) -> None:
    (tmp_path / "test_nothing.py").write_text(
        "import sys\ndef test():\n"
        "    loaded = {'numpy', 'torch', 'cuda.tile', 'cutile_sim.standin', 'cutile_sim.errors'} & set(sys.modules)\n"
        "    assert not loaded and 'cutile_sim.pytest_plugin' in sys.modules\n"
    )
    done = run_pytest(tmp_path)
    assert "1 passed" in done.stdout, done.stdout + done.stderr


RACY = """
import torch
import cuda.tile as ct

@ct.kernel
def last_wins(x, y):
    ct.store(y, (0,), ct.load(x, (ct.bid(0),), (4,)))

@ct.kernel
def in_turn(x, y):
    ct.store(y, (ct.bid(0),), ct.load(x, (ct.bid(0),), (4,)))

def launch(kernel):
    x, y = torch.arange(16.0, device="cuda"), torch.zeros(16, device="cuda")
    ct.launch(torch.cuda.current_stream(), (4,), kernel, (x, y))

def test_race():
    launch(last_wins)

def test_no_race():
    launch(in_turn)
"""


def test_sanitized(tmp_path: Path) -> None:
    (tmp_path / "test_racy.py").write_text(RACY, encoding="utf-8")
    plain = run_pytest(tmp_path, "--cutile-sim", "--cutile-sim-force")
    assert plain.returncode == 0, plain.stdout
    sanitized = run_pytest(tmp_path, "--cutile-sim", "--cutile-sim-force", "--cutile-sim-sanitize")
    assert sanitized.returncode == 1
    assert "1 failed, 1 passed" in sanitized.stdout
    assert "test_racy.py:7" in sanitized.stdout and "[CTS2" in sanitized.stdout


def test_sanitize_needs_the_simulator(tmp_path: Path) -> None:
    done = run_pytest(tmp_path, "--cutile-sim-sanitize")
    assert done.returncode == 4 and "--cutile-sim-sanitize needs --cutile-sim" in done.stderr
