"""Find combiners that are declared associative and are not: `check_associative`.

For random triples, (a . b) . c and a . (b . c) are evaluated by the reference interpreter, and so
are e . a and a . e for the identity e.  Values are samples, and combinations of two samples, which
are what the upper levels of a reduction meet.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from ted.errors import FrontendError
from ted.frontend import checks
from ted.frontend.captures import array_of
from ted.frontend.compute import compute
from ted.frontend.reducers import Reducer
from ted.frontend.scalars import Scalar
from ted.frontend.tensors import Tensor, placeholder
from ted.ir.expressions import Expr
from ted.ir.scalar import const
from ted.testing.tracing import interpreted

Array: TypeAlias = "np.ndarray[Any, Any]"
Values: TypeAlias = "list[Array]"  # one array per component
TRIPLES = 256
EPSILONS = 1000


def check_associative(
    reducer: Reducer, samples: Any, seed: int = 0, tolerance: float | None = None
) -> None:
    """Try the laws of a reducer on random triples: it is associative, its identity changes nothing.

    `samples` is an array of values such as the reduction will meet, or a tuple with one array per
    component.  `tolerance` is relative to the largest value of a triple: 1000 epsilons of the type
    by default, 0 for integers.
    Raises: FrontendError with the triple that breaks a law.
    """
    if not isinstance(reducer, Reducer):
        raise FrontendError(f"check_associative: takes a reducer of ted.reducer, got {reducer!r}")
    seed = checks.integer(seed, "check_associative: seed") % 2**64
    if tolerance is not None:
        tolerance = checks.number(tolerance, "check_associative: tolerance")
    if not (reducer.single or checks.is_several(samples)):
        raise FrontendError(f"check_associative: samples of several components, got {samples!r}")
    given = [
        array_of(a, "check_associative: samples").reshape(-1)
        for a in ((samples,) if reducer.single else samples)
    ]
    if len(given) != len(reducer.identity) or len({a.size for a in given} | {0}) != 2:
        raise FrontendError(
            f"check_associative: samples are one array for each of {len(reducer.identity)} "
            f"components, all of one length, got sizes {[a.size for a in given]}"
        )
    generator = np.random.default_rng(seed)
    pairs = [_drawn(given, generator) for _ in range(2)]
    (both,) = _evaluated(reducer, pairs, lambda a, b: [reducer.joined(a, b)])
    pool = [np.concatenate([a, b.astype(a.dtype)]) for a, b in zip(given, both, strict=True)]
    triple = [_drawn(pool, generator) for _ in range(3)]
    laws = _evaluated(reducer, triple, lambda a, b, c: _laws(reducer, a, b, c))
    one, other, ab, bc, before, after = laws
    rules = (
        ("(a . b) . c = a . (b . c)", one, other, [*triple, ab, bc], "abc"),
        ("e . a = a for the identity e", before, triple[0], triple[:1], "a"),
        ("a . e = a for the identity e", after, triple[0], triple[:1], "a"),
    )
    for law, left, right, sizes, names in rules:
        worst = _worst(left, right, sizes, tolerance)
        if worst is not None:
            _fail(reducer, law, names, triple, (left, right), worst)


def _laws(reducer: Reducer, a: list[Expr], b: list[Expr], c: list[Expr]) -> list[list[Expr]]:
    neutral = [const(n, e.dtype) for n, e in zip(reducer.identity, a, strict=True)]
    ab, bc = reducer.joined(a, b), reducer.joined(b, c)
    return [
        reducer.joined(ab, c), reducer.joined(a, bc), ab, bc,
        reducer.joined(neutral, a), reducer.joined(a, neutral),
    ]  # fmt: skip


def _drawn(pool: Values, generator: np.random.Generator) -> Values:
    """Random members of a pool, each whole."""
    chosen = generator.integers(0, len(pool[0]), TRIPLES)
    return [a[chosen] for a in pool]


def _evaluated(reducer: Reducer, arguments: Sequence[Values], function: Any) -> list[Values]:
    """What a function of components gives at each of the drawn members."""
    inputs = [[placeholder(a.shape, a.dtype.name) for a in values] for values in arguments]
    types = reducer.types(inputs[0])

    def value(k: int, component: int) -> Tensor:
        def element(n: Any) -> Scalar:
            scalars = [[x[n].astype(t) for x, t in zip(xs, types, strict=True)] for xs in inputs]
            return Scalar(function(*([s.expr for s in xs] for xs in scalars))[k][component])

        return compute((TRIPLES,), element)

    count = len(function(*([const(0, t) for t in types] for _ in arguments)))
    outputs = [[value(k, n) for n in range(len(types))] for k in range(count)]
    flat = [x for xs in inputs for x in xs]
    run = interpreted(flat, [y for ys in outputs for y in ys])
    found = iter(run(*(a for values in arguments for a in values)))
    return [[next(found) for _ in types] for _ in range(count)]


def _worst(
    left: Values, right: Values, sizes: Sequence[Values], tolerance: float | None
) -> int | None:
    """The number of the triple that differs most, if one differs too much."""
    worst, place = 0.0, None
    for k, (a, b) in enumerate(zip(left, right, strict=True)):
        x, y = a.astype(np.float64), b.astype(np.float64)
        everything = np.stack([v[k].astype(np.float64) for v in (*sizes, left, right)])
        scale = np.max(np.where(np.isfinite(everything), np.abs(everything), 0), axis=0)
        limit = (_epsilons(a) if tolerance is None else tolerance) * scale
        with np.errstate(invalid="ignore"):
            off = np.where((x == y) | (np.isnan(x) & np.isnan(y)), 0.0, np.abs(x - y) - limit)
        off = np.where(np.isnan(off), np.inf, off)
        if off.max() > worst:
            worst, place = float(off.max()), int(off.argmax())
    return place


def _epsilons(values: Array) -> float:
    return EPSILONS * float(np.finfo(values.dtype).eps) if values.dtype.kind == "f" else 0.0


def _fail(
    reducer: Reducer,
    law: str,
    names: str,
    triple: Sequence[Values],
    sides: tuple[Values, Values],
    n: int,
) -> None:
    def shown(values: Values) -> str:
        numbers = [repr(v[n].item()) for v in values]
        return numbers[0] if reducer.single else f"({', '.join(numbers)})"

    at = ", ".join(f"{name} = {shown(v)}" for name, v in zip(names, triple, strict=False))
    raise FrontendError(
        f"reducer {reducer.name}: {law}, got {shown(sides[0])} and {shown(sides[1])} for {at}"
    )
