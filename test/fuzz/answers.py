"""What torch says of a case: values and gradients of both orders, and how far rounding may go.

The answer is computed with floats in float64. How far a smaller type may be off is measured, not
guessed: torch computes in that type too, and ted may be `ROOM` times as far from the answer as
torch is, plus as many units in the last place of the largest number around.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from fuzz.cases import Case, Wanted
from fuzz.programs import FLOATS, Array, Input
from fuzz.texts import function_text
from fuzz.torch_meaning import array_of, namespace, quiet, tensor_of

ROOM = 48.0
# What a result may be off by rounding; in float64 that of functions such as lgamma, whose errors
# derivatives enlarge. Mistakes are far larger.
EPSILON = {"float64": 2.0**-38, "float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7}
# Whole numbers below are exact in the type, with room for sums of some; sums of 16 bits are wide.
WHOLE = {"float64": 2.0**45, "float32": 2.0**18, "float16": 2.0**9, "bfloat16": 2.0**6}


class Useless(Exception):
    """A case of which no answer is known: infinite, or not whole numbers after all."""


@dataclass(frozen=True)
class Answer:
    """A result as it should be, and how far each element may be off; 0 is bit for bit."""

    value: Array
    dtype: str
    room: float


def heads_of(case: Case) -> list[tuple[Wanted, Input]]:
    """Cotangents, as inputs that come after those of the program: of results, then of gradients.

    Their shapes are found by running the program.
    """
    if not case.order:
        return []
    outputs = _run(case, True, {})["value"]
    types = {k: i.dtype for k, i in enumerate(case.program.inputs)}
    heads: list[tuple[Wanted, Input]] = []
    native = _run(case, False, {})["value"]
    for k, value in outputs.items():
        dtype = str(native[k].dtype).removeprefix("torch.")
        if dtype in FLOATS:
            seed = case.seed + 1000 + k
            heads.append((("value", k), Input(tuple(value.shape), dtype, case.exact, seed)))
    if case.order == 2:
        for k, i in enumerate(case.program.inputs):
            if types[k] in FLOATS:
                head = Input(i.shape, i.dtype, case.exact, case.seed + 2000 + k)
                heads.append((("d1", k), head))
    return heads


def answers(case: Case, heads: Sequence[tuple[Wanted, Input]]) -> list[Answer]:
    """What each wanted result is.

    Raises: Useless.
    """
    arrays = {name: head.array() for name, head in heads}
    ideal = _run(case, True, arrays)
    native = _native(case, arrays)
    special = any(i.special for i in case.program.inputs)
    largest = _largest((array_of(v) for part in ideal.values() for v in part.values()), special)
    found = []
    for kind, k in case.wanted:
        value = array_of(ideal[kind][k])
        other = native[kind][k] if native else None
        dtype = _dtype(case, kind, k, other)
        found.append(Answer(value, dtype, _room(case, value, other, dtype, largest)))
    return found


def _largest(arrays: Iterable[Array], special: bool) -> float:
    """The largest finite number around; raises Useless for others that are not asked for."""
    floats = [a for a in arrays if a.dtype.kind == "f"]
    finite = [a[np.isfinite(a)] for a in floats]
    if not special and any(a.size != b.size for a, b in zip(floats, finite, strict=True)):
        raise Useless
    return max((float(np.abs(a).max(initial=0)) for a in finite), default=1.0)


def _dtype(case: Case, kind: str, k: int, native: Any) -> str:
    if kind != "value":
        return case.program.inputs[k].dtype
    return str(native.dtype).removeprefix("torch.")


def _room(case: Case, value: Array, native: Any, dtype: str, largest: float) -> float:
    if dtype not in FLOATS:
        return 0.0
    narrowest = max((EPSILON[i.dtype] for i in case.program.inputs if i.dtype in FLOATS), default=0)
    epsilon = max(EPSILON[dtype], narrowest)
    if case.exact:
        if largest >= min(WHOLE[i.dtype] for i in case.program.inputs if i.dtype in FLOATS):
            raise Useless
        return 0.0
    measured = 0.0
    if native is not None and value.size:
        off = distances(array_of(native), value)
        measured = float(off[np.isfinite(off)].max(initial=0.0))
    return ROOM * (measured + epsilon * max(largest, 1.0))


def _native(case: Case, heads: Mapping[Wanted, Array]) -> dict[str, dict[int, Any]]:
    try:
        return _run(case, False, heads)
    except (RuntimeError, NotImplementedError):  # torch has no derivative in 16 bits
        return {**_run(case, False, {}), "d1": {}, "d2": {}}


def _run(case: Case, ideal: bool, heads: Mapping[Wanted, Array]) -> dict[str, dict[int, Any]]:
    """Values and gradients by torch, by kind and number."""
    with quiet():
        return _computed(case, torch_function(case, ideal), ideal, heads)


def _computed(
    case: Case, function: Callable[..., Any], ideal: bool, heads: Mapping[Wanted, Array]
) -> dict[str, dict[int, Any]]:
    inputs = [tensor_of(i.array(), ideal) for i in case.program.inputs]
    floats = {k: x.requires_grad_() for k, x in enumerate(inputs) if x.is_floating_point()}
    values = dict(enumerate(function(*inputs)))
    found: dict[str, dict[int, Any]] = {"value": values}
    for order in range(1, case.order + 1):
        outputs = found["value"] if order == 1 else found["d1"]
        kind = "value" if order == 1 else "d1"
        pairs = [(v, heads[kind, k]) for k, v in outputs.items() if (kind, k) in heads]
        if not pairs:
            break
        found[f"d{order}"] = _gradients(pairs, floats, ideal)
    return found


def _gradients(
    pairs: list[tuple[Any, Array]], floats: dict[int, Any], ideal: bool
) -> dict[int, Any]:
    used = [(v, tensor_of(h, ideal)) for v, h in pairs if v.requires_grad]
    if not used:
        return {k: torch.zeros_like(x) for k, x in floats.items()}
    outputs, heads = zip(*used, strict=True)
    found = torch.autograd.grad(
        outputs, list(floats.values()), heads, create_graph=True, allow_unused=True,
        materialize_grads=True,
    )  # fmt: skip
    return dict(zip(floats, found, strict=True))


def torch_function(case: Case, ideal: bool) -> Callable[..., Any]:
    """The program as a function of torch's tensors."""
    scope = namespace(ideal)
    exec(function_text(case.program, "torch"), scope)
    return scope["program"]


def distances(one: Array, other: Array) -> Array:
    """How far numbers are from each other, element by element; NaN is like NaN only."""
    one, other = one.astype(np.float64), other.astype(np.float64)
    with np.errstate(invalid="ignore"):
        found = np.abs(one - other)
    alike = (one == other) | (np.isnan(one) & np.isnan(other))
    return np.where(alike, 0.0, np.where(np.isnan(found), np.inf, found))
