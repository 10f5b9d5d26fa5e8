"""Second derivatives of grid sample and attention as torch's operators, beside eager torch.

    python benchmarks/second_derivatives.py [--rounds 15]

A line is a value, its gradient, and the gradient of a loss of that gradient. The fused attention of
torch has the first two; the third is that of matrix products and softmax. Results are compared
first. Below 1 ted is faster.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from timing import compared, environment
from torch.nn import functional
from torch.nn.attention import SDPBackend, sdpa_kernel

import ted
import ted.torch
from ted import nn

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))
import twice

sampled = ted.torch.op(twice.grid_sample)
attended = ted.torch.op(lambda q, k, v: nn.attention(q, k, v, causal=True), name="attended")


def fused_sample(image: torch.Tensor, grid: torch.Tensor) -> torch.Tensor:
    """Torch's operator, channels last as in ted."""
    return functional.grid_sample(image.movedim(-1, 1), grid, align_corners=False).movedim(1, -1)


def attention_by(backend: SDPBackend) -> Callable[..., torch.Tensor]:
    """Torch's attention by one of its ways."""

    def run(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        with sdpa_kernel(backend):
            return functional.scaled_dot_product_attention(q, k, v, is_causal=True)

    return run


def orders(f: Callable[..., torch.Tensor], tensors: list[torch.Tensor]) -> list[Any]:
    """Calls of a function, its gradient and the gradient of a loss of that."""

    def first() -> Any:
        return torch.autograd.grad((f(*tensors) ** 2).mean(), tensors)

    def second() -> Any:
        slopes = torch.autograd.grad((f(*tensors) ** 2).mean(), tensors, create_graph=True)
        return torch.autograd.grad(sum((s * s).sum() for s in slopes), tensors)

    return [lambda: f(*[t.detach() for t in tensors]), first, second]


def main() -> None:
    """Print a line for each operator and order."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    torch.set_num_threads(1)
    ted.set_num_threads(1)
    print(environment("torch"))
    generator = torch.Generator().manual_seed(0)
    image = torch.randn(2, 64, 64, 16, generator=generator)
    grid = torch.rand(2, 48, 48, 2, generator=generator) * 2.2 - 1.1
    heads = torch.randn(3, 2, 4, 128, 32, generator=generator).unbind()
    cases = {
        "grid sample": ([image, grid], sampled, fused_sample, fused_sample),
        "attention": (heads, attended, attention_by(SDPBackend.FLASH_ATTENTION),
                      attention_by(SDPBackend.MATH)),
    }  # fmt: skip
    for name, (given, ours, fused, elementary) in cases.items():
        tensors = [t.clone().requires_grad_() for t in given]
        mine = orders(ours, tensors)
        theirs = [*orders(fused, tensors)[:2], orders(elementary, tensors)[2]]
        for what, a, b in zip(("value", "gradient", "second order"), mine, theirs, strict=True):
            torch.testing.assert_close(list(a()), list(b()), rtol=1e-3, atol=1e-5)
            print(compared(f"{name}, {what}", a, b, options.rounds), flush=True)


if __name__ == "__main__":
    main()
