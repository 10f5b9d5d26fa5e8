"""Windows of StableHLO with a body of any kind -> one step of a scan for each of their points.

Before: stablehlo.reduce_window, stablehlo.select_and_scatter { ^bb0(%a, %b): ... }
After:  total = body(total, operand[stride * place + point]), for each point of the window
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from ted.api.scanning import scan
from ted.frontend.compute import compute
from ted.frontend.creation import arange, full
from ted.frontend.elementwise import stop_gradient, where
from ted.frontend.layout import broadcast_to, reshape
from ted.frontend.scattering import scatter
from ted.frontend.tensors import Tensor as Wrapped
from ted.frontend.tensors import wrap
from ted.ir import scalar
from ted.ir.equations import Tensor, identity_dims, whole
from ted.mlir import ir
from ted.mlir.dense_elements import numbers_of
from ted.raising.loops import plain
from ted.raising.reading import Reader
from ted.raising.scatters import combiner_of
from ted.raising.values import Value, place_of, type_of
from ted.records import dataclass


@dataclass(frozen=True)
class _Windows:
    """Windows of an operand of extents `shape`, at places of a grid."""

    shape: Sequence[int]
    grid: Sequence[int]
    window: Sequence[int]
    strides: Sequence[int]
    base: Sequence[int]  # the distance of elements of the operand
    spread: Sequence[int]  # the distance of points of a window
    before: Sequence[int]  # how much padding stands before

    @staticmethod
    def of(op: ir.Operation, shape: Sequence[int], grid: Sequence[int]) -> _Windows:
        """Those of an op, whose attributes have a default each."""
        rank = len(shape)

        def numbers(name: str) -> list[int]:
            if name not in op.attributes:
                return [1] * rank
            return list(ir.DenseI64ArrayAttr(op.attributes[name]))

        before = [0] * rank
        if "padding" in op.attributes:
            held = ir.DenseElementsAttr(op.attributes["padding"])
            before = [int(n) for n in numbers_of(held).reshape(-1, 2)[:, 0]] or before
            before = before * (rank // len(before)) if rank else []
        window, strides = numbers("window_dimensions"), numbers("window_strides")
        base, spread = numbers("base_dilations"), numbers("window_dilations")
        return _Windows(shape, grid, window, strides, base, spread, before)

    @property
    def points(self) -> int:
        """How many points a window has."""
        return prod(self.window)

    def element(self, place: Sequence[Any], point: Any) -> tuple[list[Any], Any]:
        """The subscripts of a point of a window, inside of the operand, and whether it is there."""
        found: list[Any] = []
        inside: Any = point >= 0
        for d in reversed(range(len(self.shape))):
            step, point = point % self.window[d], point // self.window[d]
            far = place[d] * self.strides[d] + step * self.spread[d] - self.before[d]
            at, extent, gap = far // self.base[d], self.shape[d], self.base[d]
            inside = inside & (at >= 0) & (at < extent)
            inside = inside & (far % gap == 0) if gap > 1 else inside
            found.insert(0, where(inside, at, 0))
        return found, inside

    def read(self, operand: Wrapped, point: Wrapped, otherwise: Callable[[Any], Any]) -> Wrapped:
        """The element of each window at a point, or what stands for it where there is none."""

        def body(*place: Any) -> Any:
            at, inside = self.element(place, point[()])
            return where(inside, operand[tuple(at)], otherwise(place))

        return compute(tuple(self.grid), body, dtype=str(operand.dtype))


def _applied(
    reader: Reader, op: ir.Operation, block: ir.Block, tensors: Sequence[Wrapped]
) -> list[Wrapped]:
    """What a body of tensors of rank 0 gives for the elements of others, one by one."""
    kinds = [type_of(a.type, op.location, op.name) for a in block.arguments]
    holes = [Tensor(f"element{k}", *kind) for k, kind in enumerate(kinds)]
    at = identity_dims(tensors[0].ndim)
    rows = zip(holes, tensors, strict=True)
    mapping = {scalar.load(hole, ()): scalar.load(tensor.node, at) for hole, tensor in rows}
    found: list[Wrapped] = []
    for value in reader.block(block, list(holes)):
        assert isinstance(value, Tensor), "StableHLO has no scalars"
        body = scalar.replace_nodes(plain(value), mapping)
        shape = tensors[0].node.static_shape
        equation = whole(shape, body, place_of(op))
        found.append(wrap(Tensor(op.name, shape, body.dtype, 0, (equation,), place_of(op))))
    return found


def reduce_window(reader: Reader, op: ir.Operation) -> list[Value]:
    """The reduction of each window by any body: one point of all windows after the other."""
    count = len(op.results)
    operands, starts = [
        [wrap(reader.tensor(v)) for v in values]
        for values in (list(op.operands)[:count], list(op.operands)[count:])
    ]
    (block,) = op.regions[0].blocks
    grid = type_of(op.results[0].type, op.location, op.name)[0]
    windows = _Windows.of(op, operands[0].node.static_shape, grid)

    def step(totals: Sequence[Wrapped], point: Wrapped) -> tuple[list[Wrapped], None]:
        given = [
            windows.read(x, point, lambda _, start=start: start[()])
            for x, start in zip(operands, starts, strict=True)
        ]
        return _applied(reader, op, block, [*totals, *given]), None

    first = [broadcast_to(start, grid) for start in starts]
    last, _ = scan(step, first, arange(windows.points))
    return [tensor.node for tensor in last]


def select_and_scatter(reader: Reader, op: ir.Operation) -> list[Value]:
    """Elements of a source, combined into the place that the body selects in each window.

    Raises: VerifyError for an update that is no combiner.
    """
    operand, source, start = (wrap(reader.tensor(v)) for v in op.operands)
    (chooses,), (combines,) = (region.blocks for region in op.regions)
    shape = operand.node.static_shape
    windows = _Windows.of(op, shape, source.node.static_shape)
    operand = stop_gradient(operand) if operand.dtype.is_float else operand

    def place(point: Wrapped) -> Wrapped:
        def number(*at: Any) -> Any:
            found, inside = windows.element(at, point[()])
            total: Any = 0
            for index, extent in zip(found, shape, strict=True):
                total = total * extent + index
            return where(inside, total, -1)

        return compute(tuple(windows.grid), number, dtype="int64")

    def step(carry: Sequence[Wrapped], point: Wrapped) -> tuple[list[Wrapped], None]:
        best, at = carry
        new, number = windows.read(operand, point, lambda index: best[index]), place(point)
        (keeps,) = _applied(reader, op, chooses, [best, new])
        takes = (number >= 0) & ((at < 0) | (keeps == 0))
        return [where(takes, new, best), where(takes, number, at)], None

    zero = full(source.node.static_shape, 0, operand.dtype)
    first = [zero, full(source.node.static_shape, -1, "int64")]
    (_, at), _ = scan(step, first, arange(windows.points))
    combiner = combiner_of(reader, op, combines, 1)
    size = prod(shape)
    at, values = (reshape(t, (source.size,)) for t in (at, source))
    init = broadcast_to(start, (size,))
    found = scatter((size,), at, values, combiner, init=init, mode="drop")
    return [reshape(found, shape).node]


RULES = {
    "stablehlo.reduce_window": reduce_window,
    "stablehlo.select_and_scatter": select_and_scatter,
}
