"""Pictures show what happened: pixels and words of figures, and the mistakes that one can make in asking for one."""

from __future__ import annotations

import struct
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

ct = pytest.importorskip("cuda.tile")
matplotlib = pytest.importorskip("matplotlib")
pytestmark = pytest.mark.cutile

from sample_launches import all_store_one, count, matmul, permute, row_sums  # noqa: E402

from cutile_sim import plot  # noqa: E402
from cutile_sim.errors import UsageError  # noqa: E402
from cutile_sim.pictures import save  # noqa: E402
from cutile_sim.pictures.style import BLUE, NOTHING, OF_BLOCKS, PURPLE, VERMILLION  # noqa: E402
from cutile_sim.traces import LaunchTrace, trace, tracing  # noqa: E402


@pytest.fixture(scope="module")
def product() -> LaunchTrace:
    rng = np.random.default_rng(0)
    a, b, c = rng.standard_normal((50, 72)), rng.standard_normal((72, 40)), np.zeros((50, 40))
    return trace(matmul, (4, 2), *(x.astype(np.float32) for x in (a, b, c)), 16, 32, 8, contents=True).launches[0]


@pytest.fixture(scope="module")
def lines() -> LaunchTrace:
    x, y = np.ones((6, 16), np.float32), np.zeros(8, np.float32)
    return trace(row_sums, 6, x, y, 16, contents=True).launches[0]


def rgba(color: Any) -> np.ndarray:
    return np.array(matplotlib.colors.to_rgba(color))


def words(figure: Any) -> str:
    """Every text of a figure, legends included."""
    found = [t.get_text() for t in figure.findobj(matplotlib.text.Text)]
    return "\n".join(t for t in found if t)


def image(axes: Any) -> np.ndarray:
    (found,) = axes.get_images()
    return np.asarray(found.get_array())


def panels(figure: Any) -> list[Any]:
    """The axes of a figure but those of colour bars."""
    return [a for a in figure.axes if a.get_label() != "<colorbar>"]


def test_counts_of_two_axes(product: LaunchTrace) -> None:
    figure = plot(product, "a")
    (axes,) = panels(figure)
    pixels = image(axes)
    assert pixels.shape == (50, 72, 4) and (pixels == pixels[0, 0]).all()  # each element is loaded twice
    assert axes.get_images()[0].get_extent() == [0, 72, 50, 0]
    text = words(figure)
    for wanted in ("a: loads of each element", "matmul", "grid 4x2", "float32[50, 72]", "2 loads", "edges of tiles"):
        assert wanted in text
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("axis 1 (element)", "axis 0 (element)")
    rows, columns = (
        sorted({p[1 - n] for path in axes.collections[n].get_paths() for p in path.vertices}) for n in (0, 1)
    )
    assert rows == [0, 16, 32, 48, 50] and columns == [*range(0, 73, 8)]


def test_what_is_never_touched(product: LaunchTrace) -> None:
    (axes,) = panels(plot(product, "c", blocks=[(1, 0)]))
    want = np.zeros((50, 40), bool)
    want[16:32, :32] = True
    np.testing.assert_array_equal((image(axes) != rgba(NOTHING)).any(axis=2), want)
    assert "never stored" in words(axes.figure) and "only block (1, 0)" in words(axes.figure)


def test_counts_along_one_axis(lines: LaunchTrace) -> None:
    figure = plot(lines, "y")
    (axes,) = panels(figure)
    stairs = {matplotlib.colors.to_hex(p.get_facecolor()): p.get_data().values for p in axes.patches}
    assert stairs[BLUE].tolist() == [1, 0, 1, 0, 1, 0, 0, 0]
    assert (stairs[NOTHING] > 0).tolist() == [False, True, False, True, False, True, True, True]
    assert axes.get_xlim() == (0, 8) and axes.get_ylabel() == "stores an element"


def test_elements_that_several_blocks_store() -> None:
    launch = trace(all_store_one, 5, np.zeros(16, np.float32), 4).launches[0]
    (axes,) = panels(plot(launch, "x"))
    stairs = {matplotlib.colors.to_hex(p.get_facecolor()): p.get_data().values for p in axes.patches}
    assert stairs[VERMILLION].tolist() == [2] * 8 + [0] * 8
    assert "stored by several blocks" in words(axes.figure)


def test_a_panel_for_each_kind() -> None:
    x = np.arange(16, dtype=np.int32) % 4
    launch = trace(count, 1, x, x.copy(), 16).launches[0]
    assert len(panels(plot(launch, "bins"))) == 1
    both = trace(all_kinds, 1, np.zeros((16, 16), np.float32)).launches[0]
    figure = plot(both, "x")
    assert [a.get_title() for a in panels(figure)] == ["loads", "stores"]
    assert [a.get_title() for a in panels(plot(both, "x", kind="store"))] == [""]


@ct.kernel
def all_kinds(x):
    ct.store(x, (0, 0), ct.load(x, (0, 0), (8, 8)))


@pytest.mark.parametrize("shape", [(3, 20, 30), (9, 20, 30)])
def test_slices_of_three_axes(shape: tuple[int, int, int]) -> None:
    x = np.zeros(shape, np.float32)
    y = np.zeros((shape[2], shape[0], shape[1]), np.float32)
    launch = trace(permute, (-(-shape[0] // 2), 5, 2), x, y, 2, 4, 8).launches[0]
    figure = plot(launch, "x")  # two blocks of 8 along the last axis: the rest is not loaded
    titles = [a.get_title() for a in panels(figure)]
    assert titles == [f"[{i}, :, :]" for i in ((0, 1, 2) if shape[0] == 3 else (0, 3, 5, 8))]
    for axes in panels(figure):
        touched = (image(axes) != rgba(NOTHING)).any(axis=2)
        assert touched[:, :16].all() and not touched[:, 16:].any()
    (one,) = panels(plot(launch, "x", at=(2,)))
    assert one.get_title() == "[2, :, :]"


def test_tiles_and_the_blocks_they_are_of(product: LaunchTrace) -> None:
    figure = plot(product, "c", what="tiles")
    text = words(figure)
    assert all(f"({i}, {j})" in text for i in range(4) for j in range(2))
    figure = plot(product, "a", what="tiles")
    assert "(0, 0)\nto (0, 1)" in words(figure)


def test_tiles_along_one_axis(lines: LaunchTrace) -> None:
    figure = plot(lines, "y", what="tiles")
    labels = {t.get_text() for t in panels(figure)[0].texts}
    assert labels == {"0", "2", "4"} and "no block" in words(figure)


def test_tiles_of_some_blocks(product: LaunchTrace) -> None:
    figure = plot(product, "b", what="tiles", blocks=[(1, 1), (0, 0)])
    (axes,) = panels(figure)
    pixels = image(axes)
    np.testing.assert_array_equal(pixels[0, 39], rgba(OF_BLOCKS[0]))
    np.testing.assert_array_equal(pixels[0, 0], rgba(OF_BLOCKS[1]))
    assert "block (1, 1): 9 tiles" in words(figure)
    outlines = {(*p.get_xy(), p.get_width(), p.get_height()) for p in axes.patches}
    assert outlines == {(x, y, w, 8) for y in range(0, 72, 8) for x, w in ((32, 8), (0, 32))}
    both = panels(plot(product, "a", what="tiles", blocks=[(0, 0), (0, 1)]))[0]  # the same rows
    np.testing.assert_allclose(image(both)[0, 0], (rgba(OF_BLOCKS[0]) + rgba(OF_BLOCKS[1])) / 2)


def test_values_of_two_axes(product: LaunchTrace) -> None:
    figure = plot(product, "c", what="values", blocks=[(1, 0)])
    heat, histogram = panels(figure)
    contents = product.contents("c")
    assert contents is not None
    top = float(np.abs(contents).max())
    shades = matplotlib.colormaps["RdBu_r"](matplotlib.colors.Normalize(-top, top)(contents.astype(np.float64)))
    np.testing.assert_allclose(image(heat), shades)
    assert int(histogram.patches[0].get_data().values.sum()) == 2000
    assert [p.get_xy() for p in heat.patches] == [(0, 16)]


def test_values_that_are_not_finite() -> None:
    x = np.ones((4, 16), np.float32)
    x[1, 2], x[2, 3] = np.nan, np.inf
    launch = trace(row_sums, 4, x, np.zeros(4, np.float32), 16, contents=True).launches[0]
    heat, histogram = panels(plot(launch, "x", what="values"))
    np.testing.assert_array_equal(image(heat)[1, 2], rgba(PURPLE))
    np.testing.assert_array_equal(image(heat)[2, 3], rgba(VERMILLION))
    assert histogram.get_title() == "62 finite values, 1 NaN, 1 infinite"
    assert {"NaN", "infinite"} <= set(words(heat.figure).split("\n"))
    assert "3 finite values, 1 infinite" in words(plot(launch, "y", what="values"))


def test_an_array_larger_than_the_picture() -> None:
    x, y = np.ones((1000, 16), np.float32), np.zeros(1000, np.float32)
    launch = trace(row_sums, 1000, x, y, 16, contents=True).launches[0]
    assert image(panels(plot(launch, "x"))[0]).shape == (400, 16, 4)
    (axes,) = panels(plot(launch, "y"))
    assert axes.patches[0].get_data().values.sum() == pytest.approx(200, rel=0.01)  # every other element, in 400 bins
    plot(launch, "y", what="values")
    plot(launch, "y", what="tiles")


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_files(product: LaunchTrace, tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"c.{ending}"
    save(plot(product, "c"), str(path))
    data = path.read_bytes()
    if ending == "png":
        assert data[:8] == b"\x89PNG\r\n\x1a\n" and struct.unpack(">II", data[16:24]) > (400, 400)
    elif ending == "svg":
        assert ElementTree.fromstring(data).tag.endswith("svg")
        again = tmp_path / "again.svg"
        save(plot(product, "c"), str(again))
        assert again.read_bytes() == data
    else:
        assert data.startswith(b"%PDF")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"array": "z"}, "there is no array 'z'; there are a, b, c"),
        ({"what": "noise"}, "what='noise': there is touches, tiles, values"),
        ({"kind": "product"}, "there is no kind 'product' of access; there is load, store, atomic"),
        ({"kind": "store"}, "what was recorded has no stores of array a"),
        ({"at": (1,)}, r"array a of shape 50x72 has no slice \(1,\)"),
        ({"blocks": [(4, 0)]}, r"the grid of 4x2x1 blocks has no block \(4, 0\)"),
        ({"blocks": [(0, 0)] * 8, "what": "tiles"}, "8 blocks are too many to be told apart by colour"),
    ],
)
def test_what_cannot_be_drawn(product: LaunchTrace, options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        plot(product, **({"array": "a"} | options))


def test_contents_that_were_not_recorded(lines: LaunchTrace) -> None:
    launch = trace(row_sums, 6, np.ones((6, 16), np.float32), np.zeros(6, np.float32), 16).launches[0]
    with pytest.raises(UsageError, match="the trace holds no contents of array x: record it with --contents"):
        plot(launch, "x", what="values")


def test_arrays_without_elements_or_touches(lines: LaunchTrace) -> None:
    launch = trace(row_sums, 2, np.ones((2, 16), np.float32), np.zeros((0,), np.float32), 16).launches[0]
    with pytest.raises(UsageError, match="array y has no elements"):
        plot(launch, "y")
    nothing = trace(row_sums, 2, np.ones((2, 16), np.float32), np.zeros(2, np.float32), 16, names=("x",)).launches[0]
    with pytest.raises(UsageError, match="what was recorded touches nothing of array y"):
        plot(nothing, "y")


def test_a_trace_of_several_launches(tmp_path: Path) -> None:
    from cutile_sim import load_trace, simulate

    with tracing(tmp_path / "x.ctrace"):
        for _ in range(2):
            simulate(row_sums, 2, np.ones((2, 16), np.float32), np.zeros(2, np.float32), 16)
    with load_trace(tmp_path / "x.ctrace") as found:
        with pytest.raises(UsageError, match="holds 2 launches: give one of them"):
            plot(found, "x")
        plot(found.launches[1], "x")


def test_names_are_not_read_as_formulas(product: LaunchTrace) -> None:
    figure = plot(product, "a")
    assert not any(t.get_parse_math() for t in [figure._suptitle, *figure.texts])


def test_endings_that_are_no_pictures(product: LaunchTrace, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"the ending must be one of .*png.*svg"):
        save(plot(product, "a"), str(tmp_path / "a.txt"))
    with pytest.raises(UsageError, match="cannot write"):
        save(plot(product, "a"), str(tmp_path / "no" / "a.png"))


def test_without_matplotlib(product: LaunchTrace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(UsageError, match=r"pictures need matplotlib: pip install 'cutile-sim\[plot\]'"):
        plot(product, "a")
