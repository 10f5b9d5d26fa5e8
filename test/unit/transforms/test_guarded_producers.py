"""No NaN comes through `where` from producers that are read often, summed, or read by several."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ted
from ted.frontend.tensors import Tensor
from ted.ir.equations import System, is_contraction, topological
from ted.testing.tracing import interpreted
from ted.transforms.guarded_producers import mask_guarded_producers

N, M = 4, 6
X = np.array([0.0, 1.0, 4.0, -1.0])  # a root and a logarithm have no slope at the first and last
A = np.arange(24.0).reshape(N, M) - 7
B = np.where(X[:, None] > 0, A, -1.0)
FINITE = X > 0


def p(name: str, *shape: Any) -> Tensor:
    return ted.placeholder(shape, "float64", name=name)


x, a, b = p("x", N), p("a", N, M), p("b", N, M)
ordered = ted.concatenate([x[1:3], x[:1], x[3:]])  # what has a slope comes first
TIMES, BACK = p("times", N), p("back", N)
VALUES = {
    "x": X, "a": A, "b": B,
    "times": np.array([1.5, 0.5, 3.5, 1.5]), "back": np.array([0.5, 0.5, 1.5, 0.5]),
}  # fmt: skip


def column(t: Tensor) -> Tensor:
    return t[:, None]


def root_of_rows() -> Tensor:
    return ted.where(column(x > 0), column(ted.sqrt(x)) * a, 0.0)


def root_used_under_another_condition() -> Tensor:
    return ted.where(b > 0, column(ted.sqrt(x)) * a, 0.0)


def chain_of_producers() -> Tensor:
    return ted.where(b > 0, column(ted.log(ted.sqrt(x))) * a, 0.0)


def sum_of_quotients() -> Tensor:
    total = ted.sum(a / column(x), axis=1)
    return ted.where(column(x > 0), column(total) * b, 0.0)


def two_consumers() -> Tensor:
    root = column(ted.sqrt(x))
    return ted.where(b > 3, root * a, 0.0) + ted.where(column(x > 0), ted.exp(root), 1.0)


def part_that_is_always_used() -> Tensor:
    root = ted.sqrt(x)
    return ted.where(b > 0, column(root) * a, 0.0) + column(ted.pad(ted.sin(root[1:3]), (1, 1)))


def part_of_what_is_made_of_it() -> Tensor:
    root = ted.sqrt(x)
    return ted.where(b > 0, column(root) * a, 0.0) + column(ted.pad(ted.sin(root)[1:3], (1, 1)))


def condition_on_what_is_made_of_it() -> Tensor:
    norm = ted.sqrt(ted.sum(column(ted.maximum(x, 0.0)) * ted.abs(a), axis=1))
    return ted.where(column(norm - 1.0 > 0.0), column(norm) * a, 0.0)


def reader_without_a_slope() -> Tensor:
    root = ted.sqrt(x)
    return ted.where(b > 0, column(root) * a, 0.0) + column(ted.stop_gradient(root * 2.0) > 0.5) * a


def contraction() -> Tensor:
    return ted.where(b > 0, column(ted.sqrt(x)) * (b @ p("w", M, M)), 0.0)


def contraction_of_a_root() -> Tensor:
    """The sum of products reads what has no slope, times what else it reads."""
    sums = ted.einsum("i,ij->i", ted.sqrt(x), a)
    return ted.where(x > 0, sums, 0.0)


def product_of_matrices() -> Tensor:
    roots = ted.log(column(x)) * a
    return ted.where(b > 0, (roots @ p("w", M, M)) * column(ted.sqrt(x)), 0.0)


def concatenation() -> Tensor:
    both = ted.concatenate([ted.sqrt(x), ted.log(x)])
    return ted.where(ted.concatenate([x, x]) > 0, both, 0.0)


def stack_of_rows() -> Tensor:
    rows = ted.stack([ted.sqrt(x), ted.exp(ted.log(x))])
    return ted.where(ted.stack([x, x]) > 0, rows * ted.stack([a[:, 0], a[:, 1]]), 0.0)


def padding() -> Tensor:
    return ted.where(ted.pad(x, (1, 2)) > 0, ted.pad(ted.sqrt(x), (1, 2)), 0.0)


def condition_on_itself() -> Tensor:
    root = ted.where(x > 0, x, 0.0) ** 0.5
    return ted.where(root > 0, root * a[:, 0], 1.0)


def maximum_of_roots() -> Tensor:
    roots = ted.sqrt(column(x) + 0.0 * a)
    return ted.where(x > 0, ted.max(roots - a, axis=1), 0.0)


def product_of_logarithms() -> Tensor:
    return ted.where(x > 0, ted.prod(ted.log(column(x)) + 0.1 * a, axis=1), 0.0)


def scan_of_hoisted() -> Tensor:
    def step(carry: Tensor, row: Tensor) -> tuple[Tensor, Tensor]:
        carry = ted.where(row > 0, carry * 0.5 + ted.sqrt(row), carry)
        return carry, carry

    return ted.scan(step, ted.zeros((), "float64"), x)[1]


def scan_of_products() -> Tensor:
    """A logarithm times the carry is a tensor of the recurrence."""

    def step(carry: Tensor, row: Tensor) -> tuple[Tensor, Tensor]:
        carry = carry + ted.where(row > 0, ted.log(row) * carry, carry)
        return carry, carry

    return ted.scan(step, ted.ones((), "float64"), x)[1]


def scan_of_its_carry() -> Tensor:
    """The root of what the step before left, which is 0 or less after some steps."""

    def step(carry: Tensor, row: Tensor) -> tuple[Tensor, Tensor]:
        root = ted.sqrt(carry)
        return ted.where(carry > 0, root * 0.25 - ted.exp(root), ted.relu(row) + 0.5), carry

    start = ted.where(x[1] > 0, 0.0 * x[1], 1.0)
    return ted.scan(step, start, x)[1]


def scan_read_later() -> Tensor:
    """Whether a root in the recurrence is used is known two steps later."""

    def root(s: ted.Scalar, h: ted.Scalar, t: ted.Scalar) -> ted.Scalar:
        return ted.sqrt(ted.where(t > 0, h[t - 1], 0.0) * x[t])

    def history(s: ted.Scalar, h: ted.Scalar, t: ted.Scalar) -> ted.Scalar:
        earlier = ted.where(t > 0, ted.where(x[t] * x[t - 1] > 0, s[t - 1], 0.5), 0.5)
        return earlier + ted.relu(x[t])

    return ted.recurrence([(N,), (N,)], [root, history], "float64")[1]


def sums_along_rows() -> Tensor:
    return ted.where(b > 0, ted.cumsum(column(ted.sqrt(x)) * a, 1), 0.0)


def products_along_rows() -> Tensor:
    return ted.where(b > 0, ted.cumprod(column(ted.log(x)) * 0.2 + 0.1 * a, 1), 0.0)


def sums_up_to_a_time() -> Tensor:
    """Data decide from which step on nobody reads the sums."""
    return ted.where(ordered > 0, ted.cumsum(ted.sqrt(ordered), 0), 0.0)


def sums_at_times_that_are_data() -> Tensor:
    sums = ted.cumsum(ted.sqrt(ordered), 0)
    return ted.where(TIMES < 2, sums[ted.cast(TIMES, "int64")], 0.0)


def sums_up_to_a_fixed_time() -> Tensor:
    return ted.cumsum(ted.sqrt(ordered), 0)[:2]


def sum_before_the_last() -> Tensor:
    """One step is left out, and those that are left are all used."""
    return ted.cumsum(ted.sqrt(x[:3][::-1]), 0)[1:2]


def scan_used_at_its_end() -> Tensor:
    def step(carry: Tensor, row: Tensor) -> tuple[Tensor, Tensor]:
        carry = carry @ p("w", M, M) + column(ted.sqrt(x)) * row
        return carry, carry

    last = ted.scan(step, ted.zeros((N, M), "float64"), p("rows", 3, M))[0]
    return ted.where(column(x > 0), last, 0.0)


def scan_of_two_carries() -> Tensor:
    """The first carry is read by the second one only, in the same step."""

    def step(carry: tuple[Tensor, Tensor], row: Tensor) -> tuple[tuple[Tensor, Tensor], Tensor]:
        cell, hidden = carry
        cell = cell * 0.5 + ted.sqrt(x) * row
        hidden = ted.tanh(cell) * ted.log(x) + 0.1 * hidden
        return (cell, hidden), hidden

    zeros = ted.zeros((N,), "float64")
    return ted.where(column(x > 0), ted.scan(step, (zeros, zeros), a.T)[1].T, 0.0)


def recurrence_at_times_that_are_data() -> Tensor:
    """Which steps are used is known to those that look back."""

    def history(h: ted.Scalar, t: ted.Scalar) -> ted.Scalar:
        when = ted.cast(BACK[t], "int64")
        return ted.sqrt(ordered[t]) + ted.where((when >= 0) & (when < t), h[when], 0.0)

    return ted.where(ordered > 0, ted.recurrence((N,), history, "float64"), 0.0)


RECURRENCES = [
    scan_of_hoisted, scan_of_products, scan_of_its_carry, scan_read_later, sums_along_rows,
    products_along_rows, sums_up_to_a_time, sums_at_times_that_are_data, sums_up_to_a_fixed_time,
    sum_before_the_last, scan_used_at_its_end, scan_of_two_carries,
    recurrence_at_times_that_are_data,
]  # fmt: skip
REDUCTIONS = [
    root_of_rows, root_used_under_another_condition, chain_of_producers, sum_of_quotients,
    two_consumers, contraction, contraction_of_a_root, product_of_matrices, concatenation,
    stack_of_rows, padding, condition_on_itself,
    maximum_of_roots, part_that_is_always_used, part_of_what_is_made_of_it,
    condition_on_what_is_made_of_it, reader_without_a_slope,
]  # fmt: skip


def checkpointed() -> Tensor:
    return ted.where(x > 0, ted.checkpoint(lambda t: ted.exp(ted.log(t)))(x), 0.0)


def checkpointed_rows() -> Tensor:
    root = ted.checkpoint(ted.sqrt)(x)
    return ted.where(b > 0, column(root) * a, 0.0) + ted.where(column(x) > 2, column(root), 0.0)


def contraction_of_a_checkpoint() -> Tensor:
    sums = ted.einsum("i,ij->i", ted.checkpoint(ted.sqrt)(x), a)
    return ted.where(x > 0, sums, 0.0)


def checkpoint_of_a_checkpoint() -> Tensor:
    inner = ted.checkpoint(ted.sqrt)
    return ted.where(x > 0, ted.checkpoint(lambda t: inner(t) * ted.sin(t))(x), 0.0)


def checkpoint_in_a_scan() -> Tensor:
    def step(carry: Tensor, row: Tensor) -> tuple[Tensor, Tensor]:
        root = ted.checkpoint(lambda c, r: ted.sqrt(r) * c)(carry, row)
        carry = ted.where(row > 0, root, carry + 1.0)
        return carry, carry

    return ted.scan(step, ted.ones((), "float64"), x)[1]


def batch_of_checkpoints() -> Tensor:
    return ted.vmap(lambda t: ted.where(t > 0, ted.checkpoint(ted.sqrt)(t), 0.0))(x)


CHECKPOINTS = [
    checkpointed, checkpointed_rows, contraction_of_a_checkpoint, checkpoint_of_a_checkpoint,
    checkpoint_in_a_scan, batch_of_checkpoints,
]  # fmt: skip
PROGRAMS = [*REDUCTIONS, *RECURRENCES, *CHECKPOINTS, product_of_logarithms]


def inputs_of(*outputs: Tensor) -> list[Tensor]:
    nodes = topological([o.node for o in outputs])
    return [ted.frontend.tensors.wrap(n) for n in nodes if n.is_input]


def arrays(tensors: list[Tensor]) -> list[np.ndarray]:
    random = np.random.default_rng(0)
    return [VALUES[t.name] if t.name in VALUES else random.normal(size=t.shape) for t in tensors]


def gradients(y: Tensor) -> tuple[ted.api.DifferentiationResult, list[np.ndarray]]:
    """Of the sum of squares of y, so that values of y matter too."""
    loss = ted.sum(y * y)
    wanted = inputs_of(loss)
    found = ted.differentiate(loss, wanted)
    return found, list(interpreted(wanted, list(found))(*arrays(wanted)))


@pytest.mark.fast(6)
@pytest.mark.parametrize("make", PROGRAMS)
def test_what_is_never_used_has_slope_zero(make: Callable[[], Tensor]) -> None:
    found, values = gradients(make())
    for tensor, value in zip(found.inputs, values, strict=True):
        assert np.isfinite(value).all(), tensor
    dx = values[[t.name for t in found.inputs].index("x")]
    assert (dx[~FINITE] == 0).all()


@pytest.mark.fast(2)
@pytest.mark.parametrize("make", PROGRAMS)
def test_where_it_is_used_nothing_changes(make: Callable[[], Tensor]) -> None:
    """Rows without a slope are taken away; the others have the gradients of a program alone."""
    y = make()
    found, values = gradients(y)
    wanted = list(found.inputs)
    given = arrays(wanted)
    forward = interpreted(wanted, [ted.sum(y * y)])
    for k, tensor in enumerate(wanted):
        rows = np.flatnonzero(FINITE) if tensor.shape[0] == N else range(tensor.shape[0])
        for place in [(int(i), *(0,) * (len(tensor.shape) - 1)) for i in rows]:
            values_at = []
            for step in (1e-6, -1e-6):
                moved = [g.copy() for g in given]
                moved[k][place] += step
                values_at.append(float(forward(*moved)[0]))
            slope = (values_at[0] - values_at[1]) / 2e-6
            assert values[k][place] == pytest.approx(slope, rel=1e-5, abs=1e-4)


@pytest.mark.fast(1)
@pytest.mark.parametrize("make", PROGRAMS)
def test_the_second_order_is_finite_too(make: Callable[[], Tensor]) -> None:
    first, _ = gradients(make())
    total = ted.sum(first[0] * first[0])
    for gradient in first[1:]:
        total = total + ted.sum(gradient * gradient)
    wanted = inputs_of(total)
    second = ted.differentiate(total, wanted)
    for value in interpreted(wanted, list(second))(*arrays(wanted)):
        assert np.isfinite(value).all()


@pytest.mark.parametrize("make", REDUCTIONS)
def test_work_stays_bounded_and_no_value_is_computed_again(make: Callable[[], Tensor]) -> None:
    y = make()
    found = ted.differentiate(y, inputs_of(y), head=p("head", *y.shape))
    report = found.report()
    assert report.ratio is not None
    assert report.ratio <= 4.0
    backward = [e for e in report.equations if not e.primal]
    assert not [e.name for e in backward if e.name in ("sqrt", "log", "exp", "sum")]
    assert not report.scatters


COMPILED = [
    two_consumers,
    concatenation,
    scan_of_hoisted,
    scan_of_its_carry,
    checkpointed_rows,
    sums_up_to_a_time,
    sums_at_times_that_are_data,
    sums_up_to_a_fixed_time,
    scan_of_two_carries,
    recurrence_at_times_that_are_data,
]


@pytest.mark.fast(1)
@pytest.mark.parametrize("make", COMPILED)
def test_machine_code_is_free_of_nan_too(make: Callable[[], Tensor]) -> None:
    y = make()
    wanted = inputs_of(y)
    head = p("head", *y.shape)
    found = ted.differentiate(y, wanted, head=head)
    values = ted.compile([*wanted, head], list(found))(*arrays(wanted), np.ones(y.shape))
    expected = interpreted([*wanted, head], list(found))(*arrays(wanted), np.ones(y.shape))
    for got, want in zip(values, expected, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-13)
        assert np.isfinite(got).all()


def test_contractions_under_a_mask_stay_contractions() -> None:
    rows = a * ted.rsqrt(ted.sum(a * a, axis=1, keepdims=True))
    keys, queries = rows @ p("k", M, M), rows @ p("q", M, M)
    allowed = ted.placeholder((N, N), "bool", name="m")
    weights = ted.nn.softmax(ted.where(allowed, queries @ keys.T, -1e9))
    y = weights @ rows
    wanted = [t for t in inputs_of(y) if t.name in "kq"]
    found = ted.differentiate(y, wanted, head=p("head", N, M))
    products = [
        e for t in topological([g.node for g in found]) for e in t.equations
        if e.rank == 3 and "*" in str(e.body)
    ]  # fmt: skip
    assert len(products) >= 6
    assert all(is_contraction(e) for e in products)
    assert "is_used" not in str(found)


def masked(*outputs: Tensor) -> list[str]:
    """The producers that get a mask."""
    system = System(tuple(t.node for t in inputs_of(*outputs)), tuple(o.node for o in outputs))
    _, became = mask_guarded_producers(system)
    return [old.name for old, new in became.items() if new.equations != old.equations]


def test_a_slope_that_is_asked_for_stays_infinite() -> None:
    root = ted.sqrt(x)
    y = ted.where(b > 0, column(root) * a, 0.0) + column(root)
    (dx,) = ted.differentiate(y, [x], head=p("head", N, M))
    head = inputs_of(dx)
    values = interpreted(head, [dx])(*[np.ones(t.shape) if t.name == "head" else VALUES[t.name]
                                      for t in head])  # fmt: skip
    assert np.isinf(values[0][0])
    assert "sqrt" not in masked(y)


def test_outputs_and_producers_of_bounded_slope_have_no_mask() -> None:
    tame = ted.where(b > 0, column(ted.tanh(x)) * a, 0.0)
    assert not masked(tame)
    root = ted.sqrt(x)
    assert "sqrt" not in masked(root, ted.where(b > 0, column(root) * a, 0.0))
    assert "sqrt" in masked(ted.where(b > 0, column(root) * a, 0.0))


def test_reads_that_cover_a_tensor_together_always_have_a_slope() -> None:
    root = ted.sqrt(x)
    guarded = ted.where(b > 0, column(root) * a, 0.0)
    assert "sqrt" not in masked(guarded, root[:2] * 3.0, root[2:] * 3.0)
    assert "sqrt" in masked(guarded, root[:2] * 3.0, root[3:] * 3.0)


def test_a_triangle_of_which_nobody_reads_the_rest_gets_no_mask() -> None:
    m = p("m", N, N)
    lower = ted.cholesky(m @ ted.transpose(m))
    (gradient,) = ted.differentiate(lower, inputs_of(lower), head=p("head", N, N))
    assert not [t.name for t in topological([gradient.node]) if t.name.endswith("is_used")]
