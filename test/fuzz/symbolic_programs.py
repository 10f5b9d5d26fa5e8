"""Random programs of symbolic sizes: the same steps traced with sizes and with plain numbers.

    make fuzz ORACLE=symbolic COUNT=200

A program is a chain of frontend operations chosen by a seed. It is traced with `ted.size` first; a
step that what is promised of the sizes does not decide is left out. Then the steps that were taken
are traced with numbers, and values and gradients of two orders of the one symbolic program are
compared with those of each plain program, at the least sizes that are promised and at others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import ted
from ted import dialects
from ted.domain.sizes import Extent, Symbol, evaluate
from ted.errors import DomainError, FrontendError
from ted.frontend.systems import system_of
from ted.ir.equations import System
from ted.ir.from_ops import from_module
from ted.ir.to_ops import to_module
from ted.testing.interpreter import interpret
from ted.transforms.ted_check_bounds import TedCheckBounds

Array = np.ndarray[Any, Any]
Sizes = tuple[Extent, Extent]
STEPS, TOLERANCE = 4, 1e-9
LARGEST_DIM = 40  # of a tensor at plain sizes: steps that grow tensors stop there


def _spread(extent: Extent, element: Callable[[Any], Any]) -> Any:
    return ted.compute((extent,), lambda i: element(i))


def _row(x: Any) -> Any:
    return x if x.ndim == 1 else ted.sum(x, axis=1)


def _convolved(x: Any, width: int) -> Any:
    r = ted.reduce_axis(width)
    e = x.shape[0] - width + 1
    return _spread(e, lambda i: ted.sum(x[i + r] * (r + 1), axis=r))


def _full(x: Any) -> Any:
    """Every sum of two elements by the sum of their places."""
    e, r = x.shape[0], ted.reduce_axis(x.shape[0])
    inside = lambda s: (s - r >= 0) & (s - r < e)  # noqa: E731
    return _spread(
        2 * e - 1, lambda s: ted.sum(x[ted.clip(s - r, 0, e - 1)] * x[r], axis=r, where=inside(s))
    )


def _triangle(x: Any, reduction: Callable[..., Any], strict: int) -> Any:
    r = ted.reduce_axis(x.shape[0])
    return _spread(x.shape[0], lambda i: reduction(x[r], axis=r, where=r <= i - strict))


def _steps(x: Any, k: int, sizes: Sizes) -> dict[str, Callable[[], Any]]:
    """What may be done to a tensor; `k` is 1 or 2."""
    n, m = sizes
    e = x.shape[0]
    row = _row(x)
    where = ted.where
    return {
        "clamped": lambda: _spread(e, lambda i: row[ted.maximum(i - k, 0)] * row[i]),
        "guarded": lambda: _spread(e, lambda i: where(i >= k, row[ted.maximum(i - k, 0)], n - i)),
        "ahead": lambda: _spread(e, lambda i: where(i + k < e, row[ted.minimum(i + k, e - 1)], 0)),
        "strided": lambda: x[:: k + 1], "reversed": lambda: x[::-k],
        "later": lambda: x[k:] * x[:-k],
        "halves": lambda: x[: e // 2] * x[e - e // 2 :], "odd": lambda: x[k - 1 :: 2],
        "divided": lambda: _spread(e * 2, lambda i: row[i // 2] * (i % 2 + 1)),
        "wrapped": lambda: _spread(m * k, lambda i: row[i % e]),
        "alternating": lambda: _spread(e, lambda i: where(i % (k + 1) == 0, row[i], row[i // 2])),
        "joined": lambda: ted.concatenate([x, x * x]),
        "stacked": lambda: ted.stack([x, ted.sin(x)]),
        "padded": lambda: ted.pad(row, (k, 1), value=0.5),
        "edge": lambda: ted.pad(row, k, mode="edge"), "wrap": lambda: ted.pad(row, k, mode="wrap"),
        "reflect": lambda: ted.pad(row, k, mode="reflect"), "rolled": lambda: ted.roll(x, k, 0),
        "flipped": lambda: ted.flip(x) * x, "repeated": lambda: ted.repeat(row, k + 1, 0),
        "tiled": lambda: ted.tile(row, (k,)), "flat": lambda: ted.flatten(x),
        "grid": lambda: ted.flatten(x).reshape((x.shape[-1], -1)), "turned": lambda: x.T,
        "outer": lambda: ted.compute((e, m), lambda i, j: row[i] * (j + 1)),
        "total": lambda: row / (1 + ted.sum(row * row)), "mean": lambda: x - ted.mean(x, axis=0),
        "largest": lambda: ted.max(x, axis=k % x.ndim, keepdims=True) * x,
        "product": lambda: ted.prod(x, axis=k % x.ndim, keepdims=True) + x,
        "best": lambda: ted.take(row, ted.argmax(ted.tile(row, (2,))) % e + ted.arange(1)),
        "gathered": lambda: ted.take(row, (ted.arange(m) * k) % e),
        "scattered": lambda: ted.segment_sum(row, (ted.arange(e) * 2) % m, m),
        "running": lambda: ted.cumsum(x, axis=0), "back": lambda: ted.cumsum(row, 0, reverse=True),
        "powers": lambda: ted.cumprod(row, 0),
        "recurrent": lambda: ted.recurrence(
            (e,), lambda h, t: where(t >= k, 0.5 * h[t - k] * row[t], row[t]), "float64"
        ),
        "scanned": lambda: ted.scan(
            lambda h, v: (ted.tanh(h + v), h * v), ted.zeros((), "float64"), row
        )[1],
        "gram": lambda: (x @ x.T) if x.ndim == 2 else x * x,
        "convolved": lambda: _convolved(row, k), "every sum": lambda: _full(row),
        "triangle": lambda: _triangle(row, ted.sum, k - 1),
        "running best": lambda: _triangle(row, ted.max, 0),
        "partial products": lambda: _triangle(row, ted.prod, 1),
        "weighted": lambda: row * n - m, "softmax": lambda: ted.nn.softmax(x),
    }  # fmt: skip


class Program:
    """The steps of one seed, found with sizes and repeated with numbers."""

    def __init__(self, seed: int) -> None:
        random = self.random = np.random.default_rng(seed)
        self.symbols = [
            Symbol(name, int(random.integers(1, 4)), int(random.choice([1, 1, 2, 3])))
            for name in ("n", "m")
        ]
        self.rank = int(random.integers(1, 3))
        self.taken: list[tuple[str, int]] = []
        symbolic = tuple(ted.size(s.name, s.minimum, s.multiple_of) for s in self.symbols)
        self.system = self._gradients(symbolic, self._found)

    def plain(self, *sizes: int) -> System:
        """The same steps for plain numbers."""
        return self._gradients(sizes, self._repeated)

    def values(self) -> list[tuple[int, ...]]:
        """Sizes to try: the least ones, and others that keep what is promised."""
        least = [s.least_unit * s.multiple_of for s in self.symbols]
        steps = [s.multiple_of for s in self.symbols]
        more = [(1, 0), (1, 2)]
        others = [[a + b * c for a, b, c in zip(least, steps, by, strict=True)] for by in more]
        return [tuple(values) for values in (least, *others)]

    def _found(self, x: Any, sizes: Sizes) -> Any:
        while len(self.taken) < STEPS:
            k = int(self.random.integers(1, 3))
            steps = _steps(x, k, sizes)
            name = str(self.random.choice(list(steps)))
            try:
                made = steps[name]()
            except (DomainError, FrontendError):
                continue
            if made.ndim == 0 or made.ndim > 2 or not self._is_small(made):
                continue
            self.taken.append((name, k))
            x = made
        return x

    def _is_small(self, x: Any) -> bool:
        """Not too large for the largest sizes, and only in the end empty for the least ones."""
        names = [s.name for s in self.symbols]
        least, *_, most = (
            [evaluate(n, dict(zip(names, values, strict=True))) for n in x.shape]
            for values in self.values()
        )
        return max(most) <= LARGEST_DIM and (min(least) > 0 or len(self.taken) == STEPS - 1)

    def _repeated(self, x: Any, sizes: Sizes) -> Any:
        for name, k in self.taken:
            x = _steps(x, k, sizes)[name]()
        return x

    def _gradients(self, sizes: Sizes, body: Callable[[Any, Sizes], Any]) -> System:
        x = ted.placeholder(sizes[: self.rank], "float64", name="x")
        y = ted.sin(body(x, sizes))
        head = ted.placeholder(y.shape, "float64", name="head")
        (first,) = ted.differentiate(y, [x], head=head)
        second = ted.differentiate(ted.sum(first * first), [x, head])
        return system_of([x, head], [y, first, *second])


Runner = Callable[[System, Sequence[Array], "dict[str, int]"], Sequence[Array]]


def check(seed: int, run: Runner | None = None) -> None:
    """One program; `run` runs the symbolic system in place of the interpreter.

    Raises: AssertionError where something differs.
    """
    program = Program(seed)
    label = f"seed {seed}: {[(s.name, s.promise) for s in program.symbols]} {program.taken}"
    with dialects.session():
        module = to_module(program.system)
        TedCheckBounds().run(module)
        text = str(to_module(from_module(module)))
        assert str(to_module(from_module(to_module(from_module(module))))) == text, label
        for sizes in program.values():
            plain = program.plain(*sizes)
            random = np.random.default_rng(seed)
            arrays = [np.asarray(random.normal(size=t.static_shape)) for t in plain.inputs]
            expected = interpret(to_module(plain), arrays)
            named = {s.name: v for s, v in zip(program.symbols, sizes, strict=True)}
            found = (
                run(program.system, arrays, named)
                if run
                else interpret(module, arrays, sizes=named)
            )
            for place, (got, want) in enumerate(zip(found, expected, strict=True)):
                scale = max(1.0, float(np.abs(want).max(initial=0.0)))
                np.testing.assert_allclose(
                    got, want, rtol=TOLERANCE, atol=TOLERANCE * scale,
                    err_msg=f"{label} at {named}: result {place}",
                )  # fmt: skip
