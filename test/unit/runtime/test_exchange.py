"""Kernels on tensors by DLPack's exchange API, for which torch stands here."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import ted
from ted.errors import ExecutionError

EXCHANGE = torch.Tensor.__dlpack_c_exchange_api__  # type: ignore[attr-defined]
TYPES = ["float64", "float32", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8"]


def turned(dtype: str = "float32", shape: tuple[int, ...] = (3, 2)) -> Any:
    x = ted.placeholder(shape, dtype, name="x")
    return ted.compile([x], [ted.flip(x, axis=0)])


@pytest.mark.parametrize("dtype", [*TYPES, "bool"])
def test_every_element_type_is_exchanged(dtype: str) -> None:
    x = torch.tensor([[1, 0], [3, 1], [0, 5]]).to(getattr(torch, dtype))
    (y,) = turned(dtype).exchanged(EXCHANGE, x)
    assert y.dtype == x.dtype
    assert torch.equal(y, x.flip(0))


@pytest.mark.parametrize("shape", [(0, 2), (1,), (2, 1, 3)])
def test_tensors_of_any_rank_and_of_no_elements_are_exchanged(shape: tuple[int, ...]) -> None:
    x = torch.ones(shape, requires_grad=True)
    (y,) = turned(shape=shape).exchanged(EXCHANGE, x)
    assert y.shape == shape
    assert not y.requires_grad


X = torch.ones(3, 2)
UNFIT: dict[str, Any] = {
    "a shape": X.T,
    "a rank": X[0],
    "a type": X.double(),
    "strides": torch.ones(2, 3).T,
    "a number": 3,
    "no data": torch.ones(3, 2, device="meta"),
    "sparse": X.to_sparse(),
    "zeros without memory": torch._efficientzerotensor((3, 2)),
}


@pytest.mark.parametrize("given", UNFIT.values(), ids=UNFIT)
def test_what_does_not_fit_is_declined(given: Any) -> None:
    f = turned()
    assert f.exchanged(EXCHANGE, given) is None
    assert f.exchanged(EXCHANGE, X)[0].shape == (3, 2)


def test_other_capsules_and_counts_are_declined() -> None:
    f = turned()
    assert f.exchanged(None, X) is None
    assert f.exchanged(X.__dlpack__(), X) is None
    assert f.exchanged(EXCHANGE) is None
    assert f.exchanged(EXCHANGE, X, X) is None


def test_a_misaligned_tensor_is_declined() -> None:
    odd = np.zeros(28, np.uint8)[1:25].view(np.float32).reshape(3, 2)
    assert turned().exchanged(EXCHANGE, torch.from_numpy(odd)) is None
    assert turned().exchanged(EXCHANGE, torch.from_numpy(odd.copy())) is not None


def test_a_fault_is_raised_and_gives_memory_back() -> None:
    x = ted.placeholder((3,), name="x")
    i = ted.placeholder((2,), "int64", name="i")
    taken = ted.compile([x, i], [ted.take(x, i)])
    (y,) = taken.exchanged(EXCHANGE, torch.arange(3.0), torch.tensor([2, 0]))
    assert y.tolist() == [2, 0]
    before = ted._runtime.memory_current()
    with pytest.raises(ExecutionError, match="tensor x has extent 3 in dim 0, got index 7"):
        taken.exchanged(EXCHANGE, torch.arange(3.0), torch.tensor([7, 0]))
    assert ted._runtime.memory_current() == before


def test_arrays_that_a_program_brings_along_are_not_asked_for() -> None:
    table = ted.constant(np.arange(400.0, dtype="f4"))
    x = ted.placeholder((400,), name="x")
    (y,) = ted.compile([x], [x + table]).exchanged(EXCHANGE, torch.ones(400))
    assert y[3] == 4
