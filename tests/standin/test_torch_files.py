"""`torch.save` and `torch.load` where tensors are on the simulated GPU."""

from __future__ import annotations

import io
import pickle
import zipfile
from typing import Any

import pytest

from cutile_sim.standin import activation

ct = pytest.importorskip("cuda.tile")
torch = pytest.importorskip("torch")
pytestmark = [pytest.mark.cutile, pytest.mark.usefixtures("installed")]


def saved(value: Any) -> io.BytesIO:
    file = io.BytesIO()
    torch.save(value, file)
    file.seek(0)
    return file


@pytest.mark.parametrize("place", ["cuda", "cuda:0", torch.device("cuda"), {"cpu": "cuda:0"}])
def test_map_location_to_the_gpu(kernels: Any, place: Any) -> None:
    loaded = torch.load(saved({"x": torch.arange(8.0)}), map_location=place)["x"]
    assert (loaded.device, loaded.tolist()) == (torch.device("cuda", 0), list(range(8)))
    y = torch.zeros_like(loaded)
    ct.launch(torch.cuda.current_stream(), (2,), kernels.increment, (loaded, y, 4))
    assert y.tolist() == list(range(1, 9))


def test_map_location_that_is_a_function() -> None:
    file = saved(torch.arange(3))
    assert torch.load(file, map_location=lambda storage, place: storage.cuda()).is_cuda
    file.seek(0)
    assert torch.load(file, map_location=lambda storage, place: storage.cuda(0).cpu()).device.type == "cpu"


def test_what_is_saved_from_the_gpu_comes_back_to_it() -> None:
    base = torch.arange(6, device="cuda")
    file = saved([base, base[2:], torch.ones(1)])
    first, second, third = torch.load(file)
    assert [t.is_cuda for t in (first, second, third)] == [True, True, False]
    first[2] = 7
    assert second[0] == 7
    file.seek(0)
    assert not any(t.is_cuda for t in torch.load(file, map_location="cpu"))


def test_the_file_names_the_gpu() -> None:
    with zipfile.ZipFile(saved(torch.arange(6, device="cuda"))) as archive:
        (name,) = [n for n in archive.namelist() if n.endswith("data.pkl")]
        assert b"cuda:0" in archive.read(name)


def test_modules_and_pickles() -> None:
    module = torch.nn.Linear(2, 3, device="cuda")
    other = torch.nn.Linear(2, 3)
    other.load_state_dict(torch.load(saved(module.state_dict())))
    assert not other.weight.is_cuda and torch.equal(other.weight, module.weight.cpu())
    assert pickle.loads(pickle.dumps(torch.ones(2, device="cuda"))).is_cuda


def test_another_gpu_is_refused() -> None:
    with pytest.raises(RuntimeError, match="invalid device ordinal"):
        torch.load(saved(torch.ones(1)), map_location="cuda:3")


def test_without_launches_simulated_torch_says_what_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    file = saved(torch.ones(1, device="cuda"))
    activation.uninstall()
    try:
        with pytest.raises(RuntimeError, match="deserialize object on a CUDA device"):
            torch.load(file)
    finally:
        activation.install()
