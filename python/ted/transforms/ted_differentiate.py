"""Fill in the derivatives that a module asks for.

Before: func.func private @f_vjp(x, dy) -> (y, dx) attributes {ted.vjp_of = @f,
            ted.wrt = array<i64: 0>}
After:  func.func private @f_vjp(x, dy) -> (y, dx) { y = ...; dx[...] += ... }

A request is a declaration: MLIR checks calls of it like any call, it is shared by all its callers,
and it can be asked for its own derivative.  Its type says what comes back.  `ted.vjp_of`: the
arguments of @f and one cotangent per float result in, the results of @f and one gradient per
`ted.wrt` out.  `ted.jvp_of`: the arguments of @f and one tangent per `ted.wrt` in, the results of
@f and one tangent per float result out.

Calls are expanded here.  A function with `ted.custom_vjp = @bwd` is differentiated by @bwd, which
takes arguments, results and cotangents of float results and gives gradients of float arguments; one
with `ted.checkpoint` computes its values again.  So the pass `inline` comes after this one.

What equations of @f ask for (`ted.strategy`, `ted.group`) is asked for in @f alone.
"""

from __future__ import annotations

from dataclasses import replace

from ted.errors import DerivativeError, VerifyError
from ted.ir.equations import System, rewrite_system
from ted.ir.rewriting import replace_function
from ted.ir.saved_values import with_saved_values
from ted.ir.to_ops import function_type
from ted.mlir import ir
from ted.mlir.attributes import positions, symbol
from ted.records import dataclass
from ted.transforms.gradient import jvp_system, vjp_system
from ted.transforms.overrides import override_of
from ted.transforms.programs import Program
from ted.transforms.ted_check_bounds import TedCheckBounds

REQUEST, JVP_REQUEST, WRT = "ted.vjp_of", "ted.jvp_of", "ted.wrt"
_DERIVED = {REQUEST: vjp_system, JVP_REQUEST: jvp_system}


@dataclass(frozen=True)
class TedDifferentiate:
    """Give every requested derivative its body, requests of requests last."""

    def run(self, module: ir.Module) -> None:
        """Fill in every request.

        Raises: VerifyError for a request of the wrong type, in a cycle, or none, and for an access
        outside its tensor; DerivativeError where no derivative exists.
        """
        program = Program(module)
        requests = {n: p for n in program.functions if (p := _primal(program, n)) is not None}
        if not requests:
            raise VerifyError(
                f"ted-differentiate: fills in what is asked for by {REQUEST} or {JVP_REQUEST} of a "
                f"function without a body, got none of these among {list(program.functions)}"
            )
        TedCheckBounds().run(module)
        waiting = {n for n in requests if not program.has_body(n)}
        for name in [n for n in requests if n not in waiting]:
            if any(program.is_marked(f) for f in _needed(program, requests, requests[name])):
                waiting.add(name)  # its body does not say what was marked
        while waiting:
            ready = [
                n
                for n in program.functions
                if n in waiting and not waiting & _needed(program, requests, requests[n])
            ]
            if not ready:
                raise VerifyError(f"{REQUEST}: requests form a cycle, got {sorted(waiting)}")
            for name in ready:
                _fill_in(program, name, requests[name])
            waiting.difference_update(ready)


def _primal(program: Program, name: str) -> str | None:
    """The function whose derivative is asked for, if the function is a request."""
    attributes = program.functions[name].attributes
    kinds = [kind for kind in _DERIVED if kind in attributes]
    if len(kinds) > 1:
        raise VerifyError(
            f"{name}: a request is for one derivative, got {kinds}", program.place(name)
        )
    if not kinds:
        return None
    return symbol(program.functions[name], kinds[0])


def _needed(program: Program, requests: dict[str, str], primal: str) -> set[str]:
    """The functions that must be known before a derivative of the primal."""
    found, stack = set[str](), [primal]
    while stack:
        for name in program.reachable(stack.pop()) - found:
            found.add(name)
            stack += [requests[name]] if name in requests else []
    return found


def _fill_in(program: Program, name: str, primal: str) -> None:
    request, place = program.functions[name], program.place(name)
    kind = REQUEST if REQUEST in request.attributes else JVP_REQUEST
    if primal not in program.systems and not program.has_body(primal):
        raise VerifyError(f"{name}: {kind} must name a function with a body, got @{primal}", place)
    system = program.primal(primal)
    wrt = _positions(request, system, name, program)
    for k in wrt:
        if not system.inputs[k].dtype.is_float:
            raise DerivativeError(
                f"{name}: only float arguments have gradients, got argument {k} of "
                f"{system.inputs[k].dtype}",
                place,
            )
    result = _DERIVED[kind](system, wrt, name, override_of)
    _check_type(program, name, "VJP" if kind == REQUEST else "JVP", result)
    if not program.has_body(name):
        program.functions[name] = replace_function(request, with_saved_values(_plain(result)))
    if any(override_of(t) is not None for t in system.tensors()):
        program.systems[name] = result  # the op has no word for the marks in it


def _plain(derivative: System) -> System:
    """The system without what somebody asked for at equations of its primal."""
    return rewrite_system(
        derivative,
        lambda _, equations: tuple(replace(e, wishes=()) if e.wishes else e for e in equations),
    )[0]


def _positions(request: ir.Operation, system: System, name: str, program: Program) -> list[int]:
    """The arguments to differentiate by; all float ones when the request does not say."""
    if WRT not in request.attributes:
        return [k for k, t in enumerate(system.inputs) if t.dtype.is_float]
    wrt = positions(request, WRT)
    if any(not 0 <= k < len(system.inputs) for k in wrt):
        raise VerifyError(
            f"{name}: {WRT} must be arguments in [0, {len(system.inputs)}), got {wrt}",
            program.place(name),
        )
    if len(set(wrt)) < len(wrt):
        raise VerifyError(f"{name}: {WRT} names an argument once, got {wrt}", program.place(name))
    return wrt


def _check_type(program: Program, name: str, kind: str, system: System) -> None:
    declared = ir.TypeAttr(program.functions[name].attributes["function_type"]).value
    wanted = function_type(system)
    if declared != wanted:
        raise VerifyError(
            f"{name}: the type of this {kind} is {wanted}, got {declared}", program.place(name)
        )
