"""Torch functions that torch's CPU code does not have, or has less exact than a GPU: elementary functions among them.

Torch's CPU library gives float32 roots, logarithms and the like that are up to a unit in the last place off. A GPU's
square root is the correctly rounded one, and programs compare kernels with it bit by bit. Here such functions are
computed in float64 and rounded once. Sine and cosine are NumPy's, which are those of the simulated GPU.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from cutile_sim.standin import torch_precision

Function = Callable[..., Any]

_ELEMENTARY = (
    *("sqrt", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p"),
    *("tan", "sinh", "cosh", "tanh", "asin", "acos", "atan"),
)
_PRODUCTS = ("mm", "bmm")


def substitute(func: Function) -> Function | None:
    """What to call instead of a torch function where a tensor on the simulated GPU is among its arguments."""
    return _SUBSTITUTES.get(func) or torch_precision.substitute(func)


def _is_computed_in_float32(tensor: Any) -> bool:
    """Whether an elementary function of a tensor has a float32 result; integers are converted first."""
    if tensor.dtype.is_floating_point or tensor.dtype.is_complex:
        return tensor.dtype == torch.float32
    return torch.get_default_dtype() == torch.float32


def _elementary(func: Function) -> Function:
    def call(source: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:
        if args or kwargs or not _is_computed_in_float32(source):
            return func(source, *args, **kwargs)
        return func(source.to(torch.float64)).to(torch.float32)

    return call


def _trigonometric(func: Function, function: type[torch.autograd.Function]) -> Function:
    def call(source: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:
        if args or kwargs or not _is_computed_in_float32(source):
            return func(source, *args, **kwargs)
        return function.apply(source.to(torch.float32))

    return call


class _Sine(torch.autograd.Function):
    """sin of a float32 tensor."""

    @staticmethod
    def forward(ctx: Any, source: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(source)
        return torch.from_numpy(np.asarray(np.sin(source.detach().numpy())))

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> torch.Tensor:
        return gradients[0] * torch.cos(ctx.saved_tensors[0])


class _Cosine(torch.autograd.Function):
    """cos of a float32 tensor."""

    @staticmethod
    def forward(ctx: Any, source: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(source)
        return torch.from_numpy(np.asarray(np.cos(source.detach().numpy())))

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> torch.Tensor:
        return -gradients[0] * torch.sin(ctx.saved_tensors[0])


def _absolute(func: Function) -> Function:
    """The CPU has none for bool."""

    def call(source: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:
        if source.dtype == torch.bool and not args and not kwargs:
            return source.clone()
        return func(source, *args, **kwargs)

    return call


def _product(func: Function) -> Function:
    """The CPU has none with `out_dtype`: the inputs are exact in that type, and so is the product on a GPU."""
    plain = torch_precision.substitute(func) or func

    def call(*args: Any, out_dtype: torch.dtype | None = None, **kwargs: Any) -> torch.Tensor:
        if out_dtype is None:
            return plain(*args, **kwargs)
        first, second, *others = args
        return plain(first.to(out_dtype), second.to(out_dtype), *others, **kwargs)

    return call


def _substitutes() -> dict[Function, Function]:
    found: dict[Function, Function] = {}
    for owner in (torch, torch.Tensor):
        found.update((getattr(owner, name), _elementary(getattr(owner, name))) for name in _ELEMENTARY)
        found[owner.sin] = _trigonometric(owner.sin, _Sine)
        found[owner.cos] = _trigonometric(owner.cos, _Cosine)
        found.update((getattr(owner, name), _absolute(getattr(owner, name))) for name in ("abs", "absolute"))
    found[torch.Tensor.__abs__] = _absolute(torch.Tensor.__abs__)
    found.update((getattr(torch, name), _product(getattr(torch, name))) for name in _PRODUCTS)
    return found


_SUBSTITUTES = _substitutes()
