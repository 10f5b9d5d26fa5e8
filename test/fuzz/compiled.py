"""A case in ted: trace the program's text, differentiate, compile what is wanted, and call it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import ted
from fuzz.cases import Case, Wanted
from fuzz.programs import FLOATS, Array, Input, numpy_type
from fuzz.texts import function_text


@dataclass(frozen=True)
class Traced:
    """Inputs of a case, heads included, as tensors of ted, and every result by kind and number."""

    inputs: list[Any]
    arrays: list[Array]
    results: dict[Wanted, Any]


def traced(
    case: Case, heads: Sequence[tuple[Wanted, Input]], names: str = "v", given: Sequence[Any] = ()
) -> Traced:
    """The program of ted, with gradients up to the order of the case; on tensors that are given."""
    data = [*case.program.inputs, *(h for _, h in heads)]
    tensors = list(given) or [
        ted.placeholder(i.shape, i.dtype, name=f"{names}{k}") for k, i in enumerate(data)
    ]
    scope: dict[str, Any] = {"ted": ted}
    exec(function_text(case.program, "ted"), scope)
    inputs = tensors[: len(case.program.inputs)]
    values = scope["program"](*inputs)
    results = {("value", k): v for k, v in enumerate(values)}
    floats = [k for k, i in enumerate(case.program.inputs) if i.dtype in FLOATS]
    by_name = dict(zip((name for name, _ in heads), tensors[len(inputs) :], strict=True))
    for order in range(1, case.order + 1):
        kind = "value" if order == 1 else "d1"
        chosen = [name for name in by_name if name[0] == kind]
        if not chosen:
            break
        found = ted.differentiate(
            [results[n] for n in chosen], [inputs[k] for k in floats], [by_name[n] for n in chosen]
        )
        results |= {(f"d{order}", k): g for k, g in zip(floats, found, strict=True)}
    return Traced(tensors, [i.array() for i in data], results)


def compile_and_call(case: Case, program: Traced, wanted: Sequence[Wanted] = ()) -> list[Array]:
    """The wanted results, those of the case unless said otherwise, in arrays filled with NaN."""
    names = wanted or case.wanted
    outputs = [program.results[n] for n in names]
    donated = _donated(program, outputs) if case.donate else ()
    function: Any = ted.compile(program.inputs, outputs, target=case.target, donate=donated)
    arrays = [a.copy() for a in program.arrays]
    if case.target != "cpu":
        return _on_device(function, arrays, case)
    if donated:
        return list(function(*arrays))
    out = [spoiled(t.shape, t.dtype) for t in outputs]
    found = function(*arrays, out=out)
    for array, before in zip(arrays, program.arrays, strict=True):
        if array.tobytes() != before.tobytes():
            raise AssertionError("an input was overwritten")
    return list(found)


def _on_device(function: Any, arrays: list[Array], case: Case) -> list[Array]:
    chip = case.target.partition(":")[2]
    with ted.testing.emulated_gpu(chip, order="random", seed=case.seed % 1000):
        return [found.numpy() for found in function(*map(ted.cuda.asarray, arrays))]


def _donated(program: Traced, outputs: list[Any]) -> tuple[Any, ...]:
    """The first input that fits a result."""
    kinds = {(tuple(t.shape), str(t.dtype)) for t in outputs}
    fitting = [x for x in program.inputs if (tuple(x.shape), str(x.dtype)) in kinds]
    return tuple(fitting[:1])


def spoiled(shape: Sequence[int], dtype: Any) -> Array:
    """An array of numbers that nobody can take for a result."""
    kind = numpy_type(str(dtype))
    if kind.kind in "fV" or kind.name == "bfloat16":
        return np.full(shape, np.nan).astype(kind)
    return np.full(shape, True if kind.kind == "b" else 99, kind)
