"""Torch operations that a GPU computes with other precision than torch's CPU code: products, norms, attention.

On a GPU a product of 16-bit floats is exact and sums in float32 at least; the sums of the CPU lose more, so
that the comparison of a kernel with torch would fail for the fault of torch. Here they are computed wider and rounded
once. Products of float32 round their inputs to TF32 where the program allows it, as the GPU does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.attention
import torch.nn.functional as F

from cutile_sim.ops import mma_float8

# float16 has the finer rounding, against which an error of float32's sums shows; bfloat16 hides it.
_WIDER = {torch.float16: torch.float64, torch.bfloat16: torch.float32}
_FLOAT32 = dict.fromkeys(_WIDER, torch.float32)
_TF32_DROPPED_BITS = 13
_FLOAT8 = (torch.float8_e4m3fn, torch.float8_e5m2)

Function = Callable[..., Any]


def substitute(func: Function) -> Function | None:
    """What to call instead of a torch function where a tensor on the simulated GPU is among its arguments."""
    return _SUBSTITUTES.get(func)


def _widened(func: Function, wider: dict[torch.dtype, torch.dtype] = _WIDER) -> Function:
    def call(*args: Any, **kwargs: Any) -> Any:
        narrow = _narrow_dtype(args, kwargs)
        if narrow is None:
            return func(*args, **kwargs)
        wide = wider[narrow]
        result = func(*_cast(args, wide), **_cast(kwargs, wide))
        return result.to(narrow) if result.dtype == wide else result

    return call


def _product(func: Function) -> Function:
    widened = _widened(func)

    def call(*args: Any, **kwargs: Any) -> Any:
        if _allows_tf32() and "out" not in kwargs and _float_dtypes(args, kwargs) == {torch.float32}:
            return func(*map(_as_tf32, args), **kwargs)
        return widened(*args, **kwargs)

    return call


def _sum_with_product(func: Function) -> Function:
    """The same for functions whose first tensor is added to the product."""
    widened = _widened(func)

    def call(addend: Any, *args: Any, **kwargs: Any) -> Any:
        if _allows_tf32() and "out" not in kwargs and _float_dtypes((addend, *args), kwargs) == {torch.float32}:
            return func(addend, *map(_as_tf32, args), **kwargs)
        return widened(addend, *args, **kwargs)

    return call


def _attention(func: Function) -> Function:
    """Attention by its definition: the GPU's backends, one of which the program may have asked for, are not here."""
    widened = _widened(func, _FLOAT32)

    def call(*args: Any, **kwargs: Any) -> Any:
        with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
            return widened(*args, **kwargs)

    return call


def _scaled_float8_product(func: Function) -> Function:
    """`torch._scaled_mm` of matrices with one scale each or one a row or column: summed as the tensor core sums."""

    def call(
        a: torch.Tensor,
        b: torch.Tensor,
        scale_a: torch.Tensor,
        scale_b: torch.Tensor,
        bias: torch.Tensor | None = None,
        scale_result: torch.Tensor | None = None,
        out_dtype: torch.dtype | None = None,
        use_fast_accum: bool = False,
        **kwargs: Any,
    ) -> Any:
        (m, k), n = a.shape, b.shape[1]
        simple = scale_a.numel() in (1, m) and scale_b.numel() in (1, n) and k % 32 == 0 and not kwargs
        if not simple or a.dtype not in _FLOAT8 or b.dtype not in _FLOAT8:
            return func(a, b, scale_a, scale_b, bias, scale_result, out_dtype, use_fast_accum, **kwargs)
        sums = mma_float8.sum_products if use_fast_accum else mma_float8.sum_products_promoted
        zero = torch.zeros(1, 1).numpy()
        result = torch.from_numpy(sums(a.float().numpy(), b.float().numpy(), zero))
        result = result * scale_a.reshape(-1, 1) * scale_b.reshape(1, -1)
        if bias is not None:
            result = result + bias.float()
        if scale_result is not None and out_dtype in (None, *_FLOAT8):
            result = result * scale_result
        return result.to(a.dtype if out_dtype is None else out_dtype)

    return call


def _tensors(value: Any) -> list[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    return [t for item in value for t in _tensors(item)] if isinstance(value, tuple | list) else []


def _float_dtypes(args: Any, kwargs: Any) -> set[torch.dtype]:
    return {t.dtype for t in _tensors((args, kwargs)) if t.dtype.is_floating_point}


def _narrow_dtype(args: Any, kwargs: Any) -> torch.dtype | None:
    # Mixed types are left to torch, which may refuse them.
    dtypes = _float_dtypes(args, kwargs)
    if len(dtypes) != 1 or "out" in kwargs:
        return None
    dtype = dtypes.pop()
    return dtype if dtype in _WIDER else None


def _cast(value: Any, dtype: torch.dtype) -> Any:
    if isinstance(value, torch.Tensor):
        return value.to(dtype) if value.dtype.is_floating_point else value
    if type(value) in (tuple, list):
        return type(value)(_cast(item, dtype) for item in value)
    if isinstance(value, dict):
        return {name: _cast(item, dtype) for name, item in value.items()}
    return value


def _allows_tf32() -> bool:
    return torch.get_float32_matmul_precision() != "highest"


def _as_tf32(value: Any) -> Any:
    if not isinstance(value, torch.Tensor):
        return value
    return _RoundToTf32.apply(value) if value.dtype == torch.float32 else value


class _RoundToTf32(torch.autograd.Function):
    """float32 values with the 10 bits of mantissa of TF32, nearest even; infinities and NaN stay."""

    @staticmethod
    def forward(ctx: Any, value: torch.Tensor) -> torch.Tensor:
        half = (1 << (_TF32_DROPPED_BITS - 1)) - 1
        bits = value.contiguous().view(torch.int32)
        rounded = bits + half + ((bits >> _TF32_DROPPED_BITS) & 1)
        rounded &= -1 << _TF32_DROPPED_BITS
        return torch.where(value.isfinite(), rounded.view(torch.float32), value)

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> torch.Tensor:
        return gradients[0]


def _substitutes() -> dict[Function, Function]:
    tensor = torch.Tensor
    found: dict[Function, Function] = {}
    for name in ("matmul", "mm", "bmm", "mv", "dot", "einsum"):
        owners = [o for o in (torch, tensor) if hasattr(o, name)]
        found.update((getattr(o, name), _product(getattr(o, name))) for o in owners)
    for name in ("__matmul__", "__rmatmul__"):
        found[getattr(tensor, name)] = _product(getattr(tensor, name))
    for name in ("addmm", "addmv", "addbmm", "baddbmm"):
        found.update((getattr(o, name), _sum_with_product(getattr(o, name))) for o in (torch, tensor))
    found[F.linear] = _product(F.linear)
    for function in (
        F.bilinear,
        F.conv1d,
        F.conv2d,
        F.conv3d,
        F.group_norm,
        F.layer_norm,
        F.rms_norm,
        torch.group_norm,
        torch.layer_norm,
        torch.rms_norm,
    ):
        found[function] = _widened(function, _FLOAT32)
    if hasattr(torch, "_scaled_mm"):
        found[torch._scaled_mm] = _scaled_float8_product(torch._scaled_mm)
    found[F.scaled_dot_product_attention] = _attention(F.scaled_dot_product_attention)
    return found


_SUBSTITUTES = _substitutes()
