"""What the analyses find in real kernels, against expectations written by hand."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from cutile_sim.frontend.export import compile_kernel
from cutile_sim.tileir.core import Function, Op, Value
from cutile_sim.tileir.printer import print_module
from ir_passes import PASSES, run
from ir_passes.edges import terminators
from ir_passes.memory_roots import writable_parameters, written_parameters

pytestmark = pytest.mark.cutile

ct = pytest.importorskip("cuda.tile")


@ct.kernel
def scalars(y, n):
    b = ct.bid(0)
    skipped = 0
    for j in range(n):
        if (b + j) % 3 == 0:
            continue
        skipped += 1
    same_skips = 0
    for j in range(n):
        if (n + j) % 3 == 0:
            continue
        same_skips += 1
    by_length = 0
    for _ in range(b):
        by_length = 3
    by_side = 0
    if b > 2:
        by_side = 1
    inner = 0
    for j in range(n):
        if b == j:
            by_side += 1
        inner += j
    by_exit = 0
    while True:
        by_exit += 1
        if by_exit > b:
            break
    same_exit = 0
    while True:
        same_exit += 1
        if same_exit > n:
            break
    ct.scatter(y, 0, skipped)
    ct.scatter(y, 1, same_skips)
    ct.scatter(y, 2, by_length)
    ct.scatter(y, 3, by_side)
    ct.scatter(y, 4, inner)
    ct.scatter(y, 5, by_exit)
    ct.scatter(y, 6, same_exit)
    ct.scatter(y, 7, ct.num_blocks(0) * n)
    ct.scatter(y, 8, ct.gather(y, 9))


@ct.kernel
def accesses(x, pair, arrays, z, n):
    t = ct.load(x, (ct.bid(0),), (4,))
    v = z.slice(0, 0, n)
    for i in range(n):
        t = t + ct.load(pair[1], (i,), (4,))
        ct.atomic_add(z, i, 1.0)
    t = t + ct.load(arrays[n], (0,), (4,))
    if n > 3:
        ct.store(v, (0,), t)
    else:
        ct.scatter(pair[0], ct.arange(4, dtype=ct.int32), t)


@ct.kernel
def writes_anywhere(arrays, x):
    ct.store(arrays[0], (0,), ct.load(x, (0,), (4,)))


@ct.kernel
def prints(x):
    ct.print("a", ct.load(x, (0,), (4,)))


@ct.kernel
def folds(x, y, n):
    t = ct.load(x, (0,), (8,))
    ct.store(y, (0,), ct.reduce(t, 0, lambda a, b: ct.maximum(ct.abs(a), ct.abs(b)), 0.0, keepdims=True) + n)


def f32(n: int = 16) -> np.ndarray:
    return np.zeros(n, np.float32)


def compiled(kernel, *args, version: str | None = None):
    return compile_kernel(kernel, args, bytecode_version=version)


def ops_named(function: Function, name: str) -> list[Op]:
    return [op for op in function.walk() if op.name == name]


def operand(op: Op, name: str) -> Value:
    value = op.operands[name]
    assert isinstance(value, Value)
    return value


def test_passes_are_found_by_name_and_change_nothing():
    kernel = compiled(scalars, np.zeros(16, np.int32), 3)
    before = print_module(kernel.module)
    for name in PASSES:
        first, second = run(name, kernel.entry), run(name, kernel.entry)
        if name != "dataflow":
            assert first == second
    assert print_module(kernel.module) == before
    with pytest.raises(KeyError, match="there is no pass 'nothing'; there are dataflow"):
        run("nothing", kernel.entry)


def test_block_dependence():
    function = compiled(scalars, np.zeros(16, np.int32), 3).entry
    dependent = run("block_dependence", function)
    stored = [operand(op, "value") in dependent for op in ops_named(function, "store_ptr_tko")]
    #         skipped same_skips by_length by_side inner by_exit same_exit blocks*n gathered
    assert stored == [True, False, True, True, False, True, False, False, True]
    assert not dependent & set(function.parameters)


def test_memory_roots():
    function = compiled(accesses, f32(), (f32(), f32()), [f32(), f32()], f32(), 2).entry
    x, first, second, arrays, z = 0, 3, 6, 9, 11
    found = [
        (a.op.name, a.reads, a.writes, a.parameters, a.exact)
        for a in run("memory_roots", function)
    ]  # fmt: skip
    assert sorted(found, key=str) == sorted(
        [
            ("load_view_tko", True, False, frozenset({x}), True),
            ("load_view_tko", True, False, frozenset({second}), True),
            ("atomic_rmw_tko", True, True, frozenset({z}), True),
            ("load_view_tko", True, False, frozenset({arrays}), True),
            ("load_view_tko", True, False, frozenset(), False),
            ("store_view_tko", False, True, frozenset({z}), True),
            ("store_ptr_tko", False, True, frozenset({first}), True),
        ],
        key=str,
    )
    assert written_parameters(function) == writable_parameters(function) == {first, z}


def test_writes_through_a_pointer_out_of_memory():
    function = compiled(writes_anywhere, [f32(), f32()], f32()).entry
    assert written_parameters(function) == frozenset()
    assert writable_parameters(function) is None


@pytest.mark.parametrize("version", ["13.1", "13.4"])
def test_the_lock_around_printing_is_no_argument(version):
    function = compiled(prints, f32(), version=version).entry
    assert written_parameters(function) == writable_parameters(function) == frozenset()


def test_dataflow():
    function = compiled(scalars, np.zeros(16, np.int32), 3).entry
    graph = run("dataflow", function)
    n = function.parameters[-1]
    block = ops_named(function, "get_tile_block_id")[0].results[0]
    stores = [operand(op, "value") for op in ops_named(function, "store_ptr_tko")]
    reached = [(nx.has_path(graph, block, v), nx.has_path(graph, n, v)) for v in stores]
    # By operands, carried values, conditions of an `if` and bounds of a `for`; not by the exits of a `loop`.
    assert reached[2:5] == [(True, False), (True, True), (False, True)]
    assert reached[7] == (False, True)
    kinds = {(graph.edges[edge]["op"].name, graph.edges[edge]["control"]) for edge in graph.in_edges(stores[3])}
    assert ("if", True) in kinds or ("for", True) in kinds
    assert not nx.is_directed_acyclic_graph(graph), "what a loop carries makes a cycle"
    for loop in ops_named(function, "for") + ops_named(function, "loop"):
        names = {op.name for op in terminators(loop.regions[0])}
        assert names <= {"continue", "break"} and "continue" in names


def test_dataflow_through_a_reduction():
    function = compiled(folds, f32(), f32(), 2).entry
    graph = run("dataflow", function)
    (reduction,) = ops_named(function, "reduce")
    loaded = ops_named(function, "load_view_tko")[0].results[0]
    (store,) = ops_named(function, "store_view_tko")
    for argument in reduction.regions[0].arguments:
        assert nx.has_path(graph, loaded, argument) and nx.has_path(graph, argument, operand(store, "tile"))
    assert nx.has_path(graph, function.parameters[-1], operand(store, "tile"))
