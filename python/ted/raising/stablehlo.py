"""What the binding's pass leaves of StableHLO and CHLO -> equations: loops, branches, functions."""

from __future__ import annotations

import functools
import importlib
import json
from collections.abc import Callable, Sequence
from typing import Any

from ted.api.control_flow import cond
from ted.frontend.complex_pairs import applied, is_complex
from ted.frontend.elementwise import cast
from ted.frontend.tensors import Tensor as Wrapped
from ted.frontend.tensors import wrap
from ted.ir.equations import Tensor
from ted.mlir import ir
from ted.raising.algebra import CALLS
from ted.raising.complexes import closed_as, each, opened
from ted.raising.loops import looped
from ted.raising.reading import Reader
from ted.raising.values import Value, type_of, unraisable


def _tensors(reader: Reader, values: Sequence[ir.Value]) -> list[Any]:
    """Values as tensors of the frontend, and pairs of them."""
    return [each(wrap, reader.value(v)) for v in values]


def _parts(values: Sequence[Value]) -> list[Wrapped]:
    return [wrap(t) for t in opened(values)]


def _given(tensors: Sequence[Wrapped], like: Sequence[ir.Value]) -> list[Value]:
    """Tensors of the frontend as what stands for values."""
    return closed_as([t.node for t in tensors], like)


def while_(reader: Reader, op: ir.Operation) -> list[Value]:
    """A loop over tensors; its condition and its body take the same."""
    test, step = (region.blocks[0] for region in op.regions)

    def going(states: Sequence[Wrapped]) -> Wrapped:
        (found,) = reader.block(test, _given(states, test.arguments))
        assert isinstance(found, Tensor), "StableHLO has no scalars"
        return wrap(found)

    def body(states: Sequence[Wrapped]) -> list[Wrapped]:
        return _parts(reader.block(step, _given(states, step.arguments)))

    starts = _parts([reader.value(v) for v in op.operands])
    return _given(looped(starts, going, body), op.results)


def _branch(reader: Reader, region: Any) -> Callable[[], list[Wrapped]]:
    return lambda: _parts(reader.block(region.blocks[0], []))


def if_(reader: Reader, op: ir.Operation) -> list[Value]:
    """One of two branches."""
    (condition,) = _tensors(reader, op.operands)
    yes, no = (_branch(reader, region) for region in op.regions)
    return _given(cond(condition, yes, no), op.results)


def case(reader: Reader, op: ir.Operation) -> list[Value]:
    """One of several branches; the last one for numbers that no branch has."""
    (number,) = _tensors(reader, op.operands)
    branches = [_branch(reader, region) for region in op.regions]

    def chosen(position: int) -> list[Wrapped]:
        if position == len(branches) - 1:
            return branches[position]()
        return cond(number == position, branches[position], lambda: chosen(position + 1))

    return _given(chosen(0), op.results)


def of_no_dims(reader: Reader, op: ir.Operation) -> list[Value]:
    """A reduction over no dims, which is what it is of; others are loops of linalg before.

    Raises: VerifyError for a reduction over dims.
    """
    if len(ir.DenseI64ArrayAttr(op.attributes["dimensions"])):
        raise unraisable(op, "a reduction must have a body that MLIR makes a loop of")
    return [reader.value(v) for v in list(op.operands)[: len(op.results)]]


# ------------------------------------------------------------------ functions


def _named(module: str, name: str) -> Callable[[Reader, ir.Operation], list[Value]]:
    """The rule of a function of elements."""

    def rule(reader: Reader, op: ir.Operation) -> list[Value]:
        function = getattr(importlib.import_module(module), name)
        given = _tensors(reader, op.operands)
        found = applied(name, *given) if is_complex(given) else function(*given)
        return _cast(op, (found,))

    return rule


def _cast(op: ir.Operation, found: Sequence[Any]) -> list[Value]:
    """Tensors of the types of the results."""

    def node(tensor: Wrapped, result: ir.Value) -> Tensor:
        return cast(tensor, type_of(result.type, op.location, op.name)[1]).node

    rows = zip(found, op.results, strict=True)
    return [each(functools.partial(node, result=v), t) for t, v in rows]


def transformed(reader: Reader, op: ir.Operation) -> list[Value]:
    """A Fourier transform along the last dims."""
    (tensor,) = _tensors(reader, op.operands)
    sizes = list(ir.DenseI64ArrayAttr(op.attributes["fft_length"]))
    name = str(op.attributes["fft_type"]).rpartition(" ")[2].rstrip(">").lower()
    function = getattr(importlib.import_module("ted.fft"), f"{name}n")
    return _cast(op, (function(tensor, sizes, range(-len(sizes), 0)),))


def custom_call(reader: Reader, op: ir.Operation) -> list[Value]:
    """A function of ted, or of another library.

    Raises: VerifyError, by its name, for others but those that say where tensors are kept.
    """
    target = str(op.attributes["call_target_name"]).strip('"')
    if target in ("Sharding", "annotate_device_placement"):
        return [reader.value(v) for v in op.operands]
    if target in reader.calls:
        found = reader.calls[target](*_tensors(reader, op.operands))
        return _cast(op, found if isinstance(found, tuple) else (found,))
    if target.startswith("ted.") and target[4:] in CALLS:
        held = ir.DictAttr(op.attributes["mhlo.backend_config"])
        given = json.loads(ir.StringAttr(held["given"]).value)
        found = CALLS[target[4:]](*_tensors(reader, op.operands), **given)
        return _cast(op, found if isinstance(found, tuple) else (found,))
    raise unraisable(op, f"functions of other libraries have no equations, got {target}")


_ELEMENTWISE = (
    "acos", "acosh", "asin", "asinh", "atan", "atanh", "cosh", "erf", "erfc", "sinh", "square",
    "tan",
)  # fmt: skip
_SPECIAL = {"bessel_i1e": "i1e", "digamma": "digamma", "erf_inv": "erfinv", "lgamma": "gammaln",
            "zeta": "zeta"}  # fmt: skip

RULES = {
    "stablehlo.while": while_,
    "stablehlo.if": if_,
    "stablehlo.case": case,
    "stablehlo.reduce": of_no_dims,
    "stablehlo.custom_call": custom_call,
    "stablehlo.fft": transformed,
    **{f"chlo.{name}": _named("ted.frontend.elementwise", name) for name in _ELEMENTWISE},
    "chlo.next_after": _named("ted.frontend.operators", "nextafter"),
    **{f"chlo.{name}": _named("ted.special", word) for name, word in _SPECIAL.items()},
}
