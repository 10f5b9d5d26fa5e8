"""No NaN comes through `where` from producers that are read often, summed, or read by several."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import ted
from ted.frontend.tensors import Tensor
from ted.ir.equations import System, topological
from ted.testing.tracing import interpreted
from ted.transforms.guarded_producers import mask_guarded_producers

N, M = 4, 6
X = np.array([0.0, 1.0, 4.0, -1.0])  # a root and a logarithm have no slope at the first and last
A = np.arange(24.0).reshape(N, M) - 7
B = np.where(X[:, None] > 0, A, -1.0)
FINITE = X > 0


def p(name: str, *shape: int) -> Tensor:
    return ted.placeholder(shape, "float64", name=name)


x, a, b = p("x", N), p("a", N, M), p("b", N, M)
VALUES = {"x": X, "a": A, "b": B}


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


def contraction() -> Tensor:
    return ted.where(b > 0, column(ted.sqrt(x)) * (b @ p("w", M, M)), 0.0)


PROGRAMS = [
    root_of_rows, root_used_under_another_condition, chain_of_producers, sum_of_quotients,
    two_consumers, contraction,
]  # fmt: skip


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


@pytest.mark.parametrize("make", PROGRAMS)
def test_what_is_never_used_has_slope_zero(make: Callable[[], Tensor]) -> None:
    found, values = gradients(make())
    for tensor, value in zip(found.inputs, values, strict=True):
        assert np.isfinite(value).all(), tensor
    dx = values[[t.name for t in found.inputs].index("x")]
    assert (dx[~FINITE] == 0).all()


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


@pytest.mark.parametrize("make", PROGRAMS)
def test_the_second_order_is_finite_too(make: Callable[[], Tensor]) -> None:
    first, _ = gradients(make())
    total = sum((ted.sum(g * g) for g in first[1:]), ted.sum(first[0] * first[0]))
    wanted = inputs_of(total)
    second = ted.differentiate(total, wanted)
    for value in interpreted(wanted, list(second))(*arrays(wanted)):
        assert np.isfinite(value).all()


@pytest.mark.parametrize("make", PROGRAMS)
def test_work_stays_bounded_and_no_value_is_computed_again(make: Callable[[], Tensor]) -> None:
    y = make()
    found = ted.differentiate(y, inputs_of(y), head=p("head", *y.shape))
    report = found.report()
    assert report.ratio is not None
    assert report.ratio <= 4.0
    backward = [e for e in report.equations if not e.primal]
    assert not [e.name for e in backward if e.name in ("sqrt", "log", "exp", "sum")]
    assert not report.scatters


def test_machine_code_is_free_of_nan_too() -> None:
    y = two_consumers()
    wanted = inputs_of(y)
    head = p("head", *y.shape)
    found = ted.differentiate(y, wanted, head=head)
    values = ted.compile([*wanted, head], list(found))(*arrays(wanted), np.ones(y.shape))
    expected = interpreted([*wanted, head], list(found))(*arrays(wanted), np.ones(y.shape))
    for got, want in zip(values, expected, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-12)
        assert np.isfinite(got).all()


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
