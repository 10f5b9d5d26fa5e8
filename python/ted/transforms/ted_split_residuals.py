"""Split a vector-Jacobian product into the part before the cotangents come and the part after.

Before: func.func @f_vjp(x, dy) -> (y, dx) attributes {ted.vjp_of = @f} { ... }
After:  func.func @f_fwd(x) -> (y, residuals) { ... }
        func.func @f_bwd(x, residuals, dy) -> dx attributes {ted.inputs = array<i64: 0>,
            ted.results = array<i64>} { ... }
        func.func @f_vjp(x, dy) -> (y, dx) { calls of both }

The second part takes the arguments and the results of the first that it reads, at the positions in
`ted.inputs` and `ted.results`, then all residuals, then the cotangents.
"""

from __future__ import annotations

from dataclasses import replace

from ted.errors import PassFailed, VerifyError
from ted.ir.equations import System
from ted.ir.from_ops import from_function, functions
from ted.ir.rewriting import has_equations
from ted.ir.to_ops import build_function, function_type
from ted.mlir import func, ir
from ted.mlir.attributes import symbol
from ted.mlir.locations import source_location
from ted.mlir.queries import symbol_name
from ted.records import dataclass
from ted.transforms.residuals import RECOMPUTE, Split, split_residuals
from ted.transforms.ted_differentiate import REQUEST

INPUTS, RESULTS = "ted.inputs", "ted.results"
SUFFIX = "_vjp"


@dataclass(frozen=True)
class TedSplitResiduals:
    """Split every expanded request; run it after `ted-differentiate`, best when all is simplified.

    `recompute`: a map that costs at most so many operations an element is computed again, not
    stored.
    """

    recompute: float = RECOMPUTE

    def run(self, module: ir.Module) -> None:
        """Split the functions that have `ted.vjp_of` and a body.

        Raises: VerifyError where a name is taken, or there is no such function; PassFailed for a
        negative `recompute`.
        """
        if not self.recompute >= 0:
            raise PassFailed(
                f"ted-split-residuals: recompute must not be negative, got {self.recompute}"
            )
        tops = [op.operation for op in module.body.operations]
        taken = {symbol_name(op): op
                 for op in tops if "sym_name" in op.attributes}  # fmt: skip
        asked = [f for f in functions(module) if REQUEST in f.attributes]
        if not asked:
            raise VerifyError(
                f"ted-split-residuals: splits functions with a body and {REQUEST}, which "
                f"ted-differentiate fills in, got none among {list(taken)}"
            )
        for function in asked:
            if has_equations(function):
                _split(function, taken, self.recompute)


def _split(function: ir.Operation, taken: dict[str, ir.Operation], recompute: float) -> None:
    joint = from_function(function)
    base = joint.name.removesuffix(SUFFIX)
    names = f"{base}_fwd", f"{base}_bwd"
    for name in names:
        if name in taken:
            raise VerifyError(
                f"ted-split-residuals: the symbol @{name} must be free, got another function",
                source_location(function.location),
            )
    heads, results = _counts(function, joint, taken)
    parts = split_residuals(joint, heads, results, recompute)
    systems = (replace(parts.forward, name=names[0]), replace(parts.backward, name=names[1]))
    with ir.InsertionPoint(function), function.location:
        taken[names[0]], taken[names[1]] = (build_function(s).operation for s in systems)
        taken[names[1]].attributes[INPUTS] = ir.DenseI64ArrayAttr.get(list(parts.inputs))
        taken[names[1]].attributes[RESULTS] = ir.DenseI64ArrayAttr.get(list(parts.results))
        for name in names:
            taken[name].attributes["sym_visibility"] = ir.StringAttr.get("private")
    _call_both(function, names, parts)


def _counts(
    function: ir.Operation, joint: System, taken: dict[str, ir.Operation]
) -> tuple[int, int]:
    """How many arguments are cotangents, and how many results are not gradients."""
    primal = symbol(function, REQUEST)
    place = source_location(function.location)
    if primal not in taken:
        raise VerifyError(f"{REQUEST}: must name a function, got @{primal}", place)
    kind = ir.FunctionType(ir.TypeAttr(taken[primal].attributes["function_type"]).value)
    heads = len(joint.inputs) - len(kind.inputs)
    if heads < 0 or len(joint.outputs) < len(kind.results):
        raise VerifyError(
            f"@{joint.name}: takes the arguments of @{primal} and gives its results, got "
            f"{len(joint.inputs)} arguments and {len(joint.outputs)} results",
            place,
        )
    return heads, len(kind.results)


def _call_both(function: ir.Operation, names: tuple[str, str], parts: Split) -> None:
    """The joint function in terms of its parts."""
    region = function.regions[0].blocks[0]
    for op in reversed(list(region.operations)):
        op.operation.erase()
    count = len(parts.forward.inputs)
    arguments = list(region.arguments)
    with ir.InsertionPoint(region), function.location:
        forward = _call(names[0], parts.forward, arguments[:count])
        results = len(forward) - len(parts.residuals)
        given = [*(arguments[k] for k in parts.inputs), *(forward[k] for k in parts.results)]
        given += [*forward[results:], *arguments[count:]]
        func.ReturnOp([*forward[:results], *_call(names[1], parts.backward, given)])


def _call(name: str, system: System, arguments: list[ir.Value]) -> list[ir.Value]:
    types = list(function_type(system).results)
    return list(func.CallOp(types, name, arguments).operation.results)
