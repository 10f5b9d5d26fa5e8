"""Attributes that somebody may have written: read by type, or refused with the place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from ted.errors import VerifyError
from ted.mlir import ir
from ted.mlir.locations import source_location

_T = TypeVar("_T")


def symbol(op: ir.Operation, name: str) -> str:
    """The function that an attribute names.

    Raises: VerifyError for another attribute.
    """
    return _typed(ir.FlatSymbolRefAttr, op, name, op.attributes[name], "name a function").value


def string(op: ir.Operation, name: str, default: str) -> str:
    """The text of an attribute, or what holds without it.

    Raises: VerifyError for another attribute.
    """
    if name not in op.attributes:
        return default
    return _typed(ir.StringAttr, op, name, op.attributes[name], "be a string").value


def choice(op: ir.Operation, name: str, allowed: Sequence[str]) -> str:
    """One of some words; the first holds without the attribute.

    Raises: VerifyError for another word or attribute.
    """
    found = string(op, name, allowed[0])
    if found not in allowed:
        words = ", ".join(f'"{word}"' for word in allowed)
        raise VerifyError(
            f'{op.name}: {name} must be one of {words}, got "{found}"', source_location(op.location)
        )
    return found


def positions(op: ir.Operation, name: str) -> list[int]:
    """The numbers of an `array<i64: ...>`.

    Raises: VerifyError for another attribute.
    """
    return _positions(op, name, op.attributes[name])


def pairs(op: ir.Operation, name: str, count: int) -> list[tuple[int, int]]:
    """Pairs of positions below `count`; none without the attribute.

    Raises: VerifyError for another attribute, and for a position that is out of range.
    """
    if name not in op.attributes:
        return []
    rows = _typed(ir.ArrayAttr, op, name, op.attributes[name], "be a list of pairs")
    return [_pair(op, name, row, count) for row in rows]


def _pair(op: ir.Operation, name: str, row: ir.Attribute, count: int) -> tuple[int, int]:
    found = _positions(op, name, row)
    if len(found) != 2 or not all(0 <= k < count for k in found):
        raise VerifyError(
            f"{op.name}: {name} must list pairs of arguments in [0, {count}), got {found}",
            source_location(op.location),
        )
    return found[0], found[1]


def _positions(op: ir.Operation, name: str, given: ir.Attribute) -> list[int]:
    rule = "be numbers as in `array<i64: 0, 1>`"
    return list(_typed(ir.DenseI64ArrayAttr, op, name, given, rule))


def _typed(kind: type[_T], op: ir.Operation, name: str, given: Any, rule: str) -> _T:
    if not isinstance(given, kind):
        raise VerifyError(
            f"{op.name}: {name} must {rule}, got {given}", source_location(op.location)
        )
    return given
