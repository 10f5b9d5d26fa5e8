"""Function results -> memory that the caller provides: the pass `ted-pass-destinations`.

Before: `func @f(%a: tensor<4xf32>) -> tensor<4xf32>`
After: `func @f(%a: memref<4xf32>, %out: memref<4xf32>)`, where the chain of operations that makes
the result starts from `%out` itself instead of from a `tensor.empty`. Unit dims are left out of the
memrefs: the pointers are the same.

Results are destinations from the start because upstream's late elimination of empty tensors can
give two results one memory.  For the same reason each fill and empty tensor has one user, which
`convert-ted-to-linalg` sees to, and no CSE may run before this pass.
"""

from __future__ import annotations

from dataclasses import dataclass

from ted.lowering.unit_dims import collapse, expand
from ted.mlir import bufferization, func, ir, tensor
from ted.schedules.walking import defining, functions

_ARGUMENT = "{llvm.noalias}"


@dataclass(frozen=True)
class TedPassDestinations:
    """Turn tensor arguments and results of every public function into memrefs."""

    def run(self, module: ir.Module) -> None:
        """Rewrite the module."""
        for function in functions(module):
            _convert(function)


def _convert(function: func.FuncOp) -> None:
    block = function.entry_block
    terminator = block.operations[len(block.operations) - 1].operation
    with function.operation.location:
        arguments = _arguments_to_memrefs(block)
        results = list(terminator.operands)
        outs = [_add_destination(block, value) for value in results]
        with ir.InsertionPoint(terminator):
            for value, out in zip(results, outs, strict=True):
                if _is_void(value.type):
                    continue
                bufferization.MaterializeInDestinationOp(
                    None, collapse(value), out, restrict=True, writable=True
                )
            func.ReturnOp([])
        terminator.erase()
    kinds = [a.type for a in block.arguments]
    function.operation.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(kinds, []))
    function.operation.attributes["arg_attrs"] = ir.ArrayAttr.get(
        [ir.Attribute.parse(_ARGUMENT if _is_memref(k) else "{}") for k in kinds]
    )
    if "res_attrs" in function.operation.attributes:
        del function.operation.attributes["res_attrs"]
    assert len(arguments) + len(outs) == len(kinds)


def _is_memref(kind: ir.Type) -> bool:
    return isinstance(kind, ir.MemRefType)


def _arguments_to_memrefs(block: ir.Block) -> list[ir.Value]:
    count = len(block.arguments)
    new = []
    for old in list(block.arguments):
        if not isinstance(old.type, ir.RankedTensorType):
            value = block.add_argument(old.type, old.location)
            old.replace_all_uses_with(value)
        else:
            value = block.add_argument(_memref(old.type), old.location)
            _replace_by_tensor(block, old, value)
        new.append(value)
    for _ in range(count):
        block.erase_argument(0)
    return new


def _memref(kind: ir.Type) -> ir.MemRefType:
    shaped = ir.RankedTensorType(kind)
    # A pointer to nothing has no type with bare pointers, so it is passed as one to an element.
    shape = [] if 0 in shaped.shape else [e for e in shaped.shape if e != 1]
    return ir.MemRefType.get(shape, shaped.element_type)


def _to_tensor(memory: ir.Value, *, writable: bool = False) -> ir.Value:
    shaped = ir.MemRefType(memory.type)
    kind = ir.RankedTensorType.get(shaped.shape, shaped.element_type)
    return bufferization.ToTensorOp(kind, memory, restrict=True, writable=writable or None).result


def _is_void(kind: ir.Type) -> bool:
    return 0 in ir.RankedTensorType(kind).shape


def _replace_by_tensor(block: ir.Block, old: ir.Value, memory: ir.Value) -> None:
    with ir.InsertionPoint.at_block_begin(block), memory.location:
        if _is_void(old.type):
            shaped = ir.RankedTensorType(old.type)
            value = tensor.EmptyOp(shaped.shape, shaped.element_type).result
        else:
            value = _to_tensor(memory)
            value = value if value.type == old.type else expand(value, old.type)
    old.replace_all_uses_with(value)


def _add_destination(block: ir.Block, value: ir.Value) -> ir.Value:
    out = block.add_argument(_memref(value.type), value.location)
    root = None if _is_void(value.type) else _root(value)
    start_of_chain = None if root is None else defining(root)
    if root is None or start_of_chain is None or start_of_chain.block != block:
        return out  # starts from something else: materialize_in_destination copies
    with ir.InsertionPoint.at_block_begin(block), value.location:
        start = _to_tensor(out, writable=True)
        start = start if start.type == root.type else expand(start, root.type)
    root.replace_all_uses_with(start)
    return out


def _root(value: ir.Value) -> ir.Value | None:
    """The `tensor.empty` in which the destination chain of `value` starts."""
    while isinstance(value, ir.OpResult):
        op = value.owner.operation
        position = _destination_operand(op, value.result_number)
        if position is None:
            return None
        value = op.operands[position]
        start = defining(value)
        if start is not None and start.name == "tensor.empty":
            return value
    return None


def _destination_operand(op: ir.Operation, result: int) -> int | None:
    if op.name.startswith("linalg.") or op.name == "tensor.insert":
        if op.name == "tensor.insert":
            return 1
        return len(op.operands) - len(op.results) + result
    if op.name == "tensor.insert_slice":
        return 1
    if op.name == "scf.for":
        return 3 + result
    if op.name in ("tensor.expand_shape", "tensor.collapse_shape"):
        return 0
    return None
