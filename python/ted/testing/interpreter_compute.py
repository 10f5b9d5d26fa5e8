"""Run one `ted.compute`: its loop nest is written as Python text, compiled once, and executed.

    for d0 in range(e0): ...: if domain: read; body; write        (points in row-major order)

Nothing is vectorised and nothing is reordered, so the text is the definition of the op.  Reads and
writes are checked at every point: a read outside its tensor, a read of an element that was never
written, two `set` writes of one element and a bad data index are errors with the op's location.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from functools import lru_cache
from types import CodeType
from typing import Any

import numpy as np

from ted.dialects.ted import ComputeOp
from ted.errors import ExecutionError, stated_rule
from ted.mlir import ir
from ted.records import dataclass
from ted.testing.interpreter_affine import condition_text, evaluated, map_texts
from ted.testing.interpreter_scalars import computed_in
from ted.testing.interpreter_values import (
    Cells,
    name_of,
    place_of,
    shape_and_type,
    size_of,
    sizes,
    spend,
)
from ted.testing.scalar_domains import MACHINE, ScalarDomain

Environment = Mapping[ir.Value, Any]

# In every domain: a number of floats has these operators.
INLINE = {
    "arith.addf": "{} + {}",
    "arith.subf": "{} - {}",
    "arith.mulf": "{} * {}",
    "arith.select": "{1} if {0} else {2}",
}


@dataclass(frozen=True)
class Step:
    """One step of a scan: what reads see, and the points that take part, `written == time`.

    Of a scan in a step of another one there are two times, the outer one first.
    """

    reads: Environment
    times: tuple[tuple[str, int], ...]


def run_compute(
    op: ComputeOp,
    environment: Environment,
    step: Step | None = None,
    domain: ScalarDomain = MACHINE,
) -> tuple[list[Cells], int]:
    """The results of the op and the number of points that took part.

    Raises: ExecutionError for an index outside its tensor, or an element that is read before it is
    written or set twice.
    """
    outs = [_writable(_computed(environment, v, domain), op.combiner_name) for v in op.inits]
    reads = environment if step is None else step.reads
    inputs = [_computed(reads, v, domain) for v in op.inputs]
    spend(math.prod(box_of(op)))
    nest = _Nest(op, reads, inputs, [environment[v] for v in op.inits], domain, step)
    code = _compiled(nest.text())
    nest.names |= {f"s{k}": size for k, size in enumerate(sizes.get()[: op.size_count])}
    arrays = {f"A{k}": c.data for k, c in enumerate(inputs)}
    marks = {f"U{k}": c.undefined for k, c in enumerate(inputs)}
    results = {f"O{k}": c.data for k, c in enumerate(outs)}
    unwritten = {f"V{k}": c.undefined for k, c in enumerate(outs)}
    names: dict[str, Any] = nest.names | arrays | marks | results | unwritten
    names["__name__"] = __name__  # so that its lines are not taken for the user's
    exec(code, names)
    try:
        points = names["run"]()
    except ExecutionError as error:
        place = place_of(op.location) or error.location
        raise type(error)(error.message, place) from None
    memory = [environment[v].data.dtype for v in op.inits]
    return [_settled(c, kind) for c, kind in zip(outs, memory, strict=True)], points


def _computed(environment: Environment, value: ir.Value, domain: ScalarDomain) -> Cells:
    """A tensor of the numbers that bodies compute with."""
    cells: Cells = environment[value]
    kind = domain.array_type(computed_in(ir.RankedTensorType(value.type).element_type))
    return Cells(cells.data.astype(kind, copy=False), cells.undefined)


@lru_cache(maxsize=256)
def _compiled(text: str) -> CodeType:
    """The code of a loop nest; the steps of a scan have one text."""
    return compile(text, "<ted.compute>", "exec")


def _writable(init: Cells, combiner: str) -> Cells:
    """A copy of an init; for `set` also with room for marks, to notice a second write."""
    undefined = np.zeros(init.data.shape, np.bool_) if init.undefined is None else init.undefined
    if combiner == "set" or init.undefined is not None:
        return Cells(init.data.copy(), undefined.copy())
    return Cells(init.data.copy())


def _settled(cells: Cells, kind: np.dtype[Any]) -> Cells:
    """The result in memory: f16 and bf16 are rounded here."""
    some = cells.undefined is not None and cells.undefined.any()
    return Cells(cells.data.astype(kind, copy=False), cells.undefined if some else None)


@dataclass
class _Nest:
    """The text of one loop nest and the names that it uses."""

    op: ComputeOp
    environment: Environment
    inputs: list[Cells]
    inits: list[Cells]
    domain: ScalarDomain
    step: Step | None = None
    names: dict[str, Any] = field(default_factory=dict)
    values: dict[ir.Value, str] = field(default_factory=dict)

    def text(self) -> str:
        op = self.op
        self.names |= {f.__name__: f for f in (self.outside, self.unwritten, self.twice)}
        for position, value in enumerate(op.body_block.arguments):
            self.values[value] = f"a{position}"
        point = [*self.reads(), *self.body(), *self.write(), "count += 1"]
        conditions = [condition_text(op.domain_set)]
        if self.step is not None:
            for level, (written, time) in enumerate(self.step.times):
                self.names[f"step{level}"] = time
                conditions.append(f"{written} == step{level}")
        condition = " and ".join(filter(None, conditions))
        if condition:
            point = [f"if {condition}:", *indented(point)]
        for position, extent in reversed(list(enumerate(self.box))):
            point = [f"for d{position} in range({extent}):", *indented(point)]
        if op.combiner_name == "set":
            self.names["W0"] = np.zeros(shape_and_type(op.results[0].type)[0], np.bool_)
        lines = ["def run():", *indented(["count = 0", *point, "return count"])]
        return "\n".join(lines)

    @property
    def box(self) -> tuple[int, ...]:
        """The extents, at the sizes of the run."""
        return box_of(self.op)

    # -------------------------------------------------------------- reads

    def reads(self) -> list[str]:
        lines: list[str] = []
        op = self.op
        for k, (read, guard) in enumerate(zip(op.read_maps, op.guard_sets, strict=True)):
            subscripts = map_texts(read)
            what = described(f"read {k}", op.inputs[k], f"operand {k}")
            made = self.checked(f"A{k}", self.inputs[k], subscripts, what, f"a{k}")
            condition = condition_text(guard)
            if condition:
                self.names[f"Z{k}"] = self.zero(op.body_block.arguments[k].type)
                made = [f"if {condition}:", *indented(made), "else:", f"    a{k} = Z{k}"]
            lines += made
        return lines

    def checked(
        self, array: str, cells: Cells, subscripts: Sequence[str], what: str, target: str
    ) -> list[str]:
        """Statements that read one element into `target`, or fail."""
        lines = [f"{target}_{n} = {text}" for n, text in enumerate(subscripts)]
        place = "".join(f"{target}_{n}, " for n in range(len(subscripts)))
        bounds = in_bounds([f"{target}_{n}" for n in range(len(subscripts))], cells.data.shape)
        if bounds:
            lines.append(f"if not ({bounds}): outside({what!r}, ({place}), {self.point()})")
        if cells.undefined is not None:
            lines.append(
                f"if U{array[1:]}[({place})]: unwritten({what!r}, ({place}), {self.point()})"
            )
        return [*lines, f"{target} = {array}[({place})]"]

    def zero(self, kind: ir.Type) -> Any:
        return self.domain.number(computed_in(kind), 0)

    def point(self) -> str:
        return "(" + "".join(f"d{n}, " for n in range(self.op.rank)) + ")"

    # -------------------------------------------------------------- body

    def body(self) -> list[str]:
        lines: list[str] = []
        for position, view in enumerate(list(self.op.body_block.operations)[:-1]):
            op = view.operation
            target = f"v{position}"
            operands = [self.operand(v) for v in op.operands]
            if op.name == "ted.size":
                lines.append(f"{target} = {size_of(op)}")
            elif op.name == "ted.index":
                lines.append(f"{target} = d{ir.IntegerAttr(op.attributes['dim']).value}")
            elif op.name == "ted.load":
                lines += self.load(op, position)
            elif op.name in INLINE:
                lines.append(f"{target} = {INLINE[op.name].format(*operands)}")
            elif op.name == "arith.constant":
                self.names[target] = self.domain.function(op)()
            else:
                self.names[f"f{position}"] = self.domain.function(op)
                lines.append(f"{target} = f{position}({', '.join(operands)})")
            self.values[op.results[0]] = target
        return lines

    def operand(self, value: ir.Value) -> str:
        """The name of a value of the body, or of one that the body captures."""
        if value not in self.values:
            name = f"c{len(self.names)}"
            captured = self.environment[value]
            self.names[name] = captured
            self.values[value] = name
        return self.values[value]

    def load(self, op: ir.Operation, position: int) -> list[str]:
        source, predicate, *indices = op.operands
        cells = _computed(self.environment, source, self.domain)
        target, mode = f"v{position}", ir.StringAttr(op.attributes["mode"]).value
        array = f"A_{position}"
        self.names |= {array: cells.data, f"U_{position}": cells.undefined}
        self.names[f"z{position}"] = self.zero(op.results[0].type)
        texts = [self.operand(i) for i in indices]
        shape = cells.data.shape
        if mode == "clip":
            texts = [f"min(max({t}, 0), {n - 1})" for t, n in zip(texts, shape, strict=True)]
        what = described("load", source, "a tensor")
        made = self.checked(array, cells, texts, what, target)
        condition = self.operand(predicate)
        if mode == "drop":
            condition = " and ".join(filter(None, [condition, in_bounds(texts, shape)]))
        return [f"if {condition}:", *indented(made), "else:", f"    {target} = z{position}"]

    # -------------------------------------------------------------- write

    def write(self) -> list[str]:
        op = self.op
        yielded = [self.operand(v) for v in op.yielded]
        values = yielded[: len(yielded) - op.data_count]
        shape = shape_and_type(op.results[0].type)[0]
        data = enumerate(yielded[len(values) :], op.size_count)
        lines = [f"s{n} = {text}" for n, text in data]
        texts = map_texts(op.write_map)
        lines += [f"w{n} = {text}" for n, text in enumerate(texts)]
        if op.write_mode == "clip":
            lines += [f"w{n} = min(max(w{n}, 0), {e - 1})" for n, e in enumerate(shape)]
        lines.append("p = (" + "".join(f"w{n}, " for n in range(len(texts))) + ")")
        what = described("write", op.results[0], "the result")
        bounds = in_bounds([f"w{n}" for n in range(len(texts))], shape)
        if bounds and op.write_mode == "drop":
            return [*lines, f"if {bounds}:", *indented(self.combined(values[0], what))]
        if bounds:
            lines.append(f"if not ({bounds}): outside({what!r}, p, {self.point()})")
        return [*lines, *self.combined(values[0], what)]

    def combined(self, value: str, what: str) -> list[str]:
        """Statements that combine a value into the results at the place `p`."""
        op, lines = self.op, list[str]()
        if op.combiner_name == "set":
            return self.store(value, what)
        for k in range(len(op.inits)):
            if self.inits[k].undefined is not None:
                lines.append(f"if V{k}[p]: unwritten({f'init {k}'!r}, p, {self.point()})")
        if op.combiner_name in ("argmax", "argmin"):
            return [*lines, *self.replace_best(value)]
        element = ir.RankedTensorType(op.results[0].type).element_type
        self.names["combine"] = self.domain.combiner(op.combiner_name, str(element))
        return [*lines, f"O0[p] = combine(O0[p], {value})"]

    def store(self, value: str, what: str) -> list[str]:
        return [
            f"if W0[p]: twice({what!r}, p, {self.point()})",
            "W0[p] = True",
            "V0[p] = False",
            f"O0[p] = {value}",
        ]

    def replace_best(self, value: str) -> list[str]:
        kinds, box = self.op.iterator_kinds, self.box
        reduced = [n for n, kind in enumerate(kinds) if kind == "reduction"]
        linear = " + ".join(
            f"d{n} * {math.prod(box[m] for m in reduced[at + 1 :])}" for at, n in enumerate(reduced)
        )
        self.names["better"] = _BETTER[self.op.combiner_name]
        memory, computed = self.inits[0].data.dtype, _computed_type(self.op, self.domain)
        self.names["stored"] = _storing(memory)
        self.names["kept"] = lambda v: v.astype(computed) if memory.kind == "u" else v
        return [
            f"v = stored({value})",
            "if O1[p] < 0 or better(v, stored(O0[p])):",  # a negative index: no point taken yet
            "    O0[p] = kept(v)",
            f"    O1[p] = {linear or '0'}",
        ]

    # -------------------------------------------------------------- failures

    def outside(self, what: str, at: tuple[int, ...], point: tuple[int, ...]) -> None:
        """An index outside its tensor, or a bound that is stated."""
        if rule := stated_rule(what):
            raise self.error(f"{rule.partition(' of ')[2]} {at[0]}")
        raise self.error(f"{what} stays inside, got index {list(at)} at point {list(point)}")

    def unwritten(self, what: str, at: tuple[int, ...], point: tuple[int, ...]) -> None:
        """A read of an element of `tensor.empty`."""
        rule = "meets written elements only"
        raise self.error(f"{what} {rule}, got none at index {list(at)} at point {list(point)}")

    def twice(self, what: str, at: tuple[int, ...], point: tuple[int, ...]) -> None:
        """A second `set` of one element."""
        rule = "sets an element once"
        raise self.error(f"{what} {rule}, got index {list(at)} again at point {list(point)}")

    def error(self, message: str) -> ExecutionError:
        return ExecutionError(f"ted.compute: {message}", place_of(self.op.location))


def box_of(op: ComputeOp) -> tuple[int, ...]:
    """The extents of an op, at the sizes of the run."""
    symbolic = op.symbolic_box
    return op.box if symbolic is None else evaluated(symbolic, sizes.get())


def described(what: str, value: ir.Value, default: str) -> str:
    """An access and its tensor, as errors name them."""
    return f"{what} of {name_of(value, default)} {list(shape_and_type(value.type)[0])}"


def indented(lines: list[str]) -> list[str]:
    """The lines one level deeper."""
    return [f"    {line}" for line in lines]


def in_bounds(subscripts: Sequence[str], shape: tuple[int, ...]) -> str:
    """The condition that every subscript lies inside the shape."""
    return " and ".join(f"0 <= {t} < {n}" for t, n in zip(subscripts, shape, strict=True))


def _computed_type(op: ComputeOp, domain: ScalarDomain) -> Any:
    element = ir.RankedTensorType(op.results[0].type).element_type
    return domain.array_type(computed_in(element))


def _storing(kind: np.dtype[Any]) -> Callable[[Any], Any]:
    """What memory of a type keeps of a number, for positions compare what is stored."""
    if kind.kind == "u":
        return lambda value: kind.type(value.astype(kind))
    if kind.itemsize > 2 or kind.kind not in "fV":
        return lambda value: value
    return lambda value: np.float32(np.float32(value).astype(kind))


_BETTER: dict[str, Callable[[Any, Any], bool]] = {
    "argmax": lambda new, old: bool(new > old or (new != new and old == old)),
    "argmin": lambda new, old: bool(new < old or (new != new and old == old)),
}
