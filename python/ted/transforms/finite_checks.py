"""Where a program first makes a NaN or an infinity, as one more result for each tensor.

Before: y = f(x)
After:  first = min over i of where(finite(t[i]), none, 4 * position(i) + kind of number)

There is one for each tensor of floats t, arguments too; of a recurrence the position counts in the
order of time. So nothing of a tensor is kept but one number, and what the host reads afterwards
names tensor, index and line. An infinity that the program itself writes, `-inf`
in a mask, is meant: in what is computed of it only NaN counts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ted.domain import parameters
from ted.errors import ExecutionError, SourceLocation
from ted.ir.dtypes import INT64
from ted.ir.equations import Equation, Tensor, components, is_recurrence, operands
from ted.ir.expressions import Expr
from ted.ir.recurrences import UNBOUNDED
from ted.ir.scalar import add, cast, compare, const, dim, index, load, lor, mul, select, sub
from ted.records import dataclass

_NONE = 2**63 - 1
_KINDS = ("nan", "inf", "-inf")
_STEP = 4  # of positions: more than there are kinds


@dataclass(frozen=True, eq=False)
class _Row:
    """A tensor that is tested; positions count `dims` in this order, those of `reverse` back.

    Of rows with the same `group` that is first which has the first time, one of `times` dims.
    """

    tensor: Tensor
    group: int
    dims: tuple[int, ...]
    reverse: frozenset[int]
    times: int
    only_nan: bool

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents in the order of positions."""
        return tuple(self.tensor.static_shape[d] for d in self.dims)

    @property
    def first(self) -> Tensor:
        """The code of the first bad number."""
        return Tensor("first_bad", (), INT64, _NONE, (self._equation,), self.tensor.location)

    @property
    def _equation(self) -> Equation:
        tensor, extents = self.tensor, self.tensor.static_shape
        value = load(tensor, [dim(k) for k in range(len(extents))])
        position = index(0)
        for d, extent in zip(self.dims, self.shape, strict=True):
            digit = sub(index(extent - 1), dim(d)) if d in self.reverse else dim(d)
            position = add(mul(position, index(extent)), digit)
        is_nan, up, down = compare("ne", value, value), *(
            compare("eq", value, const(infinity, value.dtype)) for infinity in (math.inf, -math.inf)
        )  # fmt: skip
        kind = select(is_nan, index(0), select(up, index(1), index(2)))
        code = cast(add(mul(position, index(_STEP)), kind), INT64)
        is_bad = is_nan if self.only_nan else lor(is_nan, lor(up, down))
        return Equation(
            extents, 0, parameters.box(extents), (), "min",
            select(is_bad, code, const(_NONE, INT64)), tensor.location,
        )  # fmt: skip

    @property
    def lines(self) -> Sequence[SourceLocation | None]:
        """The user's lines that the tensor is of; an adjoint is of those that read its tensor."""
        found = dict.fromkeys(e.location for e in self.tensor.equations if e.location is not None)
        return tuple(found) or (self.tensor.location,)

    def said(self, code: int) -> str:
        """Which number stands where."""
        tensor, lines = self.tensor, self.lines
        at = f" at {self.at(code)}" if self.dims else ""
        several = f", made by {' and '.join(map(str, lines))}" if len(lines) > 1 else ""
        kind, of = _KINDS[code % _STEP], f"{tensor.dtype}{list(tensor.shape)}"
        return f"{kind} in {tensor.name}, {of}{at}{several}"

    def digits(self, code: int) -> tuple[int, ...]:
        """The coordinates of a position, in its order."""
        return tuple(int(k) for k in np.unravel_index(code // _STEP, self.shape))

    def at(self, code: int) -> list[int]:
        """The index of a position."""
        pairs = zip(self.dims, self.digits(code), strict=True)
        found = {
            d: self.tensor.static_shape[d] - 1 - k if d in self.reverse else k for d, k in pairs
        }
        return [found[d] for d in range(len(found))]


@dataclass(frozen=True, eq=False)
class FiniteChecks:
    """The tensors that are tested, operands first, and a result for each."""

    rows: tuple[_Row, ...]
    results: tuple[Tensor, ...]

    def check(self, codes: Sequence[Any]) -> None:
        """Read the results of a call.

        Raises: ExecutionError for the first number that is not finite.
        """
        bad = [
            (row, int(code)) for row, code in zip(self.rows, codes, strict=True) if code != _NONE
        ]
        if not bad:
            return
        group = bad[0][0].group
        row, code = min(
            ((row, code) for row, code in bad if row.group == group),
            key=lambda pair: pair[0].digits(pair[1])[: pair[0].times],
        )
        raise ExecutionError(
            f"debug_nans: every number must be finite, got {row.said(code)}", row.lines[0]
        )


def finite_checks(outputs: Sequence[Tensor]) -> FiniteChecks:
    """The tests of all tensors of floats that outputs of static shapes need.

    Histories of loops that only their condition ends are not there to be tested.
    """
    rows: list[_Row] = []
    meant: set[Tensor] = set()
    for number, group in enumerate(components(outputs)):
        if any(map(_writes_infinity, group)) or any(o in meant for t in group for o in operands(t)):
            meant.update(group)
        rows += [_row(t, number, t in meant, is_recurrence(group)) for t in group if _is_tested(t)]
    return FiniteChecks(tuple(rows), tuple(row.first for row in rows))


def _row(tensor: Tensor, group: int, only_nan: bool, is_recurrence: bool) -> _Row:
    clocks = tensor.clocks if is_recurrence else ()
    times = tuple(clock.dim for clock in clocks)
    rest = tuple(d for d in range(len(tensor.shape)) if d not in times)
    reverse = frozenset(clock.dim for clock in clocks if clock.reverse)
    return _Row(tensor, group, times + rest, reverse, len(times), only_nan)


def _is_tested(tensor: Tensor) -> bool:
    is_computed = bool(tensor.equations) or (tensor.is_input and tensor.constant is None)
    is_there = 0 not in tensor.shape and UNBOUNDED not in tensor.shape
    return tensor.dtype.is_float and is_computed and is_there


def _writes_infinity(tensor: Tensor) -> bool:
    """Whether an infinity of a tensor is one that the user wrote."""
    if tensor.constant is not None:
        return tensor.dtype.is_float and bool(np.isinf(tensor.constant.array).any())
    if tensor.fill is not None and not tensor.equations:
        return math.isinf(tensor.fill)
    return any(_is_infinite(equation.body) for equation in tensor.equations)


def _is_infinite(body: Expr) -> bool:
    """Whether an infinity is written in an expression, for more than to be compared with."""
    if body.op == "const":
        return isinstance(body.attr, float) and math.isinf(body.attr)
    return body.dtype.is_float and body.op != "load" and any(map(_is_infinite, body.args))
