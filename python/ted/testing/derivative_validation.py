"""Is a derivative that `ted-differentiate` filled in the derivative of its primal, exactly?

The primal, as it was before the pass, is evaluated on dual numbers (`dual_numbers.py`): J v for a
random direction v, by no code of ted's.  A JVP has to give just that.  A VJP has to give gradients
g with <g, v> = <w, J v> for the random cotangents w that it took.  Both are elements of a field of
2**61 - 1, where nothing rounds: gradients of which any element is wrong pass with a chance of
2**-61, so that one identity checks all elements.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ted.errors import PassFailed
from ted.mlir import ir
from ted.records import dataclass
from ted.testing.dual_numbers import ONE, ZERO, Dual, DualField
from ted.testing.field_evaluation import (
    LOWERED_LIMIT,
    TIED,
    Arrays,
    at_point,
    check_evaluable,
    random_elements,
    random_point,
    reachable,
    sizes_of,
)
from ted.testing.interpreter import functions_of, has_body, interpret
from ted.testing.interpreter_scalars import NotEvaluated
from ted.testing.interpreter_values import at_most
from ted.testing.prime_field import PRIME, Element, without_division_by_zero

Directions = dict[int, np.ndarray[Any, Any]]
Heads = Sequence[np.ndarray[Any, Any]]
Places = list[tuple[int, tuple[int, ...]]]

_KINDS = {"ted.vjp_of": "VJP", "ted.jvp_of": "JVP"}
_USERS, _EVEN = "ted.custom_vjp", 'ted.ties = "even"'


@dataclass(frozen=True)
class Request:
    """A function that is declared to be a derivative of another one."""

    symbol: str
    kind: str
    primal: str
    wrt: tuple[int, ...] | None


def requests(module: ir.Module) -> Iterator[Request]:
    """The derivatives that a module asks for and does not have yet."""
    for symbol, function in functions_of(module).items():
        for attribute, kind in _KINDS.items():
            if attribute in function.attributes and not has_body(function):
                primal = ir.FlatSymbolRefAttr(function.attributes[attribute]).value
                wrt = None
                if "ted.wrt" in function.attributes:
                    wrt = tuple(ir.DenseI64ArrayAttr(function.attributes["ted.wrt"]))
                yield Request(symbol, kind, primal, wrt)


def validate_derivative(
    before: ir.Module, after: ir.Module, request: Request, generator: np.random.Generator
) -> None:
    """Compare a derivative with dual numbers at a random point, and at one with ties, at which
    the first of equals is the one taken.

    Raises: PassFailed where it differs; NotEvaluated where it cannot be validated; ExecutionError
    where the program fails at the point.
    """
    check = _Check(before, after, request)
    check.run(generator)
    with contextlib.suppress(NotEvaluated), without_division_by_zero():
        check.run(generator, TIED)


@dataclass(frozen=True)
class _Check:
    before: ir.Module
    after: ir.Module
    request: Request

    def run(self, generator: np.random.Generator, chosen: tuple[int, ...] = ()) -> None:
        request = self.request
        for name in reachable(self.before, request.primal, self.after):
            self._check_derivable(name)
        primal = self._primal()
        sizes = sizes_of(primal, 1)
        point = random_point(primal, sizes, generator, 0, chosen)
        moving = self._moving(point)
        tangents = {k: random_elements(point[k].shape, generator) for k in moving}
        results = self._pushed(point, tangents, sizes)
        values = [_part(r, "value") for r in results]
        speeds = [_part(r, "tangent") for r in results if _is_float(r)]
        given = [tangents[k] for k in moving]
        if request.kind == "VJP":
            given = [random_elements(s.shape, generator) for s in speeds]
        check_evaluable(functions_of(self.after)[request.symbol], sizes)
        found = at_point(self.after, request.symbol, (*point, *given), sizes)
        for position, (value, got) in enumerate(zip(values, found, strict=False)):
            self._same(f"result {position}", value, got, "those of the primal")
        derived = found[len(values) :]
        if request.kind == "JVP":
            for position, (speed, got) in enumerate(zip(speeds, derived, strict=True)):
                self._same(f"tangent {position}", speed, got, "those of dual numbers")
            return
        if _inner(given, speeds) != _inner(derived, list(tangents.values())):
            gradients = dict(zip(moving, derived, strict=True))
            self._blame(point, tangents, gradients, given, sizes)

    def _check_derivable(self, name: str) -> None:
        """Dual numbers know one derivative of a function, that of calculus."""
        function = functions_of(self.before).get(name)
        if function is None:
            return
        if _USERS in function.attributes:
            raise NotEvaluated(f"@{name} has a derivative of the user's")
        if _EVEN in str(function):
            raise NotEvaluated(f"@{name} shares between ties, by a count that is whole but rounded")

    def _primal(self) -> ir.Operation:
        known = functions_of(self.before)[self.request.primal]
        return known if has_body(known) else functions_of(self.after)[self.request.primal]

    def _moving(self, point: Arrays) -> Sequence[int]:
        wrt = self.request.wrt
        return [k for k, a in enumerate(point) if _is_float(a)] if wrt is None else wrt

    def _pushed(self, point: Arrays, tangents: Directions, sizes: dict[str, int]) -> Arrays:
        """The primal on dual numbers."""
        inputs = [_dual(a, tangents.get(k)) if _is_float(a) else a for k, a in enumerate(point)]
        names = functions_of(self.before)
        held = self.before if has_body(names[self.request.primal]) else self.after
        with at_most(LOWERED_LIMIT):
            return interpret(
                held, inputs, self.request.primal, domain=DualField(), sizes=sizes,
                bodies=self.after,
            )  # fmt: skip

    def _same(
        self, what: str, wanted: np.ndarray[Any, Any], got: np.ndarray[Any, Any], those: str
    ) -> None:
        for at in np.ndindex(wanted.shape):
            if wanted[at] != got[at]:
                self._fail(f"the elements of {what} are {those}", at, got[at], wanted[at])

    def _blame(
        self, point: Arrays, tangents: Directions, gradients: Directions, heads: Heads,
        sizes: dict[str, int],
    ) -> None:  # fmt: skip
        """Find one wrong element: halves of the direction, as long as they show it."""

        def wanted(chosen: Places, along: Directions) -> Element:
            part = {k: np.full(g.shape, ZERO, object) for k, g in gradients.items()}
            for k, at in chosen:
                part[k][at] = along[k][at]
            results = self._pushed(point, part, sizes)
            return _inner(heads, [_part(r, "tangent") for r in results if _is_float(r)])

        def got(chosen: Places) -> Element:
            return sum((gradients[k][at] * tangents[k][at] for k, at in chosen), ZERO)

        left: Places = [(k, at) for k, g in gradients.items() for at in np.ndindex(g.shape)]
        while len(left) > 1:
            half = left[: len(left) // 2]
            left = half if wanted(half, tangents) != got(half) else left[len(left) // 2 :]
        ((argument, at),) = left
        ones = {k: np.full(g.shape, ONE, object) for k, g in gradients.items()}
        what = f"the gradient of argument {argument} is that of dual numbers"
        self._fail(what, at, gradients[argument][at], wanted(left, ones))

    def _fail(self, rule: str, at: tuple[int, ...], got: Any, wanted: Any) -> None:
        raise PassFailed(
            f"ted-differentiate: @{self.request.symbol}, {self.request.kind} of "
            f"@{self.request.primal}: {rule}, got {got!r} for {wanted!r} at index {list(at)} "
            f"(in the field of {PRIME} elements)"
        )


def _is_float(array: np.ndarray[Any, Any]) -> bool:
    return array.dtype == object


def _dual(
    array: np.ndarray[Any, Any], tangent: np.ndarray[Any, Any] | None
) -> np.ndarray[Any, Any]:
    data = np.empty(array.shape, object)
    speeds = np.full(array.shape, ZERO, object) if tangent is None else tangent
    data.ravel()[:] = [Dual(a, v) for a, v in zip(array.ravel(), speeds.ravel(), strict=True)]
    return data


def _part(array: np.ndarray[Any, Any], name: str) -> np.ndarray[Any, Any]:
    if not _is_float(array):
        return array
    data = np.empty(array.shape, object)
    data.ravel()[:] = [getattr(x, name) for x in array.ravel()]
    return data


def _inner(a: Sequence[np.ndarray[Any, Any]], b: Sequence[np.ndarray[Any, Any]]) -> Element:
    pairs = zip(a, b, strict=True)
    return sum((x * y for p, q in pairs for x, y in zip(p.ravel(), q.ravel(), strict=True)), ZERO)
