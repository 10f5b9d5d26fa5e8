"""Convolutions and their gradients, derived by ted, against torch (oneDNN), one thread each.

    python benchmarks/convolution.py [--rounds 15] [--shapes 8x56x56x64x64,64x8x8x16x32]

A shape is images x height x width x channels in x channels out, window 3 x 3, padding 1, channels
last on both sides. Contenders run in turn in one process and are timed by the CPU time of the
thread. Torch's gradients are the calls that its autograd makes, without the forward pass.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from timing import rounds

import ted
from ted import nn
from ted.api.host import host_cpu

SHAPES = "8x56x56x64x64,64x8x8x16x32,64x8x8x1x16,16x28x28x128x128,16x14x14x256x256"
WINDOW = (3, 3)


@dataclass(frozen=True)
class Case:
    """One convolution, channels last."""

    n: int
    h: int
    w: int
    ci: int
    co: int

    @property
    def operations(self) -> int:
        """Multiplications and additions, of the forward pass and of each gradient."""
        return 2 * self.n * self.h * self.w * self.ci * self.co * WINDOW[0] * WINDOW[1]


def ours(x: np.ndarray, w: np.ndarray, dy: np.ndarray) -> dict[str, Callable[[], Any]]:
    """Compiled forward pass and gradients on these arrays."""
    image = ted.placeholder(x.shape, name="x")
    weight = ted.placeholder(w.shape, name="w")
    head = ted.placeholder(dy.shape, name="dy")
    y = nn.conv2d(image, weight, padding=1)
    dx, dw = ted.differentiate(y, [image, weight], head=head)
    forward = ted.compile([image, weight], y, target="cpu")
    backward_x = ted.compile([weight, head], dx, target="cpu")
    backward_w = ted.compile([image, head], dw, target="cpu")
    return {
        "forward": lambda: forward(x, w),
        "dx": lambda: backward_x(w, dy),
        "dw": lambda: backward_w(x, dy),
    }


def theirs(x: np.ndarray, w: np.ndarray, dy: np.ndarray) -> dict[str, Callable[[], Any]]:
    """The same by torch, on tensors that are channels last in memory."""
    image = torch.from_numpy(x).permute(0, 3, 1, 2)
    head = torch.from_numpy(dy).permute(0, 3, 1, 2)
    layout = torch.channels_last
    weight = torch.from_numpy(w).permute(3, 2, 0, 1).contiguous(memory_format=layout)

    def gradient(of_x: bool) -> Any:
        return torch.ops.aten.convolution_backward(
            head, image, weight, None, [1, 1], [1, 1], [1, 1], False, [0, 0], 1,
            [of_x, not of_x, False],
        )[0 if of_x else 1]  # fmt: skip

    return {
        "forward": lambda: torch.conv2d(image, weight, padding=1),
        "dx": lambda: gradient(True),
        "dw": lambda: gradient(False),
    }


def as_ours(name: str, value: torch.Tensor) -> np.ndarray:
    """A torch result in our order of dims."""
    return value.permute(*((2, 3, 1, 0) if name == "dw" else (0, 2, 3, 1))).numpy()


def measure(case: Case, count: int) -> list[str]:
    """A line for the forward pass and for each gradient; results are compared first."""
    rng = np.random.default_rng(0)
    x, w, dy = (
        rng.uniform(-1, 1, shape).astype(np.float32)
        for shape in (
            (case.n, case.h, case.w, case.ci),
            (*WINDOW, case.ci, case.co),
            (case.n, case.h, case.w, case.co),
        )
    )
    mine, torchs = ours(x, w, dy), theirs(x, w, dy)
    lines = []
    for name, call in mine.items():
        reference = as_ours(name, torchs[name]())
        scale = np.abs(reference).max()
        np.testing.assert_allclose(np.asarray(call()), reference, rtol=0, atol=1e-4 * scale)
        times = rounds([call, torchs[name]], count)
        ratios = sorted(b / a for a, b in zip(*times, strict=True))
        low, high = ratios[len(ratios) // 4], ratios[-1 - len(ratios) // 4]
        rates = [case.operations / statistics.median(t) / 1e9 for t in times]
        shape = "x".join(str(n) for n in (case.n, case.h, case.w, case.ci, case.co))
        lines.append(
            f"{shape:<20} {name:<8} ted {rates[0]:6.1f}  torch {rates[1]:6.1f} GFLOP/s"
            f"  ratio {statistics.median(ratios):.2f} [{low:.2f}, {high:.2f}]"
        )
    return lines


def main() -> None:
    """Print the table; the ratio is torch's time over ours, above 1 is faster, with quartiles."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--shapes", default=SHAPES)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    capability = torch.backends.cpu.get_cpu_capability()
    print(f"baseline: torch {torch.__version__} with oneDNN, {capability}, 1 thread")
    print(f"ted: CPU row {host_cpu().name}, 1 thread, median of {arguments.rounds} rounds")
    for shape in arguments.shapes.split(","):
        n, h, w, ci, co = (int(size) for size in shape.split("x"))
        for line in measure(Case(n, h, w, ci, co), arguments.rounds):
            print(line, flush=True)


if __name__ == "__main__":
    main()
