"""Attributes of foreign operations: each is read, left aside for a reason, or refused by name."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import numpy as np
import pytest

import ted
from ted.errors import VerifyError
from ted.ir.spelling import CAST_OPS, OPERATION_OF
from ted.raising import modules, scalars
from ted.raising.attributes import TABLE, attributes_of
from ted.raising.refusals import REASONS
from ted.testing.tracing import interpreted

ACCEPTED = {
    *modules.RULES, *CAST_OPS, *(OPERATION_OF.keys() - {"ted.stop_gradient"}), *scalars._ROWS,
    "arith.cmpf", "arith.cmpi",
    *(name for name in TABLE if "*" not in name),
}  # fmt: skip


def defined(package: str, dialect: str) -> dict[str, set[str]]:
    """The attributes of each operation, from the definitions that a binding is made of."""
    root = Path(next(iter(importlib.import_module(package).__path__)))
    found: dict[str, set[str]] = {}
    name = ""
    for line in (root / "dialects" / f"_{dialect}_ops_gen.py").read_text().splitlines():
        if match := re.search(r'OPERATION_NAME = "([^"]+)"', line):
            name = match.group(1)
            found.setdefault(name, set())
        elif match := re.match(r'\s+(?:if .*: )?attributes\["(\w+)"\] =', line):
            found[name].add(match.group(1))
        elif "_ODS_OPERAND_SEGMENTS = " in line:
            found[name].add("operandSegmentSizes")
    return found


def missing(package: str, dialect: str) -> dict[str, set[str]]:
    """What the table lacks of the operations that are accepted."""
    rows = {name: attributes_of(name) for name in defined(package, dialect)}
    wanted = {n: a for n, a in defined(package, dialect).items() if n in ACCEPTED or rows[n]}
    assert wanted
    return {n: lost for n, a in wanted.items() if (lost := a - set(rows[n] or ()))}


# What is accepted by a pattern and has no rule: refused where it is read.
NOT_RAISED = {
    "linalg.winograd_filter_transform", "linalg.winograd_input_transform",
    "linalg.winograd_output_transform", "scf.execute_region", "cf.switch",
    "cf.cond_br",
}  # fmt: skip


@pytest.mark.parametrize(
    "dialect", ["arith", "math", "complex", "tensor", "scf", "cf", "func", "linalg"]
)
def test_the_table_has_all_attributes_of_accepted_operations(dialect: str) -> None:
    assert set(missing("torch_mlir", dialect)) <= NOT_RAISED


@pytest.mark.parametrize("dialect", ["stablehlo", "chlo"])
def test_the_table_has_all_attributes_of_operations_of_stablehlo(dialect: str) -> None:
    pytest.importorskip("jaxlib.mlir")
    assert not missing("jaxlib.mlir", dialect)


@pytest.mark.parametrize("dialect", ["arith", "tensor", "scf", "cf", "bufferization", "affine"])
def test_an_operation_has_the_attributes_of_its_rows(dialect: str) -> None:
    own = defined("torch_mlir", dialect)
    rows = {name: set(TABLE[name]) for name in own.keys() & TABLE.keys()}
    assert rows
    shared = {"static_output_shape", *(a for n, row in TABLE.items() if "*" in n for a in row)}
    extra = {name: row - own[name] - shared for name, row in rows.items()}
    assert {name: row for name, row in extra.items() if row} == {}


# What is rewritten before it is read, and what ends a region.
PREPARED = {
    "stablehlo": {"stablehlo.uniform_dequantize", "stablehlo.uniform_quantize"},
    "affine": {"affine.delinearize_index", "affine.linearize_index", "affine.if", "affine.parallel",
               "affine.yield"},
    "bufferization": set[str](), "linalg": set[str](),
}  # fmt: skip


@pytest.mark.parametrize("dialect", PREPARED)
def test_an_operation_is_accepted_or_refused_with_a_reason(dialect: str) -> None:
    package = "jaxlib.mlir" if dialect == "stablehlo" else "torch_mlir"
    pytest.importorskip(package)
    own = defined(package, dialect)
    without = {n for n in own if n not in REASONS and attributes_of(n) is None}
    assert without == PREPARED[dialect]
    assert {n for n in REASONS if n.startswith(f"{dialect}.")} <= own.keys()
    assert {n for n in NOT_RAISED if "winograd" in n} <= REASONS.keys()
    assert all(len(reason) > 20 for reason in REASONS.values())


def test_each_rule_is_for_an_operation_of_the_table() -> None:
    assert not [name for name in ACCEPTED if attributes_of(name) is None]


FLOATS, INTEGERS = "tensor<2xf32>", "tensor<2xi8>"
ALGORITHM = (
    "#stablehlo.dot_algorithm<lhs_precision_type = {0}, rhs_precision_type = {0}, "
    "accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, "
    "num_primitive_operations = {1}, allow_imprecise_accumulation = false>"
)


def product(algorithm: str) -> str:
    return (
        '%r = "stablehlo.dot_general"(%x, %x) <{dot_dimension_numbers = #stablehlo.dot<'
        "lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0]>, precision_config = "
        "[#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>], algorithm = "
        f"{algorithm}}}> : ({FLOATS}, {FLOATS}) -> tensor<f32>"
    )


# line, type of the operand and of the result, and what the error names; None where it is accepted
LINES: dict[str, tuple[str, str, str, str | None]] = {
    "overflow": ("%r = arith.addi %x, %x overflow<nsw, nuw> : T", INTEGERS, INTEGERS, None),
    "exact": ("%r = arith.divsi %x, %x exact : T", INTEGERS, INTEGERS, None),
    "fastmath": ("%r = arith.mulf %x, %x fastmath<fast> : T", FLOATS, FLOATS, None),
    "rounding": ("%r = arith.addf %x, %x upward : T", FLOATS, FLOATS,
                 "arith.addf: attribute 'roundingmode' must be to_nearest_even"),
    "nearest": ("%r = arith.addf %x, %x to_nearest_even : T", FLOATS, FLOATS, None),
    "unknown": ("%r = arith.addf %x, %x {tag = 3 : i64} : T", FLOATS, FLOATS,
                "arith.addf: attributes must be those that are read, .*; got 'tag = 3 : i64'"),
    "of others": ("%r = arith.addf %x, %x {mhlo.tag} : T", FLOATS, FLOATS, None),
    "accuracy": ('%r = "stablehlo.exponential"(%x) <{result_accuracy = '
                 "#stablehlo.result_accuracy<mode = #stablehlo.result_accuracy_mode<HIGHEST>>}> : "
                 f"({FLOATS}) -> {FLOATS}", FLOATS, FLOATS, "'result_accuracy' must be DEFAULT"),
    "algorithm": (product(ALGORITHM.format("f32", 1)), FLOATS, "tensor<f32>", None),
    "rounded factors": (product(ALGORITHM.format("bf16", 1)), FLOATS, "tensor<f32>",
                        "stablehlo.dot_general: attribute 'algorithm' must be that of f32, f32 "),
    "three products": (product(ALGORITHM.format("bf16", 3)), FLOATS, "tensor<f32>", "'algorithm'"),
}  # fmt: skip


@pytest.mark.parametrize("name", LINES)
def test_an_attribute_is_obeyed_or_refused_by_name(name: str) -> None:
    line, source, result, message = LINES[name]
    text = (
        f"func.func @main(%x: {source}) -> {result} {{\n{line.replace(': T', f': {source}')}\n"
        f"return %r : {result}\n}}"
    )
    if message is None:
        assert ted.from_mlir(text).system.outputs
        return
    with pytest.raises(VerifyError, match=message) as caught:
        ted.from_mlir(text)
    assert "(module:2)" in str(caught.value)


LOOP = """
module @counts {{
func.func @main(%x: tensor<2xf64>) -> tensor<2xf64> {{
  %a = arith.constant {first} : {kind}
  %b = arith.constant {end} : {kind}
  %c = arith.constant {step} : {kind}
  %0 = scf.for {sign} %i = %a to %b step %c iter_args(%h = %x) -> (tensor<2xf64>) : {kind} {{
    %f = arith.uitofp %i : {kind} to f64
    %s = tensor.splat %f : tensor<2xf64>
    %m = arith.addf %h, %s : tensor<2xf64>
    scf.yield %m : tensor<2xf64>
  }}
  return %0 : tensor<2xf64>
}}
}}"""


@pytest.mark.parametrize(
    ("sign", "kind", "first", "end", "step"),
    [("unsigned", "i8", 0, 200, 50), ("unsigned", "i8", 100, 250, 100), ("", "i8", 0, 127, 50),
     ("unsigned", "i16", 0, 3, 1), ("unsigned", "i8", 200, 100, 7), ("", "i8", -1, 2, 1)],
)  # fmt: skip
def test_bounds_of_a_loop_are_read_with_a_sign_or_without(
    sign: str, kind: str, first: int, end: int, step: int
) -> None:
    text = LOOP.format(sign=sign, kind=kind, first=first, end=end, step=step)
    x = ted.placeholder((2,), "float64")
    (found,) = interpreted([x], [ted.from_mlir(text)(x)])(np.ones(2))
    bits = int(kind[1:])
    np.testing.assert_array_equal(found, 1.0 + sum(k % 2**bits for k in range(first, end, step)))


def test_a_step_that_does_not_count_up_is_refused_at_its_line() -> None:
    text = LOOP.format(sign="", kind="i8", first=0, end=9, step=-1)
    with pytest.raises(VerifyError, match=r"a step must be positive, got -1 \(module @counts:7\)"):
        ted.from_mlir(text)


def test_what_is_no_module_is_said_with_its_line() -> None:
    with pytest.raises(ted.errors.FrontendError, match="line 2:"):
        ted.from_mlir("func.func @main() {\n  nothing\n}")
