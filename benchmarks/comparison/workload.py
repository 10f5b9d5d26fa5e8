"""A workload: a program, its inputs, what is asked of it, and the work that it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import ml_dtypes
import numpy as np

Program = Callable[..., Any]
Shape = tuple[int, ...]
MODES = ("forward", "vjp", "grad", "jvp", "hvp")
# What results may differ from float64 by, relative to the largest element.
TOLERANCES = {"float64": 1e-9, "float32": 2e-4, "float16": 8e-3, "bfloat16": 6e-2}
HALF = ("float16", "bfloat16")


def numpy_type(name: str) -> np.dtype[Any]:
    """The type of arrays of a name; bfloat16 is that of ml_dtypes."""
    return np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)


@dataclass(frozen=True)
class Input:
    """An argument: its shape, its type (that of the workload by default), how it is drawn.

    `draw` is "normal", "uniform" in [low, high), "index" (integers there), "sorted" ones, or
    "dominant", a symmetric matrix with a diagonal that dominates; `scale` multiplies floats.
    """

    shape: Shape
    draw: str = "normal"
    low: float = 0.0
    high: float = 1.0
    scale: float = 1.0
    dtype: str = ""

    def array(self, dtype: str, random: np.random.Generator) -> np.ndarray:
        """Numbers of this kind."""
        return np.ascontiguousarray(self._drawn(random)).astype(numpy_type(self.dtype or dtype))

    def _drawn(self, random: np.random.Generator) -> Any:
        if self.draw == "normal":
            return random.standard_normal(self.shape) * self.scale
        if self.draw == "uniform":
            return random.uniform(self.low, self.high, self.shape)
        if self.draw == "dominant":
            square = random.standard_normal(self.shape)
            return square + square.T + 4 * self.shape[0] ** 0.5 * np.eye(self.shape[0])
        drawn = random.integers(int(self.low), int(self.high), self.shape)
        return np.sort(drawn) if self.draw == "sorted" else drawn


def normal(*shape: int, scale: float = 1.0) -> Input:
    """Normal numbers."""
    return Input(shape, scale=scale)


def uniform(low: float, high: float, *shape: int) -> Input:
    """Numbers between two."""
    return Input(shape, "uniform", low, high)


def index(high: int, *shape: int, draw: str = "index") -> Input:
    """Integers from 0 to `high`, without it."""
    return Input(shape, draw, 0, high, dtype="int32")


@dataclass(frozen=True)
class Workload:
    """One row: a program of `k`, the operators of a peer, or one for each peer that has its own.

    `mode` is what is asked of the program: itself (forward), gradients from inputs and cotangents
    (vjp), gradients of a scalar (grad), the tangent (jvp), a Hessian times a vector (hvp).  `wrt`
    are the arguments that it is differentiated by, all floats by default.  `flops` are those of the
    row, 0 where memory bounds it.
    """

    name: str
    program: Program | Mapping[str, Program]
    inputs: Sequence[Input]
    group: str
    bound: str = "memory"
    mode: str = "forward"
    dtype: str = "float32"
    flops: float = 0.0
    wrt: tuple[int, ...] | None = None
    table: bool = False
    also: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    tolerance: float | None = None

    @property
    def label(self) -> str:
        """Name and mode, the key of a row."""
        return f"{self.name} {self.mode}"

    @property
    def family(self) -> str:
        """What its ratio counts for: gradients, or what bounds the forward pass."""
        return f"{self.bound} forward" if self.mode == "forward" else "gradients"

    @property
    def differentiated(self) -> tuple[int, ...]:
        """The arguments that it is differentiated by."""
        if self.wrt is not None:
            return self.wrt
        return tuple(k for k, x in enumerate(self.inputs) if "int" not in (x.dtype or self.dtype))

    @property
    def allowed(self) -> float:
        """What results may differ by, relative to the largest element; 0 for integers."""
        if self.tolerance is not None:
            return self.tolerance
        return TOLERANCES.get(self.dtype, 0.0)

    def of(self, peer: str) -> Program:
        """The program as a peer has it."""
        if not isinstance(self.program, Mapping):
            return self.program
        return self.program.get(peer) or self.program["others"]

    def arrays(self) -> list[np.ndarray]:
        """The numbers of the inputs, the same in every process."""
        random = np.random.default_rng(0)
        return [x.array(self.dtype, random) for x in self.inputs]


def both(workload: Workload, mode: str = "vjp", factor: float = 2.0) -> Iterator[Workload]:
    """The workload itself and its gradient, which is `factor` times the operations."""
    yield workload
    yield replace(workload, mode=mode, flops=workload.flops * factor)


def gradient(workload: Workload, mode: str = "vjp", factor: float = 2.0) -> Iterator[Workload]:
    """Its gradient alone."""
    yield replace(workload, mode=mode, flops=workload.flops * factor)


def in_types(workload: Workload, *dtypes: str) -> Iterator[Workload]:
    """The same in several types, which the names say."""
    for dtype in dtypes:
        yield replace(workload, name=f"{workload.name} {dtype}", dtype=dtype)
