"""Of a tensor only the box around what is read of it is computed, with the same values."""

from __future__ import annotations

import numpy as np
import pytest

import ted
from support.same_values import check_same_values
from ted import nn
from ted.ir.dtypes import FLOAT64
from ted.ir.equations import System, Tensor, topological
from ted.ir.printing import format_tensor
from ted.testing.tracing import interpreted
from ted.transforms.demanded_boxes import shrink_to_demand


def p(name: str, *shape: int) -> ted.Tensor:
    return ted.placeholder(shape, "float64", name=name)


A, B = p("a", 8, 5), p("b", 5, 6)


def shrunk(*outputs: ted.Tensor) -> System:
    """The smaller system, after a comparison of its values with those of the first."""
    nodes = [o.node for o in outputs]
    inputs = [t for t in topological(nodes) if t.is_input]
    before = System(tuple(inputs), tuple(nodes))
    after, _ = shrink_to_demand(before)
    check_same_values(before, after)
    return after


def shapes(system: System) -> dict[str, tuple[object, ...]]:
    return {t.name: t.shape for t in system.tensors() if not t.is_input}


def test_rows_of_a_product_are_all_that_is_computed() -> None:
    found = shrunk((A @ B)[2:4, 1:])
    assert shapes(found)["matmul"] == (2, 5)
    (equation,) = found.tensors()[2].equations
    assert equation.extents == (2, 5, 5)


def test_a_chain_is_shrunk_to_the_last_reader() -> None:
    h = nn.softmax(ted.tanh(A @ B))
    found = shapes(shrunk(h[3]))
    assert {shape[0] for name, shape in found.items() if name != "softmax_slice" and shape} == {
        1,
        6,
    }
    assert found["matmul"] == (1, 6)


@pytest.mark.parametrize("stop", [1, 3, 4, 6])
def test_pieces_of_a_joined_tensor_are_cut_or_dropped(stop: int) -> None:
    joined = ted.concatenate([A * 2.0, A[:3] + 1.0], axis=0)
    found = shrunk(joined[:stop] * 3.0)
    assert found.tensors()[-1].shape == (stop, 5)
    assert shapes(found)["concatenate"] == (stop, 5)


def test_strided_and_mirrored_reads_keep_what_they_meet() -> None:
    square = ted.compute((8, 5), lambda i, j: A[i, j] ** 2, name="square")
    y = ted.compute((3, 2), lambda i, j: square[6 - 2 * i, j * 3], name="y")
    found = shrunk(y)
    assert shapes(found)["square"] == (3, 2)
    assert "square[2 - i, j]" in format_tensor(found.outputs[0])


def test_reads_at_several_steps_keep_what_is_between() -> None:
    square = ted.compute((8, 5), lambda i, j: A[i, j] ** 2, name="square")
    sixth = ted.compute((2, 5), lambda i, j: square[1 + 6 * i, j])
    fourth = ted.compute((2, 5), lambda i, j: square[1 + 4 * i, j])
    assert shapes(shrunk(sixth, fourth))["square"] == (4, 5)
    assert shapes(shrunk(sixth, square[2:3] * 2.0))["square"] == (7, 5)


def test_every_other_row_of_a_product_sums_no_others() -> None:
    found = shrunk(ted.tanh(A @ B)[1::3, ::-2])
    (equation,) = next(t for t in found.tensors() if t.name == "matmul").equations
    assert (equation.extents, shapes(found)["matmul"]) == ((3, 3, 5), (3, 3))


def test_every_other_element_of_interleaved_ones_drops_half_of_them() -> None:
    halves = [A * 2.0, A + 1.0]
    woven = ted.compute(
        (16, 5),
        lambda i, j: ted.where(i % 2 < 1, halves[0][i // 2, j], halves[1][i // 2, j]),
        name="woven",
    )
    assert shapes(shrunk(ted.exp(woven)[1::2]))["woven"] == (8, 5)


@pytest.mark.parametrize("step", [2, 3])
def test_a_part_of_what_is_kept_is_kept_of_what_that_reads(step: int) -> None:
    h = (A @ B) @ p("c", 6, 6)
    found = shapes(shrunk((h * 2.0)[::step][1:]))
    rows = len(range(8)[::step][1:])
    assert {shape[0] for name, shape in found.items() if name.startswith("matmul")} == {rows}


def test_reads_under_a_condition_count_where_it_holds() -> None:
    square = ted.compute((8, 5), lambda i, j: A[i, j] ** 2, name="square")
    y = ted.compute((8, 5), lambda i, j: ted.where(i < 3, square[i, j], 0.0), name="y")
    assert shapes(shrunk(y))["square"] == (3, 5)


def test_the_number_of_an_extremum_is_that_of_the_whole_row() -> None:
    r, s = ted.reduce_axis(3, name="r"), ted.reduce_axis(5, name="s")
    most = ted.compute((5,), lambda i: ted.argmax(A[i + r, s], axis=(r, s)), name="most")
    assert shapes(shrunk(most[2:4] * 2))["most"] == (2,)


def test_outputs_and_what_is_read_at_data_stay_whole() -> None:
    product = A @ B
    assert shapes(shrunk(product, product[:2] * 2.0))["matmul"] == (8, 6)
    at = ted.placeholder((2,), "int64", name="at")
    picked = ted.compute((2, 6), lambda i, j: product[at[i], j], name="picked")
    system = System((A.node, B.node, at.node), (picked.node,))
    assert shapes(shrink_to_demand(system)[0])["matmul"] == (8, 6)


def test_a_part_that_is_the_index_of_a_write_is_shifted_there() -> None:
    rows, x, head = ted.placeholder((6,), "int64", name="rows"), p("x", 3), p("head", 3)
    low = ted.compute((6,), lambda i: rows[i] % 3, name="low")
    y = ted.compute((3,), lambda i: x[low[i + 2]], name="y")
    (dx,) = ted.differentiate(y, [x], head)
    inputs = [rows.node, head.node]
    after, _ = shrink_to_demand(System(tuple(inputs), (dx.node,)))
    assert shapes(after)["low"] == (3,)
    arrays = [np.array([5, 5, 0, 1, 2, 5]), np.array([1.0, 2.0, 4.0])]
    (got,) = interpreted(inputs, after.outputs)(*arrays)
    np.testing.assert_array_equal(got, arrays[1])


def test_gradients_behind_a_slice_visit_the_points_of_the_slice() -> None:
    found = ted.differentiate((A @ B)[2:4], head=p("head", 2, 6)).report()
    assert [e.points for e in found.equations if not e.primal and e.operations] == [60, 60]
    strided = ted.differentiate((A @ B)[1::2], head=p("head", 4, 6)).report()
    assert [e.points for e in strided.equations if not e.primal and e.operations] == [120, 120]


@pytest.mark.parametrize("key", [np.s_[2:4], np.s_[1::2], np.s_[::-3, 2], np.s_[5]])
def test_gradients_behind_a_slice_are_those_of_the_whole(key: object) -> None:
    y = (A @ B)[key]  # type: ignore[index]
    head = p("head", *y.shape)
    found = ted.differentiate(y, [A, B], head=head)
    random = np.random.default_rng(0)
    a, b, h = (random.normal(size=t.shape) for t in (A, B, head))
    whole = np.zeros((8, 6))
    whole[key] = h  # type: ignore[index]
    da, db = ted.compile([A, B, head], list(found))(a, b, h)
    np.testing.assert_allclose(da, whole @ b.T, rtol=1e-13, atol=1e-14)
    np.testing.assert_allclose(db, a.T @ whole, rtol=1e-13, atol=1e-14)


def test_what_reads_a_history_that_is_not_known_yet_keeps_all_steps() -> None:
    history = Tensor("h", (8, 5), FLOAT64, time=0)
    step = ted.tanh(ted.Tensor(history))
    assert shapes(shrunk(ted.sin(step)[1:]))["tanh"] == (8, 5)
    assert shapes(shrunk(ted.sin(ted.tanh(A))[1:]))["tanh"] == (7, 5)
