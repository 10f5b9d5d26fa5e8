"""The table of ops that can be raised, and what raises each."""

from __future__ import annotations

from ted.raising import control, generics, orders, scatters, shapes, stablehlo
from ted.raising.reading import Rule

RULES: dict[str, Rule] = {
    "builtin.unrealized_conversion_cast": shapes.reinterpreted,
    "arith.constant": shapes.constant,
    "linalg.generic": generics.generic,
    "tensor.empty": shapes.empty,
    "tensor.splat": shapes.splat,
    "tensor.from_elements": shapes.from_elements,
    "tensor.generate": shapes.generate,
    "tensor.extract": shapes.extract,
    "tensor.insert": shapes.insert,
    "tensor.extract_slice": shapes.extract_slice,
    "tensor.insert_slice": shapes.insert_slice,
    "tensor.pad": shapes.pad,
    "tensor.concat": shapes.concat,
    "tensor.expand_shape": shapes.reshaped,
    "tensor.collapse_shape": shapes.reshaped,
    "tensor.reshape": shapes.reshaped,
    "tensor.cast": shapes.same,
    "tensor.dim": shapes.dim,
    "tensor.rank": shapes.rank,
    "scf.for": control.for_loop,
    "scf.if": control.branch,
    "scf.while": control.while_,
    "func.call": control.call,
    "cf.assert": lambda *_: [],
    **orders.RULES,
    **scatters.RULES,
    **stablehlo.RULES,
}
