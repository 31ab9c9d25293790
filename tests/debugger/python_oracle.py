"""Python itself as the oracle: runs a kernel's source on NumPy for one block, and notes the variables at every line.

`cuda.tile` is stood in for by a few functions on NumPy arrays. What a debugger shows must be what Python's own tracing
shows, at the same lines, in the same order.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

Noted = tuple[str, tuple[int, ...], list[dict[str, Any]]]
"""Function, lines of its callers and its own line, and the variables of all of them, the kernel first."""


class _Unshared(ast.NodeTransformer):
    """`a += b` as `a = a + b`: tiles never change, arrays of NumPy would change under another name, too."""

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.Assign:
        assert isinstance(node.target, ast.Name)
        old = ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target)
        value = ast.copy_location(ast.BinOp(old, node.op, node.value), node)
        return ast.copy_location(ast.Assign([node.target], value), node)


class _Constant:
    def __class_getitem__(cls, kind: Any) -> Any:
        return kind


def tile_functions(block: Sequence[int], blocks: Sequence[int]) -> SimpleNamespace:
    """What kernels need of `cuda.tile`, for one block."""

    def window(array: np.ndarray, index: Any, shape: Any) -> tuple[slice, ...]:
        index = index if isinstance(index, tuple) else (index,)
        return tuple(slice(int(i) * n, int(i) * n + n) for i, n in zip(index, shape, strict=True))

    def load(array: np.ndarray, index: Any, shape: Any) -> np.ndarray:
        return array[window(array, index, shape)].copy()

    def store(array: np.ndarray, index: Any, tile: Any) -> None:
        shape = np.shape(tile)
        array[window(array, index, shape)] = tile

    def scatter(array: np.ndarray, index: Any, value: Any) -> None:
        array[index] = value

    return SimpleNamespace(
        kernel=lambda function: function,
        Constant=_Constant,
        bid=lambda axis: np.int32(block[axis]),
        num_blocks=lambda axis: np.int32(blocks[axis]),
        load=load,
        store=store,
        zeros=lambda shape, dtype: np.zeros(shape, dtype),
        full=lambda shape, value, dtype: np.full(shape, value, dtype),
        arange=lambda n, dtype: np.arange(n, dtype=dtype),
        maximum=np.maximum,
        minimum=np.minimum,
        where=np.where,
        sum=lambda tile, axis=None: np.sum(tile, axis=axis, dtype=tile.dtype),
        max=lambda tile, axis=None: np.max(tile, axis=axis),
        mma=lambda x, y, acc: (x.astype(np.float64) @ y.astype(np.float64) + acc).astype(acc.dtype),
        transpose=np.transpose,
        reshape=np.reshape,
        gather=lambda array, index: array[index],
        scatter=scatter,
        function=lambda function: function,
        static_iter=iter,
        float32=np.float32,
        float16=np.float16,
        int32=np.int32,
    )


def lines_of(path: Path, kernel: str, block: Sequence[int], blocks: Sequence[int], args: Sequence[Any]) -> list[Noted]:
    """Run a kernel of a file for one block. Arrays are copied, so that other blocks do not count."""
    source = path.read_text().replace("import cuda.tile as ct", "")
    names: dict[str, Any] = {"ct": tile_functions((*block, 0, 0)[:3], (*blocks, 1, 1)[:3]), "np": np}
    tree = _Unshared().visit(ast.parse(source))
    exec(compile(ast.fix_missing_locations(tree), str(path), "exec"), names)
    noted: list[Noted] = []

    def trace(frame: Any, event: str, arg: Any) -> Any:
        if frame.f_code.co_filename != str(path):
            return None
        if event == "line":
            frames = _chain(frame)
            lines = tuple(f.f_lineno for f in frames)
            noted.append((frame.f_code.co_name, lines, [_copied(f.f_locals) for f in frames]))
        return trace

    copies = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
    before = sys.gettrace()
    sys.settrace(trace)
    try:
        with np.errstate(all="ignore"):
            names[kernel](*copies)
    finally:
        sys.settrace(before)
    return noted


def _chain(frame: Any) -> list[Any]:
    found: list[Any] = []
    file = frame.f_code.co_filename
    while frame is not None and frame.f_code.co_filename == file:
        found.insert(0, frame)
        frame = frame.f_back
    return found[1:] if found[0].f_code.co_name == "<module>" else found


def _copied(variables: dict[str, Any]) -> dict[str, Any]:
    return {n: v.copy() if isinstance(v, np.ndarray) else v for n, v in variables.items()}
