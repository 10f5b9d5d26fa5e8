"""ted's operators for GPUs, on an emulated one: with objects that say what tensors there would.

torch has no device here. What goes in is what `ted.torch` reads of a tensor, with the interface of
arrays on a device; that torch reads the capsules of what comes out is tested with
`ted.runtime.dlpack`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import ted
import ted.torch
from ted.errors import ExecutionError
from ted.testing import emulated_gpu
from ted.torch.arrays import to_array
from ted.torch.flat_operators import FlatOperator

X = np.linspace(0, 1, 12, dtype=np.float32).reshape(3, 4)
W = np.ones((4, 2), np.float32)


class OnDevice:
    """A tensor on a GPU, as far as an operator looks at one."""

    is_cpu, is_cuda, requires_grad, layout = False, True, False, torch.strided
    dtype = torch.float32

    def __init__(self, array: np.ndarray) -> None:
        self.memory = ted.cuda.asarray(array)
        self.shape = torch.Size(array.shape)
        self.device = torch.device("cuda:0")

    def detach(self) -> OnDevice:
        """Itself."""
        return self

    def contiguous(self) -> OnDevice:
        """Itself."""
        return self

    def is_contiguous(self) -> bool:
        """Yes."""
        return True

    @property
    def __cuda_array_interface__(self) -> Any:
        return self.memory.__cuda_array_interface__


def layer(x: Any, w: Any) -> Any:
    return ted.tanh(x @ w)


@pytest.fixture
def flat(monkeypatch: pytest.MonkeyPatch) -> FlatOperator:
    monkeypatch.setattr(torch, "from_dlpack", lambda array: torch.from_numpy(array.numpy()))
    monkeypatch.setattr(FlatOperator, "is_plain", lambda *_: True)
    on_gpu = ted.torch.op(layer, target="cuda:sm_80")
    nested, _ = on_gpu._nested_for((torch.ones(3, 4), torch.ones(4, 2)), {})
    return nested.flat


def test_tensors_of_a_device_go_in_and_come_out(flat: FlatOperator) -> None:
    with emulated_gpu("sm_80"):
        x, w = map(OnDevice, (X, W))
        assert to_array(x) is x
        (y,) = flat.run([x, w])
        np.testing.assert_allclose(y.numpy(), np.tanh(X @ W), rtol=1e-5)


def test_gradients_of_what_was_kept_are_computed_there(flat: FlatOperator) -> None:
    with emulated_gpu("sm_80"):
        x, w = map(OnDevice, (X, W))
        found = flat._splits_for((True, False)).forward([x, w])
        assert found is not None
        split, values = found
        (y,), kept = split.opened(values)
        given = [*([x, w][k] for k in split.needed), *(OnDevice(t.numpy()) for t in kept)]
        ones = OnDevice(np.ones((3, 2), np.float32))
        (dx,) = split.backward(given, [ones], (True, False))
        y = np.tanh(X @ W)
        np.testing.assert_allclose(dx.numpy(), (1 - y * y) @ W.T, rtol=1e-4)


def test_a_tensor_of_the_host_is_refused() -> None:
    on_gpu = ted.torch.op(layer, target="cuda:sm_80", name="on_gpu")
    with pytest.raises(ExecutionError, match=r"on_gpu: .* 'cuda:sm_80' .* argument 'x' on cpu"):
        on_gpu(torch.ones(3, 4), torch.ones(4, 2))
