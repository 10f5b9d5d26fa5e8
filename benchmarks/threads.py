"""What a second thread gains: ted and torch on one and two threads, in turn, by the wall clock.

    python benchmarks/threads.py [--rounds 15] [--only softmax,matmul]

Two plain loops show what there is to gain on the machine at that time: NumPy on two halves, in one
Python thread and in two. Results of one and of two threads are compared bit for bit first.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import torch
from timing import environment, rounds, spread
from torch.nn import functional

import ted

Arrays = Sequence[np.ndarray]
RNG = np.random.default_rng(0)


def _floats(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


def _ted_gradient(fn: Callable[..., Any], count: int) -> Callable[..., Any]:
    return ted.grad(lambda *xs: ted.sum(fn(*xs) ** 2), argnums=tuple(range(count)))


def _torch_gradient(fn: Callable[..., Any]) -> Callable[..., Any]:
    def gradient(*tensors: torch.Tensor) -> Any:
        with torch.enable_grad():
            given = [t.detach().requires_grad_() for t in tensors]
            return torch.autograd.grad((fn(*given) ** 2).sum(), given)

    return gradient


def _norm(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return functional.layer_norm(x, (x.shape[-1],), w, b)


def _convolved(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    planes = functional.conv2d(x.permute(0, 3, 1, 2), w.permute(3, 2, 0, 1), padding=1)
    return planes.permute(0, 2, 3, 1)


ROWS = [_floats(4096, 1024)]
NORM = [*ROWS, _floats(1024), _floats(1024)]
IMAGES = [_floats(8, 56, 56, 64), _floats(3, 3, 64, 64)]
HEADS = [_floats(8, 256, 64) for _ in range(3)]
CASES: dict[str, tuple[Callable[..., Any], Callable[..., Any], Arrays]] = {
    "matmul 512": (ted.matmul, torch.matmul, [_floats(512, 512), _floats(512, 512)]),
    "matmul 1024": (ted.matmul, torch.matmul, [_floats(1024, 1024), _floats(1024, 1024)]),
    "convolution": (lambda x, w: ted.nn.conv2d(x, w, padding=1), _convolved, IMAGES),
    "convolution, gradient": (
        _ted_gradient(lambda x, w: ted.nn.conv2d(x, w, padding=1), 2),
        _torch_gradient(_convolved), IMAGES,
    ),
    "exponential": (ted.exp, torch.exp, ROWS),
    "sum of sines": (lambda x: ted.sum(ted.sin(x)), lambda x: x.sin().sum(), ROWS),
    "sums of columns": (lambda x: ted.sum(x, axis=0), lambda x: x.sum(0), ROWS),
    "softmax": (ted.nn.softmax, lambda x: x.softmax(-1), ROWS),
    "softmax, gradient": (
        _ted_gradient(ted.nn.softmax, 1), _torch_gradient(lambda x: x.softmax(-1)), ROWS,
    ),
    "layer norm, gradient": (_ted_gradient(ted.nn.layer_norm, 3), _torch_gradient(_norm), NORM),
    "attention": (ted.nn.attention, functional.scaled_dot_product_attention, HEADS),
    "attention, gradient": (
        _ted_gradient(ted.nn.attention, 3),
        _torch_gradient(functional.scaled_dot_product_attention), HEADS,
    ),
    "tanh of 64 x 64": (ted.tanh, torch.tanh, [_floats(64, 64)]),
}  # fmt: skip


def on(threads: int, call: Callable[[], object]) -> Callable[[], object]:
    """The call on so many threads of ted and of torch."""

    def run() -> object:
        ted.set_num_threads(threads)
        torch.set_num_threads(threads)
        return call()

    return run


def measure(name: str, count: int) -> str:
    """A line: times on one and two threads, what the second gains, and the same for torch."""
    ours, theirs, arrays = CASES[name]
    function = ted.function(ours)
    tensors = [torch.from_numpy(a) for a in arrays]
    calls = [lambda: function(*arrays), lambda: theirs(*tensors)]
    _check(on(1, calls[0])(), on(2, calls[0])())
    contenders = [on(threads, call) for call in calls for threads in (1, 2)]
    one, two, torch_one, torch_two = rounds(contenders, count, clock=time.perf_counter)
    gains = [a / b for a, b in zip(one, two, strict=True)]
    torch_gains = [a / b for a, b in zip(torch_one, torch_two, strict=True)]
    against = [a / b for a, b in zip(two, torch_two, strict=True)]
    middle = sorted(two)[count // 2] * 1e3
    return (
        f"{name:24}{middle:9.3f} ms  gain {spread(gains)}  torch's {spread(torch_gains)}"
        f"  ted / torch on two {spread(against)}"
    )


def _check(one: Any, two: Any) -> None:
    pairs = zip(one, two, strict=True) if isinstance(one, tuple) else [(one, two)]
    for a, b in pairs:
        np.testing.assert_array_equal(a, b)


def plain(name: str, work: Callable[[np.ndarray, np.ndarray], object], count: int) -> str:
    """A line: what two Python threads gain on two halves of what NumPy does."""
    halves = [(_floats(2048, 1024), _floats(2048, 1024)) for _ in range(2)]
    with ThreadPoolExecutor(2) as pool:
        one, two = rounds(
            [lambda: [work(*h) for h in halves], lambda: [*pool.map(lambda h: work(*h), halves)]],
            count, clock=time.perf_counter,
        )  # fmt: skip
    gains = [a / b for a, b in zip(one, two, strict=True)]
    return f"{name:24}{sorted(two)[count // 2] * 1e3:9.3f} ms  gain {spread(gains)}"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--only", help="names, with commas between them")
    options = parser.parse_args()
    print(environment("torch", "numpy").replace("1 thread", "1 and 2 threads"))
    print(plain("plain loop, copy", lambda a, b: np.copyto(b, a), options.rounds))
    print(plain("plain loop, sine", lambda a, b: np.sin(a, out=b), options.rounds), flush=True)
    wanted = options.only.split(",") if options.only else list(CASES)
    for name in (name for name in CASES if any(name.startswith(w) for w in wanted)):
        print(measure(name, options.rounds), flush=True)


if __name__ == "__main__":
    with torch.no_grad():
        main()
