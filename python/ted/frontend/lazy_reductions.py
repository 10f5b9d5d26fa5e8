"""Reductions and calls before they are equations: of what, over which axes, from which start.

A reduction may stand alone as the body of a compute, or anywhere inside a larger expression.  In
the second case it stands for a *pending* tensor over exactly the dims that its body depends on;
closing the surrounding compute turns that into a tensor with an equation.  So does a function of
tensors that is called on values of an index lambda (`api/index_lambdas.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field

from ted.errors import SourceLocation
from ted.frontend.axes import Axis, axis_numbered, is_of_reduction
from ted.frontend.locations import fail
from ted.frontend.scalars import Scalar
from ted.ir.dtypes import INT64, DType
from ted.ir.equations import Tensor
from ted.ir.expressions import Expr, postorder
from ted.ir.scalar import TRUE, cast, dim, dims_used, load
from ted.records import dataclass


@dataclass(frozen=True, eq=False)
class Reduction:
    """`combiner` over `axes` of `body` where `condition` (affine) holds, on top of `init`."""

    what: str
    combiner: str
    body: Expr
    axes: tuple[Axis, ...]
    condition: Expr = TRUE
    init: Expr | None = None
    location: SourceLocation | None = None
    ties: str = "first"

    @property
    def dtype(self) -> DType:
        """The type of the accumulator."""
        return INT64 if self.combiner in ("argmax", "argmin") else self.body.dtype

    def free_axes(self) -> list[Axis]:
        """The axes around the reduction on which its value depends, in order of creation."""
        roots = [self.body, self.condition, *([] if self.init is None else [self.init])]
        return free_axes(roots, {axis.number for axis in self.axes}, self.what)


@dataclass(frozen=True, eq=False)
class Call:
    """A function of tensors of rank 0 at every point of `axes`, of which `arguments` depend.

    `made` gives its results, each with the dims `axes`, of the arguments as tensors of these dims.
    """

    what: str
    arguments: tuple[Expr, ...]
    axes: tuple[Axis, ...]
    made: Callable[[Sequence[Tensor]], Sequence[Tensor]]
    location: SourceLocation | None = None
    closed: dict[Expr, Sequence[Tensor]] = field(default_factory=dict)  # by the condition of a use

    def read(self, position: int, dtype: DType) -> Scalar:
        """A result at the surrounding indices."""
        shape = tuple(axis.extent for axis in self.axes)
        tensor = PendingTensor(
            self.what, shape, dtype, fill=0, location=self.location, source=self, axes=self.axes,
            position=position,
        )  # fmt: skip
        return Scalar(load(tensor, [dim(axis.number) for axis in self.axes]))


def free_axes(roots: list[Expr], bound: set[int], what: str) -> list[Axis]:
    """The live axes that the roots mention, apart from those in `bound`.

    Raises: FrontendError for an index of a lambda that has returned.
    """
    result = []
    for number in sorted(dims_used(*roots) - bound):
        axis = axis_numbered(number)
        if axis is None and is_of_reduction(number):
            fail(
                f"{what}: a reduction axis may be used only under a reduction over it, got one "
                "that no reduction can name; write r = ted.reduce_axis(n), then "
                "ted.sum(..., axis=r)"
            )
        if axis is None:
            fail(f"{what}: an index may be used only inside the lambda it belongs to")
        result.append(axis)
    return result


@dataclass(eq=False)
class PendingTensor(Tensor):
    """The placeholder of a nested reduction or call until its surroundings are closed."""

    source: Reduction | Call | None = None
    axes: tuple[Axis, ...] = ()
    position: int = 0  # among the results of a call
    closed: dict[Expr, Tensor] = field(default_factory=dict)  # by the condition of its use


class ReductionScalar(Scalar):
    """The value of a reduction; becomes a pending tensor only when something else reads it."""

    __slots__ = ("reduction", "result_dtype")

    def __init__(self, reduction: Reduction, result_dtype: DType) -> None:
        super().__init__(None)
        self.reduction, self.result_dtype = reduction, result_dtype

    @property
    def expr(self) -> Expr:
        """The read of the pending tensor at the surrounding indices."""
        if self._expr is None:
            value = cast(read_pending(self.reduction), self.result_dtype)
            self._expr = value
            return value
        return self._expr

    @property
    def dtype(self) -> DType:
        """The type of the result, after the accumulator was rounded once."""
        return self.result_dtype


def read_pending(reduction: Reduction) -> Expr:
    """A read, at the surrounding indices, of the tensor that will hold the reduction."""
    axes = tuple(reduction.free_axes())
    tensor = PendingTensor(
        reduction.what,
        tuple(axis.extent for axis in axes),
        reduction.dtype,
        fill=0,
        location=reduction.location,
        source=reduction,
        axes=axes,
    )
    return load(tensor, [dim(axis.number) for axis in axes])


def pending_reads(*roots: Expr) -> list[Expr]:
    """The distinct reads of pending tensors below the roots."""
    nodes = postorder(*roots)
    return [n for n in nodes if n.op == "load" and isinstance(n.attr, PendingTensor)]
