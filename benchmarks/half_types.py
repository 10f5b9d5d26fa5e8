"""Softmax, an addition and a map of bfloat16 and float16 against torch eager, one thread.

    python benchmarks/half_types.py [--rounds 15] [--shape 4096x1024] [--types bfloat16,float16]

Results are compared first: ted rounds what it stores, torch after every operation.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from timing import compared, environment
from torch.nn import functional

import ted

Operator = Callable[..., Any]
CASES: tuple[tuple[str, int, Operator, Operator], ...] = (
    ("softmax", 1, ted.nn.softmax, lambda x: functional.softmax(x, -1)),
    ("add", 2, lambda x, y: x + y, lambda x, y: x + y),
    (
        "map", 2,
        lambda x, y: ted.tanh(x) * y + ted.exp(-ted.abs(x)),
        lambda x, y: torch.tanh(x) * y + torch.exp(-torch.abs(x)),
    ),
)  # fmt: skip


def measure(case: tuple[str, int, Operator, Operator], kind: str, shape: Any, count: int) -> str:
    """A line of the table."""
    name, arity, ours, theirs = case
    inputs = [ted.placeholder(shape, kind, name=f"x{k}") for k in range(arity)]
    compiled = ted.compile(inputs, ours(*inputs))
    generator = torch.Generator().manual_seed(0)
    tensors = [
        torch.randn(shape, generator=generator).to(getattr(torch, kind)) for _ in range(arity)
    ]
    result = compiled(*tensors)
    wanted = theirs(*tensors).float().numpy()
    epsilon = float(torch.finfo(getattr(torch, kind)).eps)
    found = np.asarray(result).astype(np.float32)
    np.testing.assert_allclose(found, wanted, rtol=4 * epsilon, atol=4 * epsilon)
    label = f"{name} {kind} {shape[0]}x{shape[1]}"
    arrays = [np.asarray(a) for a in map(_array, tensors)]
    return compared(label, lambda: compiled(*arrays, out=result), lambda: theirs(*tensors), count)


def _array(tensor: torch.Tensor) -> Any:
    if tensor.dtype != torch.bfloat16:
        return tensor.numpy()
    import ml_dtypes

    return tensor.view(torch.int16).numpy().view(ml_dtypes.bfloat16)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--shape", default="4096x1024")
    parser.add_argument("--types", default="bfloat16,float16")
    options = parser.parse_args()
    torch.set_num_threads(1)
    print(environment("torch", "torch-mlir", "numpy"))
    shape = tuple(map(int, options.shape.split("x")))
    for kind in options.types.split(","):
        for case in CASES:
            print(measure(case, kind, shape, options.rounds), flush=True)


if __name__ == "__main__":
    main()
