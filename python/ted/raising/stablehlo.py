"""What the binding's pass leaves of StableHLO and CHLO -> equations: loops, branches, functions."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Sequence
from typing import Any

from ted.api.control_flow import cond
from ted.frontend.elementwise import cast
from ted.frontend.tensors import Tensor as Wrapped
from ted.frontend.tensors import wrap
from ted.ir.equations import Tensor
from ted.mlir import ir
from ted.raising.algebra import CALLS
from ted.raising.loops import looped
from ted.raising.reading import Reader
from ted.raising.values import Value, type_of, unraisable


def _tensors(reader: Reader, values: Sequence[ir.Value]) -> list[Wrapped]:
    return [wrap(reader.tensor(v)) for v in values]


def _nodes(tensors: Sequence[Wrapped]) -> list[Value]:
    return [t.node for t in tensors]


def while_(reader: Reader, op: ir.Operation) -> list[Value]:
    """A loop over tensors; its condition and its body take the same."""
    test, step = (region.blocks[0] for region in op.regions)

    def going(states: Sequence[Wrapped]) -> Wrapped:
        (found,) = reader.block(test, _nodes(states))
        assert isinstance(found, Tensor), "StableHLO has no scalars"
        return wrap(found)

    def body(states: Sequence[Wrapped]) -> list[Wrapped]:
        return [wrap(t) for t in reader.block(step, _nodes(states)) if isinstance(t, Tensor)]

    return _nodes(looped(_tensors(reader, op.operands), going, body))


def _branch(reader: Reader, region: Any) -> Callable[[], list[Wrapped]]:
    return lambda: [wrap(t) for t in reader.block(region.blocks[0], []) if isinstance(t, Tensor)]


def if_(reader: Reader, op: ir.Operation) -> list[Value]:
    """One of two branches."""
    (condition,) = _tensors(reader, op.operands)
    yes, no = (_branch(reader, region) for region in op.regions)
    return _nodes(cond(condition, yes, no))


def case(reader: Reader, op: ir.Operation) -> list[Value]:
    """One of several branches; the last one for numbers that no branch has."""
    (number,) = _tensors(reader, op.operands)
    branches = [_branch(reader, region) for region in op.regions]

    def chosen(position: int) -> list[Wrapped]:
        if position == len(branches) - 1:
            return branches[position]()
        return cond(number == position, branches[position], lambda: chosen(position + 1))

    return _nodes(chosen(0))


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
        return _cast(op, (function(*_tensors(reader, op.operands)),))

    return rule


def _cast(op: ir.Operation, found: Sequence[Wrapped]) -> list[Value]:
    """Tensors of the types of the results."""
    rows = zip(found, op.results, strict=True)
    return [cast(t, type_of(v.type, op.location, op.name)[1]).node for t, v in rows]


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
            "polygamma": "polygamma", "zeta": "zeta"}  # fmt: skip

RULES = {
    "stablehlo.while": while_,
    "stablehlo.if": if_,
    "stablehlo.case": case,
    "stablehlo.reduce": of_no_dims,
    "stablehlo.custom_call": custom_call,
    **{f"chlo.{name}": _named("ted.frontend.elementwise", name) for name in _ELEMENTWISE},
    "chlo.next_after": _named("ted.frontend.operators", "nextafter"),
    **{f"chlo.{name}": _named("ted.special", word) for name, word in _SPECIAL.items()},
}
