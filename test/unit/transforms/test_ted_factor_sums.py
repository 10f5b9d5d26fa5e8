"""Sums are taken over the dims that their parts depend on; what must stay stays."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import pytest

import ted
from support.same_values import check_same_values
from ted.domain import parameters
from ted.domain.sizes import numbers
from ted.frontend.systems import system_of
from ted.ir.dtypes import FLOAT64
from ted.ir.equations import Equation, System, Tensor, topological
from ted.ir.printing import format_system
from ted.ir.scalar import dim, load
from ted.transforms import factored_products
from ted.transforms.ted_factor_sums import factor_sums
from ted.transforms.ted_simplify import simplify


def p(name: str, *shape: int, dtype: str = "float64") -> ted.Tensor:
    return ted.placeholder(shape, dtype, name=name)


A, B, C, D = p("a", 9, 10), p("b", 10, 11), p("c", 9, 10), p("d", 10, 11)
R = ted.reduce_axis(10, "r")


def factored(*outputs: ted.Tensor, through: bool = False) -> str:
    """The equations, after a comparison of their values with those of the first."""
    inputs = [t for t in topological([o.node for o in outputs]) if t.is_input]
    before = System(tuple(inputs), tuple(o.node for o in outputs))
    after, _ = factor_sums(before, through=through)
    check_same_values(before, after)
    lines = format_system(after).splitlines()
    return "\n".join(line.strip() for line in lines if "=" in line)


def test_a_factor_leaves_a_sum_that_does_not_depend_on_it() -> None:
    g = p("g", 11)
    y = ted.compute((9, 11), lambda i, j: ted.sum(A[i, R] * g[j], axis=R), name="y")
    assert factored(y) == "y_factor[i] += a[i, r]  for r < 10\ny[i, j] = y_factor[i]*g[j]"


def test_a_factor_over_the_same_points_stays_in_a_sum() -> None:
    g = p("g", 9)
    y = ted.compute((9,), lambda i: ted.sum(A[i, R] * g[i], axis=R), name="y")
    assert factored(y) == "y[i] += a[i, r]*g[i]  for r < 10"


def test_a_dim_that_nothing_depends_on_is_counted() -> None:
    g = p("g", 9)
    y = ted.compute((9,), lambda i: ted.sum(g[i], axis=R), name="y")
    assert factored(y) == "y[i] = 10*g[i]"


def test_products_of_matrices_that_are_added_become_a_chain() -> None:
    y = ted.compute(
        (9, 11),
        lambda i, j: ted.sum(A[i, R] * B[R, j] - C[i, R] * D[R, j], axis=R), name="y"
    )  # fmt: skip
    lines = ["y[i, j] += a[i, r]*b[r, j]  for r < 10", "y[i, j] += (-c[i, r])*d[r, j]  for r < 10"]
    assert factored(y) == "\n".join(lines)


def test_a_common_factor_of_products_that_are_added_is_multiplied_once() -> None:
    y = ted.compute(
        (9, 11), lambda i, j: ted.sum(A[i, R] * B[R, j] + A[i, R] * D[R, j], axis=R), name="y"
    )
    assert factored(y) == (
        "y_factor[r, j] = b[r, j] + d[r, j]\ny[i, j] += a[i, r]*y_factor[r, j]  for r < 10"
    )


def test_differences_that_may_cancel_are_not_distributed() -> None:
    squares = ted.compute((9, 11), lambda i, j: ted.sum((A[i, R] - B[R, j]) ** 2, axis=R), name="y")
    plain = ted.compute((9, 11), lambda i, j: ted.sum(A[i, R] - B[R, j], axis=R), name="z")
    assert "factor" not in factored(squares, plain)


def test_a_chain_is_no_gain_over_a_short_sum() -> None:
    s = ted.reduce_axis(4, "s")
    y = ted.compute(
        (9, 11), lambda i, j: ted.sum(A[i, s] * B[s, j] + C[i, s] * D[s, j], axis=s), name="y"
    )
    assert len(factored(y).splitlines()) == 1


def test_a_computed_operand_of_a_contraction_is_stored() -> None:
    w = p("w", 11, 12)
    y = ted.compute(
        (9, 12),
        lambda i, j: ted.sum(
            A[i, R] * C[i, R] * B[R, s] * w[s, j], axis=(R, s)
        ), name="y"
    )  # fmt: skip
    assert factored(y).splitlines()[-1] == "y[i, j] += y_factor[i, s]*w[s, j]  for s < 11"


s = ted.reduce_axis(11, "s")


def test_a_guard_is_a_factor_over_its_dims() -> None:
    y = ted.compute(
        (9, 11),
        lambda i, j: ted.sum(ted.where(i >= R, A[i, R], 0.0) * D[2, j], axis=R), name="y"
    )  # fmt: skip
    assert factored(y).startswith("y_factor[i] += where(r <= i, a[i, r], 0)")


def test_who_reads_a_copy_of_a_smaller_sum_reads_that() -> None:
    y = ted.compute((9, 11), lambda i, j: ted.sum(A[i, R], axis=R), name="y")
    z = ted.compute((11,), lambda j: ted.sum(y[q, j], axis=q), name="z")
    assert factored(z, through=True).splitlines()[1:] == [
        "z_factor[] += y_factor[q]  for q < 9", "z[j] = z_factor[]",
    ]  # fmt: skip
    assert "z_factor[] +=" not in factored(z)


q = ted.reduce_axis(9, "q")


@pytest.mark.parametrize("change", ["float16", "wishes", "keep"])
def test_what_may_not_change_stays(change: str) -> None:
    dtype = change if change == "float16" else "float64"
    x = p("x", 9, 10, dtype=dtype)
    y = ted.compute((11, 9), lambda j, i: ted.sum(x[i, R], axis=R, dtype=dtype), name="y").node
    if change == "wishes":
        y = replace(y, equations=(replace(y.equations[0], wishes=(("ted.form", "{}"),)),))
    system = System((x.node,), (y,))
    keep: tuple[Tensor, ...] = (y,) if change == "keep" else ()
    assert factor_sums(system, keep)[0].outputs == (y,)


def test_a_recurrence_stays() -> None:
    total = ted.cumsum(ted.compute((9, 10), lambda i, j: A[i, j] * 2, name="x"), 0)
    system = system_of([A], [total])
    assert factor_sums(system)[0].outputs == system.outputs


def test_an_empty_sum_is_not_counted() -> None:
    g, none = p("g", 9), ted.reduce_axis(0, "n")
    y = ted.compute((9,), lambda i: ted.sum(g[i], axis=none), name="y")
    assert factored(y) == "y[i] += g[i]  for n < 0"


def test_equal_parts_of_two_tensors_are_one() -> None:
    e = p("e", 11, 12)
    y = ted.einsum("ij,jk,kl->il", A, B, e)
    z = ted.einsum("ij,jk,kl->li", A, B, e)
    assert factored(y, z).count("a[i, j]*b[j, k]") == 1


def points(*outputs: Tensor) -> int:
    """The points of all equations."""
    equations = [e for t in topological(outputs) for e in t.equations]
    return sum(math.prod(numbers(e.extents)) for e in equations)


@pytest.mark.parametrize("count", [3, 5, 8])
def test_the_gradients_of_many_factors_take_few_times_their_points(count: int) -> None:
    letters = "ijklmnopq"
    terms = [a + b for a, b in itertools.pairwise(letters[: count + 1])]
    xs = [p(f"x{k}", 9, 9) for k in range(count)]
    y = ted.einsum(f"{','.join(terms)}->i{letters[count]}", *xs)
    (value,) = factor_sums(System((), (y.node,)))[0].outputs
    gradients = ted.differentiate(y, xs, head=p("head", 9, 9))
    everything, _ = factor_sums(System((), (y.node, *(g.node for g in gradients))))
    shared, _ = simplify(everything)
    assert points(*shared.outputs) <= 3 * points(value)


def test_equations_of_gradients_are_factored_in_reports() -> None:
    """Of the gradient of a sum of products no equation has the points of a product of matrices."""
    gradients = ted.differentiate(ted.sum(A @ B), [A, B])
    counted = [e.points for e in gradients.report().gradients]
    assert max(counted) <= 10 * 11


def test_a_map_over_all_elements_counts_as_its_points() -> None:
    short, t = p("c", 9, 2), ted.reduce_axis(2, "t")
    y = ted.compute((9, 9), lambda _, i: ted.sum(short[i, t], axis=t), name="y")
    assert "factor" not in factored(y)


def test_an_operand_that_is_too_large_to_store_makes_no_contraction() -> None:
    x, z, w, v = p("x", 18), p("z", 18), p("w", 10, 2), p("v", 10, 2)
    y = ted.compute(
        (9, 2),
        lambda i, j: ted.sum(
            (x[i + R] + z[i + R]) * w[R, j] + ted.tanh(x[i + R] - z[i + R]) * v[R, j], axis=R
        ),
        name="y",
    )
    system = System((x.node, z.node, w.node, v.node), (y.node,))
    assert factor_sums(system)[0].outputs == system.outputs


@pytest.mark.parametrize(("held", "pays"), [(128, True), (127, False)])
def test_a_bilinear_form_is_two_sums_if_a_cache_holds_the_first(
    held: int, pays: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(factored_products, "SMALL", held)
    left, right, form = p("left", 8, 4), p("right", 8, 4), p("form", 4, 4, 4)
    text = factored(ted.einsum("bi,oij,bj->bo", left, form, right))
    assert ("einsum_factor" in text) == pays


def test_a_sum_inside_of_a_recurrence_stays() -> None:
    def step(carry: ted.Tensor, row: ted.Tensor) -> tuple[ted.Tensor, ted.Tensor]:
        carry = ted.einsum("i,ij,jk->k", carry, B.T @ B, D.T @ D) + row
        return carry, carry

    _, states = ted.scan(step, ted.zeros((11,), "float64"), p("rows", 4, 11))
    assert "carry_factor" not in factored(states)
    assert "einsum_factor" not in factored(states)


def test_a_scatter_stays() -> None:
    x = Tensor("x", (9, 10), FLOAT64)
    box, body = parameters.box((8, 9, 10)), load(x, [dim(1), dim(2)])
    equation = Equation((8, 9, 10), 1, box, (dim(1),), "add", body)
    system = System((x,), (Tensor("y", (9,), FLOAT64, 0, (equation,)),))
    assert factor_sums(system)[0].outputs == system.outputs
