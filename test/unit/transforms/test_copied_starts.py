"""Recurrences read what they start from step by step, where they would copy all of it."""

from __future__ import annotations

import numpy as np
import pytest

import ted
from support.ptx_programs import run_manifest
from ted.domain import sets
from ted.ir.dtypes import FLOAT64
from ted.ir.equations import Equation, System, Tensor, identity_dims, whole
from ted.ir.expressions import Expr
from ted.ir.scalar import add, dim, index, load, mul
from ted.transforms.copied_starts import read_starts

X = Tensor("x", (8,), FLOAT64)
HERE = identity_dims(1)


def equations_after(start: Expr, combiner: str = "add", domain: int = 7) -> tuple[Equation, ...]:
    """Of a tensor that starts from an expression and adds its next element, after the pass."""
    found = Tensor("t", (8,), FLOAT64, time=0, reverse=True)
    step = load(found, [add(dim(0), index(1))])
    found.equations = (
        whole((8,), start, None),
        Equation((domain,), 1, sets.box((domain,)), HERE, combiner, step),
    )
    (result,) = read_starts(System((X,), (found,)))[0].outputs
    return result.equations


def test_a_copy_is_read_where_the_steps_add_to_it() -> None:
    (made,) = equations_after(load(X, HERE))
    assert made.combiner == "set"
    assert made.covers((8,))
    assert made.body.op == "select", made.body


@pytest.mark.parametrize(
    ("start", "combiner"),
    [(mul(load(X, HERE), load(X, HERE)), "add"), (load(X, HERE), "max"),
     (load(X, [add(index(7), mul(index(-1), dim(0)))]), "add")],
    ids=["computed", "a maximum", "in another order"],
)  # fmt: skip
def test_other_starts_stay_apart(start: Expr, combiner: str) -> None:
    assert len(equations_after(start, combiner)) == 2


@pytest.mark.parametrize("target", ["cpu", "cuda:sm_80"])
def test_the_gradient_of_a_running_sum_copies_nothing(target: str) -> None:
    x, head = ted.placeholder((4, 100)), ted.placeholder((4, 100))
    inputs, outputs = [head], ted.differentiate(ted.cumsum(x, 1), [x], head)
    a = np.random.default_rng(2).standard_normal((4, 100)).astype("f4")
    a[:, -1] = -0.0
    f = ted.compile(inputs, outputs, target=target)
    found = f(a) if target == "cpu" else run_manifest(f.manifest, [a])[0]
    assert target == "cpu" or not f.manifest.arena_bytes
    want = np.flip(np.cumsum(np.flip(a, 1), 1, dtype="f8"), 1)
    np.testing.assert_allclose(np.asarray(found).reshape(a.shape), want, atol=1e-5)
    assert np.signbit(np.asarray(found).reshape(a.shape)[:, -1]).all(), "the last one is copied"
