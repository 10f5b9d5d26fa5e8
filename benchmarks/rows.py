"""Softmax and layer norm, alone and with their gradients, against torch eager, one thread.

    python benchmarks/rows.py [--rounds 15] [--shapes 4096x1024,1000x1023,65536x64]

Results are compared first. ted fills given arrays; torch allocates its results, as eager code does.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from timing import compared, environment
from torch.nn import functional

import ted


@dataclass(frozen=True)
class Case:
    """An operator over rows: in ted, and in torch, on tensors of the given shapes."""

    name: str
    ours: Callable[..., Any]
    theirs: Callable[..., Any]
    shapes: Callable[[int, int], tuple[tuple[int, ...], ...]]


CASES = (
    Case("softmax", ted.nn.softmax, lambda x: functional.softmax(x, -1), lambda n, m: ((n, m),)),
    Case(
        "log_softmax", ted.nn.log_softmax, lambda x: functional.log_softmax(x, -1),
        lambda n, m: ((n, m),),
    ),
    Case(
        "layer_norm", ted.nn.layer_norm,
        lambda x, w, b: functional.layer_norm(x, (x.shape[-1],), w, b),
        lambda n, m: ((n, m), (m,), (m,)),
    ),
)  # fmt: skip


def measure(case: Case, shape: tuple[int, int], count: int) -> list[str]:
    """A line for the operator and one for it with its vector-Jacobian product."""
    rng = np.random.default_rng(0)
    inputs = [ted.placeholder(s, name=f"x{k}") for k, s in enumerate(case.shapes(*shape))]
    y = case.ours(*inputs)
    head = ted.placeholder(y.shape, name="head")
    forward = ted.compile(inputs, [y])
    both = ted.compile([*inputs, head], [y, *ted.differentiate(y, inputs, head)])
    arrays = [rng.standard_normal(t.shape).astype(np.float32) for t in (*inputs, head)]
    tensors = [torch.from_numpy(a).requires_grad_() for a in arrays[:-1]]
    cotangent = torch.from_numpy(arrays[-1])

    def theirs_forward() -> Any:
        with torch.no_grad():
            return case.theirs(*tensors)

    def theirs_both() -> Any:
        value = case.theirs(*tensors)
        return value.detach(), *torch.autograd.grad(value, tensors, cotangent)

    result, results = forward(*arrays[:-1]), both(*arrays)
    absolute = 1e-5 * np.sqrt(shape[0])  # gradients of parameters sum over the rows
    for ours, theirs in zip(results, theirs_both(), strict=True):
        np.testing.assert_allclose(ours, theirs.numpy(), rtol=1e-4, atol=absolute)
    label = f"{case.name} {shape[0]}x{shape[1]}"
    return [
        compared(label, lambda: forward(*arrays[:-1], out=result), theirs_forward, count),
        compared(f"{label} + VJP", lambda: both(*arrays, out=results), theirs_both, count),
    ]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--shapes", default="4096x1024,1000x1023,65536x64")
    options = parser.parse_args()
    torch.set_num_threads(1)
    print(environment("torch", "torch-mlir", "numpy"))
    for text in options.shapes.split(","):
        rows, columns = map(int, text.split("x"))
        for case in CASES:
            print(*measure(case, (rows, columns), options.rounds), sep="\n", flush=True)


if __name__ == "__main__":
    main()
