"""Check gradients against numbers: `check_grads`, by random cotangents and central differences.

For y = f(x), a random cotangent dy and a random direction v, two ways to one number:

    <dy, J v>   from five evaluations of f on the line x + t v   (error of order h**4)
    <J^T dy, v> from the VJP under test

No Jacobian is built.  Order 2 checks the VJP, as a function of x and dy, in the same way.  At kinks
(relu at 0, tied maxima) differences have no meaning; one that is merely near is stepped over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ted.errors import DerivativeError
from ted.frontend import tensors as frontend
from ted.frontend.trees import flatten
from ted.ir.equations import Tensor
from ted.testing.tracing import interpreted, nodes, numpy_type, tensors, traced
from ted.transforms.gradient import differentiate

Array = np.ndarray[Any, Any]
Tensors = Sequence[frontend.Tensor]
Evaluate = Callable[[Tensors, Tensors], Callable[..., Sequence[Array]]]
Differentiate = Callable[[Tensors, Tensors, Tensors], Tensors]

# f(x + t v) is asked at t = k * step; the weights cancel all terms up to the fourth order.
STENCIL = {-2: 1 / 12, -1: -2 / 3, 1: 2 / 3, 2: -1 / 12}
LISTED_ELEMENTS = 256

# The step balances rounding (epsilon / step) and the stencil's error (step**4); the tolerance
# leaves two orders of magnitude above both.
STEPS = {"float64": 1e-3, "float32": 3e-2, "float16": 0.125, "bfloat16": 0.25}
SHRINKS = (1, 1 / 16, 1 / 256)  # a kink nearer than the step gives a second and a third chance
MANTISSAS = {"float64": 52, "float32": 23, "float16": 10, "bfloat16": 7}
TOLERANCES = {"float64": 1e-7, "float32": 2e-3, "float16": 0.1, "bfloat16": 0.3}


def check_grads(
    function: Callable[..., Any] | tuple[Any, Any],
    args: Sequence[Any],
    order: int = 1,
    modes: Sequence[str] = ("rev",),
    seed: int = 0,
    tolerance: float | None = None,
    evaluate: Evaluate | None = None,
    derive: Differentiate | None = None,
) -> None:
    """Compare the VJPs of a function of tensors with central differences.

    `function` is a callable, traced on the types of `args` (arrays, or nests of arrays) with floats
    as float64, or a pair (outputs, inputs) of tensors.  `evaluate` makes a callable of arrays from
    inputs and outputs: the reference interpreter, or `ted.compile`.  `derive` gives gradients from
    outputs, inputs and heads: what `ted.differentiate` does, by default.
    Raises: DerivativeError naming the argument and the element that differ most.
    """
    if any(mode != "rev" for mode in modes):
        raise DerivativeError(f"check_grads: modes are 'rev', got {list(modes)}")
    arrays = [np.asarray(leaf) for _, leaf in flatten(list(args))[0]]
    if callable(function):
        arrays = [a.astype(np.float64) if _is_float(a) else a for a in arrays]
        outputs, inputs = traced(function, list(args), arrays)
    else:
        outputs, inputs = nodes(function[0]), nodes(function[1])
    generator = np.random.default_rng(seed)
    for level in range(1, order + 1):
        check = _Check(
            tuple(inputs), tuple(outputs), arrays, level, generator, tolerance,
            evaluate or interpreted, derive or _differentiate,
        )  # fmt: skip
        inputs, outputs, arrays = check.run()


def _is_float(array: Array) -> bool:
    return array.dtype.kind == "f" or array.dtype.name == "bfloat16"


def _differentiate(outputs: Tensors, inputs: Tensors, heads: Tensors) -> Tensors:
    return tensors(differentiate(nodes(outputs), nodes(inputs), nodes(heads)).gradients)


@dataclass(frozen=True)
class _Check:
    """One order: a function, a point, and where its VJP comes from."""

    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    arrays: list[Array]
    level: int
    generator: np.random.Generator
    tolerance: float | None
    evaluate: Evaluate
    derive: Differentiate

    def run(self) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...], list[Array]]:
        """Compare; then the VJP as a function of inputs and heads, for the next order."""
        outputs = tuple(t for t in self.outputs if t.dtype.is_float)
        if not outputs or not self.active:
            raise DerivativeError("check_grads: a float output and a float argument, got none")
        heads = tuple(Tensor(f"d{t.name}", t.shape, t.dtype) for t in outputs)
        known = [self.inputs[k] for k in self.active]
        gradients = tuple(nodes(self.derive(*map(tensors, (outputs, known, heads)))))
        self._shapes(gradients)
        cotangents = [self._random(h.shape, h.dtype.name) for h in heads]
        forward = self.evaluate(tensors(self.inputs), tensors(outputs))
        backward = self.evaluate(tensors([*self.inputs, *heads]), tensors(gradients))
        found = [np.asarray(g, np.float64) for g in backward(*self.arrays, *cotangents)]
        directions = [self._direction(self.inputs[k].shape) for k in self.active]
        line = _Line(forward, self.arrays, cotangents)
        if not self._agree(line, dict(zip(self.active, directions, strict=True)), found):
            raise DerivativeError(self._explain(line, directions, found))
        return (*self.inputs, *heads), gradients, [*self.arrays, *cotangents]

    @property
    def active(self) -> list[int]:
        """The arguments of float type."""
        return [k for k, t in enumerate(self.inputs) if t.dtype.is_float]

    def _shapes(self, gradients: Sequence[Tensor]) -> None:
        for k, gradient in zip(self.active, gradients, strict=True):
            primal = self.inputs[k]
            if (gradient.shape, gradient.dtype) != (primal.shape, primal.dtype):
                raise DerivativeError(
                    f"check_grads: a gradient of the argument's type, got "
                    f"{gradient.dtype}{list(gradient.shape)} for {primal}"
                )

    def _random(self, shape: tuple[int, ...], dtype: str) -> Array:
        return np.asarray(self.generator.normal(size=shape)).astype(numpy_type(dtype))

    def _direction(self, shape: tuple[int, ...]) -> Array:
        """A random direction of length one, so that the step means the same for every size."""
        direction = self._random(shape, "float64")
        return direction / max(float(np.linalg.norm(direction)), 1e-30)

    def _agree(self, line: _Line, directions: dict[int, Array], found: Sequence[Array]) -> bool:
        pairs = zip(self.active, found, strict=True)
        terms = [g * directions[k] for k, g in pairs if k in directions]
        product = sum(float(t.sum()) for t in terms)
        scale = sum(float(np.abs(t).sum()) for t in terms)
        for shrink in SHRINKS:
            slope, size, rounding = line.slope(directions, shrink)
            if _close(slope, product, self._tolerance() * (size + scale) + rounding):
                return True
        return False

    def _tolerance(self) -> float:
        """Relative to the terms of the products; by default that of the coarsest type."""
        if self.tolerance is not None:
            return self.tolerance
        types = [t.dtype for t in (*self.inputs, *self.outputs) if t.dtype.is_float]
        return max(TOLERANCES[t.name] for t in types)

    def _explain(self, line: _Line, directions: Sequence[Array], found: Sequence[Array]) -> str:
        """The argument that differs, and its worst element by differences along coordinates."""
        worst: tuple[float, str] = (-1.0, "the arguments together")
        for position, k in enumerate(self.active):
            if self._agree(line, {k: directions[position]}, found):
                continue
            for error, text in self._elements(line, k, found[position]):
                worst = max(worst, (error, text), key=lambda item: item[0])
        return (
            f"check_grads: order {self.level}: the VJP equals central differences, got {worst[1]}"
        )

    def _elements(self, line: _Line, k: int, found: Array) -> Iterator[tuple[float, str]]:
        shape, name = self.inputs[k].shape, self.inputs[k].name
        for flat in range(min(found.size, LISTED_ELEMENTS)):
            at = np.unravel_index(flat, shape)
            unit = np.zeros(shape)
            unit[at] = 1
            slope, _, _ = line.slope({k: unit}, SHRINKS[-1])
            value = float(found[at])
            error = abs(slope - value) if np.isfinite(slope - value) else np.inf
            where = [int(n) for n in at]
            yield error, f"d{name}{where} = {value:.9g} and {slope:.9g} (argument {k})"


@dataclass(frozen=True)
class _Line:
    """<dy, f> along lines through one point."""

    forward: Callable[..., Sequence[Array]]
    arrays: Sequence[Array]
    cotangents: Sequence[Array]

    def slope(self, directions: dict[int, Array], shrink: float) -> tuple[float, float, float]:
        """The derivative along directions of some arguments, the size of its terms, its rounding.

        Values of f that cancel leave a few epsilons of theirs, divided by the step.
        """
        coarsest = max((a for a in self.arrays if _is_float(a)), key=lambda a: STEPS[a.dtype.name])
        step = STEPS[coarsest.dtype.name] * shrink
        slope = size = rounding = 0.0
        with np.errstate(all="ignore"):
            total: list[Any] = [np.float64(0)] * len(self.cotangents)
            largest: list[Any] = list(total)
            for k, weight in STENCIL.items():
                values = self.forward(*self._moved(directions, k * step))
                wide = [np.asarray(v, np.float64) for v in values]
                total = [t + weight / step * v for t, v in zip(total, wide, strict=True)]
                largest = [np.maximum(m, np.abs(v)) for m, v in zip(largest, wide, strict=True)]
            for dy, jv, value in zip(self.cotangents, total, largest, strict=True):
                cotangent = np.asarray(dy, np.float64)
                slope += float((cotangent * jv).sum())
                size += float(np.abs(cotangent * jv).sum())
                rounding += float(np.abs(cotangent * value).sum())
        epsilon = 2.0 ** -MANTISSAS[coarsest.dtype.name]
        return slope, size, 16 * epsilon / step * rounding

    def _moved(self, directions: dict[int, Array], distance: float) -> list[Array]:
        moved = list(self.arrays)
        for k, direction in directions.items():
            shifted = self.arrays[k].astype(np.float64) + distance * direction
            moved[k] = shifted.astype(self.arrays[k].dtype)
        return moved


def _close(a: float, b: float, limit: float) -> bool:
    return bool(np.isfinite(a) and np.isfinite(b) and abs(a - b) <= limit)
