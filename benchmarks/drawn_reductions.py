"""Reductions of computed products, drawn: scores of pairs of rows, bent, masked and reduced.

Nothing is tuned to them; a seed says which they are. `x` and `y` are rows, whose scores would be a
matrix of all pairs. `t` has the names of functions: ted's, or those of a library to compare with.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

Step = Callable[..., Any]


class Drawn(NamedTuple):
    """A program with its arrays: its value, and the gradients by all of them, by `names`."""

    label: str
    program: Callable[[Any], Callable[..., Any]]
    arrays: list[np.ndarray]


NAMES = (
    "abs", "arange", "exp", "grad", "logaddexp", "logsumexp", "matrix_transpose", "max", "maximum",
    "mean", "sin", "softmax", "sqrt", "sum", "tanh", "value_and_grad", "var", "where",
)  # fmt: skip


def names_of(*modules: Any) -> SimpleNamespace:
    """What programs call, each name of the first module that has it."""
    found = {name: [getattr(m, name) for m in modules if hasattr(m, name)] for name in NAMES}
    return SimpleNamespace(**{name: functions[0] for name, functions in found.items()})


def _distances(t: Any, x: Any, y: Any) -> Any:
    return t.sum((x[:, None, :] - y[None, :, :]) ** 2, axis=2)


def _products(t: Any, x: Any, y: Any) -> Any:
    return x @ t.matrix_transpose(y)


def _cosines(t: Any, x: Any, y: Any) -> Any:
    lengths = [t.sqrt(t.sum(a * a, axis=1) + 1e-6) for a in (x, y)]
    return _products(t, x, y) / (lengths[0][:, None] * lengths[1][None, :])


def _places(t: Any, z: Any) -> tuple[Any, Any]:
    return t.arange(z.shape[0])[:, None], t.arange(z.shape[1])[None, :]


def _where(keeps: Callable[[Any, Any], Any]) -> Step:
    return lambda t, z, _: t.where(keeps(*_places(t, z)), z, 0)


def _nearer(t: Any, z: Any, _: Any) -> Any:
    i, j = _places(t, z)
    return z - t.abs(i - j) / 128  # exact in any float


SCORES: dict[str, tuple[Step, int]] = {  # and how many dims rows have
    "products": (_products, 64),
    "distances": (_distances, 3),
    "cosines": (_cosines, 32),
}
BENT: dict[str, Step] = {
    "as they are": lambda _, z: z,
    "tanh": lambda t, z: t.tanh(z),
    "exp(-z * z)": lambda t, z: t.exp(-z * z),
    "relu": lambda t, z: t.maximum(z, 0),
    "softplus": lambda t, z: t.logaddexp(z, 0),
    "1 / (1 + z * z)": lambda _, z: 1 / (1 + z * z),
}
MASKS: dict[str, Step] = {
    "all": lambda _, z, __: z,
    "i >= j": _where(lambda i, j: i >= j),
    "|i - j| < 100": _where(lambda i, j: abs(i - j) < 100),
    "i != j": _where(lambda i, j: i != j),
    "a bias for each j": lambda _, z, v: z + v[None, :],
    "less of what is far": _nearer,
}
TOTALS: dict[str, Step] = {
    "sum over j": lambda t, z, *_: t.sum(z, axis=1),
    "sum over i": lambda t, z, *_: t.sum(z, axis=0),
    "largest over j": lambda t, z, *_: t.max(z, axis=1),
    "logsumexp over j": lambda t, z, *_: t.logsumexp(z, axis=1),
    "logsumexp over i": lambda t, z, *_: t.logsumexp(z, axis=0),
    "times a vector": lambda _, z, v, __: z @ v,
    "times a matrix": lambda _, z, __, w: z @ w,
    "softmax, times a matrix": lambda t, z, _, w: t.softmax(z, axis=1) @ w,
    "variance over j": lambda t, z, *_: t.var(z, axis=1),
    "sums over i and over j": lambda t, z, *_: (t.sum(z, axis=0), t.sum(z, axis=1)),
}


def _program(
    score: Step, bent: Step, mask: Step, total: Step
) -> Callable[[Any], Callable[..., Any]]:
    def by(t: Any) -> Callable[..., Any]:
        def value(x: Any, y: Any, v: Any, w: Any) -> Any:
            z = mask(t, bent(t, score(t, x, y)), v)
            found = total(t, z, v, w)
            parts = found if isinstance(found, tuple) else (found,)
            return sum(t.mean(part * t.tanh(part)) for part in parts)

        return t.value_and_grad(value, argnums=(0, 1, 2, 3))

    return by


def drawn(
    seed: int, rows: int = 4096, columns: int = 4096, count: int = 10, dtype: str = "float32"
) -> list[Drawn]:
    """So many programs over scores of `rows` times `columns`."""
    names_of, random = np.random.default_rng(seed).spawn(2)  # names do not depend on sizes
    found: list[Drawn] = []
    for number in range(count):
        names = [list(t)[names_of.integers(len(t))] for t in (SCORES, BENT, MASKS, TOTALS)]
        score, dims = SCORES[names[0]]
        program = _program(score, BENT[names[1]], MASKS[names[2]], TOTALS[names[3]])
        shapes = (rows, dims), (columns, dims), (columns,), (columns, 16)
        arrays = [(random.normal(size=s) / s[-1] ** 0.25).astype(dtype) for s in shapes]
        found.append(Drawn(f"{number}: {'; '.join(names)}", program, arrays))
    return found
