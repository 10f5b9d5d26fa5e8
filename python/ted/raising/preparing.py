"""StableHLO's many ways to say a thing -> those that have rules, by the passes of MLIR for it.

Before: chlo.broadcast_add, stablehlo.einsum, stablehlo.dynamic_pad of constants, quantized types
After:  stablehlo.add, stablehlo.dot_general, stablehlo.pad, integers

What nothing computes is refused here, by its name: the binding's pass to linalg ends the process on
some of it.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator

from ted.errors import VerifyError
from ted.mlir import ir
from ted.mlir.pass_managers import pass_manager
from ted.mlir.queries import symbol_name, terminator
from ted.raising.refusals import check_is_known
from ted.raising.respelling import respelled

INTEGERS = "builtin.module(func.func(stablehlo-legalize-quant-to-math))"
STATIC = "builtin.module(func.func(stablehlo-canonicalize-dynamism))"
OF_CHLO = (
    "builtin.module(func.func(chlo-legalize-to-stablehlo,canonicalize,"
    "stablehlo-canonicalize-dynamism,canonicalize))"
)
SHORTER = "builtin.module(func.func(stablehlo-legalize-deprecated-ops))"


def of_foreign(module: ir.Module) -> bool:
    """Whether a module has an op of StableHLO or CHLO."""
    return any(op.name.startswith(("stablehlo.", "chlo.")) for op in operations(module.operation))


def operations(root: ir.Operation) -> list[ir.Operation]:
    """The operations inside of another one, in the order of the text."""
    found: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        found.append(op)
        return ir.WalkResult.ADVANCE

    root.walk(visit)
    return found


def prepare(module: ir.Module, rules: Container[str]) -> None:
    """Leave the ops of StableHLO that its pass to linalg takes, and those of CHLO with rules.

    Raises: VerifyError for an op or a type that has no equations, or where a pass of MLIR fails.
    """
    # Each time anew: a pass erases operations, and what is left of them must not be looked at.
    if any("!quant." in str(kind) for op in operations(module.operation) for kind in _types(op)):
        run(INTEGERS, module)
    if any("dynamic" in op.name for op in operations(module.operation)):
        run(STATIC, module)
    for op in operations(module.operation):
        if op.name == "stablehlo.unary_einsum":
            _legalize(op, SHORTER)
        elif op.name.startswith("chlo.") and op.name not in rules:
            _legalize(op, OF_CHLO)
    for op in operations(module.operation):
        check_is_known(op)
        if op.name == "stablehlo.convolution":
            _turn_kernel(op)
    respell(module, respelled)


def _turn_kernel(op: ir.Operation) -> None:
    """A kernel that is read backwards is turned first: with groups the pass does not read it so."""
    held = op.attributes.get("window_reversal", None)
    if held is None or not any(ir.DenseBoolArrayAttr(held)):
        return
    labels = str(op.attributes["dimension_numbers"]).split("]x[")[1].split("]")[0].split(", ")
    turned = [labels.index(str(k)) for k, turns in enumerate(ir.DenseBoolArrayAttr(held)) if turns]
    kernel = op.operands[1]
    dims = ir.DenseI64ArrayAttr.get(turned, op.context)
    made = ir.Operation.create(
        "stablehlo.reverse", [kernel.type], [kernel], {"dimensions": dims},
        loc=op.location, ip=ir.InsertionPoint(op),
    )  # fmt: skip
    op.operands[1] = made.results[0]
    del op.attributes["window_reversal"]


def expand_indices(module: ir.Module) -> None:
    """Leave affine values for positions of many dims in one number."""
    for op in operations(module.operation):
        if op.name in ("affine.linearize_index", "affine.delinearize_index"):
            _legalize(op, "builtin.module(func.func(affine-expand-index-ops))")


def respell(module: ir.Module, spelling: Callable[[ir.Operation], str | None]) -> None:
    """Put the functions of texts in the places of the ops that they compute."""
    for op in operations(module.operation):
        if (text := spelling(op)) is not None:
            lines = (f"{x} {op.location}" if " = " in x else x for x in text.splitlines())
            _replace(op, ir.Module.parse("\n".join(lines), module.context))


def _types(op: ir.Operation) -> Iterator[ir.Type]:
    yield from (result.type for result in op.results)
    yield from (a.type for region in op.regions for block in region for a in block.arguments)


def run(pipeline: str, module: ir.Module) -> None:
    """Run passes of MLIR.

    Raises: VerifyError where one fails.
    """
    try:
        pass_manager(pipeline, module.context).run(module.operation)
    except ValueError as error:  # where nobody has loaded the dialect
        rule = "the module's context must know StableHLO and CHLO; give `ted.from_mlir` its text"
        raise VerifyError(f"{pipeline}: {rule}, got {error}") from None
    except ir.MLIRError as error:
        raise VerifyError(f"{pipeline}: must succeed on the module, got {error}") from None


# ------------------------------------------------------------------ one op


def _legalize(op: ir.Operation, pipeline: str) -> None:
    """Put what a pass of MLIR makes of an op alone in its place: the pass takes others with it."""
    holder = _alone(op)
    try:
        pass_manager(pipeline, op.context).run(holder.operation)
    except ir.MLIRError:
        return  # it is refused by its name
    _replace(op, holder)


def _replace(op: ir.Operation, holder: ir.Module) -> None:
    """Put the body of a module's function in the place of an op."""
    (function,) = holder.body.operations
    (block,) = function.operation.regions[0].blocks
    for argument, value in zip(block.arguments, op.operands, strict=True):
        argument.replace_all_uses_with(value)
    last = terminator(block)
    for result, value in zip(op.results, last.operands, strict=True):
        result.replace_all_uses_with(value)
    for inner in list(block.operations)[:-1]:
        inner.operation.move_before(op)
    op.erase()


def _alone(op: ir.Operation) -> ir.Module:
    """A module with a function of the op alone."""
    with op.context, op.location:
        module = ir.Module.create()
        kinds = [[v.type for v in values] for values in (op.operands, op.results)]
        function = ir.Operation.create(
            "func.func",
            attributes={
                "sym_name": ir.StringAttr.get("alone"),
                "function_type": ir.TypeAttr.get(ir.FunctionType.get(*kinds)),
            },
            regions=1,
            ip=ir.InsertionPoint(module.body),
        )
        block = function.regions[0].blocks.append(*kinds[0])
        with ir.InsertionPoint(block):
            copy = op.clone()
            for k, argument in enumerate(block.arguments):
                copy.operands[k] = argument
            ir.Operation.create("func.return", [], list(copy.results))
    return module


# ------------------------------------------------------------------ the functions that are read


def needed(module: ir.Module, name: str) -> ir.Module:
    """A copy of a function and of those that it names, which may be changed."""
    tops = {symbol_name(op): op.operation for op in module.body.operations if _is_symbol(op)}
    left, wanted = [name], {name}
    while left:
        for op in operations(tops[left.pop()]):
            new = [s for s in _symbols(op) if s in tops and s not in wanted]
            left += new
            wanted.update(new)
    with module.context, ir.Location.unknown():
        copy = ir.Module.create()
        for op in module.body.operations:
            if not _is_symbol(op) or symbol_name(op) in wanted:
                op.operation.clone(ip=ir.InsertionPoint(copy.body))
    return copy


def _is_symbol(op: ir.Operation | ir.OpView) -> bool:
    return "sym_name" in op.operation.attributes


# Where an op names functions; a look at all attributes ends the process at complex numbers.
_NAMING = ("callee", "decomposition", "called_computations")


def _symbols(op: ir.Operation) -> Iterator[str]:
    for attribute in (op.attributes[name] for name in _NAMING if name in op.attributes):
        for one in attribute if isinstance(attribute, ir.ArrayAttr) else [attribute]:
            if isinstance(one, ir.FlatSymbolRefAttr):
                yield one.value
