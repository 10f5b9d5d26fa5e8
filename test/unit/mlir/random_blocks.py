"""Random blocks of work on memory, and what they do: each operation in order, on numpy arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import numpy as np

from ted.mlir import ir
from ted.mlir.queries import constant_of

SIZE = 8
BASE = f"memref<{SIZE}xf64>"
_HEAD = f"""
func.func private @report(index)
func.func @f(%flag: i1, %s: {BASE}, %r: {BASE}) attributes {{ted.donated = [array<i64: 1, 2>]}} {{
  %a = memref.alloc() : {BASE}
  %b = memref.alloc() : {BASE}
"""
_CONSTANTS = "".join(f"  %c{k} = arith.constant {k} : index\n" for k in range(SIZE))
_NUMBERS = "".join(f"  %n{k} = arith.constant {k}.5 : f64\n" for k in range(1, 6))


class Block:
    """The text of a random block."""

    def __init__(self, seed: int, length: int) -> None:
        self.rng, self.count = Random(seed), 0
        self.memory = [(name, BASE, SIZE) for name in ("%a", "%b", "%r", "%s")]
        self.scalars = [f"%n{k}" for k in range(1, 6)]
        makers = [self.view, self.view, self.either, self.swapped, self.load, self.add, self.store]
        makers += [self.fill, self.fill, self.copy, self.loop, self.report, *[self.map] * 5]
        lines = [self.rng.choice(makers)() for _ in range(length)]
        self.text = "".join([_HEAD, _CONSTANTS, _NUMBERS, *lines, "  return\n}\n"])

    def fresh(self) -> str:
        """A new name."""
        self.count += 1
        return f"%v{self.count}"

    def pick(self, size: int | None = None, *, written: bool = False) -> tuple[str, str, int]:
        """Some memory; the input is never written."""
        fits = [m for m in self.memory if size in (None, m[2]) and not (written and m[0] == "%s")]
        return self.rng.choice(fits)

    def view(self) -> str:
        """Every second element, or a half."""
        name, start, step = self.fresh(), self.rng.randrange(4), self.rng.choice([1, 2])
        start = start if step == 1 else start % 2
        kind = f"memref<4xf64, strided<[{step}], offset: {start}>>"
        source = self.rng.choice(["%a", "%b", "%r"])
        self.memory.append((name, kind, 4))
        return f"  {name} = memref.subview {source}[{start}] [4] [{step}] : {BASE} to {kind}\n"

    def either(self) -> str:
        """One of two buffers."""
        name, pair = self.fresh(), self.rng.sample(["%a", "%b", "%r"], 2)
        self.memory.append((name, BASE, SIZE))
        one, two = (f"scf.yield {m} : {BASE}" for m in pair)
        return f"  {name} = scf.if %flag -> ({BASE}) {{ {one} }} else {{ {two} }}\n"

    def swapped(self) -> str:
        """A loop that goes from one buffer to another."""
        name, (one, two) = self.fresh(), self.rng.sample(["%a", "%b"], 2)
        self.memory.append((name, BASE, SIZE))
        return (
            f"  {name} = scf.for %i = %c0 to %c3 step %c1 iter_args(%m = {one}) -> ({BASE}) {{\n"
            f"    memref.store {self.rng.choice(self.scalars)}, %m[%i] : {BASE}\n"
            f"    scf.yield {two} : {BASE}\n  }}\n"
        )

    def load(self) -> str:
        """One element as a scalar."""
        name, (memory, kind, size) = self.fresh(), self.pick()
        line = f"  {name} = memref.load {memory}[%c{self.rng.randrange(size)}] : {kind}\n"
        self.scalars.append(name)
        return line

    def add(self) -> str:
        """Arithmetic on scalars."""
        name, one, two = self.fresh(), *(self.rng.choice(self.scalars) for _ in range(2))
        self.scalars.append(name)
        return f"  {name} = arith.addf {one}, {two} : f64\n"

    def store(self) -> str:
        """A scalar into one element."""
        (memory, kind, size), value = self.pick(written=True), self.rng.choice(self.scalars)
        return f"  memref.store {value}, {memory}[%c{self.rng.randrange(size)}] : {kind}\n"

    def fill(self) -> str:
        """A scalar into all elements."""
        (memory, kind, _), value = self.pick(written=True), self.rng.choice(self.scalars[:5])
        return f"  linalg.fill ins({value} : f64) outs({memory} : {kind})\n"

    def copy(self) -> str:
        """All elements."""
        target = self.pick(written=True)
        source = self.pick(target[2])
        return f"  memref.copy {source[0]}, {target[0]} : {source[1]} to {target[1]}\n"

    def report(self) -> str:
        """What is seen from outside."""
        return f"  func.call @report(%c{self.rng.randrange(SIZE)}) : (index) -> ()\n"

    def loop(self) -> str:
        """Loads and stores, one after the other."""
        target = self.pick(written=True)
        source, value = self.pick(target[2]), self.fresh()
        return (
            f"  scf.for %i = %c0 to %c4 step %c1 {{\n"
            f"    {value} = memref.load {source[0]}[%i] : {source[1]}\n"
            f"    memref.store {value}, {target[0]}[%i] : {target[1]}\n  }}\n"
        )

    def map(self) -> str:
        """A function of an input, of what the result holds, of one element, or of nothing."""
        target = self.pick(written=True)
        source, inner = self.pick(target[2]), self.pick()
        pair = self.rng.choice([("%x", "%n2"), ("%x", "%y"), ("%n1", "%n3"), ("%x", "%z")])
        load = f"%z = memref.load {inner[0]}[%c1] : {inner[1]}\n    " if "%z" in pair else ""
        identity = "affine_map<(d0) -> (d0)>"
        return (
            f"  linalg.generic {{indexing_maps = [{identity}, {identity}], "
            f'iterator_types = ["parallel"]}}\n'
            f"    ins({source[0]} : {source[1]}) outs({target[0]} : {target[1]}) {{\n"
            f"  ^bb0(%x: f64, %y: f64):\n    {load}%w = arith.mulf {pair[0]}, {pair[1]} : f64\n"
            f"    %o = arith.addf %w, %n4 : f64\n    linalg.yield %o : f64\n  }}\n"
        )


class Run:
    """What the operations of a block do, from memory that holds `start`, in two memories or one."""

    def __init__(self, block: ir.Block, start: np.ndarray, *, flag: bool, is_one: bool) -> None:
        self.known: dict[ir.Value, Any] = {}
        self.state = start.copy()  # rows: the input, the result, then buffers as they are made
        self.log = 0
        rows = [0, 0 if is_one else 1]
        values = [flag, *(self.state[row] for row in rows)]
        self.known.update(zip(block.arguments, values, strict=True))
        self.rows = iter(self.state[2:])

    def run(self, operations: Sequence[ir.Operation]) -> list[float]:
        """Memory and reports after some operations."""
        for op in operations:
            self.do(op)
        return [*self.state.ravel(), self.log]

    def do(self, op: ir.Operation, points: Sequence[int] | None = None) -> None:
        """One operation, or some points of it."""
        name, operands = op.name, [self.known[o] for o in op.operands]
        if name == "func.call":
            self.log = 10 * self.log + operands[0]
        elif name == "linalg.fill":
            operands[1][...] = operands[0]
        elif name == "memref.copy":
            operands[1][...] = operands[0].copy()
        elif name == "memref.store":
            operands[1][operands[2]] = operands[0]
        elif name == "linalg.generic":
            for k in range(len(operands[0])) if points is None else points:
                operands[1][k] = self.body(op, [operands[0][k], operands[1][k]])[0]
        elif name == "scf.if":
            self.known[op.results[0]] = self.body(op, [], region=0 if operands[0] else 1)[0]
        elif name == "scf.for":
            carried = operands[3:]
            for k in range(operands[0], operands[1], operands[2]):
                carried = self.body(op, [k, *carried])
            self.known.update(zip(op.results, carried, strict=True))
        elif len(op.results):
            self.known[op.results[0]] = self.value(op, operands)

    def value(self, op: ir.Operation, operands: Sequence[Any]) -> Any:
        """The result of an operation without a region."""
        if op.name == "memref.alloc":
            return next(self.rows)
        if op.name == "arith.constant":
            number = constant_of(op.results[0])
            return ir.FloatAttr(op.attributes["value"]).value if number is None else number
        if op.name == "memref.subview":
            (start,), (step,) = (
                ir.DenseI64ArrayAttr(op.attributes[f"static_{n}"]) for n in ("offsets", "strides")
            )
            return operands[0][start : start + 4 * step : step]
        rules: dict[str, Callable[..., Any]] = {
            "memref.load": lambda memory, k: memory[k],
            "arith.addf": lambda x, y: x + y,
            "arith.mulf": lambda x, y: x * y,
        }
        return rules[op.name](*operands)

    def body(self, op: ir.Operation, given: Sequence[Any], region: int = 0) -> list[Any]:
        """What the terminator of a region gets."""
        block = op.regions[region].blocks[0]
        self.known.update(zip(block.arguments, given, strict=True))
        *operations, end = [o.operation for o in block.operations]
        for inner in operations:
            self.do(inner)
        return [self.known[o] for o in end.operands]
