"""Translation validation: is a module, after a pass, still the same program?

Every function is evaluated before and after at random points of a prime field, where sums and
products are exact and functions have no meaning (`prime_field.py`): ops of ted, of linalg and scf
on tensors and on memory, whichever pass it is.  Where results were and memory is now, that has to
hold them in the end.  Derivatives that a pass fills in are compared with dual numbers
(`derivative_validation.py`).  What cannot be evaluated, a function that is too large or whose
functions became polynomials, is not validated; `summary` says which passes were, for which
functions, and why others were not.
"""

from __future__ import annotations

from dataclasses import field
from typing import Any

import numpy as np

from ted.errors import ExecutionError, PassFailed
from ted.ir.passes import PASSES
from ted.mlir import ir
from ted.mlir.queries import symbol_name
from ted.records import dataclass
from ted.testing.derivative_validation import Request, requests, validate_derivative
from ted.testing.field_evaluation import (
    NO_BODY,
    TRIALS,
    Arrays,
    Evaluated,
    as_reals,
    at_point,
    evaluate,
    type_of,
)
from ted.testing.interpreter import functions_of, has_body
from ted.testing.interpreter_scalars import NotEvaluated
from ted.testing.interpreter_sizes import size_rows
from ted.testing.prime_field import PRIME
from ted.testing.real_numbers import Reals

_TIES = f"of the field of {PRIME} elements, and at one with ties if that divides by no zero"
SAME = f"the same before and after at {TRIALS} points {_TIES}"
DERIVED = f"that of dual numbers at a point {_TIES}"
ROUNDING = 1e-10
ROUNDED = (
    f"the same but for constants that were rounded: to {ROUNDING} at {TRIALS} points in floats"
)
_DERIVING = "ted-differentiate"
_APPROXIMATING = ("ted-expand-math",)


@dataclass
class Validator:
    """Watch a pipeline and compare the module around each pass."""

    seed: int = 0
    _known: dict[str, Evaluated | str] = field(default_factory=dict)
    _copy: ir.Module | None = None
    _said: dict[tuple[str, str], list[str]] = field(default_factory=dict)

    def before(self, name: str, module: ir.Module) -> None:
        """Evaluate every function of which that is not known from the pass before."""
        if name == _DERIVING or name not in PASSES:
            text = str(module.operation.get_asm(enable_debug_info=True))
            self._copy = ir.Module.parse(text, module.context)
        functions = {n: f for n, f in functions_of(module).items() if has_body(f)}
        known = {n: e for n, e in self._known.items() if n in _symbols(module) and e != NO_BODY}
        for symbol in functions:
            if symbol not in known:
                known[symbol] = evaluate(
                    module, symbol, np.random.default_rng(self.seed), ties=True
                )
        self._known = known

    def after(self, name: str, module: ir.Module) -> None:
        """Evaluate them again.

        Raises: PassFailed where a result differs.
        """
        functions = functions_of(module)
        for symbol, known in list(self._known.items()):
            if symbol not in functions:  # inlined and gone, or not on tensors any more
                if symbol in _symbols(module):
                    self._known[symbol] = f"it is {_symbols(module)[symbol]} now"
                    self._say(name, f"@{symbol}", f"it is {_symbols(module)[symbol]} now")
                continue
            if known == NO_BODY and name == _DERIVING and self._copy is not None:
                generator = np.random.default_rng(self.seed)
                known = evaluate(self._copy, symbol, generator, bodies=module, ties=True)
            verdict = (
                known if isinstance(known, str) else self._verdict(name, symbol, module, known)
            )
            self._say(name, f"@{symbol}", verdict)
            if verdict == ROUNDED:
                del self._known[symbol]
            elif verdict != SAME:
                self._known[symbol] = verdict
        if name == _DERIVING and self._copy is not None:
            for request in requests(self._copy):
                self._derivative(name, module, self._copy, request)
        self._copy = None

    def failed(self, name: str, module: ir.Module) -> None:
        """Nothing to compare."""
        del name, module
        self._known, self._copy = {}, None

    def summary(self) -> list[str]:
        """A line for each function and verdict, with the passes that it is about."""
        lines = []
        for (subject, verdict), names in self._said.items():
            passes = ", ".join(dict.fromkeys(names))
            validated = "validated" if verdict in (SAME, ROUNDED, DERIVED) else "not validated"
            lines.append(f"ted-validate: {subject} is {validated} around {passes}: {verdict}")
        return lines

    def _say(self, name: str, subject: str, verdict: str) -> None:
        self._said.setdefault((subject, verdict), []).append(name)

    def _verdict(self, name: str, symbol: str, module: ir.Module, known: Evaluated) -> str:
        """Whether a function is the same, or why that cannot be said any more.

        Raises: PassFailed where it is not.
        """
        function = functions_of(module)[symbol]
        if name in _APPROXIMATING:
            return "functions became sums and products that are near them"
        if any(known.sizes) and not size_rows(function):
            return "its sizes became numbers"
        kind = type_of(function)
        if kind != known.kind and "memref" not in kind:
            raise PassFailed(f"{name}: @{symbol} keeps its type {known.kind}, got {kind}")
        points = zip(known.inputs, known.results, known.sizes, strict=True)
        try:
            for inputs, wanted, sizes in points:
                found = at_point(module, symbol, inputs, sizes, taken=known.taken)
                _compare(name, symbol, wanted, found)
        except NotEvaluated as error:
            return error.message
        except ExecutionError as error:
            raise PassFailed(f"{name}: @{symbol} could be evaluated before, got {error}") from error
        except PassFailed:
            if name in PASSES or not self._rounds_only(symbol, module, known):
                raise
            return ROUNDED
        return SAME

    def _rounds_only(self, symbol: str, module: ir.Module, known: Evaluated) -> bool:
        """Whether what a pass of MLIR changed is floats alone: it folds functions of constants."""
        assert self._copy is not None, "kept for passes of MLIR"
        generator = np.random.default_rng(self.seed)
        for inputs, sizes in zip(known.inputs, known.sizes, strict=True):
            point = as_reals(inputs, generator)
            pair = [
                at_point(m, symbol, point, sizes, domain=Reals(), taken=known.taken)
                for m in (self._copy, module)
            ]
            if not all(map(_close, *pair)):
                return False
        return True

    def _derivative(self, name: str, module: ir.Module, copy: ir.Module, request: Request) -> None:
        subject = f"@{request.symbol}, {request.kind} of @{request.primal},"
        try:
            validate_derivative(copy, module, request, np.random.default_rng(self.seed))
        except ExecutionError as error:
            self._say(name, subject, error.message)
        else:
            self._say(name, subject, DERIVED)


def _symbols(module: ir.Module) -> dict[str, str]:
    """What the symbols of a module are."""
    tops = [view.operation for view in module.body.operations]
    named = [op for op in tops if "sym_name" in op.attributes]
    return {symbol_name(op): op.name for op in named}


def _close(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> bool:
    scale = np.nanmax(np.abs(np.append(a, 1.0)))
    return a.shape == b.shape and np.allclose(a, b, 0, ROUNDING * scale, equal_nan=True)


def _compare(name: str, symbol: str, wanted: Arrays, found: Arrays) -> None:
    """Results without elements have any memory or none; others may lack dims of extent 1 there."""
    befores = [(k, array) for k, array in enumerate(wanted) if array.size]
    if len(found) == len(wanted):
        found = tuple(found[k] for k, _ in befores)
    for (position, before), given in zip(befores, [a for a in found if a.size], strict=False):
        after = given.reshape(before.shape)
        for at in np.ndindex(before.shape):
            if before[at] != after[at]:
                raise PassFailed(
                    f"{name}: result {position} of @{symbol} keeps its value at every point, got "
                    f"{before[at]!r} before and {after[at]!r} after at index {list(at)} "
                    f"(in the field of {PRIME} elements)"
                )
