"""What torch gives for an operator: the value and gradients of two orders."""

from __future__ import annotations

from typing import Any

import torch

from numeric.operator_programs import Array, Program
from numeric.operators import Operator


def torch_gradients_of(operator: Operator, p: Program) -> tuple[Any, list[Array], list[Array]]:
    """The value and the gradients of both orders by torch, with the cotangents of a program."""
    known = [torch.tensor(a, requires_grad=a.dtype.kind == "f") for a in p.arrays]
    floats = [t for t in known if t.requires_grad]
    value = operator.theirs(*known)
    (head,) = [torch.tensor(c, requires_grad=True) for c in p.cotangents[0]]
    first = torch.autograd.grad(value, floats, head, create_graph=True, allow_unused=True)
    first = [torch.zeros_like(x) if g is None else g for x, g in zip(floats, first, strict=True)]
    pairs = zip(first, p.cotangents[1], strict=True)
    product = sum((g * torch.tensor(v)).sum() for g, v in pairs)
    second = torch.autograd.grad(product, [*floats, head], allow_unused=True)
    zeros = [torch.zeros_like(x) for x in (*floats, head)]
    second = [z if g is None else z + g for z, g in zip(zeros, second, strict=True)]
    first = [z + g for z, g in zip(zeros, first, strict=False)]
    return value.detach().numpy(), *([g.detach().numpy() for g in gs] for gs in (first, second))
