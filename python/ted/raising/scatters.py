"""Scatters of StableHLO and tm_tensor -> writes at indices that are data."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ted.frontend.compute import compute
from ted.frontend.elementwise import cast, where
from ted.frontend.scattering import scatter
from ted.frontend.tensors import Tensor as Wrapped
from ted.frontend.tensors import wrap
from ted.ir import scalar
from ted.ir.dtypes import INT64
from ted.ir.equations import Tensor
from ted.ir.expressions import Expr
from ted.mlir import ir
from ted.raising.accumulations import NOTHING, accumulation
from ted.raising.bodies import body_values
from ted.raising.loops import plain
from ted.raising.reading import Reader
from ted.raising.values import Value, place_of, type_of, unraisable
from ted.records import dataclass

Point = Sequence[Any]


@dataclass(frozen=True)
class Windows:
    """Where the elements of updates go: windows of a target, each from a position that is data.

    `window` has the dim of the target along which each dim of a window runs; `dims` those to
    which the components of a position belong, which `start(point, component)` gives; `batch` has
    the dims of the target that are dims of the updates as they are.
    """

    target: Wrapped
    updates: Wrapped
    window: Mapping[int, int]
    dims: Sequence[int]
    start: Callable[[Point, int], Any]
    batch: Mapping[int, int]

    def places(self, drops: bool) -> list[Wrapped]:
        """For each dim of the target, the index of each element; -1 where its window is dropped."""
        return [
            compute(self.updates.shape, self._place(d, drops), dtype="int64")
            for d in range(self.target.ndim)
        ]

    def _place(self, d: int, drops: bool) -> Callable[..., Any]:
        marks = drops and list(self.dims)[:1] == [d]

        def element(*point: Any) -> Any:
            found, inside = self._position(point)
            return where(inside, found[d], -1) if marks else found[d] + 0

        return element

    def _position(self, point: Point) -> tuple[list[Any], Any]:
        """The indices of an element, and whether its window is inside of the target."""
        found: list[Any] = [0] * self.target.ndim
        extents = {d: self.updates.shape[k] for k, d in self.window.items()}
        for k, d in (*self.window.items(), *self.batch.items()):
            found[d] = point[k]
        inside: Any = True
        for component, d in enumerate(self.dims):
            first = cast(self.start(point, component), INT64)  # which holds the end of a window
            last = first + (extents.get(d, 1) - 1)
            inside = inside & (first >= 0) & (last < self.target.shape[d])
            found[d] = found[d] + first
        return found, inside


def combiner_of(reader: Reader, op: ir.Operation, block: ir.Block, new_at: int) -> str:
    """What an update does to what is there; `new_at` is the argument of the body that it is.

    Raises: VerifyError for a body that is no combiner.
    """
    places = [
        Tensor("element", *type_of(argument.type, op.location, op.name), location=place_of(op))
        for argument in block.arguments
    ]
    values = [scalar.load(t, ()) for t in places]
    given, total = values[new_at], values[1 - new_at]
    if isinstance(block.arguments[0].type, ir.RankedTensorType):
        (found,) = reader.block(block, places)
        assert isinstance(found, Tensor), "StableHLO has no scalars"
        value = _of_one_sign(plain(found))
    else:
        (value,) = body_values(reader, block, values, [])
    if value is given:
        return "set"
    part = accumulation(value, total)
    if part is None or part.combiner == NOTHING or part.value is not given:
        raise unraisable(op, "an update must be a sum, a product, an extremum or the new value")
    return part.combiner


def _of_one_sign(value: Expr) -> Expr:
    """An update in the type of data, where MLIR computes it in integers without a sign."""

    def visit(node: Expr, args: tuple[Expr, ...]) -> Expr | None:
        (inner, *_) = args or (node,)
        if node.op != "cast" or inner.op not in _MODULAR or inner.dtype.bits != node.dtype.bits:
            return None
        return scalar.apply(inner.op, *(scalar.cast(a, node.dtype) for a in inner.args))

    return scalar.rewrite([value], visit)[0]


_MODULAR = ("add", "sub", "mul", "bitand", "bitor", "bitxor")  # the same bits with any sign


def written(windows: Windows, combiner: str, mode: str) -> list[Value]:
    """The target with the updates combined into it."""
    places = tuple(windows.places(mode == "drop"))
    target = windows.target
    found = scatter(target.shape, places, windows.updates, combiner, init=target, mode=mode)
    return [found.node]


# ------------------------------------------------------------------ StableHLO


def of_stablehlo(reader: Reader, op: ir.Operation) -> list[Value]:
    """Windows of updates; one that is not inside is left out.

    Raises: VerifyError for several operands, or an update that is no combiner.
    """
    if len(op.operands) != 3:
        raise unraisable(op, f"a scatter must have one operand, got {len(op.results)}")
    target, indices, updates = (wrap(reader.tensor(v)) for v in op.operands)
    numbers = _Numbers(str(op.attributes["scatter_dimension_numbers"]))
    scattered = [k for k in range(updates.ndim) if k not in numbers.window]
    own = [k for k in range(indices.ndim) if k != numbers.vector]

    def start(point: Point, component: int) -> Any:
        at = [point[k] for k in scattered]
        if numbers.vector < indices.ndim:
            at.insert(numbers.vector, component)
        return indices[tuple(at)]

    kept = [d for d in range(target.ndim) if d not in (*numbers.inserted, *numbers.batch)]
    window = dict(zip(numbers.window, kept, strict=True))
    batch = {
        scattered[own.index(k)]: d for d, k in zip(numbers.batch, numbers.index_batch, strict=True)
    }
    windows = Windows(target, updates, window, numbers.dims, start, batch)
    return written(windows, combiner_of(reader, op, _body(op), 1), "drop")


def _body(op: ir.Operation) -> ir.Block:
    (block,) = op.regions[0].blocks
    return block


class _Numbers:
    """The dims of a scatter, from the text of its attribute."""

    def __init__(self, text: str) -> None:
        def numbers(name: str) -> list[int]:
            found = re.search(rf"\b{name} = \[([\d, ]*)\]", text)
            return [int(word) for word in found.group(1).split(",")] if found else []

        self.window = numbers("update_window_dims")
        self.inserted = numbers("inserted_window_dims")
        self.batch = numbers("input_batching_dims")
        self.index_batch = numbers("scatter_indices_batching_dims")
        self.dims = numbers("scatter_dims_to_operand_dims")
        found = re.search(r"index_vector_dim = (\d+)", text)
        self.vector = int(found.group(1)) if found else 0


# ------------------------------------------------------------------ tm_tensor


def of_tm_tensor(reader: Reader, op: ir.Operation) -> list[Value]:
    """Rows of updates, each a window; an index outside is an error when the program runs.

    Raises: VerifyError for an update that is no combiner.
    """
    updates, indices, target = (wrap(reader.tensor(v)) for v in op.operands)
    first = target.ndim - (updates.ndim - 1)
    window = {k: first + k - 1 for k in range(1, updates.ndim)}
    dims = list(ir.DenseI64ArrayAttr(op.attributes["dimension_map"]))

    def start(point: Point, component: int) -> Any:
        return indices[point[0], component]

    windows = Windows(target, updates, window, dims, start, {})
    return written(windows, combiner_of(reader, op, _body(op), 0), "check")


RULES = {
    "stablehlo.scatter": of_stablehlo,
    "tm_tensor.scatter": of_tm_tensor,
}
