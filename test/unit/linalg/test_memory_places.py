"""Tensors in memory of each other: random programs whose results begin as their arguments."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import numpy as np
import pytest

from ted.dialects import make_context
from ted.ir.pass_driver import run_pipeline
from ted.mlir import ir
from unit.linalg.equation_text import compute, evaluate, module_text, tensor_type

ROWS, COLUMNS = 6, 12
SHAPES = ((ROWS, COLUMNS), (1, ROWS, COLUMNS), (ROWS, 1, COLUMNS))
NAMES = "ijk"
YIELD, ADD = '"ted.yield"(%a) : (f32) -> ()', "%t = arith.addf %a, %b : f32"


@dataclass
class Program:
    """Equations over rows and columns, with what NumPy says about each tensor."""

    draw: random.Random
    shape: tuple[int, ...]
    text: list[str] = field(default_factory=list)
    values: dict[str, np.ndarray] = field(default_factory=dict)

    def __post_init__(self) -> None:
        kept = [k for k, extent in enumerate(self.shape) if extent > 1]
        self.dims = [NAMES[k] for k in kept]
        self.kind = tensor_type(self.shape)
        rng = np.random.default_rng(self.draw.randrange(1000))
        for name in ("x", "y"):
            self.values[name] = rng.integers(-4, 5, (ROWS, COLUMNS)).astype(np.float32)
        self.text.append(f"%e = tensor.empty() : {self.kind}\n%c = arith.constant 0.0 : f32")

    def read(self) -> tuple[tuple[str, str, str], np.ndarray]:
        """A tensor read somewhere, and the elements in the order of the result."""
        name = self.draw.choice(list(self.values))
        row, column = self.dims
        value = self.values[name]
        way = self.draw.choice(["same", "same", "same", "rows", "columns", "first"])
        if way == "rows":
            row, value = f"{ROWS - 1} - {row}", value[::-1]
        elif way == "columns":
            column, value = f"{COLUMNS - 1} - {column}", value[:, ::-1]
        elif way == "first":
            row, value = "0", np.broadcast_to(value[:1], value.shape)
        return (f"T{name}", self.kind, self.subscripts(row, column)), value

    def subscripts(self, row: str, column: str) -> str:
        """Those of a tensor, whose dims of one element have their own."""
        own = dict(zip(self.dims, (row, column), strict=True))
        return ", ".join(own.get(n, n) for n in NAMES[: len(self.shape)])

    def equation(self, number: int) -> None:
        """One more tensor."""
        name, way = f"v{number}", self.draw.choice(["map", "map", "sum", "on", "part", "zeros"])
        (first, a), (second, b) = self.read(), self.read()
        old = self.draw.choice(list(self.values))
        write, rank = self.subscripts(*self.dims), len(self.shape)
        body = f'{ADD}\n"ted.yield"(%t) : (f32) -> ()'
        if way == "map":
            made = [compute(f"T{name}", [first, second], [("e", self.kind)], self.shape, "p" * rank,
                            write, body)]  # fmt: skip
            self.values[name] = a + b
        elif way == "sum":  # a total of each row, and a map that reads it
            short = tensor_type(self.shape[:-1])
            rows = ", ".join(NAMES[: rank - 1])
            made = [
                f"%E{name} = tensor.empty() : {short}\n"
                f"%Z{name} = linalg.fill ins(%c : f32) outs(%E{name} : {short}) -> {short}",
                compute(f"S{name}", [first], [(f"Z{name}", short)], self.shape,
                        "p" * (rank - 1) + "r", rows, YIELD, "add"),
                compute(f"T{name}", [second, (f"S{name}", short, rows)], [("e", self.kind)],
                        self.shape, "p" * rank, write, body),
            ]  # fmt: skip
            self.values[name] = b + a.sum(axis=1, keepdims=True)
        elif way == "on":  # adds to another tensor
            made = [compute(f"T{name}", [first], [(f"T{old}", self.kind)], self.shape, "p" * rank,
                            write, YIELD, "add")]  # fmt: skip
            self.values[name] = self.values[old] + a
        else:  # writes some rows of another tensor, or of zeros
            if way == "zeros":
                old = f"z{number}"
                self.text.append(
                    f"%T{old} = linalg.fill ins(%c : f32) outs(%e : {self.kind}) -> {self.kind}"
                )
            start = self.values.get(old, np.zeros((ROWS, COLUMNS), np.float32))
            extents = [2 if extent == ROWS else extent for extent in self.shape]
            made = [compute(f"T{name}", [first], [(f"T{old}", self.kind)], extents, "p" * rank,
                            write, YIELD)]  # fmt: skip
            self.values[name] = np.concatenate([a[:2], start[2:]])
        self.text += made


def program(seed: int) -> tuple[str, list[np.ndarray], list[np.ndarray], list[np.ndarray]]:
    """A text with its inputs, the memory of its results before the call, and their values."""
    draw = random.Random(seed)
    made = Program(draw, draw.choice(SHAPES))
    given = dict(made.values)
    for number in range(draw.choice([1, 2, 3, 4])):
        made.equation(number)
    last = list(made.values)[-1]
    results = [last, *draw.choices(list(made.values), k=draw.choice([0, 1, 2]))]
    draw.shuffle(results)
    places = draw.sample(range(len(results)), min(len(results), draw.choice([1, 1, 2])))
    pairs = list(zip(draw.sample([0, 1], len(places)), places, strict=True))
    arguments = list(given)
    text = module_text(
        [(f"T{name}", made.kind) for name in arguments], "\n".join(made.text),
        [(f"T{name}", made.kind) for name in results],
    )  # fmt: skip
    numbers = ", ".join(f"{argument}, {result}" for argument, result in pairs)
    text = text.replace(") {\n", f") attributes {{ted.in_place = array<i64: {numbers}>}} {{\n", 1)
    taken = {argument for argument, _ in pairs}
    inputs = [given[n].reshape(made.shape) for k, n in enumerate(arguments) if k not in taken]
    memory = [np.full(made.shape, np.nan, np.float32) for _ in results]
    for argument, result in pairs:
        memory[result][...] = given[arguments[argument]].reshape(made.shape)
    wanted = [made.values[name].reshape(made.shape) for name in results]
    return text, inputs, memory, wanted


@pytest.mark.fast(12)
@pytest.mark.parametrize("seed", range(120))
def test_a_result_that_begins_as_an_argument_is_what_it_is_apart(seed: int) -> None:
    text, inputs, memory, wanted = program(seed)
    for found, expected in zip(evaluate(text, inputs, memory), wanted, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_programs_have_arguments_that_are_saved_and_such_that_are_not() -> None:
    saved = set()
    with make_context(), ir.Location.unknown():
        for seed in range(40):
            module = ir.Module.parse(program(seed)[0])
            run_pipeline(module, "builtin.module(ted-emit-kernels)")
            saved.add("memref.copy" in str(module))
    assert saved == {False, True}
