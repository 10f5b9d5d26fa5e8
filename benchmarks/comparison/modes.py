"""What is asked of a program, for each peer: a call, and the arguments that it takes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .arguments import Function, as_list
from .kits import Kit
from .workload import Workload, numpy_type


def call_of(kit: Kit, workload: Workload, peer: str) -> Function:
    """A function of all arguments: those of the program, then cotangents or tangents."""
    program, count, wrt = workload.of(peer), len(workload.inputs), workload.differentiated
    fn = kit.forward_only(lambda *xs: program(kit.operators, *xs))
    asked: dict[str, Callable[..., Any]] = {
        "forward": fn,
        "vjp": lambda *args: kit.vjp(fn, args[:count], args[count:], wrt),
        "grad": lambda *args: kit.grad(fn, args, wrt),
        "jvp": lambda *args: kit.jvp(fn, args[:count], args[count:], wrt),
        "hvp": lambda *args: kit.hvp(fn, args[:count], args[count:], wrt),
    }
    return kit.ready(asked[workload.mode])


def extra_arrays(
    workload: Workload, arrays: Sequence[np.ndarray], results: Callable[[], list[np.ndarray]]
) -> list[np.ndarray]:
    """The cotangents of the results, or a tangent for each argument that is differentiated."""
    random = np.random.default_rng(1)

    def like(array: np.ndarray) -> np.ndarray:
        drawn = np.asarray(random.standard_normal(array.shape))
        return drawn.astype(numpy_type(workload.dtype))

    if workload.mode == "vjp":
        return [like(x) for x in results()]
    if workload.mode in ("jvp", "hvp"):
        return [like(arrays[k]) for k in workload.differentiated]
    return []


def in_double(array: np.ndarray) -> np.ndarray:
    """Floats in float64, other numbers as they are."""
    return array if array.dtype.kind in "iub" else array.astype(np.float64)


class Reference:
    """The workload in float64, by torch where it is there or by NumPy: its results."""

    def __init__(self, workload: Workload, peer: str, kit: Kit) -> None:
        self.workload, self.peer, self.kit = workload, peer, kit

    def forward(self, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Results of the program itself."""
        given = [self.kit.array(in_double(a)) for a in arrays]
        found = self.workload.of(self.peer)(self.kit.operators, *given)
        return [self.kit.numpy(x) for x in as_list(found)]

    def results(self, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Results of what is asked."""
        given = [self.kit.array(in_double(a)) for a in arrays]
        found = call_of(self.kit, self.workload, self.peer)(*given)
        return [self.kit.numpy(x) for x in as_list(found)]


def difference(found: Sequence[Any], wanted: Sequence[np.ndarray], allowed: float) -> str:
    """How results differ by more than is allowed, or nothing."""
    if len(found) != len(wanted):
        return f"{len(found)} results, not {len(wanted)}"
    for k, (mine, right) in enumerate(zip(found, wanted, strict=True)):
        got = in_double(np.asarray(mine))
        if got.shape != right.shape:
            return f"result {k} has shape {got.shape}, not {right.shape}"
        if not got.size:
            continue
        apart = np.max(np.abs(got.astype(np.float64) - right.astype(np.float64)))
        if not apart <= allowed * max(float(np.max(np.abs(right))), 1e-30):
            largest = float(np.max(np.abs(right)))
            return f"result {k} is off by {apart:.2g}, where the largest is {largest:.2g}"
    return ""
