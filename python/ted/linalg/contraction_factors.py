"""Pull element-wise work out of a contraction: `out + f(a, ..) * g(b, ..)` -> `out + x * y`.

Before: one generic whose body computes f and g at every point of rows x columns x reduction.
After: `x = map f(a, ..)`, `y = map g(b, ..)` over the points that they depend on, and a contraction
of x and y. So a producer that was inlined into the body (a relu before a dense layer, the
derivative of one behind it, a scale) costs its own size and not the product of all extents.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from ted.linalg.contractions import (
    added_value,
    linear_map,
    points_of_tensors,
    recognise,
    reduction_of,
)
from ted.mlir import ir, linalg
from ted.mlir.affine_forms import substitute
from ted.mlir.generic import Generic, empty_generic, written_by
from ted.mlir.queries import computed_from, defining, factors_of
from ted.mlir.semiring import MULTIPLICATIONS, add, multiply
from ted.mlir.storage import empty
from ted.records import dataclass


@dataclass(frozen=True)
class Factor:
    """A product of body values that depend on the same dims; `inputs` are operand numbers."""

    values: tuple[ir.Value, ...]
    inputs: frozenset[int]
    dims: frozenset[int]

    def times(self, other: Factor) -> Factor:
        """Both products as one."""
        return Factor(
            self.values + other.values, self.inputs | other.inputs, self.dims | other.dims
        )


def split_factors(op: ir.Operation) -> ir.Operation | None:
    """Rewrite the op as maps and a plain contraction and return that; None: left as it is."""
    factors, generic = two_factors(op), Generic(op)
    found = points_of_tensors(generic) if factors else None
    if factors is None or found is None:
        return None
    # A factor that depends on every dim is computed at every point anyway: nothing is saved.
    if any(len(factor.dims) == len(found) for factor in factors):
        return None
    largest = max(prod(ir.ShapedType(value.type).shape) for value in op.operands)
    spaces = [_space(generic, factor, found) for factor in factors]
    if any(prod(shape) > largest for shape, _ in spaces):
        return None
    maps = [*(map_ for _, map_ in spaces), generic.maps[-1]]
    if not have_extents(maps):
        return None
    with ir.InsertionPoint(op), op.location:
        operands = [
            _materialised(generic, factor, shape, map_)
            for factor, (shape, map_) in zip(factors, spaces, strict=True)
        ]
        contraction = _contract(generic, operands, maps)
    for old, new in zip(op.results, contraction.results, strict=True):
        old.replace_all_uses_with(new)
    op.erase()
    return contraction


def have_extents(maps: Sequence[ir.AffineMap]) -> bool:
    """Whether every loop reads its extent off an operand without the inputs that are dropped."""
    alone = {e.position for m in maps for e in m.results if isinstance(e, ir.AffineDimExpr)}
    return len(alone) == maps[0].n_dims


def two_factors(op: ir.Operation) -> tuple[Factor, Factor] | None:
    """The two factors of a body that is not a plain contraction already; None if not two."""
    generic = reduction_of(op)
    if generic is None or recognise(op) is not None:
        return None
    total = added_value(generic.body)
    maps = [linear_map(map_) for map_ in generic.maps]
    if total is None or any(map_ is None for map_ in maps):
        return None
    linear = [map_ for map_ in maps if map_ is not None]
    groups: dict[frozenset[int], Factor] = {}
    for value in factors_of(total, MULTIPLICATIONS):
        inputs = _inputs(value, generic.body)
        if inputs is None:
            return None
        dims = frozenset[int]().union(*(form.dims for k in inputs for form in linear[k]))
        factor = Factor((value,), inputs, dims)
        groups[dims] = groups[dims].times(factor) if dims in groups else factor
    return _merged(sorted(groups.values(), key=lambda factor: len(factor.dims)))


def _merged(factors: list[Factor]) -> tuple[Factor, Factor] | None:
    """Give each smaller factor to one that depends on all its dims until two are left."""
    while len(factors) > 2:
        small = factors.pop(0)
        place = next((k for k, f in enumerate(factors) if small.dims <= f.dims), None)
        if place is None:
            return None
        factors[place] = factors[place].times(small)
    return (factors[0], factors[1]) if len(factors) == 2 else None


def _inputs(value: ir.Value, block: ir.Block) -> frozenset[int] | None:
    """Operand numbers that a body value is computed from; None if from the point's own index."""
    found: set[int] = set()
    for part in computed_from([value], block):
        op = defining(part)
        if isinstance(part, ir.BlockArgument):
            found.update([part.arg_number] if part.owner == block else [])
        elif op is None or op.block != block:
            continue
        elif len(op.regions) or not op.name.startswith(("arith.", "math.")):
            return None
    return frozenset(found)


def _space(
    generic: Generic, factor: Factor, found: tuple[int, ...]
) -> tuple[tuple[int, ...], ir.AffineMap]:
    """Shape of the factor as a tensor and its map.

    Inputs that are all read at one place keep their own shape, so a window is not copied per
    point; otherwise the factor is stored for each value of the dims that it depends on.
    """
    shapes = {k: tuple(ir.ShapedType(generic.operands[k].type).shape) for k in factor.inputs}
    own = [(shape, generic.maps[k]) for k, shape in shapes.items()]
    if own and all(place == own[0] for place in own):
        return own[0]
    dims = sorted(factor.dims)
    exprs = [ir.AffineExpr.get_dim(dim) for dim in dims]
    return tuple(found[dim] for dim in dims), ir.AffineMap.get(len(found), 0, exprs)


def _materialised(
    generic: Generic, factor: Factor, shape: tuple[int, ...], map_: ir.AffineMap
) -> ir.Value:
    """The factor as a tensor: the operand itself, or a generic that computes it."""
    only = factor.values[0]
    if len(factor.values) == 1 and isinstance(only, ir.BlockArgument):
        return generic.operands[only.arg_number]
    inputs = sorted(factor.inputs)
    maps = [_local_map(generic.maps[k], map_, len(shape)) for k in inputs]
    room = empty(shape, only.type, generic.outputs[0])
    maps.append(ir.AffineMap.get_identity(len(shape)))
    made = empty_generic([generic.operands[k] for k in inputs], [room], maps, [False] * len(shape))
    body = made.regions[0].blocks[0]
    arguments = {generic.body.arguments[k]: body.arguments[place] for place, k in enumerate(inputs)}
    with ir.InsertionPoint(body):
        copies = _copy_values(generic.body, factor.values, arguments)
        linalg.YieldOp([_product(copies)])
    return written_by(made)[0]


def _local_map(map_: ir.AffineMap, space: ir.AffineMap, rank: int) -> ir.AffineMap:
    """An input's map over the factor's own dims."""
    if map_ == space:
        return ir.AffineMap.get_identity(rank)
    place = {ir.AffineDimExpr(expr).position: k for k, expr in enumerate(space.results)}
    own = [ir.AffineExpr.get_dim(place.get(dim, 0)) for dim in range(map_.n_dims)]
    return ir.AffineMap.get(rank, 0, [substitute(own, expr) for expr in map_.results])


def _copy_values(
    block: ir.Block, values: Sequence[ir.Value], known: dict[ir.Value, ir.Value]
) -> list[ir.Value]:
    """Clone what the values need of the block, in its order."""
    needed = computed_from(values, block)
    for op in block.operations:
        if not needed.intersection(op.operation.results):
            continue
        clone = op.operation.clone()
        for k, operand in enumerate(op.operation.operands):
            clone.operation.operands[k] = known.get(operand, operand)
        known.update(zip(op.operation.results, clone.operation.results, strict=True))
    return [known.get(value, value) for value in values]


def _product(values: Sequence[ir.Value]) -> ir.Value:
    result = values[0]
    for value in values[1:]:
        result = multiply(result, value)
    return result


def _contract(
    generic: Generic, operands: Sequence[ir.Value], maps: Sequence[ir.AffineMap]
) -> ir.Operation:
    """The plain contraction of the two factors into the output."""
    contraction = empty_generic(operands, generic.outputs, maps, generic.reductions)
    a, b, out = contraction.regions[0].blocks[0].arguments
    with ir.InsertionPoint(contraction.regions[0].blocks[0]):
        linalg.YieldOp([add(out, multiply(a, b))])
    return contraction
