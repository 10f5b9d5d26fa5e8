"""The language: the operations that ted adds to MLIR, and nothing else.

A program is a `func.func` over builtin tensors. `ted.compute` is one equation over a box of
iteration points; its body is a scalar function made of `arith`, `math` and the ops below.
`ted.scan` runs equations step by step. Everything is pure, so that upstream CSE and DCE apply. The
generated `ted.irdl.mlir` says the same in IRDL.

Rules that IRDL cannot express are tables of functions in `verify_compute`, `verify_body` and
`verify_scan`. The names a user gave live in locations, never in attributes: ops that differ in an
attribute are not merged by upstream CSE, ops that differ in a location are. This file is long
because the whole language stands in one place, examples included.
"""

# No `from __future__ import annotations` here: `ext` reads the annotations of the classes below.
from collections.abc import Callable, Sequence
from typing import Any

from ted.dialects.ted import verify_body, verify_compute, verify_scan
from ted.dialects.ted.attributes import (
    COMBINERS,
    ELEMENT_TYPES,
    LOAD_MODES,
    ComputeFields,
    everywhere,
    extents_attribute,
    scalar_type,
    steps_attribute,
)
from ted.dialects.ted.diagnose import first_violation
from ted.dialects.ted.operand_types import (
    MAX_RUNS,
    OperandSlots,
    add_segments,
    by_position,
    remove_segments,
)
from ted.dialects.ted.scan_fields import ScanFields
from ted.mlir import ext, ir

__all__ = [
    "COMBINERS",
    "ELEMENT_TYPES",
    "LOAD_MODES",
    "MAX_RUNS",
    "ComputeOp",
    "IndexOp",
    "LoadOp",
    "ScanOp",
    "SizeOp",
    "StopGradientOp",
    "Ted",
    "YieldOp",
]


class Ted(ext.Dialect, name="ted"):
    """Differentiable tensor expressions."""


@by_position("results")
class ComputeOp(ComputeFields, dialect=Ted, name="compute", traits=[ext.Pure]):
    """One equation: every point of a box combines a scalar into a place of the result.

    `outs = inits; for p in box(extents) intersect domain:
    outs[write(p)] = outs[write(p)] (combiner) body(A[reads[0](p)], B[reads[1](p)], ...)`

    ```mlir
    func.func @matmul(%A: tensor<16x32xf32>, %B: tensor<32x8xf32>, %init: tensor<16x8xf32>)
        -> tensor<16x8xf32> {
      %C = "ted.compute"(%A, %B, %init) ({
      ^bb0(%a: f32, %b: f32):
        %p = arith.mulf %a, %b : f32
        "ted.yield"(%p) : (f32) -> ()
      }) {
        extents = array<i64: 16, 8, 32>,
        iterators = ["parallel", "parallel", "reduction"],
        domain = affine_set<(d0, d1, d2) : (0 == 0)>,
        reads = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>],
        guards = [affine_set<(d0, d1, d2) : (0 == 0)>, affine_set<(d0, d1, d2) : (0 == 0)>],
        write = affine_map<(d0, d1, d2) -> (d0, d1)>,
        combiner = "add"
      } : (tensor<16x32xf32>, tensor<32x8xf32>, tensor<16x8xf32>) -> tensor<16x8xf32>
      func.return %C : tensor<16x8xf32>
    }
    ```

    The first `len(reads)` operands are inputs, one read each (a tensor that is read twice is two
    operands); the rest are inits, one per result and of its type. Outside its guard a read is not
    made and gives 0. `combiner` is one of `COMBINERS`: `set` stores, and wants a write that is
    injective on the domain; `argmax` and `argmin` have two results, the value and the i64 row-major
    index over the reduction dims, and a point replaces the init only when it is strictly better
    or when the init's index is negative, which means that no point was seen. NaN is better than any
    number, and the first of equals stays.
    For a data-dependent write the map has symbols, and `ted.yield` carries their values last; what
    an index outside does says the attribute `mode` as for `ted.load`, `check` when it is not there.
    In a function of symbolic sizes `extents` is a map from them, and all maps and sets have the
    sizes as their first symbols.

    VJP, for the cotangent dC of the result: into read k of an `add`, `dA[reads[k](p)] +=
    d body/d a_k (p) * dC[write(p)]` over the domain and the guard; into init, dC for `add`, and for
    `set` dC with the written points zeroed.

    Verifier: attributes present and of their kind; one iterator per extent, parallel before
    reduction; every map and set over the dims of the box; ranks and element types of operands,
    block arguments, yields and results agree; inits have the types of the results; combiner known
    and legal for the write; the body is flat and scalar. `ted-check-bounds` proves what needs
    integer sets: reads and writes inside their tensors, and the injectivity of `set`.
    """

    value: ext.Result[ir.RankedTensorType]
    position: ext.Result[ir.RankedTensorType] | None  # of argmax and argmin
    extents: Any  # DenseI64ArrayAttr, or an AffineMapAttr from the sizes
    iterators: ir.ArrayAttr
    domain: ir.IntegerSetAttr
    reads: ir.ArrayAttr
    guards: ir.ArrayAttr
    write: ir.AffineMapAttr
    combiner: ir.StringAttr
    body: ext.Region

    @staticmethod
    def verify_invariants(op: ir.OpView) -> bool:
        """Check the op alone: attributes, operands, results."""
        return first_violation(op, verify_compute.RULES) and add_segments(op)

    @staticmethod
    def verify_region_invariants(op: ir.OpView) -> bool:
        """Check the body, after the ops inside it were checked."""
        remove_segments(op)
        return first_violation(op, verify_body.RULES)

    @classmethod
    def build(
        cls,
        inputs: Sequence[ir.Value],
        inits: Sequence[ir.Value],
        *,
        extents: Sequence[int] | ir.AffineMap,
        reads: Sequence[ir.AffineMap],
        write: ir.AffineMap,
        body: Callable[..., Sequence[ir.Value]],
        iterators: Sequence[str] | None = None,
        domain: ir.IntegerSet | None = None,
        guards: Sequence[ir.IntegerSet] | None = None,
        combiner: str = "set",
        loc: ir.Location | None = None,
        ip: ir.InsertionPoint | None = None,
    ) -> "ComputeOp":
        """Insert a `ted.compute` whose body is made by `body(*scalars) -> values to yield`.

        Without `iterators` every dim is parallel; without `domain` or `guards` nothing is excluded.
        Symbolic extents are a map from the sizes of the function.
        """
        box = extents_attribute(extents)
        symbolic = isinstance(extents, ir.AffineMap)
        count = len(extents.results if symbolic else extents)
        free = everywhere(count, extents.n_symbols if symbolic else 0)
        guards = [free] * len(reads) if guards is None else guards
        attributes = {
            "extents": box,
            "iterators": _strings(iterators or ["parallel"] * count),
            "domain": ir.IntegerSetAttr.get(domain or free),
            "reads": ir.ArrayAttr.get([ir.AffineMapAttr.get(m) for m in reads]),
            "guards": ir.ArrayAttr.get([ir.IntegerSetAttr.get(g) for g in guards]),
            "write": ir.AffineMapAttr.get(write),
            "combiner": ir.StringAttr.get(combiner),
        }
        operation = ir.Operation.create(
            "ted.compute",
            results=[init.type for init in inits],
            operands=[*inputs, *inits],
            attributes=attributes,
            regions=1,
            loc=loc,
            ip=ip,
        )
        scalars = [scalar_type(ir.RankedTensorType(v.type).element_type) for v in inputs]
        locations = [value.location for value in inputs]
        block = operation.regions[0].blocks.append(*scalars, arg_locs=locations)
        with ir.InsertionPoint(block):
            YieldOp.build(body(*block.arguments), loc=loc)
        return operation.opview


class ScanOp(ScanFields, dialect=Ted, name="scan", traits=[ext.Pure]):
    """A recurrence: equations over histories, performed step by step along a time dim.

    `states = inits; for t in 0, ..., steps - 1 (or steps - 1, ..., 0 when reverse):
    states = body(states)`, where each equation of the body performs only those points of its box
    and domain that write at time t. The results are the last states: full histories.

    ```mlir
    func.func @running_sum(%x: tensor<5xf64>, %init: tensor<5xf64>) -> tensor<5xf64> {
      %c = "ted.scan"(%init) ({
      ^bb0(%c0: tensor<5xf64>):
        %c1 = "ted.compute"(%c0, %x, %c0) ({
        ^bb0(%before: f64, %now: f64):
          %sum = arith.addf %before, %now : f64
          "ted.yield"(%sum) : (f64) -> ()
        }) {
          extents = array<i64: 5>, iterators = ["parallel"],
          domain = affine_set<(d0) : (0 == 0)>,
          reads = [affine_map<(d0) -> (d0 - 1)>, affine_map<(d0) -> (d0)>],
          guards = [affine_set<(d0) : (d0 - 1 >= 0)>, affine_set<(d0) : (0 == 0)>],
          write = affine_map<(d0) -> (d0)>, combiner = "set"
        } : (tensor<5xf64>, tensor<5xf64>, tensor<5xf64>) -> tensor<5xf64>
        "ted.yield"(%c1) : (tensor<5xf64>) -> ()
      }) {times = array<i64: 0>, steps = 5 : i64, reverse = false}
        : (tensor<5xf64>) -> tensor<5xf64>
      func.return %c : tensor<5xf64>
    }
    ```

    Init k, block argument k, yielded value k and result k are one history: they have one type, and
    `times[k]` is its time dim, of extent `steps`. The equations keep their full extents, maps and
    domains. Tensors from outside are captured; the value that argmax and argmin start from may be
    one. Of a history, a step may read what earlier steps wrote, and what this step wrote once the
    last equation of that history is through.

    A scan in the body takes all its steps in each step of this one, on the histories that are its
    inits, along other dims of theirs: its equations perform the points that write at both times.

    VJP: none of its own; the adjoints of the equations form a recurrence that runs the other way,
    and those of what no step reads again fall out of it as ordinary equations.

    Verifier: attributes present; inits, block arguments, yields and results agree; time dims have
    the extent `steps`; the body holds equations, scans and constants; the states of a history
    form one chain, whose end is yielded; scans in the body run along other dims; no equation
    writes at a time that is data.
    `ted-check-bounds` proves that no step reads what a later one writes.
    """

    times: Any  # DenseI64ArrayAttr: IRDL has no name for it
    steps: Any  # IntegerAttr, or an AffineMapAttr from the sizes
    reverse: Any  # BoolAttr
    body: ext.Region

    @staticmethod
    def verify_invariants(op: ir.OpView) -> bool:
        """Check the op alone: attributes, operands, results."""
        return first_violation(op, verify_scan.RULES) and add_segments(op)

    @staticmethod
    def verify_region_invariants(op: ir.OpView) -> bool:
        """Check the body, after the ops inside it were checked."""
        remove_segments(op)
        return first_violation(op, verify_scan.BODY_RULES)

    @classmethod
    def build(
        cls,
        inits: Sequence[ir.Value],
        *,
        times: Sequence[int],
        steps: int | ir.AffineMap,
        body: Callable[..., Sequence[ir.Value]],
        reverse: bool = False,
        locations: Sequence[ir.Location] | None = None,
        loc: ir.Location | None = None,
        ip: ir.InsertionPoint | None = None,
    ) -> "ScanOp":
        """Insert a `ted.scan` whose body is made by `body(*histories) -> histories`.

        `locations` name the histories; without them they are called like their inits.
        """
        types = [init.type for init in inits]
        operation = ir.Operation.create(
            "ted.scan",
            results=types,
            operands=list(inits),
            attributes={
                "times": ir.DenseI64ArrayAttr.get(list(times)),
                "steps": steps_attribute(steps),
                "reverse": ir.BoolAttr.get(reverse),
            },
            regions=1,
            loc=loc,
            ip=ip,
        )
        locations = [value.location for value in inits] if locations is None else list(locations)
        block = operation.regions[0].blocks.append(*types, arg_locs=locations)
        with ir.InsertionPoint(block):
            YieldOp.build(body(*block.arguments), loc=loc)
        made: Any = operation.opview
        return made


class YieldOp(OperandSlots, dialect=Ted, name="yield", traits=[ir.IsTerminatorTrait]):
    """End a body with its values, then with the indices of a data-dependent write.

    `"ted.yield"(%value, %i) : (f32, index) -> ()`: the value goes to `write(p)[s0 = i]`. In a
    `ted.scan` the values are the histories after the step.

    ```mlir
    func.func @scatter(%v: tensor<4xf32>, %at: tensor<4xi64>, %init: tensor<9xf32>)
        -> tensor<9xf32> {
      %0 = "ted.compute"(%v, %at, %init) ({
      ^bb0(%x: f32, %n: i64):
        %i = arith.index_cast %n : i64 to index
        "ted.yield"(%x, %i) : (f32, index) -> ()
      }) {
        extents = array<i64: 4>, iterators = ["parallel"],
        domain = affine_set<(d0) : (0 == 0)>,
        reads = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>],
        guards = [affine_set<(d0) : (0 == 0)>, affine_set<(d0) : (0 == 0)>],
        write = affine_map<(d0)[s0] -> (s0)>, combiner = "add"
      } : (tensor<4xf32>, tensor<4xi64>, tensor<9xf32>) -> tensor<9xf32>
      func.return %0 : tensor<9xf32>
    }
    ```

    VJP: none of its own; a value's cotangent is that of the place written. Verifier: the parent is
    a `ted.compute` or a `ted.scan`, which checks the number and the types of what is yielded.
    """

    @staticmethod
    def verify_invariants(op: ir.OpView) -> bool:
        """Check that the op stands in a body."""
        return first_violation(op, verify_body.YIELD_RULES) and add_segments(op)

    @staticmethod
    def verify_region_invariants(op: ir.OpView) -> bool:
        """Leave no trace of the check."""
        return remove_segments(op)

    @classmethod
    def build(cls, values: Sequence[ir.Value], *, loc: ir.Location | None = None) -> "YieldOp":
        """Insert a terminator that yields the values."""
        made: Any = ir.Operation.create("ted.yield", operands=list(values), loc=loc).opview
        return made


class IndexOp(Ted.Operation, name="index", traits=[ext.Pure]):
    """The value of an iteration dim at the current point.

    `result = p[dim]`

    ```mlir
    func.func @iota(%init: tensor<5xi64>) -> tensor<5xi64> {
      %0 = "ted.compute"(%init) ({
        %i = "ted.index"() {dim = 0 : i64} : () -> index
        %n = arith.index_cast %i : index to i64
        "ted.yield"(%n) : (i64) -> ()
      }) {
        extents = array<i64: 5>, iterators = ["parallel"],
        domain = affine_set<(d0) : (0 == 0)>, reads = [], guards = [],
        write = affine_map<(d0) -> (d0)>, combiner = "set"
      } : (tensor<5xi64>) -> tensor<5xi64>
      func.return %0 : tensor<5xi64>
    }
    ```

    VJP: zero, an index does not vary with any tensor. Verifier: inside a body, `dim` in range.
    """

    value: ext.Result[ir.IndexType]
    dim: ir.IntegerAttr

    @staticmethod
    def verify_invariants(op: ir.OpView) -> bool:
        """Check the dim against the enclosing box."""
        return first_violation(op, verify_body.INDEX_RULES)

    @classmethod
    def build(cls, dim: int, *, loc: ir.Location | None = None) -> "IndexOp":
        """Insert the index of a dim."""
        i64 = ir.IntegerType.get_signless(64)
        return cls(ir.IndexType.get(), ir.IntegerAttr.get(i64, dim), loc=loc)


class SizeOp(Ted.Operation, name="size", traits=[ext.Pure]):
    """The value of an expression of the sizes of the function: symbol k is its size k.

    `result = value()[sizes]`

    ```mlir
    func.func @zeros() -> tensor<?xf32, affine_map<()[s0] -> (s0 + 1)>>
        attributes {ted.sizes = [{min = 1 : i64, multiple_of = 1 : i64, name = "n"}]} {
      %zero = arith.constant 0.0 : f32
      %n = "ted.size"() {value = affine_map<()[s0] -> (s0 + 1)>} : () -> index
      %empty = tensor.empty(%n) : tensor<?xf32, affine_map<()[s0] -> (s0 + 1)>>
      %0 = linalg.fill ins(%zero : f32) outs(%empty : tensor<?xf32, affine_map<()[s0] -> (s0 + 1)>>)
        -> tensor<?xf32, affine_map<()[s0] -> (s0 + 1)>>
      func.return %0 : tensor<?xf32, affine_map<()[s0] -> (s0 + 1)>>
    }
    ```

    VJP: zero. Verifier: `value` has no dims and one result. The sizes of a function are its
    attribute `ted.sizes`; a tensor type with a symbolic extent has all its extents as encoding.
    """

    result_value: ext.Result[ir.IndexType]
    value: ir.AffineMapAttr

    @staticmethod
    def verify_invariants(op: ir.OpView) -> bool:
        """Check the map."""
        return first_violation(op, verify_body.SIZE_RULES)

    @classmethod
    def build(cls, value: ir.AffineMap, *, loc: ir.Location | None = None) -> "SizeOp":
        """Insert the value of a map from the sizes."""
        return cls(ir.IndexType.get(), ir.AffineMapAttr.get(value), loc=loc)


@by_position("operands")
class LoadOp(Ted.Operation, name="load", traits=[ext.Pure]):
    """Read a tensor at indices that are data; a false predicate makes no read and gives 0.

    `result = predicate ? tensor[i, j, ...] : 0`

    ```mlir
    func.func @rows(%T: tensor<9x2xf32>, %at: tensor<4xi64>, %init: tensor<4x2xf32>)
        -> tensor<4x2xf32> {
      %0 = "ted.compute"(%at, %init) ({
      ^bb0(%n: i64):
        %yes = arith.constant true
        %i = arith.index_cast %n : i64 to index
        %j = "ted.index"() {dim = 1 : i64} : () -> index
        %x = "ted.load"(%T, %yes, %i, %j) {mode = "check", checked = array<i64: 0>}
            : (tensor<9x2xf32>, i1, index, index) -> f32
        "ted.yield"(%x) : (f32) -> ()
      }) {
        extents = array<i64: 4, 2>, iterators = ["parallel", "parallel"],
        domain = affine_set<(d0, d1) : (0 == 0)>, reads = [affine_map<(d0, d1) -> (d0)>],
        guards = [affine_set<(d0, d1) : (0 == 0)>],
        write = affine_map<(d0, d1) -> (d0, d1)>, combiner = "set"
      } : (tensor<4xi64>, tensor<4x2xf32>) -> tensor<4x2xf32>
      func.return %0 : tensor<4x2xf32>
    }
    ```

    The tensor is captured from outside the body. An index outside the tensor is an error at run
    time (`check`), moved to the nearest valid one (`clip`), a 0 (`drop`), or trusted (`unchecked`).
    With `checked`, only the indices of these dims are checked, the others are known to be inside.

    VJP: a scatter, `dT[i, j, ...] += d` under the predicate. Verifier: inside a body; one index per
    dim of the tensor; the result has its element type; a known mode; dims that are checked in mode
    `check` only.
    """

    value: ext.Result[Any]
    source: ext.Operand[ir.RankedTensorType]
    predicate: ext.Operand[ir.IntegerType[1]]  # pyright: ignore[reportInvalidTypeArguments]
    indices: Sequence[ext.Operand[ir.IndexType]]
    mode: ir.StringAttr

    @staticmethod
    def verify_invariants(op: ir.OpView) -> bool:
        """Check operands against the tensor's type."""
        return first_violation(op, verify_body.LOAD_RULES)

    @classmethod
    def build(
        cls,
        source: ir.Value,
        predicate: ir.Value,
        indices: Sequence[ir.Value],
        *,
        mode: str = "check",
        checked: Sequence[int] | None = None,
        loc: ir.Location | None = None,
    ) -> "LoadOp":
        """Insert a read of `source` at computed indices, of which `checked` are checked, or all."""
        attributes: dict[str, ir.Attribute] = {"mode": ir.StringAttr.get(mode)}
        if checked is not None and len(checked) < len(indices):
            attributes["checked"] = ir.DenseI64ArrayAttr.get(list(checked))
        return ir.Operation.create(
            "ted.load",
            results=[scalar_type(ir.ShapedType(source.type).element_type)],
            operands=[source, predicate, *indices],
            attributes=attributes,
            loc=loc,
        ).opview


class StopGradientOp(Ted.Operation, name="stop_gradient", traits=[ext.Pure]):
    """The identity, with derivative zero; on a scalar in a body, or on a whole tensor.

    `result = operand`

    ```mlir
    func.func @target(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = "ted.stop_gradient"(%x) : (tensor<4xf32>) -> tensor<4xf32>
      func.return %0 : tensor<4xf32>
    }
    ```

    VJP: zero. Verifier: operand and result have one type, a tensor or scalar of `ELEMENT_TYPES`.
    """

    result_value: ext.Result[Any]
    operand_value: ext.Operand[Any]

    @staticmethod
    def verify_invariants(op: ir.OpView) -> bool:
        """Check the types."""
        return first_violation(op, verify_body.STOP_GRADIENT_RULES)

    @classmethod
    def build(cls, value: ir.Value, *, loc: ir.Location | None = None) -> "StopGradientOp":
        """Insert the identity of a value."""
        return cls(value.type, value, loc=loc)


def _strings(values: Sequence[str]) -> ir.ArrayAttr:
    return ir.ArrayAttr.get([ir.StringAttr.get(value) for value in values])
