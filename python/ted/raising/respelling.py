"""Ops of StableHLO as others of it, where the binding's pass to linalg reads them wrongly or not.

Before: %0 = stablehlo.add %a, %b : tensor<4xi1>    After: %0 = stablehlo.or %a, %b : tensor<4xi1>
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ted.mlir import ir

_OR = """
func.func @either(%a: {T}, %b: {T}) -> {T} {{
  %0 = stablehlo.or %a, %b : {T}
  return %0 : {T}
}}"""
_AND = _OR.replace("stablehlo.or", "stablehlo.and").replace("@either", "@both")
_SAME = """
func.func @same(%a: {T}) -> {T} {{
  return %a : {T}
}}"""
_ROOT = """
func.func @root(%a: {T}) -> {T} {{
  %0 = stablehlo.constant dense<{third}> : {R}
  %1 = stablehlo.constant dense<0.0> : {R}
  %2 = stablehlo.complex %0, %1 : {T}
  %3 = stablehlo.power %a, %2 : {T}
  return %3 : {T}
}}""".replace("{third}", str(1 / 3))
_EXTREMUM = """
func.func @extremum(%a: {T}, %b: {T}) -> {T} {{
  %0 = stablehlo.real %a : ({T}) -> {R}
  %1 = stablehlo.real %b : ({T}) -> {R}
  %2 = stablehlo.imag %a : ({T}) -> {R}
  %3 = stablehlo.imag %b : ({T}) -> {R}
  %4 = stablehlo.compare WAY, %0, %1, FLOAT : ({R}, {R}) -> {B}
  %5 = stablehlo.compare EQ, %0, %1, FLOAT : ({R}, {R}) -> {B}
  %6 = stablehlo.compare WAY, %2, %3, FLOAT : ({R}, {R}) -> {B}
  %7 = stablehlo.and %5, %6 : {B}
  %8 = stablehlo.or %4, %7 : {B}
  %9 = stablehlo.select %8, %a, %b : {B}, {T}
  return %9 : {T}
}}"""


def _of_bools(op: ir.Operation) -> bool:
    return _element(op) == "i1"


def _of_complex(op: ir.Operation) -> bool:
    return _element(op).startswith("complex<")


def _of_one_type(op: ir.Operation) -> bool:
    return op.operands[0].type == op.results[0].type


def _element(op: ir.Operation) -> str:
    return str(ir.RankedTensorType(op.results[0].type).element_type)


# An op, where it is another one, and as what: with T for its type, R for that of real parts of it,
# B for bools.
_SPELLINGS: Mapping[str, tuple[Callable[[ir.Operation], bool], str]] = {
    "stablehlo.add": (_of_bools, _OR),
    "stablehlo.bitcast_convert": (_of_one_type, _SAME),
    "stablehlo.cbrt": (_of_complex, _ROOT),
    "stablehlo.maximum": (_of_complex, _EXTREMUM.replace("WAY", "GT")),
    "stablehlo.multiply": (_of_bools, _AND),
    "stablehlo.minimum": (_of_complex, _EXTREMUM.replace("WAY", "LT")),
}


def respelled(op: ir.Operation) -> str | None:
    """The module of a function that computes what an op does; None where it stays."""
    applies, text = _SPELLINGS.get(op.name, (None, ""))
    if applies is None or not applies(op):
        return None
    kind, element = str(op.results[0].type), _element(op)
    part = element.removeprefix("complex<").removesuffix(">")
    return text.format(T=kind, R=kind.replace(element, part), B=kind.replace(element, "i1"))
