"""The ops of `arith` and `math` -> scalar expressions.

The table `ted.ir.spelling` read backwards, and what one op cannot say read back by its form.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ted.errors import VerifyError
from ted.ir import scalar
from ted.ir.dtypes import BY_MLIR, INT64, UINT64, DType, with_sign_of
from ted.ir.expressions import Expr
from ted.ir.scalar import TRUE
from ted.ir.spelling import (
    CAST_OPS,
    COMPARISONS,
    OPERATION_OF,
    SIGNED_OPS,
    UNSIGNED_OPS,
)
from ted.mlir import ir, scalar_value
from ted.mlir.locations import source_location


def operation(op: ir.Operation, args: Sequence[Expr]) -> Expr:
    """What an op of `arith` or `math` gives for the values of its operands.

    Raises: VerifyError for an op that equations have no word for.
    """
    args = _with_one_sign(op, args)
    if op.name in _SPECIAL:
        return _SPECIAL[op.name](op, args)
    if op.name in CAST_OPS:
        return scalar.cast(args[0], _target(op))
    if op.name not in OPERATION_OF:
        raise unknown(op)
    return scalar.apply(OPERATION_OF[op.name], *args)


# ------------------------------------------------------------------ integers with and without sign


def _target(op: ir.Operation) -> DType:
    """The type that a cast gives; that of a float to an integer says whether there is a sign."""
    found = BY_MLIR[element_of(op)]
    return with_sign_of(found, UINT64) if op.name == "arith.fptoui" else found


def element_of(op: ir.Operation) -> str:
    """The type of what an op gives for each element: an op on tensors is one on their elements."""
    kind = op.results[0].type
    return str(kind.element_type if isinstance(kind, ir.RankedTensorType) else kind)


def _with_one_sign(op: ir.Operation, args: Sequence[Expr]) -> Sequence[Expr]:
    """Operands as the op reads their bits; one that does not care takes what data have."""
    whole = [a for a in args if a.dtype.kind == "int"]
    if op.name in SIGNED_OPS or op.name in UNSIGNED_OPS:
        sign = INT64 if op.name in SIGNED_OPS else UINT64
    elif op.name == "arith.cmpi" and ir.IntegerAttr(op.attributes["predicate"]).value > 1:
        sign = INT64 if ir.IntegerAttr(op.attributes["predicate"]).value < 6 else UINT64
    elif len({a.dtype for a in whole}) > 1:
        data = [a.dtype for a in whole if a.op != "const"]
        sign = next((t for t in data if t.is_unsigned), data[0] if data else INT64)
    else:
        return args
    return [
        scalar.cast(a, with_sign_of(a.dtype, sign)) if a.dtype.kind == "int" else a for a in args
    ]


def constant_of(op: ir.Operation) -> Expr:
    """The scalar that an `arith.constant` is."""
    dtype = BY_MLIR[element_of(op)]
    return scalar.const(scalar_value(op.attributes["value"]), dtype)


def unknown(op: ir.Operation) -> VerifyError:
    """The error of an op that equations have no word for."""
    return VerifyError(
        f"{_owner(op)}: a body must be made of ops that equations know, got {op.name}",
        source_location(op.location),
    )


def _owner(op: ir.Operation) -> str:
    parent = op.parent
    return "ted.compute" if parent is None else parent.name


# ------------------------------------------------------------------ ops read back by form


def _float_comparisons() -> dict[int, Callable[[Expr, Expr], Expr]]:
    """The predicates of `arith.cmpf`, unordered ones as negations of ordered ones."""

    def lt(a: Expr, b: Expr) -> Expr:
        return scalar.compare("lt", a, b)

    def le(a: Expr, b: Expr) -> Expr:
        return scalar.compare("le", a, b)

    def eq(a: Expr, b: Expr) -> Expr:
        return scalar.compare("eq", a, b)

    no = scalar.lnot
    return {
        0: lambda a, b: scalar.FALSE,
        1: eq,
        2: lambda a, b: lt(b, a),
        3: lambda a, b: le(b, a),
        4: lt,
        5: le,
        6: lambda a, b: scalar.lor(lt(a, b), lt(b, a)),
        7: lambda a, b: scalar.land(eq(a, a), eq(b, b)),
        8: lambda a, b: no(scalar.lor(lt(a, b), lt(b, a))),
        9: lambda a, b: no(le(a, b)),
        10: lambda a, b: no(lt(a, b)),
        11: lambda a, b: no(le(b, a)),
        12: lambda a, b: no(lt(b, a)),
        13: lambda a, b: scalar.compare("ne", a, b),
        14: lambda a, b: no(scalar.land(eq(a, a), eq(b, b))),
        15: lambda a, b: TRUE,
    }


_CMPF = _float_comparisons()
_CMPI = {codes[1]: name for name, codes in COMPARISONS.items()}
_CMPI_BOOL = {codes[2]: name for name, codes in COMPARISONS.items()}
_SWAPPED = {4: 2, 5: 3, 8: 6, 9: 7}  # sgt, sge, ugt, uge -> the same with operands exchanged


def _cmpf(op: ir.Operation, args: Sequence[Expr]) -> Expr:
    return _CMPF[ir.IntegerAttr(op.attributes["predicate"]).value](*args)


def _cmpi(op: ir.Operation, args: Sequence[Expr]) -> Expr:
    code = ir.IntegerAttr(op.attributes["predicate"]).value
    a, b = args
    if code in _SWAPPED:
        code, a, b = _SWAPPED[code], b, a
    names = _CMPI_BOOL if a.dtype.kind == "bool" or a.dtype.is_unsigned else _CMPI
    if code not in names:
        raise unknown(op)
    return scalar.compare(names[code], a, b)


def _xori(op: ir.Operation, args: Sequence[Expr]) -> Expr:
    a, b = args
    if a.dtype.kind != "bool":
        return _on_bits("bitxor", op, args)
    if b is TRUE or a is TRUE:
        return scalar.lnot(a if b is TRUE else b)
    return scalar.compare("ne", a, b)


def _subi(_: ir.Operation, args: Sequence[Expr]) -> Expr:
    """`a - (a floordiv b) * b` is how `a mod b` is spelled."""
    a, product = args
    if product.op == "mul":
        for quotient, divisor in (product.args, product.args[::-1]):
            if quotient.op == "floordiv" and quotient.args == (a, divisor):
                return scalar.mod(a, divisor)
    return scalar.sub(a, product)


def _bitwise(name: str) -> Callable[[ir.Operation, Sequence[Expr]], Expr]:
    def read(op: ir.Operation, args: Sequence[Expr]) -> Expr:
        if args[0].dtype.kind != "bool":
            return _on_bits(f"bit{name}", op, args)
        return scalar.apply(name, *args)

    return read


def _on_bits(name: str, op: ir.Operation, args: Sequence[Expr]) -> Expr:
    if args[0].dtype.kind != "int":
        raise unknown(op)
    return scalar.apply(name, *args)


def _shift(name: str) -> Callable[[ir.Operation, Sequence[Expr]], Expr]:
    return lambda op, args: _on_bits(name, op, args)


def _stop_gradient(_: ir.Operation, args: Sequence[Expr]) -> Expr:
    (value,) = args
    return scalar.apply("stop_gradient", value) if value.dtype.is_float else value


def _fused(_: ir.Operation, args: Sequence[Expr]) -> Expr:
    return scalar.add(scalar.mul(args[0], args[1]), args[2])


_SPECIAL: dict[str, Callable[[ir.Operation, Sequence[Expr]], Expr]] = {
    "arith.cmpf": _cmpf,
    "arith.cmpi": _cmpi,
    "arith.xori": _xori,
    "arith.subi": _subi,
    "arith.andi": _bitwise("and"),
    "arith.ori": _bitwise("or"),
    "arith.shli": _shift("shiftleft"),
    "arith.shrsi": _shift("shiftright"),
    "arith.shrui": _shift("shiftright"),
    "ted.stop_gradient": _stop_gradient,
    "math.fma": _fused,
}
