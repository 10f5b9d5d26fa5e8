"""Run one operation with regions, of linalg or of scf: as Python text, executed at once.

    linalg.generic ... -> for d0 in range(e0): ...: read; body; write        (row-major order)
    scf.for, scf.if, scf.forall -> for, if

Every value of a tensor is one of its own: results are copies, unless what is overwritten is used
for the last time.  An element of `tensor.empty` is NaN, and what depends on it is wrong.  Memory is
written where it is, and only what was written is read (`interpreter_memory.py`).  The meaning is
that of the operations alone: indexing maps and regions, as MLIR documents them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from traceback import walk_tb
from typing import Any

from ted.errors import ExecutionError
from ted.mlir import indexing_maps, ir
from ted.records import dataclass
from ted.testing.interpreter_affine import expression_text
from ted.testing.interpreter_compute import INLINE, indented
from ted.testing.interpreter_memory import ACCESSES, MEMORY_OPS, RUNTIME, is_memory, memory_name
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


class AtOperation(ExecutionError):
    """An error of an operation inside of others, which has its place."""


def run_op(
    op: ir.Operation, environment: Mapping[ir.Value, Any], domain: ScalarDomain, call: Call
) -> list[Any]:
    """The results of an op that is not of ted; `call` runs another function of the module.

    Raises: ExecutionError for an op without meaning, an index outside its tensor, or a read of
    memory that nobody wrote.
    """
    text = _Text(environment, domain, call)
    lines = text.operation(op, frozenset())
    results = ", ".join(text.values[r] for r in op.results)
    body = [*lines, f"return [{results}]"]
    names = text.names
    text_lines = ["def run():", *indented(body)]
    exec(compile("\n".join(text_lines), _FILE, "exec"), names)
    try:
        return names["run"]()
    except IndexError as error:
        name = _last_mark(text_lines, error)
        one = names[name] if name else op
        place = place_of(one.location) or place_of(op.location)
        raise AtOperation(f"{one.name}: {error}", place) from None


_FILE, _MARK = "<operation>", "# at "


def _last_mark(lines: list[str], error: IndexError) -> str | None:
    """The name of the operation whose line an error comes from: its lines stand behind a mark."""
    numbers = [n for f, n in walk_tb(error.__traceback__) if f.f_code.co_filename == _FILE]
    marks = (line.strip() for line in reversed(lines[: numbers[-1]]))
    return next((m.removeprefix(_MARK) for m in marks if m.startswith(_MARK)), None)


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
        is_structured = op.name.startswith("linalg.") and op.regions
        if is_structured and (op.name not in TENSOR_OPS or not len(op.results)):
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
            if any(map(is_memory, op.results)):
                return [f"[{', '.join(names)}] = {made}"]
            return [f"[{', '.join(names)}] = map(copied, {made})" if names else made]
        lines = [] if op.name.startswith(("arith.", "math.")) else [self.mark(op)]
        if op.name in ACCESSES:
            text = self.access(op)
            return [*lines, f"{self.results(op)[0]} = {text}" if len(op.results) else text]
        return [*lines, f"{self.results(op)[0]} = {self.expression(op, dying)}"]

    def mark(self, op: ir.Operation) -> str:
        """A line behind which all lines are of an operation."""
        return f"{_MARK}{self.constant(op)}"

    def access(self, op: ir.Operation) -> str:
        """What copies, loads, stores or frees memory."""
        operands = [self.value(v) for v in op.operands]
        behind = ["(" + "".join(f"{i}, " for i in operands[k:]) + ")" for k in (1, 2)]
        return ACCESSES[op.name].format(
            *operands, name=repr(memory_name(op.operands[0])),
            behind_one=behind[0], behind_two=behind[1],
        )  # fmt: skip

    def results(self, op: ir.Operation) -> list[str]:
        for result in op.results:
            self.values[result] = self.fresh()
        return [self.values[r] for r in op.results]

    def expression(self, op: ir.Operation, dying: frozenset[ir.Value]) -> str:
        operands = [self.value(v) for v in op.operands]
        if op.name in INLINE:
            text = INLINE[op.name].format(*operands)
            return f"copied({text})" if _is_tensor(op.results[0]) else text
        if op.name in MEMORY_OPS:
            return f"{self.constant(MEMORY_OPS[op.name](op, self.domain))}({', '.join(operands)})"
        if op.name == "linalg.index":
            return f"d{ir.IntegerAttr(op.attributes['dim']).value}"
        if op.name == "affine.linearize_index":
            return _linear(operands, list(ir.DenseI64ArrayAttr(op.attributes["static_basis"])))
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
        inputs = len(operands) - len(block.operations[len(block.operations) - 1].operands)
        targets = self.results(op) or operands[inputs:]
        outs = zip(targets, operands[inputs:], strict=True)
        lines = [f"{target} = unmarked({out})" for target, out in outs if target != out]
        arrays = [*operands[:inputs], *targets]
        reads: list[str] = []
        places: list[str] = []
        for k, (argument, array) in enumerate(zip(block.arguments, arrays, strict=True)):
            name = self.values[argument] = self.fresh("a")
            if not _has_elements(op.operands[k]):
                reads.append(f"{name} = {array}")
                continue
            data, marks = self.fresh("A"), self.fresh("U")
            lines.append(f"{data}, {marks} = {array}.data, {array}.undefined")
            at = _place(maps[k], data)
            found = f"{data}[{at}]"
            if is_memory(op.operands[k]):
                known = repr(memory_name(op.operands[k]))
                places.append(f"{marks}[{at}], {found} = False, ")
                found = f"never_written({at}, {known}) if {marks}[{at}] else {found}"
            else:
                places.append(f"{found} = ")
            if list(argument.uses):
                reads.append(f"{name} = {found}")
        body, yielded = self.block(block)
        writes = [p + y for p, y in zip(places[-len(targets) :], yielded, strict=True)]
        mark = self.mark(op)
        point = [mark, *reads, *body, mark, *writes]
        loops = self.extents(op, maps, operands)
        for position, extent in reversed(list(enumerate(loops))):
            point = [f"for d{position} in range({extent}):", *indented(point)]
        return [*lines, f"spend({' * '.join(loops) or 1})", *point]

    def extents(self, op: ir.Operation, maps: list[ir.AffineMap], operands: list[str]) -> list[str]:
        """The extent of each loop: that of an operand with the dim alone in a subscript."""
        found: dict[int, str] = {}
        for operand, (value, subscripts) in zip(
            operands, zip(op.operands, maps, strict=True), strict=True
        ):
            for axis, expr in enumerate(subscripts.results if _has_elements(value) else ()):
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


def _linear(places: list[str], basis: list[int]) -> str:
    """The number of a place in row-major order; the first extent may be missing."""
    text = places[0]
    for place, extent in zip(places[1:], basis[len(basis) - len(places) + 1 :], strict=True):
        text = f"({text} * {extent} + {place})"
    return text


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


def _has_elements(value: ir.Value) -> bool:
    return _is_tensor(value) or is_memory(value)


def _place(affine: ir.AffineMap, data: str) -> str:
    """Subscripts of an array; one that is no plain dim is checked, for -1 would be the last."""
    texts = [expression_text(e) for e in affine.results]
    checked = [
        t if t[1:].isdigit() else f"within({t}, {data}.shape[{k}])" for k, t in enumerate(texts)
    ]
    return "(" + "".join(f"{t}, " for t in checked) + ")"


_RUNTIME: dict[str, Any] = RUNTIME | {
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
