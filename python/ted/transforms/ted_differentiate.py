"""Fill in the vector-Jacobian products that a module asks for.

Before: func.func private @f_vjp(x, dy) -> (y, dx) attributes {ted.vjp_of = @f,
            ted.wrt = array<i64: 0>}
After:  func.func private @f_vjp(x, dy) -> (y, dx) { y = ...; dx[...] += ... }

A request is a declaration: MLIR checks calls of it like any call, it is shared by all its callers,
and it can be asked for its own derivative.  Its type says what comes back: the arguments of @f and
one cotangent per float result in, the results of @f and one gradient per `ted.wrt` out.
"""

from __future__ import annotations

from dataclasses import dataclass

from ted.errors import DerivativeError, VerifyError
from ted.ir.equations import System
from ted.ir.from_ops import from_function
from ted.ir.locations import source_location
from ted.ir.rewriting import replace_function
from ted.ir.spelling import mlir_type
from ted.mlir import ir
from ted.transforms.gradient import vjp_system

REQUEST, WRT = "ted.vjp_of", "ted.wrt"


@dataclass(frozen=True)
class TedDifferentiate:
    """Give every requested VJP its body, in scatter form, requests of requests last."""

    def run(self, module: ir.Module) -> None:
        """Fill in every request.

        Raises: VerifyError for a request of the wrong type, or in a cycle; DerivativeError where
        no derivative exists.
        """
        waiting = _requests(module)
        while waiting:
            ready = {n: r for n, r in waiting.items() if _primal_name(r) not in waiting}
            if not ready:
                raise VerifyError(f"{REQUEST}: requests form a cycle, got {sorted(waiting)}")
            for name, request in ready.items():
                _fill_in(module, name, request)
            waiting = _requests(module)


def _functions(module: ir.Module) -> dict[str, ir.Operation]:
    found = (op.operation for op in module.body.operations)
    return {
        ir.StringAttr(op.attributes["sym_name"]).value: op for op in found if op.name == "func.func"
    }


def _requests(module: ir.Module) -> dict[str, ir.Operation]:
    return {
        name: op
        for name, op in _functions(module).items()
        if REQUEST in op.attributes and not list(op.regions[0].blocks)
    }


def _primal_name(request: ir.Operation) -> str:
    attribute = request.attributes[REQUEST]
    if not isinstance(attribute, ir.FlatSymbolRefAttr):
        raise VerifyError(f"{REQUEST}: must name a function, got {attribute}")
    return attribute.value


def _fill_in(module: ir.Module, name: str, request: ir.Operation) -> None:
    place = source_location(request.location)
    primal = _functions(module).get(_primal_name(request))
    if primal is None or not list(primal.regions[0].blocks):
        raise VerifyError(
            f"{name}: {REQUEST} must name a function with a body, got @{_primal_name(request)}",
            place,
        )
    system = from_function(primal)
    wrt = _positions(request, system, name)
    for k in wrt:
        if not system.inputs[k].dtype.is_float:
            raise DerivativeError(
                f"{name}: only float arguments have gradients, got argument {k} of "
                f"{system.inputs[k].dtype}",
                place,
            )
    result = vjp_system(system, wrt, name)
    _check_type(request, result, name)
    replace_function(request, result)


def _positions(request: ir.Operation, system: System, name: str) -> list[int]:
    """The arguments to differentiate by; all float ones when the request does not say."""
    if WRT not in request.attributes:
        return [k for k, t in enumerate(system.inputs) if t.dtype.is_float]
    wrt = list(ir.DenseI64ArrayAttr(request.attributes[WRT]))
    if any(not 0 <= k < len(system.inputs) for k in wrt):
        raise VerifyError(
            f"{name}: {WRT} must be arguments in [0, {len(system.inputs)}), got {wrt}",
            source_location(request.location),
        )
    return wrt


def _check_type(request: ir.Operation, system: System, name: str) -> None:
    declared = ir.TypeAttr(request.attributes["function_type"]).value
    wanted = ir.FunctionType.get(
        *(
            [ir.RankedTensorType.get(t.shape, mlir_type(t.dtype)) for t in tensors]
            for tensors in (system.inputs, system.outputs)
        )
    )
    if declared != wanted:
        raise VerifyError(
            f"{name}: the type of this VJP is {wanted}, got {declared}",
            source_location(request.location),
        )
