"""Prove that every affine access lies inside its tensor: the pass `ted-check-bounds`.

For each `ted.compute` every read (where domain and guard hold) and every write is decided over the
integers, so skewed, guarded and divided subscripts that interval analysis gives up on are exact.
Also proved: a `set` writes no element twice, no step of a `ted.scan` reads the future, and sizes
and whatever an index is computed from fit into 64 bits.  Data-dependent subscripts are checked when
the program runs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from ted.domain import bounds, intervals
from ted.domain.affine import Aff
from ted.domain.budget import BudgetExhausted
from ted.domain.collisions import collision
from ted.domain.sizes import Extent, is_symbolic, numbers
from ted.errors import SourceLocation, VerifyError
from ted.mlir import ir
from ted.records import dataclass
from ted.transforms.compute_sets import Access, ComputeSets, computes, scans, to_isl
from ted.transforms.scan_causality import reads_of_the_future
from ted.transforms.wrapping_indices import wrapping_indices

Rule = Callable[[ComputeSets, Access], "str | None"]
LARGEST_SIZE = 2**63 - 1


@dataclass(frozen=True)
class TedCheckBounds:
    """Change nothing; fail at the first access that may leave its tensor.

    Before: a read `affine_map<(d0) -> (d0 + 3)>` of a tensor<8xf32> for d0 in [0, 8)
    After: error: ted.compute: read 0 uses index d0 + 3 in [3, 10], tensor A has extent 8 in dim 0,
    first at d0=5

    Raises: VerifyError at the user's line.
    """

    def run(self, module: ir.Module) -> None:
        """Check every op of the module."""
        for place, message in violations(module):
            raise VerifyError(message, place)


def violations(module: ir.Module) -> Iterator[tuple[SourceLocation | None, str]]:
    """Every broken rule with its place; the text is a complete message."""
    for op in computes(module):
        op_sets = ComputeSets(op)
        for problem in _problems(op_sets):
            yield op_sets.place, f"ted.compute: {problem}"
    for scan in scans(module):
        yield from reads_of_the_future(scan)


def _problems(op_sets: ComputeSets) -> Iterator[str]:
    huge = list(_huge(op_sets))
    if huge:
        yield from huge
        return
    for access in (*op_sets.reads, op_sets.write):
        problem = _decided(_out_of_bounds, op_sets, access)
        if problem is not None:
            yield problem
    yield from wrapping_indices(op_sets)
    problem = _decided(_written_twice, op_sets, op_sets.write)
    if problem is not None:
        yield problem


def _decided(rule: Rule, op_sets: ComputeSets, access: Access) -> str | None:
    try:
        return rule(op_sets, access)
    except BudgetExhausted as error:
        return f"{access.label} is not proved to stay inside tensor {access.tensor}: {error}"


# ------------------------------------------------------------------ sizes


def _huge(op_sets: ComputeSets) -> Iterator[str]:
    points = math.prod(op_sets.box)
    if isinstance(points, int) and points > LARGEST_SIZE:
        yield f"at most 2**63 - 1 iteration points, got {points} in box {list(op_sets.box)}"
    for value in (*op_sets.op.inputs, *op_sets.op.results):
        size = math.prod(op_sets.shape_of(value)) * 8
        if isinstance(size, int) and size > LARGEST_SIZE:
            yield f"tensors of less than 2**63 bytes, got shape {list(op_sets.shape_of(value))}"


# ------------------------------------------------------------------ bounds


def _out_of_bounds(op_sets: ComputeSets, access: Access) -> str | None:
    """What is wrong with one access, or None when it is proved right."""
    known = [(k, s) for k, s in enumerate(access.subscripts) if s is not None]
    open_dims = [
        (k, s) for k, s in known if not _inside_by_intervals(s, op_sets.box, access.shape[k])
    ]
    if not open_dims:
        return None
    index = to_isl([s for _, s in open_dims], len(op_sets.box))
    witness = bounds.out_of_bounds_witness(
        access.points, index, [access.shape[k] for k, _ in open_dims]
    )
    if witness is None:
        return None
    dim, subscript = open_dims[witness.dim]
    between = None
    if not witness.sizes:
        between = bounds.index_range(access.points, index[witness.dim])
    span = "" if between is None else f" in [{between[0]}, {between[1]}]"
    names = op_sets.dim_names
    at = ", ".join(f"{n}={v}" for n, v in zip(names, witness.point, strict=True))
    return (
        f"{access.label} uses index {subscript.show(names)}{span}, tensor {access.tensor} has "
        f"extent {access.shape[dim]} in dim {dim}, first at {at or 'the only point'}"
        + "".join(f" for {size} = {value}" for size, value in witness.sizes)
    )


def _inside_by_intervals(value: Aff, box: tuple[Extent, ...], extent: Extent) -> bool:
    """Whether the whole box stays inside, which needs no integer set; most accesses are such."""
    if is_symbolic((*box, extent)):
        return False
    if value.as_dim is not None:  # most are a dim by itself
        return max(numbers(box)[value.as_dim], 1) <= numbers([extent])[0]
    if value.parameters:
        return False
    low, high = intervals.of_aff(value, [intervals.of_dim(n) for n in box])
    return low >= 0 and high < numbers([extent])[0]


# ------------------------------------------------------------------ set writes


def _written_twice(op_sets: ComputeSets, write: Access) -> str | None:
    """Two points of a `set` that write one element, or None when there are none."""
    if op_sets.op.combiner_name != "set" or _is_projection(op_sets, write):
        return None
    if None in write.subscripts:
        return "set writes an element once, got a write at data indices"
    index = to_isl([s for s in write.subscripts if s is not None], len(op_sets.box))
    found = collision(write.points, index)
    if found is None:
        return None
    names = op_sets.dim_names
    target = ", ".join(s.show(names) for s in write.subscripts if s is not None)
    points = f"points {list(found.one)} and {list(found.other)}"
    return f"set writes an element once, got [{target}] equal at {points}"


def _is_projection(op_sets: ComputeSets, write: Access) -> bool:
    """Whether every dim is a subscript of its own."""
    plain = {s.as_dim for s in write.subscripts if s is not None}
    return plain >= set(range(len(op_sets.box)))
