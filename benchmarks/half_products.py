"""Matrix products of bf16 and their gradients, one thread, against torch (oneDNN).

    python benchmarks/half_products.py [--sizes 256,512,1024,2048] [--rounds 15] [--target cpu]

Both write into results that are there. Aim: 1.2 at most, on each row of CPUs that multiplies bf16.
"""

from __future__ import annotations

import argparse

import ml_dtypes
import numpy as np
import torch
from timing import Call, compared, environment

import ted


def calls(n: int, target: str) -> dict[str, tuple[Call, Call]]:
    """Ted's and torch's product of n x n matrices, and both gradients of it."""
    drawn = np.random.default_rng(0).uniform(-1, 1, (3, n, n)).astype(ml_dtypes.bfloat16)
    a, b, head = (ted.placeholder((n, n), "bfloat16", name=name) for name in ("a", "b", "head"))
    forward = ted.compile([a, b], [a @ b], target=target)
    gradient = ted.compile([a, b, head], [*ted.differentiate(a @ b, [a, b], head)], target=target)
    x, y, h = (torch.from_numpy(v.view(np.int16)).view(torch.bfloat16) for v in drawn)
    ours, theirs = np.empty_like(drawn), [torch.empty_like(x) for _ in range(3)]

    def torch_gradient() -> None:
        torch.matmul(h, y.T, out=theirs[1])
        torch.matmul(x.T, h, out=theirs[2])

    forms: dict[str, tuple[Call, Call]] = {
        "forward": (
            lambda: forward(*drawn[:2], out=[ours[0]]),
            lambda: torch.matmul(x, y, out=theirs[0]),
        ),
        "gradient": (lambda: gradient(*drawn, out=[*ours[1:]]), torch_gradient),
    }
    for ted_call, torch_call in forms.values():
        ted_call(), torch_call()
    for mine, other in zip(ours, theirs, strict=True):
        ours_there = torch.from_numpy(mine.view(np.int16)).view(torch.bfloat16)
        torch.testing.assert_close(ours_there, other, rtol=2e-2, atol=2e-2)
    return forms


def main() -> None:
    """A line for each size, forward and gradient."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sizes", default="256,512,1024,2048")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--target", default="cpu")
    options = parser.parse_args()
    torch.set_num_threads(1)
    print(environment("torch"), flush=True)
    with torch.no_grad():
        for n in map(int, options.sizes.split(",")):
            for what, (mine, other) in calls(n, f"{options.target},threads=1").items():
                print(compared(f"{what} of {n}", mine, other, options.rounds), flush=True)


if __name__ == "__main__":
    main()
