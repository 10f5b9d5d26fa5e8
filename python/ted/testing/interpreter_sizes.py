"""The symbolic sizes of a run: solved from the shapes of the arrays by trying values.

A function's `ted.sizes` lists its sizes; the encoding of an argument's type says its extents in
terms of them. An extent of one unknown size is tried for ever larger sizes until it fits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ted.errors import ExecutionError
from ted.mlir import ir
from ted.testing.interpreter_affine import expression_text

TRIES_PER_EXTENT = 64


def bound_sizes(
    callee: ir.Operation, shapes: Sequence[tuple[int, ...]], given: Mapping[str, int]
) -> tuple[int, ...]:
    """The value of every size of a function.

    Raises: ExecutionError for a size that the shapes do not decide, or that breaks its promise.
    """
    rows = size_rows(callee)
    known = {f"s{k}": given[name] for k, (name, _, _) in enumerate(rows) if name in given}
    extents = list(_extents(callee, shapes))
    for _ in rows:
        for text, extent in extents:
            known.update(_only_unknown(text, extent, known, len(rows)))
    for k, (name, least, step) in enumerate(rows):
        value = known.get(f"s{k}")
        if value is None:
            raise ExecutionError(f"interpret: size {name} must follow from the arrays, give sizes=")
        if value < least or value % step:
            raise ExecutionError(
                f"interpret: size {name} must be at least {least} and a multiple of {step}, "
                f"got {value}"
            )
    return tuple(known[f"s{k}"] for k in range(len(rows)))


def size_rows(callee: ir.Operation) -> list[tuple[str, int, int]]:
    """The name, the least value and the step of every size of a function.

    Raises: ExecutionError for an attribute that says something else.
    """
    if "ted.sizes" not in callee.attributes:
        return []
    given = callee.attributes["ted.sizes"]
    try:
        rows = [
            (
                ir.StringAttr(row["name"]).value,
                ir.IntegerAttr(row["min"]).value,
                ir.IntegerAttr(row["multiple_of"]).value,
            )
            for row in map(ir.DictAttr, ir.ArrayAttr(given))
        ]
    except (ValueError, KeyError) as error:
        raise ExecutionError(f"interpret: ted.sizes lists sizes, got {given}") from error
    if any(least < 0 or step < 1 for _, least, step in rows):
        raise ExecutionError(f"interpret: sizes are at least 0 in steps from 1 on, got {given}")
    return rows


def _extents(callee: ir.Operation, shapes: Sequence[tuple[int, ...]]) -> list[tuple[str, int]]:
    """The symbolic extents of the arguments as texts, each with that of the array."""
    found: list[tuple[str, int]] = []
    for argument, shape in zip(callee.regions[0].blocks[0].arguments, shapes, strict=False):
        kind: Any = argument.type
        if isinstance(kind, ir.RankedTensorType) and not kind.has_static_shape:
            encoding: Any = kind.encoding
            sizes = ir.AffineMapAttr(encoding).value.results
            found += zip(map(expression_text, sizes), shape, strict=False)
    return found


def _only_unknown(text: str, extent: int, known: Mapping[str, int], count: int) -> dict[str, int]:
    """The value of the only size in a text that is not known yet."""
    names = [f"s{k}" for k in range(count) if f"s{k}" in _names(text)]
    unknown = [name for name in names if name not in known]
    if len(unknown) != 1:
        return {}
    for value in range((extent + 1) * TRIES_PER_EXTENT):
        if eval(text, {**known, unknown[0]: value}) == extent:
            return {unknown[0]: value}
    return {}


def _names(text: str) -> set[str]:
    return set("".join(c if c.isalnum() else " " for c in text).split())
