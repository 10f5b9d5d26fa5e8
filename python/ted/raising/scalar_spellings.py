"""Ops of arith, math, index and complex as others: what one of these says, several may.

Before: %sum, %carry = arith.addui_extended %a, %b : i32, i1
After:  %sum = arith.addi %a, %b : i32;  %carry = arith.cmpi ult, %sum, %a : i32
"""

from __future__ import annotations

import re
from collections.abc import Callable

from ted.mlir import ir

# With T for the type of the operands, B for that of bools of its shape, `const` for a constant.
_ADDED = """
func.func @added(%a: {T}, %b: {T}) -> ({T}, {B}) {{
  %0 = arith.addi %a, %b : {T}
  %1 = arith.cmpi ult, %0, %a : {T}
  return %0, %1 : {T}, {B}
}}"""
_SUBTRACTED = """
func.func @subtracted(%a: {T}, %b: {T}) -> ({T}, {B}) {{
  %0 = arith.subi %a, %b : {T}
  %1 = arith.cmpi ult, %a, %b : {T}
  return %0, %1 : {T}, {B}
}}"""
# Halves of the factors: a b = ah bh 2^(2h) + (ah bl + al bh) 2^h + al bl.
_PRODUCT = """
  %h = arith.constant {half} : {T}
  %m = arith.constant {mask} : {T}
  %low = arith.muli %a, %b : {T}
  %al = arith.andi %a, %m : {T}
  %bl = arith.andi %b, %m : {T}
  %ah = arith.shrui %a, %h : {T}
  %bh = arith.shrui %b, %h : {T}
  %ll = arith.muli %al, %bl : {T}
  %lh = arith.muli %al, %bh : {T}
  %hl = arith.muli %ah, %bl : {T}
  %hh = arith.muli %ah, %bh : {T}
  %0 = arith.shrui %ll, %h : {T}
  %1 = arith.andi %lh, %m : {T}
  %2 = arith.andi %hl, %m : {T}
  %3 = arith.addi %0, %1 : {T}
  %4 = arith.addi %3, %2 : {T}
  %5 = arith.shrui %4, %h : {T}
  %6 = arith.shrui %lh, %h : {T}
  %7 = arith.shrui %hl, %h : {T}
  %8 = arith.addi %hh, %6 : {T}
  %9 = arith.addi %7, %5 : {T}
  %high = arith.addi %8, %9 : {T}
"""
_UNSIGNED_PRODUCT = f"""
func.func @product(%a: {{T}}, %b: {{T}}) -> ({{T}}, {{T}}) {{{{{_PRODUCT}
  return %low, %high : {{T}}, {{T}}
}}}}"""
_SIGNED_PRODUCT = f"""
func.func @product(%a: {{T}}, %b: {{T}}) -> ({{T}}, {{T}}) {{{{{_PRODUCT}
  %z = arith.constant {{zero}} : {{T}}
  %10 = arith.cmpi slt, %a, %z : {{T}}
  %11 = arith.cmpi slt, %b, %z : {{T}}
  %12 = arith.select %10, %b, %z : {{B}}, {{T}}
  %13 = arith.select %11, %a, %z : {{B}}, {{T}}
  %14 = arith.subi %high, %12 : {{T}}
  %15 = arith.subi %14, %13 : {{T}}
  return %low, %15 : {{T}}, {{T}}
}}}}"""
# Of one bit, which is -1 with a sign: the product of two is 1, and its high bit 0.
_BOTH_AND_NONE = """
func.func @product(%a: {T}, %b: {T}) -> ({T}, {T}) {{
  %low = arith.andi %a, %b : {T}
  %high = arith.constant {zero} : {T}
  return %low, %high : {T}, {T}
}}"""
_ABOVE = """
func.func @above(%a: {T}, %b: {T}) -> {T} {{
  %0 = arith.divui %a, %b : {T}
  %1 = arith.muli %0, %b : {T}
  %2 = arith.cmpi ne, %1, %a : {T}
  %3 = arith.extui %2 : {B} to {T}
  %4 = arith.addi %0, %3 : {T}
  return %4 : {T}
}}"""
_INDEX_ABOVE = """
func.func @above(%a: {T}, %b: {T}) -> {T} {{
  %0 = arith.divui %a, %b : {T}
  %1 = arith.muli %0, %b : {T}
  %2 = arith.cmpi ne, %1, %a : {T}
  %3 = arith.index_castui %2 : {B} to {T}
  %4 = arith.addi %0, %3 : {T}
  return %4 : {T}
}}"""
_BOTH = """
func.func @both(%a: {T}, %b: {T}) -> {T} {{
  %0 = arith.andi %a, %b : {T}
  return %0 : {T}
}}"""
_WAVES = """
func.func @waves(%a: {T}) -> ({T}, {T}) {{
  %0 = math.sin %a : {T}
  %1 = math.cos %a : {T}
  return %0, %1 : {T}, {T}
}}"""
_NORMAL = """
func.func @normal(%a: {T}) -> {B} {{
  %0 = math.absf %a : {T}
  %l = arith.constant {least} : {T}
  %1 = arith.cmpf oge, %0, %l : {T}
  %2 = math.isfinite %a : {T}
  %3 = arith.andi %1, %2 : {B}
  return %3 : {B}
}}"""
_FLUSHED = """
func.func @flushed(%a: {T}) -> {T} {{
  %0 = math.absf %a : {T}
  %l = arith.constant {least} : {T}
  %1 = arith.cmpf olt, %0, %l : {T}
  %z = arith.constant {zero} : {T}
  %2 = math.copysign %z, %a : {T}
  %3 = arith.select %1, %2, %a : {B}, {T}
  return %3 : {T}
}}"""
_CONVERTED = """
func.func @converted(%a: {T}) -> {R} {{
  %0 = arith.extf %a : {T} to {W}
  %1 = arith.truncf %0 : {W} to {R}
  return %1 : {R}
}}"""
# -i log((x + i y) / sqrt(x^2 + y^2))
_ANGLE = """
func.func @angle(%y: {T}, %x: {T}) -> {T} {{
  %i = complex.constant [0.0 : {P}, 1.0 : {P}] : {T}
  %m = complex.constant [0.0 : {P}, -1.0 : {P}] : {T}
  %0 = complex.mul %y, %i : {T}
  %1 = complex.add %x, %0 : {T}
  %2 = complex.mul %x, %x : {T}
  %3 = complex.mul %y, %y : {T}
  %4 = complex.add %2, %3 : {T}
  %5 = complex.sqrt %4 : {T}
  %6 = complex.div %1, %5 : {T}
  %7 = complex.log %6 : {T}
  %8 = complex.mul %7, %m : {T}
  return %8 : {T}
}}"""
TEXTS = {
    "arith.addui_extended": _ADDED,
    "arith.subui_extended": _SUBTRACTED,
    "arith.mului_extended": _UNSIGNED_PRODUCT,
    "arith.mulsi_extended": _SIGNED_PRODUCT,
    "arith.ceildivui": _ABOVE,
    "arith.convertf": _CONVERTED,
    "arith.flush_denormals": _FLUSHED,
    "complex.atan2": _ANGLE,
    "math.isnormal": _NORMAL,
    "math.sincos": _WAVES,
}
# Where a type has its own: an index is extended by another op, and a bool is divided by true alone.
_BY_ELEMENT = {
    ("arith.ceildivui", "index"): _INDEX_ABOVE, ("arith.ceildivui", "i1"): _BOTH,
    ("arith.mului_extended", "i1"): _BOTH_AND_NONE, ("arith.mulsi_extended", "i1"): _BOTH_AND_NONE,
}  # fmt: skip
# The least number with all its digits.
_LEAST = {"f16": 2.0**-14, "bf16": 2.0**-126, "f32": 2.0**-126, "f64": 2.0**-1022}


def spelled(op: ir.Operation) -> str | None:
    """The module of a function that computes what an op does; None where it stays."""
    if op.name.startswith("index."):
        return _of_index(op)
    if op.name not in TEXTS:
        return None
    words = _words(op)
    of_element = _BY_ELEMENT.get((op.name, words["E"]), TEXTS[op.name])
    return of_element.format(**words)


def _words(op: ir.Operation) -> dict[str, str]:
    kind, given = str(op.operands[0].type), op.operands[0].type
    is_tensor = isinstance(given, ir.RankedTensorType)
    element = str(given.element_type) if is_tensor else kind
    bits = int(re.sub(r"\D", "", element) or 64)
    part = element.removeprefix("complex<").removesuffix(">")

    def shaped(other: str) -> str:
        return f"{kind.removesuffix(element + '>')}{other}>" if is_tensor else other

    def constant(number: float) -> str:
        return f"dense<{number!r}>" if is_tensor else repr(number)

    numbers = {"half": bits // 2, "mask": 2 ** (bits // 2) - 1, "least": _LEAST.get(element, 0.0)}
    numbers["zero"] = 0.0 if element in _LEAST else 0
    types = {"E": element, "T": kind, "B": shaped("i1"), "W": shaped("f32"), "P": part}
    result = str(op.results[0].type)
    return {**types, "R": result, **{name: constant(n) for name, n in numbers.items()}}


# ------------------------------------------------------------------ the dialect of indices

_OF_INDEX = {
    "add": "addi", "and": "andi", "ceildivs": "ceildivsi", "divs": "divsi", "divu": "divui",
    "floordivs": "floordivsi", "maxs": "maxsi", "maxu": "maxui", "mins": "minsi", "minu": "minui",
    "mul": "muli", "or": "ori", "rems": "remsi", "remu": "remui", "shl": "shli", "shrs": "shrsi",
    "shru": "shrui", "sub": "subi", "xor": "xori", "casts": "index_cast", "castu": "index_castui",
}  # fmt: skip


def _of_index(op: ir.Operation) -> str | None:
    """An op of `index` as one of arith on indices, which have 64 bits."""
    name = op.name.removeprefix("index.")
    rule = _BY_TEXT.get(name)
    if rule is not None:
        line = rule(op)
    elif name in _OF_INDEX:
        ways = f" to {op.results[0].type}" if name.startswith("cast") else ""
        names = ", ".join(f"%a{k}" for k in range(len(op.operands)))
        line = f"arith.{_OF_INDEX[name]} {names} : {op.operands[0].type}{ways}"
    elif name == "ceildivu":
        return _INDEX_ABOVE.format(T="index", B="i1")
    else:
        return None
    given = ", ".join(f"%a{k}: {v.type}" for k, v in enumerate(op.operands))
    kind = op.results[0].type
    return f"func.func @f({given}) -> {kind} {{\n %r = {line}\nreturn %r : {kind} }}"


def _compared(op: ir.Operation) -> str:
    way = str(op.attributes["pred"]).rpartition("<")[2].rstrip(">").split()[-1].rstrip(")")
    return f"arith.cmpi {way}, %a0, %a1 : index"


_BY_TEXT: dict[str, Callable[[ir.Operation], str]] = {
    "cmp": _compared,
    "constant": lambda op: f"arith.constant {op.attributes['value']}",
    "bool.constant": lambda op: f"arith.constant {op.attributes['value']}",
    "sizeof": lambda _: "arith.constant 64 : index",
}
