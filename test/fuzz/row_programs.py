"""Random programs over a batch: run in strips of few rows, and as a whole.

    make fuzz ORACLE=rows COUNT=200

A program is a chain of operations on n rows chosen by a seed, maps of rows and what joins all of
them. Values, gradients and gradients of these are those of the whole program at each n: the
interpreter runs both, so that a program costs no compilation. A chain that is no batch is drawn
again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

import ted
from ted import dialects
from ted.api.row_functions import RowFunction
from ted.errors import DomainError, FrontendError
from ted.frontend.systems import system_of
from ted.ir.equations import System
from ted.ir.specialising import specialise
from ted.ir.to_ops import to_module
from ted.testing.interpreter import interpret
from ted.transforms.row_independence import refusal

N = ted.size("n")
COLUMNS, STEPS, TOLERANCE = 2, 3, 1e-9
ROWS = (1, 7)
LENGTHS = ((1, 2, 5), (1, 4), (1,))
Array = np.ndarray[Any, Any]


class Interpreted:
    """What `CompiledFunction.bound` is, by the interpreter, in one session of dialects."""

    temporary_bytes = 0

    def __init__(self, system: System, in_place: Mapping[int, int]) -> None:
        self._results = len(system.outputs)
        self._in_place = {argument: result for result, argument in in_place.items()}
        self._arguments = len(system.inputs)
        self._module = to_module(system)

    def fill(self, arguments: Sequence[Array]) -> None:
        """Run on inputs and results; some results hold an input when the call starts."""
        results = arguments[len(arguments) - self._results :]
        given = iter(arguments[: len(arguments) - self._results])
        inputs = [
            results[self._in_place[k]].copy() if k in self._in_place else next(given)
            for k in range(self._arguments)
        ]
        found = interpret(self._module, inputs)
        for result, value in zip(results, found, strict=True):
            result[...] = value


def _steps(x: Any, w: Any, index: Any) -> dict[str, Callable[[], Any]]:
    """What may be done to n rows of any number of columns."""
    return {
        "map": lambda: ted.sin(x) * 2 - x, "product": lambda: x * x,
        "weights": lambda: ted.tanh(x @ (w if x.shape[1] == COLUMNS else w[:1])[: x.shape[1]])
        if x.shape[1] <= COLUMNS else x[:, :COLUMNS],
        "softmax": lambda: ted.nn.softmax(x), "running": lambda: ted.cumsum(x, axis=1),
        "norm": lambda: ted.nn.layer_norm(x, ted.ones(x.shape[1:]), ted.zeros(x.shape[1:])),
        "flip": lambda: ted.flip(x, axis=1) * x, "wider": lambda: ted.concatenate([x, x * x], 1),
        "narrower": lambda: x[:, 1:] if x.shape[1] > 1 else x + 1, "turned": lambda: (x.T * 2).T,
        "centred": lambda: x - ted.mean(x, axis=0), "share": lambda: x / (1 + ted.sum(x * x)),
        "scaled": lambda: x * ted.sum(ted.tanh(x), axis=0),
        "size": lambda: x / ted.cast(N, "float64"),
        "products": lambda: x + ted.prod(1 + x / 16, axis=0),
        "gathered": lambda: ted.take(ted.segment_sum(x, index % 4, 4), index % 4) + x,
        "picked": lambda: ted.take_along_axis(x, ted.reshape(index % x.shape[1], (N, 1)), 1) * x,
        "chosen": lambda: ted.where(ted.reshape(index % 2, (N, 1)) == 0, x, ted.sqrt(x * x + 1)),
        "largest": lambda: x * ted.max(x, axis=1, keepdims=True),
        "started": lambda: x * ted.tanh(ted.sum(x, 0, init=ted.ones(x.shape[1:], "float64"))),
        "weights of rows": lambda: x + ted.tanh(x.T @ x)[0, : x.shape[1]],
        "normed weights": lambda: x * ted.sum(w / (1 + ted.sum(w * w)) ** 2),
        "ahead": lambda: x[1:], "first": lambda: x * x[0], "reversed": lambda: ted.flip(x, 0),
    }  # fmt: skip


class Program:
    """The chain of a seed, with its gradients to second order."""

    def __init__(self, seed: int) -> None:
        self._random = np.random.default_rng(seed)
        self.taken: list[str] = []
        self.system = self._drawn()
        while refusal(self.system, N.symbols[0]) is not None:
            self.taken = []
            self.system = self._drawn()

    def _drawn(self) -> System:
        x = ted.placeholder((N, COLUMNS), "float64", name="x")
        w = ted.placeholder((COLUMNS, COLUMNS), "float64", name="w")
        index = ted.placeholder((N,), "int64", name="index")
        y = x
        for _ in range(STEPS):
            steps = _steps(y, w, index)
            name = str(self._random.choice(list(steps)))
            try:
                made = steps[name]()
            except (DomainError, FrontendError):
                continue
            self.taken.append(name)
            y = made
        value = ted.sum(ted.sin(y))
        first = ted.differentiate(value, [x, w])
        second = ted.differentiate(sum(ted.sum(g * g) for g in first), [x])
        return system_of([x, w, index], [y, ted.mean(y), *first, *second])

    def arrays(self, n: int) -> list[Array]:
        """Inputs with n rows."""
        shapes = ((n, COLUMNS), (COLUMNS, COLUMNS))
        floats = [np.asarray(self._random.normal(size=shape)) for shape in shapes]
        return [*floats, self._random.integers(0, 9, n)]


def check(seed: int) -> None:
    """One program in strips, at several numbers of rows.

    Raises: AssertionError where something differs.
    """
    with dialects.session():
        _compare(Program(seed), LENGTHS[seed % len(LENGTHS)], f"seed {seed}")


def _compare(program: Program, lengths: tuple[int, ...], label: str) -> None:
    f = RowFunction(program.system, N.symbols[0], Interpreted, single=False, donated={})  # type: ignore[arg-type]
    f.lengths = lengths
    for n in ROWS:
        arrays = program.arrays(n)
        whole = interpret(to_module(specialise(program.system, {"n": n})), arrays)
        found = f.for_sizes({"n": n})(*arrays)
        for place, (got, want) in enumerate(zip(found, whole, strict=True)):
            scale = max(1.0, float(np.abs(want).max(initial=0.0)))
            np.testing.assert_allclose(
                got, want, rtol=TOLERANCE, atol=TOLERANCE * scale,
                err_msg=f"{label}: {program.taken}, {n} rows by {lengths}: result {place}",
            )  # fmt: skip
