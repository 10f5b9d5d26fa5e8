"""Copies that nobody asks for are neither stored nor written first."""

from __future__ import annotations

import numpy as np

import ted
from support.same_values import check_same_values
from ted.frontend.systems import system_of
from ted.ir.equations import System, Tensor, topological
from ted.ir.printing import format_tensor
from ted.transforms.copies import compose_copies


def p(name: str, *shape: int) -> ted.Tensor:
    return ted.placeholder(shape, "float64", name=name)


X, W = p("x", 6, 4), p("w", 3, 5)


def composed(*outputs: ted.Tensor, keep: tuple[Tensor, ...] = ()) -> System:
    """The system without copies, after a comparison of its values with those of the first."""
    inputs = [t for t in topological([o.node for o in outputs]) if t.is_input]
    before = System(tuple(inputs), tuple(o.node for o in outputs))
    after, _ = compose_copies(before, keep)
    check_same_values(before, after)
    return after


def stored(system: System) -> list[str]:
    return [t.name for t in system.tensors() if not t.is_input]


def copy(tensor: ted.Tensor, name: str) -> ted.Tensor:
    return ted.compute(tensor.shape, lambda *dims: tensor[dims], name=name)


def test_readers_read_through_slices_transposes_and_broadcasts() -> None:
    part = ted.compute((3, 4), lambda i, j: X[i + 3, j], name="part")
    turned = ted.compute((4, 3), lambda i, j: part[j, i], name="turned")
    wide = ted.compute((4, 3, 2), lambda i, j, k: turned[i, j], name="wide")
    y = ted.compute((4, 3, 2), lambda i, j, k: wide[i, j, k] * wide[i, 2 - j, k], name="y")
    system = composed(y)
    assert stored(system) == ["y"]
    assert (
        format_tensor(system.outputs[0]).splitlines()[1] == "  y[i, j, k] = x[j + 3, i]*x[5 - j, i]"
    )


def test_what_only_a_copy_reads_is_computed_where_the_copy_goes() -> None:
    r = ted.reduce_axis(4, name="r")
    total = ted.compute((6, 2), lambda i, j: ted.sum(X[i, r] * (j + 1), axis=r), name="total")
    y = ted.compute((2, 1, 6), lambda i, k, j: total[j, i], name="y")
    system = composed(y)
    assert stored(system) == ["y"]
    (equation,) = system.outputs[0].equations
    assert (equation.combiner, equation.extents) == ("add", (2, 6, 4))


def test_parts_of_a_joined_tensor_are_computed_in_place() -> None:
    double = ted.compute((2, 4), lambda i, j: X[i, j] * 2.0, name="double")
    square = ted.compute((3, 4), lambda i, j: X[i, j] ** 2, name="square")
    r = ted.reduce_axis(6, name="r")
    total = ted.compute((1, 4), lambda i, j: ted.sum(X[r, j], axis=r), name="total")
    system = composed(ted.concatenate([double, square, total], axis=0))
    assert len(stored(system)) == 1
    assert [e.combiner for e in system.outputs[0].equations] == ["set", "set", "add"]


def test_a_tensor_that_is_read_twice_or_asked_for_stays() -> None:
    double = ted.compute((6, 4), lambda i, j: X[i, j] * 2.0, name="double")
    turned = ted.compute((4, 6), lambda i, j: double[j, i], name="turned")
    assert stored(composed(turned, double)) == ["double", "turned"]
    assert stored(composed(turned, copy(double, "other"))) == ["double", "turned", "other"]
    assert stored(composed(turned, keep=(double.node,))) == ["double", "turned"]


def test_a_copy_that_repeats_or_leaves_out_elements_does_not_compute_them() -> None:
    double = ted.compute((6, 4), lambda i, j: X[i, j] * 2.0, name="double")
    for y in (
        ted.compute((6, 4, 2), lambda i, j, k: double[i, j], name="y"),
        ted.compute((4,), lambda i: double[i, i], name="y"),
        ted.compute((5, 4), lambda i, j: double[i, j], name="y"),
        ted.compute((24,), lambda i: double[i // 4, i % 4], name="y"),
    ):
        assert stored(composed(y)) == ["double", "y"]


def test_a_part_that_starts_from_another_number_is_reduced_first() -> None:
    r, q = ted.reduce_axis(4, name="r"), ted.reduce_axis(4, name="q")
    total = ted.compute((6,), lambda i: ted.sum(X[i, r], axis=r), name="total")
    least = ted.compute((6,), lambda i: ted.max(-abs(X[i, q]), axis=q), name="least")
    assert stored(composed(ted.concatenate([total, least], axis=0)))[:1] == ["least"]


def test_an_index_that_is_data_keeps_the_bounds_of_the_copy() -> None:
    at = ted.placeholder((3,), "int64", name="at")
    part = ted.compute((2, 4), lambda i, j: X[i + 1, j], name="part")
    y = ted.compute((3, 4), lambda i, j: part[at[i], j] * 2.0, name="y")
    system, _ = compose_copies(system_of([X, at], [y]))
    assert stored(system) == ["part", "y"]


def test_gradients_of_splits_and_transposes_store_no_copies() -> None:
    top, bottom = ted.split(X, 2, axis=0)
    found = ted.differentiate(top * bottom, [X], head=p("head", 3, 4))
    assert str(found).splitlines()[0] == "dx: float64[6, 4]"
    y = ted.compute((4, 3), lambda i, j: p("v", 3, 4)[j, i], name="t") @ W
    for gradient in ted.differentiate(y, head=p("head", 4, 5)):
        own = [t for t in topological([gradient.node]) if t.name.startswith("d")]
        assert own == [gradient.node]


def test_a_copy_with_a_derivative_of_its_own_is_not_read_through() -> None:
    @ted.custom_vjp
    def turned(x: ted.Tensor) -> ted.Tensor:
        return ted.transpose(x, (1, 0))

    def backward(inputs: object, outputs: object, heads: tuple[ted.Tensor]) -> tuple[ted.Tensor]:
        (head,) = heads
        return (ted.transpose(head, (1, 0)) * 10.0,)

    turned.defvjp(backward)
    slope = ted.grad(lambda x: ted.sum(turned(x) ** 3))
    second = ted.grad(lambda x: ted.sum(slope(x)))
    np.testing.assert_array_equal(slope(np.ones((2, 3))), np.full((2, 3), 30.0))
    np.testing.assert_array_equal(second(np.ones((2, 3))), np.full((2, 3), 600.0))
