"""What an operator of `ted.torch` costs beside its kernel, in microseconds, and a compiled step.

    python benchmarks/torch_calls.py [--rounds 40]

Calls of next to nothing, beside the empty operators of torch that one could write by hand; then a
training step that matches forces, in a graph and without; then imports. The least of the rounds
counts, and aims are those of an unloaded machine.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Callable, Mapping
from typing import Any

import torch
from timing import Call, environment, rounds

import ted
import ted.torch

AIMS = {"call": 10, "forward": 25, "forward and backward": 60, "in torch.compile": 5}
# Seconds of an import in a process of its own.
IMPORT = "import time, torch; t = time.perf_counter(); {}; print(time.perf_counter() - t)"


@torch.library.custom_op("ted_benchmarks::empty", mutates_args=())
def empty(x: torch.Tensor) -> torch.Tensor:
    """An operator by `torch.library.custom_op` that copies."""
    return x.clone()


empty.register_fake(torch.empty_like)
empty.register_autograd(lambda _, cotangent: cotangent)


# The least that an operator with a kernel of Python costs in a graph.
_library = torch.library.Library("ted_benchmarks", "FRAGMENT")
_library.define("copied(Tensor[] x) -> Tensor[]")
_library.impl("copied", lambda x: [x[0].clone()], "CPU")
torch.library.register_fake(
    "ted_benchmarks::copied", lambda x: [torch.empty_like(x[0])], lib=_library
)
_copied = torch.ops.ted_benchmarks.copied.default


class Empty(torch.autograd.Function):
    """A function with a backward that does nothing."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        """The argument."""
        ctx.save_for_backward(x)
        return x.detach()

    @staticmethod
    def backward(_: Any, *cotangents: torch.Tensor) -> Any:
        """The cotangent."""
        return cotangents[0]


double = ted.torch.op(lambda x: x + x, name="double")


@ted.torch.op
def energy(w: Any, x: Any) -> Any:
    """A potential of points: a perceptron of their distances."""
    between = x[:, None] - x[None]
    features = ted.exp(-ted.sum(between * between, axis=2)[:, :, None] * w[0])
    return ted.sum(ted.tanh(features @ w[1]) @ w[2])


def torch_energy(w: Any, x: torch.Tensor) -> torch.Tensor:
    """The same by torch."""
    between = x[:, None] - x[None]
    features = torch.exp(-(between * between).sum(2)[:, :, None] * w[0])
    return (torch.tanh(features @ w[1]) @ w[2]).sum()


def cases() -> Mapping[str, Mapping[str, Call]]:
    """Calls, by what is measured and by who makes them."""
    plain, moving = torch.ones(3, 4), torch.ones(3, 4, requires_grad=True)
    head = torch.ones(3, 4)
    makers = {"ted": double, "custom_op": empty, "autograd.Function": Empty.apply}

    def both(f: Callable[[torch.Tensor], torch.Tensor]) -> Call:
        return lambda: torch.autograd.grad(f(moving), moving, head)

    graphs = {
        "ted": torch.compile(lambda x: double(x).sin(), fullgraph=True),
        "an empty operator": torch.compile(lambda x: _copied([x])[0].sin(), fullgraph=True),
        "none": torch.compile(lambda x: (x + x).sin(), fullgraph=True),
    }
    return {
        "call": {who: lambda f=f: f(plain) for who, f in makers.items()},
        "forward": {who: lambda f=f: f(moving) for who, f in makers.items()},
        "forward and backward": {who: both(f) for who, f in makers.items()},
        "in torch.compile": {who: lambda f=f: f(plain) for who, f in graphs.items()},
    }


def steps() -> Mapping[str, Call]:
    """Training steps of 32 points whose forces are matched."""
    generator = torch.Generator().manual_seed(0)

    def drawn(*shape: int) -> torch.Tensor:
        return torch.randn(shape, generator=generator).requires_grad_()

    w, x = (drawn(16), drawn(16, 32), drawn(32)), drawn(32, 3)

    def loss(energy: Callable[..., torch.Tensor]) -> Call:
        def run(w: Any, x: torch.Tensor) -> torch.Tensor:
            (slope,) = torch.autograd.grad(energy(w, x), x, create_graph=True)
            return (slope**2).mean()

        return run

    forms = {
        "ted in a graph": torch.compile(loss(energy), fullgraph=True),
        "ted": loss(energy), "torch": loss(torch_energy),
        "torch in a graph": torch.compile(loss(torch_energy), fullgraph=True),
    }  # fmt: skip
    return {name: lambda f=f: torch.autograd.grad(f(w, x), w) for name, f in forms.items()}


def seconds(statement: str) -> float:
    """How long a statement takes in a new process that has torch."""
    command = [sys.executable, "-c", IMPORT.format(statement)]
    return min(
        float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        for _ in range(3)
    )


def show(name: str, calls: Mapping[str, Call], count: int) -> None:
    """Measure, and print a line."""
    times = rounds(list(calls.values()), count)
    texts = [f"{who} {min(t) * 1e6:.1f} us" for who, t in zip(calls, times, strict=True)]
    aim = f"  (aim {AIMS[name]})" if name in AIMS else ""
    print(f"{name:22} {'  '.join(texts)}{aim}")


def main() -> None:
    """Print a line per case."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=40)
    options = parser.parse_args()
    torch.set_num_threads(1)
    ted.set_num_threads(1)
    torch._dynamo.config.trace_autograd_ops = True
    print(environment("torch"))
    for name, calls in cases().items():
        show(name, calls, options.rounds)
    show("step that matches forces", steps(), options.rounds)
    print(f"import ted.torch behind torch: {seconds('import ted.torch'):.3f} s (aim 0.1), ", end="")
    print(f"with the first operator {seconds('import ted.torch; ted.torch.op'):.2f} s")


if __name__ == "__main__":
    main()
