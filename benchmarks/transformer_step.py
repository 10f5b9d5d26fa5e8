"""A training step of a transformer of two blocks in torch, with three operators of ted's in it.

    python benchmarks/transformer_step.py [--rounds 21] [--threads 1,2]

Both are eager torch with the same products of matrices and torch's Adam. One has torch's
`layer_norm`, `scaled_dot_product_attention` and `cross_entropy`, the other ted's as operators of
torch. Gradients are compared first; steps of both alternate. Times are CPU time on one thread, of a
clock on the wall on more, the ratio is the median of rounds with quartiles; below 1 ted is faster.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import torch
from timing import Clock, environment, rounds, spread
from torch.nn import functional

import ted
import ted.torch
from ted import nn

CHARACTERS = 13
# Sequences, their length, width, heads: of examples/characters.py, and larger.
SIZES = [(64, 11, 64, 2), (16, 128, 128, 4), (8, 256, 256, 8)]
Operators = tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any]]


def ted_attention(packed: Any, heads: int) -> Any:
    """Attention of queries, keys and values side by side: what is copied is an index map."""
    n, length, width = packed.shape
    split = packed.reshape((n, length, 3, heads, width // 3 // heads))
    q, k, v = (ted.swapaxes(split[:, :, part], 1, 2) for part in range(3))
    found = ted.swapaxes(nn.attention(q, k, v, causal=True), 1, 2)
    return found.reshape((n, length, width // 3))


def torch_attention(packed: torch.Tensor, heads: int) -> torch.Tensor:
    """The same by torch."""
    n, length, width = packed.shape
    split = packed.view(n, length, 3, heads, width // 3 // heads)
    q, k, v = split.permute(2, 0, 3, 1, 4)
    found = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
    return found.transpose(1, 2).reshape(n, length, width // 3)


TED: Operators = (
    ted.torch.op(lambda x: nn.layer_norm(x), name="norm"),
    ted.torch.op(ted_attention, name="attention"),
    ted.torch.op(lambda scores, ids: nn.cross_entropy(scores, ids), name="loss"),
)
TORCH: Operators = (
    lambda x: functional.layer_norm(x, x.shape[-1:]),
    torch_attention,
    functional.cross_entropy,
)


class Transformer(torch.nn.Module):
    """Blocks of attention and a perceptron, each on what is normalised; the loss of the next."""

    def __init__(self, width: int, heads: int, length: int, operators: Operators) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.heads, self.operators = heads, operators
        self.table = torch.nn.Parameter(torch.randn(CHARACTERS, width))
        self.places = torch.nn.Parameter(torch.randn(length, width))
        sizes = {"qkv": 3 * width, "out": width, "up": 4 * width}
        self.blocks = torch.nn.ModuleList(
            torch.nn.ModuleDict(
                {k: torch.nn.Linear(width, n, bias=False) for k, n in sizes.items()}
                | {"down": torch.nn.Linear(4 * width, width, bias=False)}
            )
            for _ in range(2)
        )
        self.head = torch.nn.Linear(width, CHARACTERS, bias=False)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        """The mean loss of each character but the first."""
        norm, attention, loss = self.operators
        x = self.table[ids[:, :-1]] + self.places
        for block in self.blocks:
            x = x + block["out"](attention(block["qkv"](norm(x)), self.heads))
            x = x + block["down"](functional.gelu(block["up"](norm(x))))
        return loss(self.head(norm(x)).flatten(0, 1), ids[:, 1:].flatten())


def step_of(model: Transformer, ids: torch.Tensor) -> Callable[[], object]:
    """One step of Adam."""
    optimiser = torch.optim.Adam(model.parameters(), 1e-3)

    def step() -> None:
        optimiser.zero_grad()
        model(ids).backward()
        optimiser.step()

    return step


def measure(size: tuple[int, int, int, int], count: int, clock: Clock) -> str:
    """A line for one size."""
    many, length, width, heads = size
    ids = torch.randint(CHARACTERS, (many, length + 1))
    models = [Transformer(width, heads, length, operators) for operators in (TED, TORCH)]
    slopes = [torch.autograd.grad(m(ids), list(m.parameters())) for m in models]
    for ours, theirs in zip(*slopes, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=2e-3, atol=2e-5)
    mine, other = rounds([step_of(m, ids) for m in models], count, clock=clock)
    ratios = [a / b for a, b in zip(mine, other, strict=True)]
    return (
        f"{many} x {length} x {width}, {heads} heads: ted {min(mine) * 1e3:.2f} ms, "
        f"torch {min(other) * 1e3:.2f} ms, ted / torch {spread(ratios)}"
    )


def main() -> None:
    """Print a line for each size and number of threads."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--threads", default="1,2")
    options = parser.parse_args()
    print(environment("torch"))
    for threads in map(int, options.threads.split(",")):
        torch.set_num_threads(threads)
        ted.set_num_threads(threads)
        clock = time.process_time if threads == 1 else time.perf_counter
        for size in SIZES:
            print(f"{threads} threads,", measure(size, options.rounds, clock), flush=True)


if __name__ == "__main__":
    main()
