"""Calls that want all their tensors on one device: torch refuses them where one is on the GPU and another on the CPU.

Only functions of which that is known: others, such as `copy_` or `x[i] = y`, take tensors of both.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

# A tensor of no dimensions on the CPU passes for a Python number in these.
_ELEMENTWISE = (
    *("add", "sub", "subtract", "mul", "multiply", "div", "divide", "true_divide", "floor_divide", "remainder", "fmod"),
    *("pow", "float_power", "maximum", "minimum", "fmax", "fmin", "max", "min", "atan2", "arctan2", "hypot"),
    *("copysign", "nextafter", "ldexp", "logaddexp", "logaddexp2", "xlogy", "heaviside", "lerp", "addcmul", "addcdiv"),
    *("eq", "ne", "lt", "le", "gt", "ge", "not_equal", "less", "less_equal", "greater", "greater_equal"),
    *("logical_and", "logical_or", "logical_xor", "bitwise_and", "bitwise_or", "bitwise_xor"),
    *("bitwise_left_shift", "bitwise_right_shift", "where", "clamp", "masked_fill", "isclose"),
)
_OPERATORS = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor", "lshift", "rshift")
_OTHERS = (
    *("mm", "bmm", "matmul", "mv", "dot", "vdot", "inner", "outer", "ger", "addmm", "addmv", "addbmm", "baddbmm"),
    *("addr", "einsum", "tensordot", "kron", "cross", "cdist", "dist", "__matmul__", "__rmatmul__"),
    *("cat", "concat", "concatenate", "stack", "hstack", "vstack", "dstack", "equal", "allclose"),
    *("gather", "scatter", "scatter_add", "index_select", "masked_select", "take_along_dim"),
)
_OF_LAYERS = (
    *("linear", "bilinear", "embedding", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d"),
    *("layer_norm", "rms_norm", "group_norm", "batch_norm", "instance_norm", "prelu", "scaled_dot_product_attention"),
    *("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "binary_cross_entropy", "kl_div", "nll_loss"),
    *("binary_cross_entropy_with_logits", "cross_entropy", "cosine_similarity", "pairwise_distance"),
)


def _functions() -> frozenset[Callable[..., Any]]:
    operators = [f"__{kind}{name}__" for name in _OPERATORS for kind in ("", "r", "i")]
    comparisons = [f"__{name}__" for name in ("eq", "ne", "lt", "le", "gt", "ge")]
    names = [f"{name}{end}" for name in (*_ELEMENTWISE, *_OTHERS) for end in ("", "_")]
    found = [
        *(getattr(owner, name, None) for owner in (torch, torch.Tensor) for name in names),
        *(getattr(torch.Tensor, name, None) for name in (*operators, *comparisons)),
        *(getattr(torch.nn.functional, name, None) for name in _OF_LAYERS),
    ]
    return frozenset(function for function in found if function is not None)


_FUNCTIONS = _functions()


def check_devices(function: Callable[..., Any], tensors: list[torch.Tensor], on_gpu: list[bool | None]) -> None:
    """Raise what torch raises for a call that takes tensors of one device only. To be called where they are of both.

    Args:
        function: What is called.
        tensors: All tensors among the arguments.
        on_gpu: Where each is; None where that is not known.

    Raises:
        RuntimeError: The function takes one device only. A tensor of no dimensions on the CPU passes for a number.
    """
    if function is torch.Tensor.__getitem__ and not on_gpu[0]:
        raise RuntimeError("indices should be either on cpu or on the same device as the indexed tensor (cpu)")
    of_cpu = (tensor for tensor, place in zip(tensors, on_gpu, strict=True) if place is False)
    if function in _FUNCTIONS and any(tensor.dim() > 0 for tensor in of_cpu):
        raise RuntimeError(
            "Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!"
        )
