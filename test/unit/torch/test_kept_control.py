"""Branches and loops of torch become those of ted: values and gradients of two orders."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch._higher_order_ops.map import map as mapped
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop
from torch.utils._pytree import tree_leaves

import ted
import ted.torch
from ted.errors import FrontendError
from ted.ir.equations import topological
from unit.torch.programs import Call

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::UserWarning")


def imported(function: Callable[..., Any], *args: torch.Tensor) -> Any:
    return ted.torch.from_exported(torch.export.export(Call(function), args))


def _nested(x: torch.Tensor) -> Any:
    def inner(x: torch.Tensor) -> Any:
        return torch.cond(x[0, 0] > 0, torch.sin, lambda x: x.median(1)[0][:, None] * x, (x,))

    return torch.cond(x.sum() > 0, inner, lambda x: x.exp(), (x,))


def _steps(x: torch.Tensor) -> Any:
    return scan(lambda c, row: (c * row + x[0], torch.sin(c * row)), x[1].clone(), x, dim=0)


def _counted(x: torch.Tensor) -> Any:
    start = (torch.tensor(0), x.clone())
    return while_loop(lambda i, _: i < 3, lambda i, y: (i + 1, torch.sin(y) * x), start)[1]


def _mapped(x: torch.Tensor) -> Any:
    with torch.no_grad():
        factor = x * 2
    return mapped(lambda row, w: row.sort()[0] * w, x, x[0].clone()) * factor


FUNCTIONS = {"a scan": _steps, "counted steps": _counted, "rows": _mapped, "branches": _nested}


@pytest.mark.fast(1)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_control_flow_agrees_with_torch(name: str) -> None:
    function = FUNCTIONS[name]
    x = torch.randn((3, 3), generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    f = imported(function, x)
    y = x.clone().requires_grad_()
    leaves = tree_leaves(_eager(name, y))
    total = sum((v * v.cos()).sum() for v in leaves)
    (first,) = torch.autograd.grad(total, y, create_graph=True)
    (second,) = torch.autograd.grad((first**3).sum(), y)

    def loss(x: Any) -> Any:
        return sum(ted.sum(v * ted.cos(v)) for v in tree_leaves(f({}, x)))

    def every(x: Any) -> Any:
        curved = ted.grad(lambda x: ted.sum(ted.grad(loss)(x) ** 3))
        return (*tree_leaves(f({}, x)), ted.grad(loss)(x), curved(x))

    found = ted.function(every)(x.numpy())
    for one, other in zip(found, [*leaves, first, second], strict=True):
        np.testing.assert_allclose(one, other.detach(), rtol=1e-9, atol=1e-10)


def _eager(name: str, x: torch.Tensor) -> Any:
    """The same without operators of control flow, of which torch has no second derivatives."""
    if name == "branches":
        if x.sum() <= 0:
            return x.exp()
        return x.sin() if x[0, 0] > 0 else x.median(1)[0][:, None] * x
    if name == "a scan":
        carry, rows = x[1], []
        for row in x:
            rows.append(torch.sin(carry * row))
            carry = carry * row + x[0]
        return carry, torch.stack(rows)
    if name == "counted steps":
        y = x
        for _ in range(3):
            y = torch.sin(y) * x
        return y
    return x.sort(1)[0] * x[0] * (x * 2).detach()


def test_a_scan_does_not_grow_with_its_steps() -> None:
    def size(steps: int) -> int:
        f = imported(_steps, torch.ones(steps, 3))
        return len(topological(f._raised.system.outputs))

    assert size(3) == size(9)


def test_bytes_go_through_branches_and_numbers_are_refused_as_states() -> None:
    x = torch.tensor([250, 3], dtype=torch.uint8)
    f = imported(lambda x: torch.cond(x[0] > 9, lambda x: x.flip(0), torch.clone, (x,)), x)
    np.testing.assert_array_equal(ted.function(lambda x: f({}, x))(x.numpy()), np.uint8([3, 250]))
    with pytest.raises(FrontendError, match="while_loop must carry tensors, got a number"):
        imported(lambda x: while_loop(lambda i, _: i < 3, lambda i, x: (i + 1, x + x), (0, x)), x)
