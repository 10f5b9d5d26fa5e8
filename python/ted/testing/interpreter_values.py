"""Tensors while a program is interpreted, and the locations that its errors name."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

from ted.errors import SourceLocation
from ted.mlir import ir
from ted.records import dataclass
from ted.testing.interpreter_affine import evaluated
from ted.testing.interpreter_scalars import NotEvaluated
from ted.testing.scalar_domains import MACHINE, ScalarDomain


@dataclass(frozen=True)
class Cells:
    """A tensor or memory: its elements, and which of them were never written (None: all were)."""

    data: np.ndarray[Any, Any]
    undefined: np.ndarray[Any, Any] | None = None

    def like(self, view: Any) -> Cells:
        """The tensor that `view(array)` gives, with the same marks."""
        return Cells(view(self.data), None if self.undefined is None else view(self.undefined))


sizes: ContextVar[tuple[int, ...]] = ContextVar("sizes", default=())
"""The symbolic sizes of the run, in the order of the function's list."""


@contextmanager
def run_at(values: tuple[int, ...]) -> Iterator[None]:
    """Interpret at the given sizes."""
    token = sizes.set(values)
    try:
        yield
    finally:
        sizes.reset(token)


_LIMITED: ContextVar[list[int] | None] = ContextVar("limited", default=None)


class TooManyPoints(NotEvaluated):
    """A program that is larger than what the caller wants to wait for."""


@contextmanager
def at_most(points: int) -> Iterator[None]:
    """Interpret at most so many points, steps of loops and elements that are made."""
    token = _LIMITED.set([points, points])
    try:
        yield
    finally:
        _LIMITED.reset(token)


def spend(points: int) -> None:
    """Count points.

    Raises: TooManyPoints when there are too many.
    """
    left = _LIMITED.get()
    if left is not None:
        left[0] -= points
        if left[0] < 0:
            raise TooManyPoints(f"interpret: at most {left[1]} points, got more")


def size_of(op: ir.Operation) -> int:
    """The value of a `ted.size`."""
    return evaluated(ir.AffineMapAttr(op.attributes["value"]).value, sizes.get())[0]


def shape_and_type(
    value_type: ir.Type, domain: ScalarDomain = MACHINE
) -> tuple[tuple[int, ...], Any]:
    """Shape, at the sizes of the run, and numpy type of a type of tensors or of memory."""
    ranked = ir.ShapedType(value_type)
    shape = tuple(ranked.shape)
    if not ranked.has_static_shape:
        encoding: Any = ir.RankedTensorType(value_type).encoding
        shape = evaluated(ir.AffineMapAttr(encoding).value, sizes.get())
    return shape, domain.array_type(str(ranked.element_type))


def empty(value_type: ir.Type, domain: ScalarDomain = MACHINE) -> Cells:
    """A tensor, or memory, without any written element; what it holds is NaN, or an odd integer."""
    shape, dtype = shape_and_type(value_type, domain)
    spend(math.prod(shape))
    element = str(ir.ShapedType(value_type).element_type)
    junk = domain.number(element, math.nan if "f" in element else 77)
    return Cells(np.full(shape, junk, dtype), np.ones(shape, np.bool_))


_NAME = re.compile(r'loc\((?:fused(?:<[^\[]*>)?\[)?"([^"]*)"[()]')
_FILE = re.compile(r'"([^"]*)":(\d+):(\d+)')


def name_of(value: ir.Value, default: str) -> str:
    """The user's name of a tensor, from its location."""
    owner = value.owner
    if not isinstance(owner, ir.Block) and owner.name == "ted.scan":
        number = ir.OpResult(value).result_number
        return name_of(owner.regions[0].blocks[0].arguments[number], default)
    location = value.location if isinstance(owner, ir.Block) else owner.location
    found = _NAME.match(str(location))
    return found.group(1) if found else default


def place_of(location: ir.Location) -> SourceLocation | None:
    """The first file and line that a location mentions."""
    found = _FILE.search(str(location))
    return SourceLocation(found[1], int(found[2]), int(found[3])) if found else None
