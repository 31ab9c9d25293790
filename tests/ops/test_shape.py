"""Operations that move elements, against naive indexing and GPU recordings."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from recordings import CASES, carried, recorded

from cutile_sim.dtypes import (
    BF16,
    F4E2M1FN,
    F8E4M3FN,
    F16,
    F32,
    F64,
    I1,
    I4,
    I8,
    I16,
    I32,
    I64,
    ElementType,
    to_bits,
)
from cutile_sim.errors import OutOfBoundsError
from cutile_sim.ops import shape
from cutile_sim.tileir.types import TileType

ELEMENTS = {
    "float32": F32,
    "bfloat16": BF16,
    "int8": I8,
    "uint8": I8,
    "int16": I16,
    "int64": I64,
    "float8_e4m3fn": F8E4M3FN,
}


def scalar(value: int) -> np.ndarray:
    return np.full((1, 1, 1), value, np.int32)


MOVES = {
    "reshape": lambda x, t: shape.reshape(x, result_type=t),
    "expand": lambda x, t: shape.reshape(x, result_type=t),
    "broadcast": lambda x, t: shape.broadcast(x, result_type=t),
    "permute": lambda x, t: shape.permute(x, permutation=(2, 0, 1)),
    "transpose": lambda x, t: shape.permute(x, permutation=(1, 0)),
    "transpose02": lambda x, t: shape.permute(x, permutation=(2, 1, 0)),
    "extract": lambda x, t: shape.extract(x, (scalar(1), scalar(2)), result_type=t),
    "insert": lambda x, t: shape.insert(np.zeros((1, 1, 1, 2, 4), x.dtype), x, (scalar(1), scalar(2))),
    "cat0": lambda x, t: shape.cat(x, x, dim=0),
    "cat1": lambda x, t: shape.cat(x, x, dim=1),
    "where": lambda x, t: shape.select(x > 0, x, np.full_like(x, 7)),
}


@pytest.mark.parametrize("case", [c for c in CASES if c.split(":")[0] in MOVES])
def test_moves_are_as_on_the_gpu(case: str) -> None:
    name, element_name = case.split(":")
    element = ELEMENTS[element_name]
    source, want = recorded(case)
    got = MOVES[name](carried(source, element), TileType(element, want.shape))
    np.testing.assert_array_equal(to_bits(got[0, 0, 0], element), want.view(f"u{want.itemsize}"))


@pytest.mark.parametrize("case", [c for c in CASES if c.startswith(("pack:", "unpack:"))])
def test_bytes_are_as_on_the_gpu(case: str) -> None:
    name, element_name = case.split(":")
    element = ELEMENTS[element_name]
    source, want = recorded(case)
    if name == "pack":
        flat = carried(source.reshape(-1), element)
        got = shape.pack(flat, operand_types={"source": TileType(element, flat.shape[3:])})
        np.testing.assert_array_equal(got[0, 0, 0].view(np.uint8), want)
    else:
        got = shape.unpack(carried(source, I8), result_type=TileType(element, want.shape))
        np.testing.assert_array_equal(to_bits(got[0, 0, 0], element), want.view(f"u{want.itemsize}"))


@pytest.mark.parametrize("element", [I4, F4E2M1FN], ids=str)
def test_four_bit_elements_lie_low_half_first(element: ElementType) -> None:
    raw = np.array([0x10, 0x32, 0xF8, 0x7E], np.uint8).view(np.int8)[None, None, None]
    values = shape.unpack(raw, result_type=TileType(element, (8,)))
    codes = [0x0, 0x1, 0x2, 0x3, 0x8, 0xF, 0xE, 0x7]
    if element is I4:
        want = [c - 16 if c > 7 else c for c in codes]
    else:
        want = np.array(codes, np.uint8).view(ml_dtypes.float4_e2m1fn).astype(np.float32).tolist()
    assert values.ravel().tolist() == want
    packed = shape.pack(values, operand_types={"source": TileType(element, (8,))})
    np.testing.assert_array_equal(packed, raw)


@settings(max_examples=40)
@given(st.data())
def test_slices_by_number(data: st.DataObject) -> None:
    part = tuple(data.draw(st.sampled_from([1, 2, 4])) for _ in range(data.draw(st.integers(1, 3))))
    counts = tuple(data.draw(st.sampled_from([1, 2, 4])) for _ in part)
    whole = tuple(p * c for p, c in zip(part, counts, strict=True))
    grid = (2, 3, 2)
    rng = np.random.default_rng(data.draw(st.integers(0, 1000)))

    def grid_shape() -> tuple[int, ...]:
        return tuple(n if data.draw(st.booleans()) else 1 for n in grid)

    source = rng.integers(0, 1000, grid_shape() + whole).astype(np.int32)
    piece = rng.integers(1000, 2000, grid_shape() + part).astype(np.int32)
    indices = tuple(rng.integers(0, c, grid_shape()).astype(np.int32) for c in counts)
    taken = shape.extract(source, indices, result_type=TileType(I32, part))
    put = shape.insert(piece, source, indices)
    everywhere = [np.broadcast_to(i, grid) for i in indices]
    for block in np.ndindex(*grid):
        lanes = tuple(slice(i[block] * p, (i[block] + 1) * p) for i, p in zip(everywhere, part, strict=True))
        one = np.broadcast_to(source, grid + whole)[block].copy()
        np.testing.assert_array_equal(np.broadcast_to(taken, grid + part)[block], one[lanes])
        one[lanes] = np.broadcast_to(piece, grid + part)[block]
        np.testing.assert_array_equal(np.broadcast_to(put, grid + whole)[block], one)


@pytest.mark.parametrize("number", [2, -1])
def test_a_slice_that_does_not_exist_is_named(number: int) -> None:
    source = np.zeros((1, 1, 2, 8), np.int32)
    indices = (np.array([0, number], np.int32).reshape(1, 1, 2),)
    with pytest.raises(OutOfBoundsError, match=rf"slice {number} of dimension 0 .* 2 slices of length 4"):
        shape.extract(source, indices, result_type=TileType(I32, (4,)))
    with pytest.raises(OutOfBoundsError, match="does not exist"):
        shape.insert(source[..., :4], source, indices)


def test_constant_and_iota() -> None:
    splat = shape.constant(value=np.array(1.5, np.float32), result_type=TileType(F16, (2, 4)))
    assert splat.shape == (1, 1, 1, 2, 4)
    assert (splat == 1.5).all()
    dense = shape.constant(value=np.arange(4.0), result_type=TileType(F64, (4,)))
    assert dense.ravel().tolist() == [0, 1, 2, 3]
    assert shape.constant(value=np.array(True), result_type=TileType(I1, ())).shape == (1, 1, 1)
    counted = shape.iota(result_type=TileType(I8, (256,)))
    assert counted.dtype == np.int8
    assert counted.view(np.uint8).ravel().tolist() == list(range(256))


def test_cat_and_select_broadcast_over_the_grid() -> None:
    rows = np.arange(6, dtype=np.int32).reshape(1, 3, 1, 2)
    columns = np.arange(8, dtype=np.int32).reshape(1, 1, 4, 2)
    joined = shape.cat(rows, columns, dim=0)
    assert joined.shape == (1, 3, 4, 4)
    assert joined[0, 2, 3].tolist() == [4, 5, 6, 7]
    assert shape.select(rows > 2, rows, columns).shape == (1, 3, 4, 2)
