"""The text of a kernel's print: as a GPU wrote it, and as C's own printf writes it."""

from __future__ import annotations

import ctypes
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cutile_sim.dtypes import BF16, F16, F32, F64, I1, I8, I16, I32, I64, ElementType
from cutile_sim.ops.printing import format_print
from cutile_sim.tileir.types import TileType

INTS = np.arange(-2, 2, dtype=np.int32)
FLOATS = np.array([-200, 300, 1550, 2300], np.float32)

# Recorded on an H200: a tile of four elements, printed by each directive.
RECORDED: list[tuple[ElementType, np.ndarray, dict[str, str]]] = [
    (
        I32,
        INTS,
        {
            "%d": "[-2, -1, 0, 1]",
            "%i": "[-2, -1, 0, 1]",
            "%u": "[4294967294, 4294967295, 0, 1]",
            "%x": "[fffffffe, ffffffff, 0, 1]",
            "%X": "[FFFFFFFE, FFFFFFFF, 0, 1]",
            "%o": "[37777777776, 37777777777, 0, 1]",
            "%#x": "[0xfffffffe, 0xffffffff, 0, 0x1]",
            "%#o": "[037777777776, 037777777777, 0, 01]",
            "%+d": "[-2, -1, +0, +1]",
            "% d": "[-2, -1,  0,  1]",
            "%05d": "[-0002, -0001, 00000, 00001]",
            "%-5d": "[-2   , -1   , 0    , 1    ]",
            "%5.3d": "[ -002,  -001,   000,   001]",
        },
    ),
    (
        I8,
        INTS.astype(np.int8),
        {
            "%d": "[-2, -1, 0, 1]",
            "%i": "[-2, -1, 0, 1]",
            "%u": "[4294967294, 4294967295, 0, 1]",
            "%x": "[fffffffe, ffffffff, 0, 1]",
            "%o": "[37777777776, 37777777777, 0, 1]",
            "%hd": "[-2, -1, 0, 1]",
            "%hu": "[65534, 65535, 0, 1]",
            "%lld": "[-2, 4294967296, 0, 0]",
        },
    ),
    (
        I16,
        INTS.astype(np.int16),
        {
            "%d": "[-2, -1, 0, 1]",
            "%u": "[4294967294, 4294967295, 0, 1]",
            "%x": "[fffffffe, ffffffff, 0, 1]",
            "%o": "[37777777776, 37777777777, 0, 1]",
            "%hd": "[-2, -1, 0, 1]",
            "%hu": "[65534, 65535, 0, 1]",
            "%ld": "[-2, 4294967296, 0, 0]",
            "%lu": "[18446744073709551614, 4294967296, 0, 0]",
            "%lld": "[-2, 4294967296, 0, 0]",
            "%llu": "[18446744073709551614, 4294967296, 0, 0]",
        },
    ),
    (
        I32,
        INTS * 1000,
        {
            "%hd": "[-2000, -1000, 0, 1000]",
            "%hu": "[63536, 64536, 0, 1000]",
            "%ld": "[-4290672330704, 4294967296000, 0, 0]",
            "%lu": "[18446739783037220912, 4294967296000, 0, 0]",
            "%lx": "[fffffc18fffff830, 3e800000000, 0, 0]",
            "%lld": "[-4290672330704, 4294967296000, 0, 0]",
            "%llu": "[18446739783037220912, 4294967296000, 0, 0]",
            "%llx": "[fffffc18fffff830, 3e800000000, 0, 0]",
        },
    ),
    (
        I64,
        INTS.astype(np.int64) * 5_000_000_000,
        {
            "%d": "[-1410065408, -3, -705032704, -2]",
            "%u": "[2884901888, 4294967293, 3589934592, 4294967294]",
            "%x": "[abf41c00, fffffffd, d5fa0e00, fffffffe]",
            "%hd": "[7168, -3, 3584, -2]",
            "%ld": "[-10000000000, -5000000000, 0, 5000000000]",
            "%lu": "[18446744063709551616, 18446744068709551616, 0, 5000000000]",
            "%lx": "[fffffffdabf41c00, fffffffed5fa0e00, 0, 12a05f200]",
            "%lld": "[-10000000000, -5000000000, 0, 5000000000]",
            "%llu": "[18446744063709551616, 18446744068709551616, 0, 5000000000]",
            "%llx": "[fffffffdabf41c00, fffffffed5fa0e00, 0, 12a05f200]",
            "%llo": "[1777777777665375016000, 1777777777732576407000, 0, 45201371000]",
        },
    ),
    (
        I64,
        INTS.astype(np.int64) * 5_000_000_000,
        {
            "%d": "[-1410065408, -3, -705032704, -2]",
            "%u": "[2884901888, 4294967293, 3589934592, 4294967294]",
            "%x": "[abf41c00, fffffffd, d5fa0e00, fffffffe]",
            "%ld": "[-10000000000, -5000000000, 0, 5000000000]",
            "%lu": "[18446744063709551616, 18446744068709551616, 0, 5000000000]",
            "%lld": "[-10000000000, -5000000000, 0, 5000000000]",
            "%llu": "[18446744063709551616, 18446744068709551616, 0, 5000000000]",
            "%llX": "[FFFFFFFDABF41C00, FFFFFFFED5FA0E00, 0, 12A05F200]",
            "%#llx": "[0xfffffffdabf41c00, 0xfffffffed5fa0e00, 0, 0x12a05f200]",
        },
    ),
    (
        I1,
        INTS > -1,
        {
            "%d": "[0, 0, 1, 1]",
            "%u": "[0, 0, 1, 1]",
            "%x": "[0, 0, 1, 1]",
            "%5d": "[    0,     0,     1,     1]",
            "%lld": "[0, 4294967297, 0, 0]",
            "%+d": "[+0, +0, +1, +1]",
        },
    ),
    (
        F32,
        FLOATS,
        {
            "%f": "[-200.000000, 300.000000, 1550.000000, 2300.000000]",
            "%F": "[-200.000000, 300.000000, 1550.000000, 2300.000000]",
            "%e": "[-2.000000e+02, 3.000000e+02, 1.550000e+03, 2.300000e+03]",
            "%E": "[-2.000000E+02, 3.000000E+02, 1.550000E+03, 2.300000E+03]",
            "%g": "[-200, 300, 1550, 2300]",
            "%G": "[-200, 300, 1550, 2300]",
            "%a": "[-0x1.9p+7, 0x1.2cp+8, 0x1.838p+10, 0x1.1f8p+11]",
            "%A": "[-0X1.9P+7, 0X1.2CP+8, 0X1.838P+10, 0X1.1F8P+11]",
        },
    ),
    (
        F32,
        FLOATS,
        {
            "%.0f": "[-200, 300, 1550, 2300]",
            "%.1f": "[-200.0, 300.0, 1550.0, 2300.0]",
            "%10.2f": "[   -200.00,     300.00,    1550.00,    2300.00]",
            "%-10.2f": "[-200.00   , 300.00    , 1550.00   , 2300.00   ]",
            "%+f": "[-200.000000, +300.000000, +1550.000000, +2300.000000]",
            "% f": "[-200.000000,  300.000000,  1550.000000,  2300.000000]",
            "%#g": "[-200.000, 300.000, 1550.00, 2300.00]",
            "%010.3f": "[-00200.000, 000300.000, 001550.000, 002300.000]",
            "%.10f": "[-200.0000000000, 300.0000000000, 1550.0000000000, 2300.0000000000]",
            "%.3g": "[-200, 300, 1.55e+03, 2.3e+03]",
            "%#.0f": "[-200., 300., 1550., 2300.]",
        },
    ),
    (
        F16,
        FLOATS,
        {
            "%f": "[-200.000000, 300.000000, 1550.000000, 2300.000000]",
            "%e": "[-2.000000e+02, 3.000000e+02, 1.550000e+03, 2.300000e+03]",
            "%g": "[-200, 300, 1550, 2300]",
            "%a": "[-0x1.9p+7, 0x1.2cp+8, 0x1.838p+10, 0x1.1f8p+11]",
            "%.3lf": "[-200.000, 300.000, 1550.000, 2300.000]",
            "%lf": "[-200.000000, 300.000000, 1550.000000, 2300.000000]",
        },
    ),
    (
        F64,
        FLOATS.astype(np.float64) / 3,
        {
            "%f": "[-66.666667, 100.000000, 516.666667, 766.666667]",
            "%e": "[-6.666667e+01, 1.000000e+02, 5.166667e+02, 7.666667e+02]",
            "%g": "[-66.6667, 100, 516.667, 766.667]",
            "%a": "[-0x1.0aaaaaaaaaaabp+6, 0x1.9p+6, 0x1.0255555555555p+9, 0x1.7f55555555555p+9]",
            "%.3lf": "[-66.667, 100.000, 516.667, 766.667]",
            "%lf": "[-66.666667, 100.000000, 516.666667, 766.666667]",
            "%.17g": "[-66.666666666666671, 100, 516.66666666666663, 766.66666666666663]",
            "%le": "[-6.666667e+01, 1.000000e+02, 5.166667e+02, 7.666667e+02]",
        },
    ),
    (
        F32,
        np.full(4, np.inf, np.float32),
        {
            "%f": "[inf, inf, inf, inf]",
            "%F": "[INF, INF, INF, INF]",
            "%e": "[inf, inf, inf, inf]",
            "%g": "[inf, inf, inf, inf]",
            "%a": "[inf, inf, inf, inf]",
            "%5.1f": "[  inf,   inf,   inf,   inf]",
            "%-5f": "[inf  , inf  , inf  , inf  ]",
            "%05f": "[  inf,   inf,   inf,   inf]",
            "%+f": "[+inf, +inf, +inf, +inf]",
        },
    ),
    (
        F32,
        np.full(4, np.nan, np.float32),
        {
            "%f": "[nan, nan, nan, nan]",
            "%F": "[NAN, NAN, NAN, NAN]",
            "%e": "[nan, nan, nan, nan]",
            "%g": "[nan, nan, nan, nan]",
            "%a": "[nan, nan, nan, nan]",
            "%5.1f": "[  nan,   nan,   nan,   nan]",
            "%-5f": "[nan  , nan  , nan  , nan  ]",
            "%05f": "[  nan,   nan,   nan,   nan]",
            "%+f": "[+nan, +nan, +nan, +nan]",
        },
    ),
    (
        F32,
        (FLOATS + 700) / 1000 / np.float32(3),
        {
            "%.0e": "[2e-01, 3e-01, 8e-01, 1e+00]",
        },
    ),
    (
        F32,
        (FLOATS + 700) / 1000 * np.float32(1e-38) * np.float32(1e-4),
        {
            "%g": "[5.00264e-43, 1.00053e-42, 2.25049e-42, 3.00018e-42]",
            "%a": "[0x1.65p-141, 0x1.65p-140, 0x1.918p-139, 0x1.0bap-138]",
            "%e": "[5.002636e-43, 1.000527e-42, 2.250485e-42, 3.000180e-42]",
        },
    ),
]


def text_of(format: str, *args: tuple[np.ndarray, ElementType]) -> str:
    return format_print(format, [(values, TileType(element, values.shape)) for values, element in args])


@pytest.mark.parametrize(
    ("element", "values", "directive", "want"),
    [(element, values, d, want) for element, values, texts in RECORDED for d, want in texts.items()],
)
def test_a_tile_prints_as_on_the_gpu(element: ElementType, values: np.ndarray, directive: str, want: str) -> None:
    assert text_of(directive, (values, element)) == want


def test_shapes_and_text_print_as_on_the_gpu() -> None:
    counted = np.arange(16, dtype=np.int32)
    nested = "[[[[0, 1], [2, 3]], [[4, 5], [6, 7]]], [[[8, 9], [10, 11]], [[12, 13], [14, 15]]]]\n"
    assert text_of("%d\n", (counted.reshape(2, 2, 2, 2), I32)) == nested
    zero = np.zeros(1, np.int32)
    assert text_of("%d %d\n", (zero, I32), (zero.reshape(1, 1), I32)) == "[0] [[0]]\n"
    scalars = [(np.array(3, np.int32), I32), (np.array(2.5, np.float32), F32), (counted[:4].reshape(2, 2), I32)]
    assert text_of("scalar %5d|%-8.3f|%d\n", *scalars) == "scalar     3|2.500   |[[0, 1], [2, 3]]\n"
    assert text_of("y=%f %% 100%%\n", (np.array(0, np.float32), F32)) == "y=0.000000 % 100%\n"
    assert text_of('tab\tquote"back\\slash é\n') == 'tab\tquote"back\\slash é\n'
    assert text_of("%f|%g", (np.array([1552, -0.0], np.float32), BF16), (np.array(2304, np.float32), BF16)) == (
        "[1552.000000, -0.000000]|2304"
    )


def test_arrays_that_are_views_print_in_row_major_order() -> None:
    assert text_of("%d", (np.arange(6, dtype=np.int16).reshape(2, 3).T, I16)) == "[[0, 3], [1, 4], [2, 5]]"
    assert text_of("%d", (np.broadcast_to(np.array(True), (3,)), I1)) == "[1, 1, 1]"


@pytest.mark.parametrize(
    "format", ["%", "100%", "%d", "% d and %q", "%s", "%5", "%.", "%*d", "%lld%", "%hf%c%p%n", "%-"]
)
def test_what_is_no_directive_prints_as_it_stands(format: str) -> None:
    assert text_of(format) == format


def test_an_endless_field_is_cut() -> None:
    number = (np.array(1, np.int32), I32)
    assert len(text_of("%999999999999d", number)) == len(text_of("%.999999999999d", number)) == 4096
    assert len(text_of("%.99999999999f", (np.array(1, np.float32), F32))) == 4098


def test_directives_of_another_width_read_the_same_bytes() -> None:
    wide = np.array([-10_000_000_000, 5], np.int64)
    assert text_of("%d", (wide, I64)) == "[-1410065408, -3]"
    assert text_of("%lld", (np.array([-2, -1, 0, 1], np.int32), I32)) == "[-2, 4294967296, 0, 0]"
    assert text_of("%f", (np.array([0, 0], np.int32), I32)) == "[0.000000, 0.000000]"
    assert text_of("%hhd|%hhu", (np.array(-1, np.int8), I8), (np.array(-1, np.int8), I8)) == "-1|255"


def c_text(format: str, value: int | float) -> str:
    buffer = ctypes.create_string_buffer(8192)
    argument = ctypes.c_double(value) if isinstance(value, float) else ctypes.c_longlong(value)
    ctypes.CDLL(None).snprintf(buffer, len(buffer), format.encode(), argument)
    return buffer.value.decode()


flags = st.lists(st.sampled_from("-+ #0"), max_size=3).map("".join)
sizes = st.sampled_from(["", "1", "6", "14"])
precisions = st.sampled_from(["", ".", ".0", ".1", ".3", ".13", ".20"])


@pytest.mark.skipif(sys.platform != "linux", reason="the C library's printf is the oracle")
@settings(max_examples=150)
@given(
    flags, sizes, precisions, st.sampled_from("diuoxX"), st.integers(-(2**63), 2**63 - 1) | st.sampled_from([0, 1, -1])
)
def test_integers_as_c_prints_them(flag: str, width: str, precision: str, specifier: str, value: int) -> None:
    format = f"%{flag}{width}{precision}ll{specifier}"
    assert text_of(format, (np.array(value), I64)) == c_text(format, value)


@pytest.mark.skipif(sys.platform != "linux", reason="the C library's printf is the oracle")
@settings(max_examples=250)
@given(
    flags,
    sizes,
    precisions,
    st.sampled_from("eEfFgGaA"),
    st.floats(allow_nan=False) | st.sampled_from([0.5, 1.5, 2.5, 9.9999999, 0.00001, 5e-324, 1e15]),
)
def test_floats_as_c_prints_them(flag: str, width: str, precision: str, specifier: str, value: float) -> None:
    format = f"%{flag}{width}{precision}{specifier}"
    assert text_of(format, (np.array(value), F64)) == c_text(format, value)


@settings(max_examples=150)
@given(st.text(alphabet="%d5.lh-+ #0fxasn*é\n", max_size=12), st.integers(0, 3))
def test_no_format_crashes(format: str, count: int) -> None:
    format_print(format, [(np.full((2,), np.nan, np.float32), TileType(F32, (2,)))] * count)
