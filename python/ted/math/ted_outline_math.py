"""`math` operations -> calls of functions that LLVM has for vectors too: `ted-outline-math`.

Before: `%y = math.sin %x : f64`
After: `%y = func.call @ted_sin_f64(%x)`, and `@ted_sin_f64_x8`, which takes eight at once

A function with rare cases needs a branch, which would keep the loop around it scalar, or the long
formula for every element. As a function it has the branch inside: LLVM vectorises the loop, since
the scalar one names its variants for vectors (`vector-function-abi-variant`; source: LLVM's Vector
Function ABI). They are for whole registers of the CPU and for halves, and for as many registers as
a long loop hands over at once; what no loop is long enough for is not made. Functions without rare
cases are outlined where a module uses one often, so that its code is generated once; elsewhere
`ted-expand-math` puts them into the loop.
"""

from __future__ import annotations

from collections import defaultdict
from math import inf, prod

from ted.machine import DEFAULT, Cpu, named_cpu
from ted.math import trigonometry, waves
from ted.math.arithmetic import element
from ted.math.powers import is_extreme, pow_f64
from ted.math.remainders import fmod_f32, fmod_of_near, has_far_quotient
from ted.math.scalar_functions import Cases, by_cases, operation
from ted.math.ted_expand_math import FUNCTIONS
from ted.mlir import func, ir
from ted.mlir.queries import constant_of, operations, trip_count
from ted.records import dataclass

_CASES: dict[tuple[str, str], Cases] = {
    ("math.sin", "f32"): Cases(waves.sin, waves.is_large, trigonometry.sin, True),
    ("math.cos", "f32"): Cases(waves.cos, waves.is_large, trigonometry.cos, True),
    ("math.tan", "f32"): Cases(waves.tan, waves.is_large, waves.tan_of_any, True),
    ("math.sin", "f64"): Cases(waves.sin, waves.is_large, waves.sin_of_large),
    ("math.cos", "f64"): Cases(waves.cos, waves.is_large, waves.cos_of_large),
    ("math.tan", "f64"): Cases(waves.tan, waves.is_large, waves.tan_of_large),
    ("math.powf", "f64"): Cases(pow_f64, is_extreme),
    ("arith.remf", "f32"): Cases(fmod_of_near, has_far_quotient, fmod_f32, True),
    ("arith.remf", "f64"): Cases(fmod_of_near, has_far_quotient),
}
# An attribute of functions that `ted-annotate-functions` hands on: lowering drops `passthrough`.
FOR_LLVM = "ted.for_llvm"
# An attribute of modules: their name among those that are linked into one program.
PART = "ted.part"
# An attribute of functions: how many registers, and lanes, a long loop is to call it with at once,
# since one alone would wait for every step and load each constant for itself.
TOGETHER = "ted.together"
LONG_TRIPS = 64  # of a loop that is long
WORKING = 8  # registers that a function works in for each register of arguments
MANY = 16  # uses in a module, from which on shorter functions are outlined, too
_SHORT = ("math.rsqrt",)
_PURE = ("nounwind", "willreturn", "speculatable")


@dataclass(frozen=True)
class TedOutlineMath:
    """The pass. `cpu` is a row of `ted.machine.CPUS`; those without fused operations keep f64."""

    cpu: str = DEFAULT

    def run(self, module: ir.Module) -> None:
        """Rewrite scalars, and vectors of one dimension."""
        row = named_cpu(self.cpu)
        used: dict[tuple[str, str], list[ir.Operation]] = defaultdict(list)
        for op in operations(module.operation, *FUNCTIONS):
            if _is_outlined(op, row):
                used[op.name, str(element(op.results[0].type))].append(op)
        for key, ops in used.items():
            if key in _CASES or (len(ops) >= MANY and key[0] not in _SHORT):
                _outline(module, key, ops, row)


def _is_outlined(op: ir.Operation, row: Cpu) -> bool:
    kind = op.results[0].type
    if isinstance(kind, ir.VectorType) and ir.VectorType(kind).rank != 1:
        return False
    return isinstance(element(kind), (ir.F32Type, ir.F64Type) if row.fuses else ir.F32Type)


def _outline(module: ir.Module, key: tuple[str, str], ops: list[ir.Operation], row: Cpu) -> None:
    """The functions for a scalar and for vectors, and calls of them."""
    name = f"ted_{key[0].rpartition('.')[2]}_{key[1]}{_suffix(module)}"
    kinds = {name: element(ops[0].results[0].type)}
    whole = row.lanes(ir.FloatType(kinds[name]).width // 8)
    shapes = {ir.VectorType(op.results[0].type).shape[0] for op in ops
              if isinstance(op.results[0].type, ir.VectorType)}  # fmt: skip
    together = row.registers // WORKING
    variants = _called_at_once(ops, together, whole)
    for lanes in sorted({*variants, *shapes}):
        kinds[f"{name}_x{lanes}"] = ir.VectorType.get([lanes], kinds[name])
    for symbol, kind in kinds.items():
        _function(module, symbol, name, kind, key, len(ops[0].operands))
    if variants:
        _declare_variants(module, name, variants, len(ops[0].operands))
    if variants[:1] == [together * whole]:
        _ask_for_width(module, name, together, together * whole)
    symbols = {kind: symbol for symbol, kind in kinds.items()}
    for op in ops:
        kind = op.results[0].type
        with ir.InsertionPoint(op), op.location:
            call = func.CallOp([kind], symbols[kind], list(op.operands))
        op.results[0].replace_all_uses_with(call.results[0])
        op.erase()


def _called_at_once(ops: list[ir.Operation], together: int, whole: int) -> list[int]:
    """How many lanes LLVM may call a function with at once.

    A loop of three trips may call what takes four, behind a mask, and never what takes eight; only
    a long one is told to take several registers.
    """
    most = _most_in_a_function(ops)
    widths = [whole, whole // 2]
    return [together * whole] * (most >= LONG_TRIPS) + [n for n in widths if 1 < n < 2 * most]


def _most_in_a_function(ops: list[ir.Operation]) -> float:
    """How often a function performs operations at most; outside of loops it is not known."""
    found: dict[ir.Operation, float] = defaultdict(float)
    for op in ops:
        trips: list[float] = []
        outer = op
        while outer.name != "func.func" and outer.parent is not None:
            outer = outer.parent.operation
            if outer.name == "scf.for":
                trips.append(max(trip_count(outer) or inf, constant_of(outer.operands[1]) or 0))
            elif outer.name not in ("scf.if", "func.func"):
                trips.append(inf)
        found[outer] += prod(trips) if trips else inf
    return max(found.values())


def _suffix(module: ir.Module) -> str:
    """What tells the functions of a part of a program from those of the others."""
    attributes = module.operation.attributes
    return f"_{ir.StringAttr(attributes[PART]).value}" if PART in attributes else ""


def _function(
    module: ir.Module, symbol: str, name: str, kind: ir.Type, key: tuple[str, str], arity: int
) -> None:
    place = ir.Location.unknown()
    with ir.InsertionPoint(module.body), place:
        made = func.FuncOp(symbol, ([kind] * arity, [kind]), visibility="private")
        made.attributes["llvm.readnone"] = ir.UnitAttr.get()
        made.attributes[FOR_LLVM] = _strings(_PURE)
        block = made.add_entry_block()
        with ir.InsertionPoint(block):
            arguments = list(block.arguments)
            cases = _CASES.get(key)
            value = (
                by_cases(cases, key[0], name, arguments) if cases else operation(key[0], arguments)
            )
            func.ReturnOp([value])


def _declare_variants(module: ir.Module, name: str, variants: list[int], arity: int) -> None:
    """What LLVM is to call for so many scalars at once."""
    names = ",".join(f"_ZGV_LLVM_N{n}{'v' * arity}_{name}({name}_x{n})" for n in variants)
    scalar = ir.SymbolTable(module.operation)[name]
    pair = ir.ArrayAttr.get([ir.StringAttr.get(t) for t in ("vector-function-abi-variant", names)])
    scalar.attributes[FOR_LLVM] = ir.ArrayAttr.get([*_strings(_PURE), pair])


def _ask_for_width(module: ir.Module, name: str, together: int, lanes: int) -> None:
    """How many registers, and so many lanes, long loops are to hand to the function at once."""
    scalar = ir.SymbolTable(module.operation)[name]
    scalar.attributes[TOGETHER] = ir.DenseI64ArrayAttr.get([together, lanes])


def _strings(texts: tuple[str, ...]) -> ir.ArrayAttr:
    return ir.ArrayAttr.get([ir.StringAttr.get(text) for text in texts])
