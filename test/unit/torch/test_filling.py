"""Results of ted's operators in tensors of the caller, and in place."""

from __future__ import annotations

import re
from typing import Any

import pytest
import torch

import ted
import ted.torch
from ted.errors import ExecutionError, FrontendError
from unit.torch.programs import arguments, assert_equal, layer, operator, torch_layer

of_complex = ted.torch.op(layer)
both = ted.torch.op(lambda x: {"twice": 2 * x, "positive": x > 0}, name="both")


def test_results_go_into_given_tensors() -> None:
    x, w = arguments()
    y = torch.zeros(2, 3, dtype=torch.float64).T
    assert operator.out(x, w, out=y) is y
    assert_equal(y, torch_layer(x, w))
    out = {"twice": torch.zeros_like(x), "positive": torch.zeros(3, 4, dtype=torch.bool)}
    both.out(x, out=out)
    assert_equal(out, {"twice": 2 * x, "positive": x > 0})


def test_a_result_may_take_the_place_of_an_argument() -> None:
    turned = ted.torch.op(lambda x: ted.flip(x, axis=0) + 1)
    x = torch.arange(4, dtype=torch.float64)
    memory, version = x.data_ptr(), x._version
    turned.out(x, out=x)
    assert x.tolist() == [4, 3, 2, 1]
    assert x.data_ptr() == memory
    assert x._version > version


def test_memory_that_is_no_plain_one_is_written_to() -> None:
    doubled = ted.torch.op(lambda x: 2 * x)
    x, z = torch.ones(3), torch.zeros(3, dtype=torch.complex64)
    doubled.out(x, out=z.conj().imag)  # a view that is negative
    assert z.tolist() == [-2j] * 3
    doubled.out(z, out=z.conj())
    assert z.tolist() == [4j] * 3


def test_a_target_is_of_the_type_that_autocast_gives() -> None:
    doubled = ted.torch.op(lambda x: 2 * x, cast_inputs=torch.float32)
    y = torch.zeros(3)
    with torch.autocast("cpu", torch.bfloat16):
        doubled.out(torch.ones(3, dtype=torch.float64), out=y)
    assert y.tolist() == [2, 2, 2]


def test_what_is_written_to_is_missed_by_gradients() -> None:
    x, w = arguments(requires_grad=True)
    y = operator(x, w)
    with torch.no_grad():
        operator.out(x, w.new_zeros(4, 4), out=x)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_a_graph_writes_into_tensors() -> None:
    def f(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        y = torch.zeros(3, 2, dtype=torch.float64)
        operator.out(x, w, out=y)
        z = torch.complex(y, y)
        of_complex.out(x, torch.complex(w, w), out=z)
        return z + y

    torch._dynamo.reset()
    x, w = arguments()
    compiled = torch.compile(f, fullgraph=True, backend="aot_eager")
    y = torch_layer(x, w)
    assert_equal(compiled(x, w), torch.tanh(x @ w + 1j * (x @ w)) + y)


X = torch.ones(3, 4, dtype=torch.float64)
WRONG: dict[str, Any] = {
    "a number": (lambda: both.out(X, out=3), FrontendError, "out= is a nest of tensors, got int"),
    "one of two": (
        lambda: both.out(X, out=X), ExecutionError,
        "both: out= has a tensor for each of 2 results, got 1",
    ),
    "a shape": (
        lambda: both.out(X, out=[torch.ones(4, 3, dtype=torch.float64), X > 0]), ExecutionError,
        "expected shape (3, 4), got (4, 3)",
    ),
    "elements in one place": (
        lambda: both.out(X[0], out=[X[:1, 0].expand(4), X[0] > 0]), ExecutionError,
        "both: each element of out= has memory of its own, got an expanded tensor",
    ),
    "a gradient": (
        lambda: both.out(X.clone().requires_grad_(), out=[X, X > 0]), ExecutionError,
        "both: what is written with out= has no gradient",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("call", "kind", "message"), WRONG.values(), ids=WRONG)
def test_a_wrong_target_is_refused(call: Any, kind: Any, message: str) -> None:
    with pytest.raises(kind, match=re.escape(message)):
        call()
