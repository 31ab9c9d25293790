"""Peak rates of some GPUs, and the least time that a launch's bytes and arithmetic take at these rates: an estimate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cutile_sim.errors import UsageError

_TERA = 1e12


@dataclass(frozen=True)
class Gpu:
    """Peak rates, of dense operands.

    Attributes:
        bytes_per_s: To and from global memory.
        matrix_flops_per_s: Of matrix products, by the operands' element type.
        vector_flops_per_s: Of all other arithmetic, f32 and f64.
        source: The public document that says so.
    """

    name: str
    bytes_per_s: float
    matrix_flops_per_s: Mapping[str, float]
    vector_flops_per_s: Mapping[str, float]
    source: str


def _gpu(name: str, terabytes: float, source: str, *, matrix: dict[str, float], vector: dict[str, float]) -> Gpu:
    return Gpu(
        name,
        terabytes * _TERA,
        {k: v * _TERA for k, v in matrix.items()},
        {k: v * _TERA for k, v in vector.items()},
        source,
    )


_HOPPER = {"f64": 66.9, "tf32": 494.7, "f16": 989.4, "bf16": 989.4, "f8": 1978.9, "i8": 1978.9}
_ADA = "NVIDIA Ada GPU architecture whitepaper, appendix A; float32 accumulation"
GPUS: Mapping[str, Gpu] = {
    gpu.name: gpu
    for gpu in (
        _gpu(
            "A100 SXM 80GB",
            2.039,
            "NVIDIA A100 datasheet",
            matrix={"f64": 19.5, "tf32": 156, "f16": 312, "bf16": 312, "i8": 624},
            vector={"f64": 9.7, "f32": 19.5},
        ),
        _gpu(
            "H100 SXM",
            3.35,
            "NVIDIA H100 datasheet and H100 architecture whitepaper",
            matrix=_HOPPER,
            vector={"f64": 33.5, "f32": 66.9},
        ),
        _gpu(
            "H200 SXM",
            4.8,
            "NVIDIA H200 datasheet",
            matrix=_HOPPER,
            vector={"f64": 33.5, "f32": 66.9},
        ),
        _gpu(
            "B200 HGX",
            7.7,
            "NVIDIA Blackwell datasheet, HGX B200",
            matrix={"f64": 37, "tf32": 1100, "f16": 2250, "bf16": 2250, "f8": 4500, "i8": 4500},
            vector={"f64": 37, "f32": 75},
        ),
        _gpu(
            "RTX 4090",
            1.008,
            _ADA,
            matrix={"tf32": 82.6, "f16": 165.2, "bf16": 165.2, "f8": 330.3, "i8": 660.6},
            vector={"f64": 1.29, "f32": 82.6},
        ),
    )
}


def gpu_named(name: str) -> Gpu:
    """A GPU by its name, or the beginning of it, in any case. Raises UsageError where there is none."""
    wanted = "".join(name.lower().split())
    found = [g for n, g in GPUS.items() if "".join(n.lower().split()).startswith(wanted)]
    if not wanted or not found:
        raise UsageError(f"there are no rates of a GPU {name!r}; there are {', '.join(GPUS)}")
    return found[0]


@dataclass(frozen=True)
class Roofline:
    """The least time that a launch takes by the peak rates of a GPU. An estimate: real kernels reach a part of them.

    Attributes:
        gpu, source: Whose rates, and where they are published.
        memory_s: For the distinct bytes of every array, each moved once.
        uncached_s: For all bytes that blocks move, as if no cache helped.
        matrix_s, vector_s: For matrix products and for all other arithmetic.
        at_least_s: The longest of `memory_s`, `matrix_s` and `vector_s`.
        bound: Which that is: "memory", "matrix" or "vector".
        ridge_flops_per_byte: The arithmetic intensity above which this launch's mix of arithmetic is the limit.
    """

    gpu: str
    source: str
    memory_s: float
    uncached_s: float
    matrix_s: float
    vector_s: float
    at_least_s: float
    bound: str
    ridge_flops_per_byte: float


def roofline(
    gpu: str, *, distinct_bytes: int, moved_bytes: int, matrix_flops: Mapping[str, int], vector_flops: Mapping[str, int]
) -> Roofline:
    """The estimate for a GPU, from bytes, and floating-point operations by element type.

    Element types without a rate of their own, such as float32 in matrix products, count at the rate of vector
    arithmetic. Raises UsageError where there are no rates of that GPU.
    """
    chosen = gpu_named(gpu)
    matrix_s = vector_s = 0.0
    for element, flops in matrix_flops.items():
        rate = chosen.matrix_flops_per_s.get("f8" if element.startswith("f8") else element)
        if rate is not None:
            matrix_s += flops / rate
        else:
            vector_s += flops / _vector_rate(chosen, element)
    for element, flops in vector_flops.items():
        vector_s += flops / _vector_rate(chosen, element)
    memory_s = distinct_bytes / chosen.bytes_per_s
    times = {"memory": memory_s, "matrix": matrix_s, "vector": vector_s}
    bound = max(times, key=lambda k: times[k])
    flops = sum(matrix_flops.values()) + sum(vector_flops.values())
    compute_s = max(matrix_s, vector_s)
    return Roofline(
        gpu=chosen.name,
        source=chosen.source,
        memory_s=memory_s,
        uncached_s=moved_bytes / chosen.bytes_per_s,
        matrix_s=matrix_s,
        vector_s=vector_s,
        at_least_s=times[bound],
        bound=bound,
        ridge_flops_per_byte=flops / compute_s / chosen.bytes_per_s if compute_s else 0.0,
    )


def _vector_rate(gpu: Gpu, element: str) -> float:
    return gpu.vector_flops_per_s["f64" if element == "f64" else "f32"]
