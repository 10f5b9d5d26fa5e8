"""Sums of products against torch eager and JAX: einsums of many operands, tangents, covariances.

    python benchmarks/sums.py [--rounds 9] [--only einsum]

Each case is one program in the words of all three. Results are compared first. Times are CPU
seconds of the process, since JAX computes in threads of its own; the last column is ted's time over
that of the faster peer.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"

import jax
import jax.numpy as jnp
import numpy as np
import torch
from timing import environment, rounds, spread

import ted

Program = Callable[..., Any]


@dataclass(frozen=True)
class Framework:
    """Names of functions, the transformations of a program, and its arrays."""

    functions: Any
    grad: Callable[[Program, tuple[int, ...]], Program]
    jvp: Callable[[Program, Sequence[Any], Sequence[Any]], Any]
    ready: Callable[[Program], Program]
    array: Callable[[Any], Any]


def _torch_jvp(fn: Program, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
    return torch.func.jvp(fn, tuple(primals), tuple(tangents))[1]


def _jitted(fn: Program) -> Program:
    run = jax.jit(fn)
    return lambda *args: jax.block_until_ready(run(*args))


FRAMEWORKS = {
    "ted": Framework(ted, ted.grad, lambda f, p, t: ted.jvp(f, p, t)[1], ted.function, lambda a: a),
    "torch": Framework(torch, torch.func.grad, _torch_jvp, lambda f: f, torch.from_numpy),
    "jax": Framework(jnp, jax.grad, lambda f, p, t: jax.jvp(f, p, t)[1], _jitted, jnp.asarray),
}


# ------------------------------------------------------------------ programs


def covariance(xp: Any, x: Any) -> Any:
    """NPBench's covariance: of the columns of x."""
    centred = x - xp.mean(x, 0)
    return centred.T @ centred / (x.shape[0] - 1.0)


def correlation(xp: Any, x: Any) -> Any:
    """NPBench's correlation, without its guard of columns that do not vary."""
    centred = x - xp.mean(x, 0)
    scaled = centred / xp.sqrt(xp.mean(centred * centred, 0))
    return scaled.T @ scaled / (x.shape[0] - 1.0)


def perceptron(xp: Any, x: Any, v: Any, w: Any) -> Any:
    """The mean square of two layers."""
    return xp.mean((xp.tanh(x @ v) @ w) ** 2)


def sum_of_einsum(formula: str) -> Program:
    """The sum of squares of an einsum."""
    return lambda xp, *xs: xp.sum(xp.einsum(formula, *xs) ** 2)


def forward(program: Program) -> Program:
    """The program itself."""
    return lambda kit, *xs: program(kit.functions, *xs)


def gradients(program: Program) -> Program:
    """Its gradients by all arguments."""

    def run(kit: Framework, *xs: Any) -> Any:
        scalar = lambda *args: program(kit.functions, *args)  # noqa: E731
        return kit.grad(scalar, tuple(range(len(xs))))(*xs)

    return run


def pulled(program: Program) -> Program:
    """The gradient by its first argument with the last one as cotangent."""

    def run(kit: Framework, *xs: Any) -> Any:
        *given, head = xs
        scalar = lambda *args: kit.functions.sum(program(kit.functions, *args) * head)  # noqa: E731
        return kit.grad(scalar, tuple(range(len(given))))(*given)

    return run


def tangent(program: Program) -> Program:
    """Its tangent; the second half of the arguments are those of the first."""

    def run(kit: Framework, *xs: Any) -> Any:
        half = len(xs) // 2
        return kit.jvp(lambda *args: program(kit.functions, *args), xs[:half], xs[half:])

    return run


def hessian_product(program: Program) -> Program:
    """The tangent of its gradients by all arguments but the first, which is data."""

    def run(kit: Framework, *xs: Any) -> Any:
        data, half = xs[0], (len(xs) - 1) // 2
        scalar = lambda *args: program(kit.functions, data, *args)  # noqa: E731
        return kit.jvp(kit.grad(scalar, tuple(range(half))), xs[1 : half + 1], xs[half + 1 :])

    return run


@dataclass(frozen=True)
class Case:
    """A program, the shapes of its arguments and their type."""

    name: str
    program: Program
    shapes: Sequence[tuple[int, ...]]
    dtype: str = "float64"


def _einsums() -> Iterator[Case]:
    square, thin = (256, 256), (512, 64)
    for formula, shapes in (
        ("ij,jk,kl->il", [square] * 3),
        ("ij,jk,kl,lm->im", [square, (256, 128), (128, 256), square]),
        ("ia,ja,jb,kb->ik", [thin, thin, thin, thin]),
        ("bij,bjk,bkl,bl->bi", [(16, 64, 64)] * 3 + [(16, 64)]),
    ):
        for kind in ("float64", "float32"):
            label = f"einsum {formula} {kind}"
            yield Case(label, forward(lambda xp, *xs, f=formula: xp.einsum(f, *xs)), shapes, kind)
            yield Case(f"{label} gradient", gradients(sum_of_einsum(formula)), shapes, kind)


def cases() -> Iterator[Case]:
    """The rows of the table."""
    square, data = (512, 512), (1400, 260)
    yield from _einsums()
    for kind in ("float64", "float32"):
        total = gradients(lambda xp, a, b: xp.sum(a @ b))
        yield Case(f"sum(a @ b) gradient {kind}", total, [square] * 2, kind)
        yield Case(f"a @ b jvp {kind}", tangent(lambda _, a, b: a @ b), [square] * 4, kind)
        weights = [(256, 128), (128, 64)]
        layers = [(512, 256), *weights]
        yield Case(f"MLP gradient {kind}", gradients(perceptron), layers, kind)
        yield Case(f"MLP jvp {kind}", tangent(perceptron), layers * 2, kind)
        yield Case(f"MLP hvp {kind}", hessian_product(perceptron), [*layers, *weights], kind)
    for name, program in (("covariance", covariance), ("correlation", correlation)):
        summed = lambda xp, x, p=program: xp.sum(p(xp, x))  # noqa: E731
        yield Case(name, forward(program), [data])
        yield Case(f"{name} gradient of the sum", gradients(summed), [data])
        yield Case(f"{name} gradient", pulled(program), [data, (data[1], data[1])])


# ------------------------------------------------------------------ table


def _as_list(result: Any) -> list[Any]:
    return list(result) if isinstance(result, tuple) else [result]


def measure(case: Case, count: int) -> str:
    """A line of the table."""
    random = np.random.default_rng(0)
    given = [random.normal(size=shape).astype(case.dtype) for shape in case.shapes]
    calls, results = [], []
    for kit in FRAMEWORKS.values():
        arrays = [kit.array(x) for x in given]
        run = kit.ready(lambda *xs, kit=kit: case.program(kit, *xs))
        calls.append(lambda run=run, arrays=arrays: run(*arrays))
        results.append([np.asarray(r) for r in _as_list(calls[-1]())])
    room = 1e-9 if case.dtype == "float64" else 2e-3
    for found, *wanted in zip(*results, strict=True):
        for want in wanted:
            np.testing.assert_allclose(found, want, rtol=room, atol=room * np.abs(want).max())
    times = rounds(calls, count, clock=time.process_time)
    shown = "  ".join(
        f"{name} {statistics.median(mine) * 1e3:8.2f} ms"
        for name, mine in zip(FRAMEWORKS, times, strict=True)
    )
    ratios = [ours / min(theirs) for ours, *theirs in zip(*times, strict=True)]
    return f"{case.name:42} {shown}  ted / best {spread(ratios)}"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--only", default="", help="cases with this in their names")
    options = parser.parse_args()
    torch.set_num_threads(1)
    jax.config.update("jax_enable_x64", True)
    print(environment("torch", "jax", "torch-mlir", "numpy"))
    for case in cases():
        if options.only in case.name:
            print(measure(case, options.rounds), flush=True)


if __name__ == "__main__":
    main()
