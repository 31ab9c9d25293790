"""The data flow that is drawn is that of the kernel."""

from __future__ import annotations

import numpy as np
import pytest

ct = pytest.importorskip("cuda.tile")
pytestmark = pytest.mark.cutile

from sample_launches import matmul, row_sums  # noqa: E402

from cutile_sim.analysis import DataFlow, Edge, dataflow  # noqa: E402
from cutile_sim.traces import trace  # noqa: E402


@pytest.fixture(scope="module")
def product() -> DataFlow:
    a, b, c = (np.ones((32, 32), np.float32) for _ in range(3))
    return dataflow(trace(matmul, (2, 2), a, b, c, 16, 16, 16).launches[0])


@pytest.fixture(scope="module")
def branch() -> DataFlow:
    return dataflow(trace(row_sums, 4, np.ones((4, 16), np.float32), np.zeros(4, np.float32), 16).launches[0])


def only(flow: DataFlow, name: str) -> int:
    (found,) = (n.op for n in flow.nodes if n.name == name)
    return found


def into(flow: DataFlow, target: int, operand: str) -> Edge:
    (found,) = (e for e in flow.edges if e.target == target and e.operand == operand)
    return found


def test_operands_of_a_product(product: DataFlow) -> None:
    loop, mma, store = only(product, "for"), only(product, "mmaf"), only(product, "store_view_tko")
    loads = [n.op for n in product.nodes if n.name == "load_view_tko"]
    left, right, total = (into(product, mma, name) for name in ("lhs", "rhs", "acc"))
    assert (left.source, right.source) == tuple(loads)
    assert left.type == right.type == "tile<16x16xf32>"
    # The loop's arguments: its index, then what it carries.
    assert (total.source, total.role, total.number) == (loop, "argument", 1)
    assert (into(product, store, "tile").source, into(product, store, "tile").role) == (loop, "result")
    back = into(product, only(product, "continue"), "operands")
    assert back.source == mma
    assert {product.nodes[n].parent for n in (*loads, mma)} == {loop}


def test_parameters_are_numbered_as_they_are_passed(product: DataFlow) -> None:
    numbers = [e.number for e in product.edges if e.role == "parameter"]
    # Of each array its address, two sizes and two strides; the inner stride is known to be 1 and not asked for.
    assert set(numbers) == set(range(15)) - {4, 9, 14} and len(product.parameters) == 15
    assert all(e.source == -1 for e in product.edges if e.role == "parameter")
    assert all(e.type == product.parameters[e.number] for e in product.edges if e.role == "parameter")


@pytest.mark.parametrize("kernel", ["product", "branch"])
def test_layers_go_down(kernel: str, request: pytest.FixtureRequest) -> None:
    flow: DataFlow = request.getfixturevalue(kernel)
    for edge in flow.edges:
        if edge.source >= 0:
            source, target = flow.nodes[edge.source], flow.nodes[edge.target]
            while (target.parent, target.region) != (source.parent, source.region) and target.parent >= 0:
                target = flow.nodes[target.parent]
            assert target.op == source.op or target.layer > source.layer
    places = [(n.parent, n.region, n.layer, n.column) for n in flow.nodes]
    assert len(set(places)) == len(places)
    for node in flow.nodes:
        row = [n.column for n in flow.nodes if (n.parent, n.region, n.layer) == (node.parent, node.region, node.layer)]
        assert sorted(row) == list(range(len(row)))


def test_values_of_regions_beside_each_other_are_not_mixed_up(branch: DataFlow) -> None:
    store = only(branch, "store_view_tko")
    inner = branch.nodes[into(branch, store, "tile").source]
    assert inner.parent == branch.nodes[store].parent == only(branch, "if")
    reduce = only(branch, "reduce")
    assert branch.nodes[into(branch, reduce, "operands").source].name == "load_view_tko"
    add = only(branch, "addf")
    assert {(e.source, e.role, e.number) for e in branch.edges if e.target == add} == {
        (reduce, "argument", 0),
        (reduce, "argument", 1),
    }
