"""Check gradients against numbers: `check_grads`, by random cotangents and central differences.

For y = f(x), a random cotangent dy and a random direction v, several ways to one number:

    <dy, J v>   from five evaluations of f on the line x + t v   (error of order h**4)
    <J^T dy, v> from the VJP under test
    <dy, J v>   from the JVP under test, whose J v is also compared with differences

No Jacobian is built.  Order 2 checks the VJP, as a function of x and dy, in the same way, and the
JVP as a function of x and v.  At kinks (relu at 0, tied maxima) differences have no meaning; one
that is merely near is stepped over.  What is NaN in derivatives and differences is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ted.api.custom import custom_vjp
from ted.api.differentiating import differentiate
from ted.api.modes import push_tensors
from ted.errors import DerivativeError
from ted.frontend import tensors as frontend
from ted.frontend.checks import FLOAT_BITS, called, check_callable, integer, is_several
from ted.frontend.trees import flatten
from ted.ir.equations import Tensor
from ted.records import dataclass
from ted.testing.differences import SHRINKS, Array, Line, is_float, product
from ted.testing.tracing import interpreted, nodes, numpy_type, tensors, traced
from ted.testing.undefined import blamed, undefined

Tensors = Sequence[frontend.Tensor]
Evaluate = Callable[[Tensors, Tensors], Callable[..., Sequence[Array]]]
Differentiate = Callable[[Tensors, Tensors, Tensors], Tensors]

MODES = ("fwd", "rev")
Function = tuple[Sequence[Tensor], Sequence[Tensor], "list[Array]"]  # inputs, outputs, a point

LISTED_ELEMENTS = 256
MOST_ORDERS = 16  # each is some times the program before

# Two orders of magnitude above the errors of the differences.
TOLERANCES = {"float64": 1e-7, "float32": 2e-3, "float16": 0.1, "bfloat16": 0.3}
# Both modes sum the same terms, in another order: rounding only, with room for cancellation.
IDENTITY_TOLERANCES = {"float64": 1e-10, "float32": 1e-4, "float16": 0.05, "bfloat16": 0.2}


class WrongDerivative(DerivativeError):
    """A derivative that is not what differences of the function say."""


def check_grads(
    function: Callable[..., Any] | tuple[Any, Any],
    args: Sequence[Any],
    order: int = 1,
    modes: Sequence[str] = ("rev",),
    seed: int = 0,
    tolerance: float | None = None,
    evaluate: Evaluate | None = None,
    derive: Differentiate | None = None,
    push: Differentiate | None = None,
) -> None:
    """Compare the VJPs ("rev") and JVPs ("fwd") of a function of tensors with central differences.

    With both modes their identity <J v, dy> = <v, J^T dy> is checked too, to rounding, and at
    higher orders every mixture of the two.

    `function` is a callable, traced on the types of `args` (arrays, or nests of arrays) with floats
    as float64, or a pair (outputs, inputs) of tensors.  `evaluate` makes a callable of arrays from
    inputs and outputs: the reference interpreter, or `ted.compile`.  `derive` gives gradients from
    outputs, inputs and heads: what `ted.differentiate` does, by default; `push` gives tangents of
    the outputs from outputs, inputs and tangents, as `ted.jvp` does.
    Raises: WrongDerivative, a DerivativeError, naming the argument or output and the element that
    differ most; DerivativeError where there is nothing to check; FrontendError for what is no
    function, or no number as a seed.
    """
    for name, given in (("evaluate", evaluate), ("derive", derive), ("push", push)):
        if given is not None:
            check_callable(given, f"check_grads: {name}")
    whose = evaluate, derive, push
    _compare("check_grads", function, args, order, modes, seed, tolerance, whose)


def _compare(
    who: str, function: Any, args: Sequence[Any], order: int, modes: Sequence[str], seed: int,
    tolerance: float | None, whose: tuple[Any, Any, Any] = (None, None, None),
) -> None:  # fmt: skip
    """The comparison for `who`, whom messages name."""
    _check_arguments(who, function, args, order, modes, tolerance)
    evaluate, derive, push = whose
    arrays = [np.asarray(leaf) for _, leaf in flatten(list(args))[0]]
    if callable(function):
        arrays = [a.astype(np.float64) if is_float(a) else a for a in arrays]
        outputs, inputs = traced(function, list(args), arrays, what=who)
    else:
        outputs, inputs = nodes(function[0], who), nodes(function[1], who)
    generator = np.random.default_rng(integer(seed, f"{who}: seed") % 2**64)
    functions: list[Function] = [(inputs, outputs, arrays)]
    for level in range(1, order + 1):
        checks = [
            _Check(
                who, tuple(known), tuple(results), point, level, generator, tolerance,
                evaluate or interpreted, derive or _differentiate, push or push_tensors,
            )
            for known, results, point in functions
        ]  # fmt: skip
        functions = [function for check in checks for function in check.run(modes)]


def _check_arguments(
    who: str, function: Any, args: Any, order: Any, modes: Any, tolerance: Any
) -> None:
    call = "f" if who == "check_grads" else "f, backward"
    if not isinstance(order, int) or not 1 <= order <= MOST_ORDERS:
        raise DerivativeError(
            f"{who}: order is a number from 1 on, got {order!r}; {MOST_ORDERS} is the last"
        )
    known = [m for m in modes if isinstance(m, str) and m in MODES] if is_several(modes) else []
    if not known or len(known) != len(modes):
        got = list(modes) if is_several(modes) else modes
        raise DerivativeError(f"{who}: modes are some of {MODES}, got {got!r}")
    if not isinstance(args, (tuple, list)):
        raise DerivativeError(
            f"{who}: args is a list with one array per argument, got {type(args).__name__}; "
            f"write {who}({call}, [x])"
        )
    is_huge = isinstance(tolerance, int) and tolerance.bit_length() > FLOAT_BITS
    if tolerance is not None and (not isinstance(tolerance, (int, float)) or is_huge):
        raise DerivativeError(f"{who}: tolerance is a number, got {tolerance!r}")
    if not callable(function) and not (isinstance(function, (tuple, list)) and len(function) == 2):
        raise DerivativeError(
            f"{who}: checks a function of tensors, or a pair (outputs, inputs) of tensors, "
            f"got {function!r}"
        )


def _differentiate(outputs: Tensors, inputs: Tensors, heads: Tensors) -> Tensors:
    return list(differentiate(outputs, inputs, heads))


@dataclass(frozen=True)
class _Check:
    """One order: a function, a point, and where its derivatives come from."""

    who: str  # is named in messages
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    arrays: list[Array]
    level: int
    generator: np.random.Generator
    tolerance: float | None
    evaluate: Evaluate
    derive: Differentiate
    push: Differentiate

    def run(self, modes: Sequence[str]) -> list[Function]:
        """Compare; then the VJP and the JVP as functions of more, for the next order."""
        outputs = tuple(t for t in self.outputs if t.dtype.is_float)
        if not outputs or not self.active:
            raise DerivativeError(
                f"{self.who}: a float output and a float argument, got {_typed(self.inputs)} and "
                f"results {_typed(self.outputs)}; pass arrays of floats"
            )
        cotangents = [self._random(t.static_shape, t.dtype.name) for t in outputs]
        unit = [self._direction(self.inputs[k].static_shape) for k in self.active]
        rule, form = f"{self.who}: evaluate", "evaluate(inputs, outputs)"
        forward = called(rule, form, self.evaluate, tensors(self.inputs), tensors(outputs))
        check_callable(forward, f"{rule}: result")
        line = Line(forward, self.arrays, cotangents)
        found: list[Function] = []
        products: Sequence[float] = ()
        if "rev" in modes:
            function, products = self._reverse(outputs, line, unit)
            found.append(function)
        if "fwd" in modes:
            function, terms = self._forward(outputs, line, unit)
            found.append(function)
            if "rev" in modes:
                self._identity(products, terms)
        return found

    def _reverse(
        self, outputs: tuple[Tensor, ...], line: Line, unit: list[Array]
    ) -> tuple[Function, Sequence[float]]:
        """Compare the VJP; also the terms of <J^T dy, v>."""
        heads = tuple(Tensor(f"d{t.name}", t.shape, t.dtype) for t in outputs)
        known = [self.inputs[k] for k in self.active]
        given = [*map(tensors, (outputs, known, heads))]
        rule, form = f"{self.who}: derive", "derive(outputs, inputs, heads)"
        gradients = tuple(nodes(called(rule, form, self.derive, *given), self.who))
        self._types(gradients, known, "a gradient of the argument's type")
        backward = self.evaluate(tensors([*self.inputs, *heads]), tensors(gradients))
        found = self._gradients(backward, line)
        if not self._agrees(line, unit, found):
            line, unit = self._defined(line, unit, found)
            found = self._gradients(backward, line)
            if not self._agrees(line, unit, found):
                raise WrongDerivative(self._explain(line, unit, found))
        pairs = zip(unit, found, strict=True)
        terms = [float(x) for v, g in pairs for x in product(v, g).ravel()]
        return ((*self.inputs, *heads), gradients, [*self.arrays, *line.cotangents]), terms

    def _gradients(self, backward: Callable[..., Sequence[Array]], line: Line) -> list[Array]:
        return [np.asarray(g, np.float64) for g in backward(*self.arrays, *line.cotangents)]

    def _agrees(self, line: Line, unit: Sequence[Array], found: Sequence[Array]) -> bool:
        return self._agree(line, dict(zip(self.active, unit, strict=True)), found)

    def _defined(
        self, line: Line, unit: Sequence[Array], found: Sequence[Array]
    ) -> tuple[Line, list[Array]]:
        """The line and the direction without what is NaN in gradients and differences alike."""
        directions = dict(zip(self.active, unit, strict=True))
        gradients = dict(zip(self.active, found, strict=True))
        place = blamed(line, directions, gradients)
        if place is not None:
            k, at = place
            _, text = self._element(line, k, gradients[k], at)
            raise WrongDerivative(self._wrong(text))
        masks = undefined(line, directions)
        self._check_some_left(masks)
        cotangents = [
            np.where(mask, 0, dy).astype(dy.dtype)
            for mask, dy in zip(masks, line.cotangents, strict=True)
        ]
        kept = [np.where(np.isnan(g), 0, v) for g, v in zip(found, unit, strict=True)]
        return replace(line, cotangents=cotangents), kept

    def _check_some_left(self, undefined: Sequence[Array]) -> None:
        if all(mask.all() for mask in undefined) and any(mask.size for mask in undefined):
            raise DerivativeError(
                f"{self.who}: order {self.level}: a result that is a number, got NaN at and "
                f"around the point in all of {_typed(self.outputs)}"
            )

    def _forward(
        self, outputs: tuple[Tensor, ...], line: Line, unit: list[Array]
    ) -> tuple[Function, Sequence[float]]:
        """Compare the JVP element by element; also the terms of <dy, J v>."""
        known = [self.inputs[k] for k in self.active]
        moving = tuple(Tensor(f"{t.name}_dot", t.shape, t.dtype) for t in known)
        pushed = tuple(nodes(self.push(*map(tensors, (outputs, known, moving))), self.who))
        self._types(pushed, outputs, "a tangent of the output's type")
        pairs = zip(unit, known, strict=True)
        directions = [v.astype(numpy_type(t.dtype.name)) for v, t in pairs]
        values = self.evaluate(tensors([*self.inputs, *moving]), tensors(pushed))(
            *self.arrays, *directions
        )
        found = [np.asarray(v, np.float64) for v in values]
        worst = self._worst_tangent(line, dict(zip(self.active, unit, strict=True)), found)
        if worst is not None:
            raise WrongDerivative(
                f"{self.who}: order {self.level}: the JVP equals central differences, got {worst}"
            )
        self._check_some_left([np.isnan(v) for v in found])
        weighted = [
            v * np.asarray(dy, np.float64) for v, dy in zip(found, line.cotangents, strict=True)
        ]
        terms = [float(x) for products in weighted for x in products.ravel()]
        return ((*self.inputs, *moving), pushed, [*self.arrays, *directions]), terms

    def _worst_tangent(
        self, line: Line, directions: dict[int, Array], found: Sequence[Array]
    ) -> str | None:
        """The element of J v that differs most at every step, None when one step agrees."""
        worst: tuple[float, str] = (-1.0, "")
        for shrink in SHRINKS:
            worst = (-1.0, "")
            for t, value, (slope, rounding) in zip(
                [t for t in self.outputs if t.dtype.is_float], found,
                line.derivative(directions, shrink), strict=True,
            ):  # fmt: skip
                size = _largest(slope) + _largest(value)
                error = np.abs(value - slope) - rounding - self._tolerance() * size
                error = np.where(np.isfinite(error), error, np.inf)
                error = np.where(np.isnan(slope) & np.isnan(value), -np.inf, error)
                if error.size and error.max() > 0:
                    at = np.unravel_index(int(error.argmax()), error.shape)
                    text = f"{t.name}_dot{[int(n) for n in at]} = {value[at]:.9g}"
                    text += f" and {slope[at]:.9g}"
                    worst = max(worst, (float(error.max()), text))
            if worst[0] < 0:
                return None
        return worst[1]

    def _identity(self, reverse: Sequence[float], forward: Sequence[float]) -> None:
        limit = self._tolerance(IDENTITY_TOLERANCES)
        if np.isnan([*reverse, *forward]).any():
            return  # what is NaN was left out of one sum and not of the other
        scale = float(np.abs(reverse).sum() + np.abs(forward).sum())
        a, b = float(np.sum(forward)), float(np.sum(reverse))
        if not _close(a, b, limit * scale):
            raise WrongDerivative(
                f"{self.who}: order {self.level}: <J v, dy> equals <v, J^T dy>, got {a:.17g} by "
                f"forward and {b:.17g} by reverse mode"
            )

    @property
    def active(self) -> list[int]:
        """The arguments of float type."""
        return [k for k, t in enumerate(self.inputs) if t.dtype.is_float]

    def _types(self, found: Sequence[Tensor], like: Sequence[Tensor], rule: str) -> None:
        for tensor, primal in zip(found, like, strict=True):
            if (tensor.shape, tensor.dtype) != (primal.shape, primal.dtype):
                raise DerivativeError(
                    f"{self.who}: {rule}, got {tensor.dtype}{list(tensor.shape)} for {primal}"
                )

    def _random(self, shape: tuple[int, ...], dtype: str) -> Array:
        return np.asarray(self.generator.normal(size=shape)).astype(numpy_type(dtype))

    def _direction(self, shape: tuple[int, ...]) -> Array:
        """A random direction of length one, so that the step means the same for every size."""
        direction = self._random(shape, "float64")
        return direction / max(float(np.linalg.norm(direction)), 1e-30)

    def _agree(self, line: Line, directions: dict[int, Array], found: Sequence[Array]) -> bool:
        pairs = zip(self.active, found, strict=True)
        terms = [product(directions[k], g) for k, g in pairs if k in directions]
        total = sum(float(t.sum()) for t in terms)
        scale = sum(float(np.abs(t).sum()) for t in terms)
        for shrink in SHRINKS:
            slope, size, rounding = line.slope(directions, shrink)
            if _close(slope, total, self._tolerance() * (size + scale) + rounding):
                return True
        return False

    def _tolerance(self, table: dict[str, float] = TOLERANCES) -> float:
        """Relative to the terms of the products; by default that of the coarsest type."""
        if self.tolerance is not None:
            return self.tolerance
        types = [t.dtype for t in (*self.inputs, *self.outputs) if t.dtype.is_float]
        return max(table[t.name] for t in types)

    def _explain(self, line: Line, directions: Sequence[Array], found: Sequence[Array]) -> str:
        """The argument that differs, and its worst element by differences along coordinates."""
        worst: tuple[float, str] = (-1.0, "the arguments together")
        for position, k in enumerate(self.active):
            if self._agree(line, {k: directions[position]}, found):
                continue
            for error, text in self._elements(line, k, found[position]):
                worst = max(worst, (error, text), key=lambda item: item[0])
        return self._wrong(worst[1])

    def _wrong(self, got: str) -> str:
        return f"{self.who}: order {self.level}: the VJP equals central differences, got {got}"

    def _elements(self, line: Line, k: int, found: Array) -> Iterator[tuple[float, str]]:
        places = [at for at in np.ndindex(found.shape) if not np.isnan(found[at])]
        for at in places[:LISTED_ELEMENTS]:
            yield self._element(line, k, found, at)

    def _element(self, line: Line, k: int, found: Array, at: tuple[int, ...]) -> tuple[float, str]:
        """How far one element of a gradient is from differences along its coordinate."""
        unit = np.zeros(found.shape)
        unit[at] = 1
        slope, _, _ = line.slope({k: unit}, SHRINKS[-1])
        value = float(found[at])
        error = abs(slope - value) if np.isfinite(slope - value) else np.inf
        where = f"d{self.inputs[k].name}{list(at)}"
        return error, f"{where} = {value:.9g} and {slope:.9g} (argument {k})"


def _largest(values: Array) -> float:
    return float(np.abs(values)[~np.isnan(values)].max(initial=0))


def _typed(tensors: Sequence[Tensor]) -> str:
    return ", ".join(f"{t.name}: {t.dtype}{list(t.shape)}" for t in tensors) or "none"


def _close(a: float, b: float, limit: float) -> bool:
    return bool(np.isfinite(a) and np.isfinite(b) and abs(a - b) <= limit)


def check_vjp(
    forward: Callable[..., Any],
    backward: Callable[[Any, Any, Any], Any],
    args: Sequence[Any],
    order: int = 1,
    seed: int = 0,
    tolerance: float | None = None,
) -> None:
    """Compare a hand-written VJP with central differences of the function.

    `backward(inputs, outputs, heads)` gets three tuples and gives one gradient per argument, as for
    `ted.custom_vjp.defvjp`; both are functions of tensors, `args` are arrays or nests of arrays.  A
    higher `order` checks ted's derivatives of the hand-written one.
    Raises: DerivativeError naming the argument and the element that differ most; FrontendError for
    what is no number as a seed.
    """
    _compare("check_vjp", paired(forward, backward), args, order, ("rev",), seed, tolerance)


def paired(
    forward: Callable[..., Any], backward: Callable[[Any, Any, Any], Any]
) -> Callable[..., Any]:
    """The function with the derivative that a person wrote."""
    pair = custom_vjp(forward)
    pair.defvjp(backward)
    return pair
