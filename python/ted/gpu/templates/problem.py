"""A contraction as a batch of matrix products whose indices decompose into strided dims.

`C[m, n] += A[m, k] * B[k, n]` where each of m, n, k and the batch number is a row-major number of
several dims, and every operand moves by one stride per dim. So a convolution is a matrix product
whose k is (channel, tap, tap): the offset in an operand is a sum of one term per index (implicit
GEMM), and no operand is ever laid out anew. All extents and strides are integers known here.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations, product
from math import prod

from ted.linalg.strided_contractions import Dim, classify, swap_inputs
from ted.machine import ACCESS_BYTES, WARP
from ted.records import dataclass

ELEMENT_BYTES = {"f64": 8, "f32": 4, "f16": 2, "bf16": 2, "i64": 8, "i32": 4, "i8": 1}
# Orders of the reduction dims that are compared: more dims than that keep the order of A.
MOST_ORDERED = 4


@dataclass(frozen=True)
class Operand:
    """Memory of `size` elements seen from one pointer, aligned to `alignment` bytes.

    `offset` is where the point (0, .., 0) of the iteration lies, in elements.
    """

    element: str
    size: int
    offset: int = 0
    alignment: int = 16

    @property
    def bytes(self) -> int:
        """Bytes of one element."""
        return ELEMENT_BYTES[self.element]


@dataclass(frozen=True)
class Epilogue:
    """What becomes of each sum before it is stored: a bias, an activation, a rounding.

    `body` is the text of a module with one function, which takes a sum and an element of each input
    and returns the element of C; `steps` are the strides of each input, one per dim of the problem.
    """

    body: str
    inputs: tuple[Operand, ...] = ()
    steps: tuple[tuple[int, ...], ...] = ()


@dataclass(frozen=True)
class Bound:
    """A padding that is not in memory: out of bounds operand `side` ('a', 'b') is zero, not read.

    At each point the coordinate, `offset` + the sum of index times step over the problem's dims,
    must be in [0, extent).
    """

    side: str
    offset: int
    extent: int
    steps: tuple[int, ...]


@dataclass(frozen=True)
class Problem:
    """`C[..] (+)= sum A[..] * B[..]`: dims with their strides in A, B, C, and the operands.

    The sum is taken in `accumulator` and rounded to C's type once; `accumulate` adds it to what C
    holds; `epilogue` computes from it what is stored; factors are zero outside their `bounds`.
    """

    dims: tuple[Dim, ...]
    a: Operand
    b: Operand
    c: Operand
    accumulator: str = "f32"
    accumulate: bool = False
    epilogue: Epilogue | None = None
    bounds: tuple[Bound, ...] = ()

    @property
    def operands(self) -> tuple[Operand, ...]:
        """All memory that the kernel sees."""
        return (self.a, self.b, self.c, *(() if self.epilogue is None else self.epilogue.inputs))


@dataclass(frozen=True)
class FullDim(Dim):
    """A dim with its strides in the inputs of an epilogue, and then its steps in the bounds."""

    others: tuple[int, ...] = ()

    def contains(self, inner: Dim) -> bool:
        """Whether this dim continues `inner` in all operands."""
        assert isinstance(inner, FullDim), "all dims of a problem are alike"
        together = zip(self.others, inner.others, strict=True)
        continued = all(mine == theirs * inner.extent for mine, theirs in together)
        return continued and super().contains(inner)


@dataclass(frozen=True)
class Layout:
    """How one operand moves along one index: (extent, stride) per dim, outermost first."""

    groups: tuple[tuple[int, int], ...]

    @property
    def contiguous(self) -> bool:
        """Whether neighbours of the index are neighbours in memory, most of the time."""
        return bool(self.groups) and self.groups[-1][1] == 1 and self.groups[-1][0] > 1

    @property
    def density(self) -> float:
        """How many of the elements that a warp's neighbouring accesses touch it also wants."""
        if not self.groups:
            return 0.0
        extent, stride = self.groups[-1]
        return min(extent, WARP) / max(abs(stride), 1)

    def aligned(self, width: int) -> bool:
        """Whether a run of `width` along another index stays aligned wherever this one is."""
        return all(stride % width == 0 for _, stride in self.groups)

    def holds_runs(self, width: int) -> bool:
        """Whether each aligned run of `width` indices is contiguous and aligned in memory."""
        if width == 1:
            return True
        if not self.contiguous or self.groups[-1][0] % width:
            return False
        return all(stride % width == 0 for _, stride in self.groups[:-1])

    def rests_in_runs(self, width: int) -> bool:
        """Whether all indices of each aligned run of `width` lie at one place."""
        if width == 1 or not any(stride for _, stride in self.groups):
            return True
        extent, stride = self.groups[-1]
        return stride == 0 and extent % width == 0


def layout(dims: tuple[Dim, ...], operand: str | int) -> Layout:
    """The layout of an operand along the index made of the dims.

    An operand is 'a', 'b' or 'c', or the number of an input of the epilogue or, behind these, of a
    bound.
    """
    groups: list[tuple[int, int]] = []
    for dim in reversed(dims):
        stride = _stride(dim, operand)
        if groups and stride == groups[0][1] * groups[0][0]:
            groups[0] = (dim.extent * groups[0][0], groups[0][1])
        else:
            groups.insert(0, (dim.extent, stride))
    return Layout(tuple(groups))


def _stride(dim: Dim, operand: str | int) -> int:
    if isinstance(operand, str):
        return getattr(dim, operand)
    assert isinstance(dim, FullDim), "a problem with an epilogue or with bounds has such dims"
    return dim.others[operand]


@dataclass(frozen=True)
class Coordinate:
    """How the coordinate of a bound moves: along the batch, the rows or columns, and k."""

    offset: int
    extent: int
    batch: Layout
    rows: Layout
    reduction: Layout


@dataclass(frozen=True)
class Gemm:
    """The dims by role, each in the order in which its index counts; `swapped`: A is the second.

    Columns are the dims along which C is contiguous, if any, so that results are stored in runs.
    """

    batch: tuple[Dim, ...]
    rows: tuple[Dim, ...]
    columns: tuple[Dim, ...]
    reduction: tuple[Dim, ...]
    a: Operand
    b: Operand
    c: Operand
    accumulator: str
    accumulate: bool
    swapped: bool
    epilogue: Epilogue | None = None
    bounds: tuple[Bound, ...] = ()

    @property
    def m(self) -> int:
        """Rows of C."""
        return prod(dim.extent for dim in self.rows)

    @property
    def n(self) -> int:
        """Columns of C."""
        return prod(dim.extent for dim in self.columns)

    @property
    def k(self) -> int:
        """Products per element of C."""
        return prod(dim.extent for dim in self.reduction)

    @property
    def batches(self) -> int:
        """Matrix products."""
        return prod(dim.extent for dim in self.batch)

    def layouts(self, operand: str | int) -> tuple[Layout, Layout, Layout]:
        """Of an operand: along the batch, along its outer index and along its inner one.

        A is (m, k), B is (k, n), C and the inputs of the epilogue are (m, n).
        """
        outer, inner = {
            "a": (self.rows, self.reduction),
            "b": (self.reduction, self.columns),
        }.get(str(operand), (self.rows, self.columns))
        return layout(self.batch, operand), layout(outer, operand), layout(inner, operand)

    def coordinates(self, side: str) -> tuple[Coordinate, ...]:
        """What has to be in bounds where A or B is read."""
        first = 0 if self.epilogue is None else len(self.epilogue.inputs)
        rows = self.rows if side == "a" else self.columns
        dims = (self.batch, rows, self.reduction)
        return tuple(
            Coordinate(bound.offset, bound.extent, *(layout(own, first + k) for own in dims))
            for k, bound in enumerate(self.bounds)
            if bound.side == side
        )

    def memory(self, operand: str | int) -> Operand:
        """An operand."""
        if isinstance(operand, str):
            return getattr(self, operand)
        assert self.epilogue is not None, "only an epilogue has inputs"
        return self.epilogue.inputs[operand]

    def width(self, operand: str | int, *, inner: bool, limit: int = ACCESS_BYTES) -> int:
        """Elements that one access along the inner (or outer) index of an operand may move."""
        memory = self.memory(operand)
        batch, first, second = self.layouts(operand)
        along, across = (second, first) if inner else (first, second)
        along_k = inner == (operand == "a")
        bounds = self.coordinates(operand) if operand in ("a", "b") else ()
        resting = [bound.reduction if along_k else bound.rows for bound in bounds]
        width = limit // memory.bytes
        while width > 1 and not (
            along.holds_runs(width)
            and all(coordinate.rests_in_runs(width) for coordinate in resting)
            and across.aligned(width)
            and batch.aligned(width)
            and memory.offset % width == 0
            and memory.alignment % (width * memory.bytes) == 0
        ):
            width //= 2
        return width

    def best_width(self, operand: str) -> tuple[int, bool]:
        """The widest access of an operand, and whether it goes along the inner index."""
        outer, inner = (self.width(operand, inner=side) for side in (False, True))
        if outer != inner:
            return max(outer, inner), inner > outer
        _, first, second = self.layouts(operand)
        return inner, second.density >= first.density


def as_gemm(problem: Problem) -> Gemm:
    """The problem with dims sorted by role and ordered for wide accesses."""
    dims = problem.dims
    others = [*(() if problem.epilogue is None else problem.epilogue.steps)]
    others += [bound.steps for bound in problem.bounds]
    if others:
        dims = tuple(
            FullDim(d.extent, d.a, d.b, d.c, d.reduction, tuple(steps[k] for steps in others))
            for k, d in enumerate(dims)
        )
    swapped = _columns_are_in_a(dims)
    bounds = problem.bounds
    if swapped:
        bounds = tuple(replace(bound, side="ba"["ab".index(bound.side)]) for bound in bounds)
    found = classify(swap_inputs(dims) if swapped else dims)
    a, b = (problem.b, problem.a) if swapped else (problem.a, problem.b)
    rows, columns, batch = (
        tuple(sorted(dims, key=lambda dim: -abs(dim.c)))
        for dims in (found.rows, found.columns, found.batch)
    )
    candidates = [
        Gemm(
            batch, rows, columns, reduction, a, b, problem.c,
            problem.accumulator, problem.accumulate, swapped, problem.epilogue, bounds,
        )
        for reduction in _orders(found.reduction)
    ]  # fmt: skip
    return max(candidates, key=_ease)


def _columns_are_in_a(dims: tuple[Dim, ...]) -> bool:
    """Whether the dims along which C is densest move in A: then A and B change places."""
    found = classify(dims)
    steps = [min((abs(d.c) for d in side), default=1 << 62) for side in (found.rows, found.columns)]
    return steps[0] < steps[1]


def _orders(dims: tuple[Dim, ...]) -> list[tuple[Dim, ...]]:
    if len(dims) > MOST_ORDERED:
        orders = (sorted(dims, key=lambda dim: -abs(getattr(dim, side))) for side in "ab")
        return [tuple(order) for order in orders]
    by_a = tuple(sorted(dims, key=lambda dim: -abs(dim.a)))
    return [by_a, *permutations(dims)]


def _ease(gemm: Gemm) -> tuple[int, int, int]:
    """Wide accesses first, then contiguous ones, then few terms per offset."""
    widths = sum(gemm.best_width(side)[0] for side in "ab")
    runs = sum(gemm.layouts(s)[k].contiguous for s, k in product("ab", (1, 2)))
    terms = len(gemm.layouts("a")[2].groups) + len(gemm.layouts("b")[1].groups)
    return widths, runs, -terms
