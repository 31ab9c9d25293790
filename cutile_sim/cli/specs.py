"""Specifications of arguments on the command line: `rand:f32[256,256]`, `file.npy`, `1.5`, `[ones:f32[4], x.npy]`.

    SPEC    = ARRAY | FILE | NUMBER | true | false | "[" SPEC, ... "]" | "(" SPEC, ... ")"
    ARRAY   = KIND ":" DTYPE "[" LENGTH, ... "]"         KIND = rand | zeros | ones | arange | full(NUMBER)
    FILE    = PATH.npy, or PATH.npy:DTYPE to read the file's elements as another type of their size

In `rand` floats are drawn from the standard normal distribution, powers of two from 1/16 to 16 for float8_e8m0fnu,
signed integers from -8 to 7, unsigned ones from 0 to 15, booleans evenly. Brackets make a list of arrays, parentheses a
tuple.
"""

from __future__ import annotations

import io
import math
import re
import zlib
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from typing import Any

import numpy as np

from cutile_sim.dtypes import numpy_dtype
from cutile_sim.errors import UsageError
from cutile_sim.frontend.arrays import array_dtype

KINDS = ("rand", "zeros", "ones", "arange", "full")
MAX_BYTES = 1 << 36
"""More than this in one array is taken for a slip of the pen."""

_SHORT = {
    "f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64",
    "f8e4m3fn": "float8_e4m3fn", "f8e5m2": "float8_e5m2", "f8e8m0fnu": "float8_e8m0fnu",
    "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64",
    "u8": "uint8", "u16": "uint16", "u32": "uint32", "u64": "uint64",
}  # fmt: skip
_FORMS = (
    "rand:f32[256,256], zeros:, ones:, arange:, full(3):, file.npy, a number, true, false,"
    " [list, of, arrays] or (a, tuple)"
)
_WORD = re.compile(r"[A-Za-z_]\w*")
_NUMBER = re.compile(r"[+-]?(?:0[xX][0-9a-fA-F]+|inf\b|nan\b|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)")
# A path ends at `.npy`, so that commas and brackets may stand in it.
_FILE = re.compile(r".*?\.npy(?=$|[:,\])])")


def dtype_named(name: str) -> np.dtype | None:
    """The NumPy type of an element type, by its short or its cuTile name; None for any other name."""
    known = array_dtype(_SHORT.get(name, name))
    return None if known is None else numpy_dtype(known.name)


def split_argument(text: str, option: str = "--arg") -> tuple[str, str]:
    """NAME and SPEC of `NAME=SPEC`. Raises UsageError where there is no name or no specification."""
    name, equals, spec = text.partition("=")
    if not equals or not name.strip() or not spec.strip():
        raise UsageError(f"{option} {text}: write it as NAME=SPEC, such as {option} x=rand:f32[256,256]")
    return name.strip(), spec.strip()


def make_argument(name: str, spec: str, seed: int = 0) -> Any:
    """The value that a specification describes.

    Args:
        name: The parameter; the same name and seed give the same random numbers, whatever the other arguments are.

    Raises UsageError for text that is no specification, and for files that cannot be read.
    """
    return _Parser(name, spec, seed).value()


def make_arguments(specs: Sequence[str], seed: int = 0, option: str = "--arg") -> dict[str, Any]:
    """Values by name, of texts like `x=rand:f32[4]`. Raises UsageError for bad ones, and for a name given twice."""
    texts: dict[str, str] = {}
    for name, spec in (split_argument(text, option) for text in specs):
        if name in texts:
            raise UsageError(f"{option} {name} is given twice: {texts[name]} and {spec}")
        texts[name] = spec
    return {name: make_argument(name, spec, seed) for name, spec in texts.items()}


class _Parser:
    """Reads one specification from left to right, and makes its value on the way."""

    def __init__(self, name: str, text: str, seed: int) -> None:
        self.name = name
        self.text = text
        self.at = 0
        self.rng = np.random.default_rng([seed, zlib.crc32(name.encode())])

    def value(self) -> Any:
        value = self.item()
        self.skip_spaces()
        if self.at < len(self.text):
            raise self.fail(f"nothing may follow here, but {self.text[self.at :]!r} does")
        return value

    def fail(self, problem: str, at: int | None = None) -> UsageError:
        column = self.at if at is None else at
        return UsageError(f"argument {self.name}: {problem}\n    {self.text}\n    {' ' * column}^")

    def skip_spaces(self) -> None:
        while self.text[self.at : self.at + 1].isspace():
            self.at += 1

    def accept(self, token: str) -> bool:
        self.skip_spaces()
        found = self.text.startswith(token, self.at)
        self.at += len(token) * found
        return found

    def match(self, pattern: re.Pattern[str]) -> str:
        """What the pattern matches here, which is then behind us; "" for nothing."""
        self.skip_spaces()
        found = pattern.match(self.text, self.at)
        if found is None:
            return ""
        self.at = found.end()
        return found[0]

    def item(self) -> Any:
        start = self.at
        if self.accept("["):
            return self.items("]")
        if self.accept("("):
            return tuple(self.items(")"))
        word = self.match(_WORD)
        if word in ("true", "false", "True", "False"):
            return word.lower() == "true"
        if word in KINDS and self.text[self.at : self.at + 1] in (":", "("):
            return self.array(word)
        self.at = start
        if path := self.match(_FILE):
            return self.file(path, start)
        if number := self.match(_NUMBER):
            if self.text[self.at : self.at + 1] in ("", ",", "]", ")", " "):
                return _number(number)
            self.at = start
        raise self.fail(self.what_is_wrong(word), start)

    def what_is_wrong(self, word: str) -> str:
        if word in KINDS:
            return f"a colon and an element type must follow {word}: {word}:f32[256,256]"
        if near := get_close_matches(word, KINDS, 1):
            return f"{word!r} makes no argument; did you mean {near[0]}? Possible are {_FORMS}"
        return f"this is no argument; possible are {_FORMS}"

    def items(self, end: str) -> list[Any]:
        found: list[Any] = []
        while not self.accept(end):
            if found and not self.accept(","):
                raise self.fail(f"a comma or {end} must stand here")
            if not (found and self.accept(end)):
                found.append(self.item())
                continue
            break
        return found

    def array(self, kind: str) -> np.ndarray:
        fill: bool | int | float | None = None
        if kind == "full":
            if not self.accept("("):
                raise self.fail("full takes its value in parentheses, such as full(3):f32[4]")
            fill = self.number("a number must stand here, such as full(3):")
            if not self.accept(")"):
                raise self.fail("the parenthesis must be closed here")
        if not self.accept(":"):
            raise self.fail(f"a colon and an element type must stand here, such as {kind}:f32[4]")
        dtype = self.dtype()
        if not self.accept("["):
            raise self.fail("the shape must stand here in brackets, such as [256,256]")
        shape = self.shape()
        return self.guarded(lambda: self.filled(kind, fill, dtype, shape))

    def dtype(self) -> np.dtype:
        self.skip_spaces()
        start = self.at
        word = self.match(_WORD)
        dtype = dtype_named(word)
        if dtype is None:
            near = get_close_matches(word, _SHORT, 1)
            guess = f"; did you mean {near[0]}?" if near else ";"
            what = f"the element type {word!r} is unknown" if word else "an element type must stand here"
            raise self.fail(f"{what}{guess} possible are bool, {', '.join(_SHORT)}, and their long names", start)
        return dtype

    def shape(self) -> tuple[int, ...]:
        lengths: list[int] = []
        while not self.accept("]"):
            if lengths and not self.accept(","):
                raise self.fail("a comma or ] must stand here")
            self.skip_spaces()
            digits = self.match(re.compile(r"\d+"))
            if not digits:
                raise self.fail("a length must stand here: a whole number, 0 or more")
            lengths.append(int(digits))
        return tuple(lengths)

    def number(self, problem: str) -> bool | int | float:
        word = self.match(re.compile(r"(?:true|false)\b"))
        if word:
            return word == "true"
        number = self.match(_NUMBER)
        if not number:
            raise self.fail(problem)
        return _number(number)

    def guarded(self, make: Callable[[], np.ndarray]) -> np.ndarray:
        """Make an array; an array that cannot be is a UsageError."""
        try:
            with np.errstate(all="ignore"):
                return make()
        except (ValueError, OverflowError, MemoryError) as error:
            raise self.fail(f"no such array can be made: {error}", 0) from None

    def filled(self, kind: str, fill: Any, dtype: np.dtype, shape: tuple[int, ...]) -> np.ndarray:
        size_bytes = math.prod(shape) * dtype.itemsize
        if size_bytes > MAX_BYTES:
            raise MemoryError(f"it takes {size_bytes / 2**30:,.0f} GiB")
        match kind:
            case "zeros":
                return np.zeros(shape, dtype)
            case "ones":
                return np.ones(shape, dtype)
            case "full":
                if dtype.kind in "iu":
                    _check_integer(fill, dtype)
                return np.full(shape, fill, dtype)
            case "arange":
                return _arange(math.prod(shape), dtype).reshape(shape)
        return self.random(dtype, shape)

    def random(self, dtype: np.dtype, shape: tuple[int, ...]) -> np.ndarray:
        if dtype == np.bool_:
            return self.rng.integers(0, 2, shape).astype(np.bool_)
        if dtype.kind == "i":
            return self.rng.integers(-8, 8, shape, dtype)
        if dtype.kind == "u":
            return self.rng.integers(0, 16, shape, dtype)
        if dtype.name == "float8_e8m0fnu":
            return np.ldexp(np.float32(1), self.rng.integers(-4, 5, shape)).astype(dtype)
        drawn = self.rng.standard_normal(shape, np.float64 if dtype == np.float64 else np.float32)
        return np.asarray(drawn).astype(dtype, copy=False)

    def file(self, path: str, start: int) -> np.ndarray:
        array = _load(path.strip(), lambda problem: self.fail(problem, start))
        if not self.accept(":"):
            if array.dtype.kind == "V":
                raise self.fail(
                    f"{path} holds elements of {array.dtype.itemsize} bytes without a type: name it, such as"
                    f" {path}:{'bf16' if array.dtype.itemsize == 2 else 'f8e4m3fn'}"
                )
            return array
        at = self.at
        dtype = self.dtype()
        if array.dtype.itemsize != dtype.itemsize:
            raise self.fail(
                f"{path} holds elements of {array.dtype.itemsize} bytes ({array.dtype}),"
                f" which cannot be read as {dtype.name}, of {dtype.itemsize}",
                at,
            )
        return array.view(dtype)


def _number(text: str) -> int | float:
    try:
        return int(text, 0) if "x" in text.lower() else int(text)
    except ValueError:
        return float(text)


def _check_integer(fill: Any, dtype: np.dtype) -> None:
    limits = np.iinfo(dtype)
    if isinstance(fill, float):
        raise ValueError(f"{fill} is not an integer")
    if not limits.min <= fill <= limits.max:
        raise ValueError(f"{fill} does not fit {dtype.name}, which goes from {limits.min} to {limits.max}")


def _arange(count: int, dtype: np.dtype) -> np.ndarray:
    """0, 1, 2, ... in any type: integers wrap around, floats are rounded."""
    if dtype == np.bool_:
        return np.arange(count) % 2 == 1
    return np.arange(count).astype(dtype)


def _load(path: str, fail: Callable[[str], UsageError]) -> np.ndarray:
    """The array in an .npy file. Objects are never unpickled."""
    try:
        with open(path, "rb") as file:
            try:
                return np.lib.format.read_array(file, allow_pickle=False)
            except ValueError as error:
                if "'<f1'" not in str(error):
                    raise
                # NumPy writes the type of some 8-bit floats so that it cannot read it back.
                file.seek(0)
                content = file.read().replace(b"'<f1'", b"'|V1'", 1)
            return np.lib.format.read_array(io.BytesIO(content), allow_pickle=False)
    except OSError as error:
        raise fail(f"cannot read {path}: {error.strerror or error}") from None
    except (ValueError, EOFError, MemoryError) as error:
        reason = "it holds Python objects, which are never unpickled" if "pickle" in str(error) else str(error)
        raise fail(f"{path} is no usable .npy file: {reason}") from None
