"""Run one operation with regions, of linalg on tensors or of scf: as Python text, executed at once.

    linalg.generic ... -> for d0 in range(e0): ...: read; body; write        (row-major order)
    scf.for, scf.if, scf.forall -> for, if

Every value of a tensor is one of its own: results are copies, unless what is overwritten is used
for the last time.  An element of `tensor.empty` is NaN, and what depends on it is wrong.  The
meaning is that of the operations alone: indexing maps and regions, as MLIR documents them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from typing import Any

from ted.errors import ExecutionError
from ted.mlir import indexing_maps, ir
from ted.records import dataclass
from ted.testing.interpreter_affine import expression_text
from ted.testing.interpreter_compute import INLINE, indented
from ted.testing.interpreter_tensors import (
    TENSOR_OPS,
    copied,
    element,
    inserted,
    laid,
    static_or_operands,
    stored,
    unmarked,
    window,
    within,
)
from ted.testing.interpreter_values import place_of, spend
from ted.testing.scalar_domains import ScalarDomain

Call = Callable[[str, list[Any]], list[Any]]


def run_op(
    op: ir.Operation, environment: Mapping[ir.Value, Any], domain: ScalarDomain, call: Call
) -> list[Any]:
    """The results of an op that is not of ted; `call` runs another function of the module.

    Raises: ExecutionError for an op without meaning, or an index outside its tensor.
    """
    text = _Text(environment, domain, call)
    lines = text.operation(op, frozenset())
    results = ", ".join(text.values[r] for r in op.results)
    body = [*lines, f"return [{results}]"]
    names = text.names
    exec(compile("\n".join(["def run():", *indented(body)]), op.name, "exec"), names)
    try:
        return names["run"]()
    except IndexError as error:
        raise ExecutionError(f"{op.name}: {error}", place_of(op.location)) from None


@dataclass
class _Text:
    """The text of one operation, and the names of what it captures."""

    environment: Mapping[ir.Value, Any]
    domain: ScalarDomain
    call: Call
    names: dict[str, Any] = field(default_factory=lambda: dict(_RUNTIME))
    values: dict[ir.Value, str] = field(default_factory=dict)
    count: int = 0

    def fresh(self, what: str = "v") -> str:
        self.count += 1
        return f"{what}{self.count}"

    def constant(self, value: Any) -> str:
        """The name of something that is known now."""
        name = self.fresh("c")
        self.names[name] = value
        return name

    def value(self, value: ir.Value) -> str:
        """The name of a value of the region, or of one that it captures."""
        if value not in self.values:
            self.values[value] = self.constant(self.environment[value])
        return self.values[value]

    def numbers(self, static: list[int | ir.Value]) -> str:
        """A tuple of indices, each a number or an operand."""
        return (
            "(" + "".join(f"{n if isinstance(n, int) else self.value(n)}, " for n in static) + ")"
        )

    # -------------------------------------------------------------- blocks

    def block(self, block: ir.Block) -> tuple[list[str], list[str]]:
        """Statements of a block, and the texts of what its terminator yields."""
        operations = [view.operation for view in block.operations]
        last = _last_uses(operations)
        local: set[ir.Value] = set(block.arguments)
        lines: list[str] = []
        for position, op in enumerate(operations[:-1]):
            dying = frozenset(v for v in op.operands if v in local and last[v] == position)
            lines += self.operation(op, dying)
            local.update(op.results)
        end = operations[-1]
        moved = {v for v in end.operands if v in local and list(end.operands).count(v) == 1}
        return lines, [
            self.value(v) if v in moved or not _is_tensor(v) else f"copied({self.value(v)})"
            for v in end.operands
        ]

    def operation(self, op: ir.Operation, dying: frozenset[ir.Value]) -> list[str]:
        """Statements that define the results of an op; operands that die may be overwritten."""
        if op.name.startswith("linalg.") and op.regions and op.name not in TENSOR_OPS:
            return self.structured(op)
        if op.name in _CONTROL:
            return _CONTROL[op.name](self, op)
        if op.name == "bufferization.materialize_in_destination" and not len(op.results):
            return [f"stored({', '.join(map(self.value, op.operands))})"]
        if op.name == "func.call":
            callee = ir.FlatSymbolRefAttr(op.attributes["callee"]).value
            operands = ", ".join(map(self.value, op.operands))
            names = self.results(op)
            made = f"{self.constant(self.call)}({callee!r}, [{operands}])"
            return [f"[{', '.join(names)}] = map(copied, {made})" if names else made]
        return [f"{self.results(op)[0]} = {self.expression(op, dying)}"]

    def results(self, op: ir.Operation) -> list[str]:
        for result in op.results:
            self.values[result] = self.fresh()
        return [self.values[r] for r in op.results]

    def expression(self, op: ir.Operation, dying: frozenset[ir.Value]) -> str:
        operands = [self.value(v) for v in op.operands]
        if op.name in INLINE:
            text = INLINE[op.name].format(*operands)
            return f"copied({text})" if _is_tensor(op.results[0]) else text
        if op.name == "linalg.index":
            return f"d{ir.IntegerAttr(op.attributes['dim']).value}"
        if op.name in _AFFINE:
            return f"{self.constant(_affine_function(op))}({', '.join(operands)})"
        if op.name == "tensor.extract":
            return f"element({operands[0]}, ({''.join(f'{i}, ' for i in operands[1:])}))"
        if op.name == "tensor.insert":
            at = "".join(f"{i}, " for i in operands[2:])
            return f"inserted({operands[0]}, {self.writable(op, dying)}, ({at}))"
        if op.name == "tensor.insert_slice":
            return f"laid({operands[0]}, {self.writable(op, dying)}, {self.window(op, 2)})"
        if op.name == "tensor.extract_slice":
            shape = tuple(ir.RankedTensorType(op.results[0].type).shape)
            return f"copied(window({operands[0]}, {self.window(op, 1)}, {shape}))"
        if op.name in TENSOR_OPS and _is_tensor(op.results[0]):
            made = self.constant(TENSOR_OPS[op.name](op, self.domain))
            return f"copied({made}({', '.join(operands)}))"
        return f"{self.constant(self.domain.function(op))}({', '.join(operands)})"

    def writable(self, op: ir.Operation, dying: frozenset[ir.Value]) -> str:
        """The target of an insertion, or a copy of it."""
        target = op.operands[1]
        return self.value(target) if target in dying else f"copied({self.value(target)})"

    def window(self, op: ir.Operation, first: int) -> str:
        parts = static_or_operands(op, ("static_offsets", "static_sizes", "static_strides"), first)
        return ", ".join(map(self.numbers, parts))

    # -------------------------------------------------------------- loops

    def structured(self, op: ir.Operation) -> list[str]:
        """The loop nest of an op of linalg, whatever its name: its maps and its region."""
        maps = indexing_maps(op)
        operands = [self.value(v) for v in op.operands]
        block = op.regions[0].blocks[0]
        inputs = len(operands) - len(op.results)
        targets = self.results(op)
        outs = zip(targets, operands[inputs:], strict=True)
        lines = [f"{target} = unmarked({out})" for target, out in outs]
        arrays = [*operands[:inputs], *targets]
        reads: list[str] = []
        places: list[str] = []
        for k, (argument, array) in enumerate(zip(block.arguments, arrays, strict=True)):
            name = self.values[argument] = self.fresh("a")
            if not _is_tensor(op.operands[k]):
                reads.append(f"{name} = {array}")
                continue
            data = self.fresh("A")
            lines.append(f"{data} = {array}.data")
            places.append(f"{data}[{_place(maps[k], data)}]")
            if list(argument.uses):
                reads.append(f"{name} = {places[-1]}")
        body, yielded = self.block(block)
        writes = [f"{p} = {y}" for p, y in zip(places[-len(targets) :], yielded, strict=True)]
        loops, point = self.extents(op, maps, operands), [*reads, *body, *writes]
        for position, extent in reversed(list(enumerate(loops))):
            point = [f"for d{position} in range({extent}):", *indented(point)]
        return [*lines, f"spend({' * '.join(loops) or 1})", *point]

    def extents(self, op: ir.Operation, maps: list[ir.AffineMap], operands: list[str]) -> list[str]:
        """The extent of each loop: that of an operand with the dim alone in a subscript."""
        found: dict[int, str] = {}
        for operand, (value, subscripts) in zip(
            operands, zip(op.operands, maps, strict=True), strict=True
        ):
            for axis, expr in enumerate(subscripts.results if _is_tensor(value) else ()):
                text = expression_text(expr)
                if text[1:].isdigit():
                    found.setdefault(int(text[1:]), f"{operand}.data.shape[{axis}]")
        missing = [k for k in range(maps[0].n_dims) if k not in found]
        if missing:
            raise ExecutionError(f"{op.name}: every loop has an extent, got none for {missing}")
        return [found[k] for k in range(maps[0].n_dims)]


def _for(text: _Text, op: ir.Operation) -> list[str]:
    low, high, step, *inits = [text.value(v) for v in op.operands]
    block = op.regions[0].blocks[0]
    counter, *carried = (text.fresh() for _ in block.arguments)
    text.values.update(zip(block.arguments, [counter, *carried], strict=True))
    body, yielded = text.block(block)
    start = [
        f"{c} = {f'copied({i})' if _is_tensor(v) else i}"
        for c, i, v in zip(carried, inits, op.operands[3:], strict=True)
    ]
    again = [f"{', '.join(carried)} = {', '.join(yielded)}"] if carried else []
    text.values.update(zip(op.results, carried, strict=True))
    return [
        *start,
        f"for {counter} in range({low}, {high}, {step}):",
        *indented(["spend(1)", *body, *again]),
    ]


def _if(text: _Text, op: ir.Operation) -> list[str]:
    results = text.results(op)
    lines: list[str] = []
    for word, region in zip(
        (f"if {text.value(op.operands[0])}:", "else:"), op.regions, strict=True
    ):
        if not list(region.blocks):
            continue
        body, yielded = text.block(region.blocks[0])
        chosen = [f"{r} = {y}" for r, y in zip(results, yielded, strict=True)]
        lines += [word, *indented([*body, *chosen, "pass"])]
    return lines


def _forall(text: _Text, op: ir.Operation) -> list[str]:
    """Threads see the shared results as they were before; each adds its parts to the new ones."""
    names = ("staticLowerBound", "staticUpperBound", "staticStep")
    bounds = [[text.numbers([n])[1:-3] for n in part] for part in static_or_operands(op, names, 0)]
    block = op.regions[0].blocks[0]
    rank = len(bounds[0])
    shared = list(op.operands)[len(op.operands) - len(op.results) :]
    counters = [text.fresh() for _ in range(rank)]
    text.values.update(zip(block.arguments, [*counters, *map(text.value, shared)], strict=True))
    results = text.results(op)
    outs = dict(zip(list(block.arguments)[rank:], results, strict=True))
    last = block.operations[len(block.operations) - 1].operation
    body, _ = text.block(block)
    for view in last.regions[0].blocks[0].operations:
        one = view.operation
        source, target = text.value(one.operands[0]), outs[one.operands[1]]
        body.append(f"laid({source}, {target}, {text.window(one, 2)})")
    for counter, *bound in reversed(list(zip(counters, *bounds, strict=True))):
        body = [f"for {counter} in range({', '.join(bound)}):", *indented(["spend(1)", *body])]
    start = [f"{r} = copied({text.value(v)})" for r, v in zip(results, shared, strict=True)]
    return [*start, *body]


_CONTROL: dict[str, Callable[[_Text, ir.Operation], list[str]]] = {
    "scf.for": _for,
    "scf.if": _if,
    "scf.forall": _forall,
}
_AFFINE = {"affine.apply": "", "affine.max": "max", "affine.min": "min"}


def _affine_function(op: ir.Operation) -> Callable[..., int]:
    choose = _AFFINE[op.name]
    affine = ir.AffineMapAttr(op.attributes["map"]).value
    texts = ", ".join(map(expression_text, affine.results))
    dims = [f"d{k}" for k in range(affine.n_dims)]
    names = [*dims, *(f"s{k}" for k in range(affine.n_symbols))]
    return eval(f"lambda {', '.join(names)}: {choose}(({texts}{',' if choose else ''}))")


def _last_uses(operations: list[ir.Operation]) -> dict[ir.Value, int]:
    """Of each value that a block or its inner ones use, the position of the last op that does."""
    last: dict[ir.Value, int] = {}
    for position, op in enumerate(operations):
        for inner in _nested(op):
            last.update(dict.fromkeys(inner.operands, position))
    return last


def _nested(op: ir.Operation) -> Iterator[ir.Operation]:
    yield op
    for region in op.regions:
        for block in region.blocks:
            for view in block.operations:
                yield from _nested(view.operation)


def _is_tensor(value: ir.Value) -> bool:
    return isinstance(value.type, ir.RankedTensorType)


def _place(affine: ir.AffineMap, data: str) -> str:
    """Subscripts of an array; one that is no plain dim is checked, for -1 would be the last."""
    texts = [expression_text(e) for e in affine.results]
    checked = [
        t if t[1:].isdigit() else f"within({t}, {data}.shape[{k}])" for k, t in enumerate(texts)
    ]
    return "(" + "".join(f"{t}, " for t in checked) + ")"


_RUNTIME: dict[str, Any] = {
    "copied": copied,
    "element": element,
    "inserted": inserted,
    "laid": laid,
    "spend": spend,
    "stored": stored,
    "unmarked": unmarked,
    "window": window,
    "within": within,
}
