"""The operations' own examples, their builders, and what verification leaves behind."""

from __future__ import annotations

import re

import pytest

from ted import dialects
from ted.dialects.ted import MAX_RUNS, ComputeOp, IndexOp, LoadOp, ScanOp, StopGradientOp, Ted
from ted.mlir import PassManager, arith, func, ir, tensor


def examples() -> list[tuple[str, str]]:
    blocks = re.compile(r"```mlir\n(.*?)```", re.DOTALL)
    return [
        (op.OPERATION_NAME, text) for op in Ted.operations for text in blocks.findall(op.__doc__)
    ]


@pytest.mark.parametrize(("name", "text"), examples(), ids=lambda value: value[:20])
def test_an_example_parses_verifies_and_prints_as_itself(name: str, text: str) -> None:
    with dialects.make_context():
        module = ir.Module.parse(text)
        assert f'"{name}"' in str(module)
        assert str(ir.Module.parse(str(module))) == str(module)
        PassManager.parse("builtin.module(canonicalize,cse)").run(module.operation)
        assert module.operation.verify()


def test_every_operation_has_an_example_and_says_its_vjp() -> None:
    named = {name for name, _ in examples()}
    assert named == {op.OPERATION_NAME for op in Ted.operations}
    assert all("VJP" in op.__doc__ and "Verifier" in op.__doc__ for op in Ted.operations)


def test_loading_twice_changes_nothing() -> None:
    context = dialects.make_context()
    dialects.load(context)
    assert context.is_dialect_loaded("ted")


def test_two_contexts_have_their_own_dialect() -> None:
    first, second = dialects.make_context(), dialects.make_context()
    for context in (first, second, first):
        with context:
            assert ir.Module.parse(examples()[0][1]).operation.verify()


def build(count: int) -> ir.Module:
    """A sum over `count` tensors of sizes 1, 2, ..., read at 0."""
    f32, f64 = ir.F32Type.get(), ir.F64Type.get()
    types = [ir.RankedTensorType.get([k + 1], f64 if k % 2 else f32) for k in range(count)]
    first = ir.AffineMap.get(1, 0, [ir.AffineExpr.get_constant(0)])
    module = ir.Module.create()
    with ir.InsertionPoint(module.body):

        @func.FuncOp.from_py_func(*types)
        def main(*tensors: ir.Value) -> ir.Value:
            init = tensor.EmptyOp([3], f64).result

            def body(*scalars: ir.Value) -> list[ir.Value]:
                total = arith.constant(f64, 0.0)
                for value in scalars:
                    wide = value if value.type == f64 else arith.extf(f64, value)
                    total = arith.addf(total, wide)
                return [total]

            return ComputeOp.build(
                list(tensors), [init], extents=[3], reads=[first] * count,
                write=ir.AffineMap.get_identity(1), body=body,
            ).value  # fmt: skip

    return module


def test_operands_of_many_types_leave_no_trace_of_irdl() -> None:
    with dialects.make_context(), ir.Location.unknown():
        module = build(MAX_RUNS - 1)
        assert module.operation.verify()
        assert "operandSegmentSizes" not in str(module)


def test_more_types_than_irdl_can_hold_are_refused_by_name() -> None:
    with dialects.make_context(), ir.Location.unknown():
        module = build(MAX_RUNS)
        with pytest.raises(ir.MLIRError) as caught:
            module.operation.verify()
        message = caught.value.error_diagnostics[0].message
        assert message.startswith("ted.compute: at most 64 runs of operands of equal type, got 65")


def test_builders_make_what_the_parser_makes() -> None:
    with dialects.make_context(), ir.Location.unknown():
        f32 = ir.F32Type.get()
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):

            @func.FuncOp.from_py_func(ir.RankedTensorType.get([5], f32))
            def main(table: ir.Value) -> ir.Value:
                table = StopGradientOp.build(table).operation.results[0]
                init = tensor.EmptyOp([3], f32).result

                def body() -> list[ir.Value]:
                    i = IndexOp.build(0).operation.results[0]
                    yes = arith.constant(ir.IntegerType.get_signless(1), 1)
                    load = LoadOp.build(table, yes, [i], mode="clip")
                    assert load.source == table
                    assert load.indices == [i]
                    return [load.value]

                op = ComputeOp.build(
                    [], [init], extents=[3], reads=[], write=ir.AffineMap.get_identity(1), body=body
                )
                assert op.position is None
                assert op.box == (3,)
                return op.value

        assert module.operation.verify()
        assert str(ir.Module.parse(str(module))) == str(module)


def test_a_failing_rule_is_a_diagnostic_and_never_an_exception_through_mlir(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken_rule(op: object) -> str | None:
        raise RuntimeError("bang")

    from ted.dialects.ted import verify_compute

    monkeypatch.setattr(verify_compute, "RULES", (broken_rule,))
    with dialects.make_context(), pytest.raises(ir.MLIRError) as caught:
        ir.Module.parse(examples()[0][1])
    assert "broken rule could not be checked" in caught.value.error_diagnostics[0].message


def test_more_types_of_histories_than_irdl_can_hold_are_refused() -> None:
    with dialects.make_context(), ir.Location.unknown():
        types = [ir.RankedTensorType.get([2, k + 1], ir.F32Type.get()) for k in range(MAX_RUNS + 1)]
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):

            @func.FuncOp.from_py_func(*types)
            def main(*inits: ir.Value) -> None:
                ScanOp.build(inits, times=[0] * len(inits), steps=2, body=lambda *states: states)

        with pytest.raises(ir.MLIRError) as caught:
            module.operation.verify()
        message = caught.value.error_diagnostics[0].message
        assert message.startswith("ted.scan: at most 64 runs of histories of equal type, got 65")


def test_histories_of_many_types_leave_no_trace_of_irdl() -> None:
    with dialects.make_context(), ir.Location.unknown():
        types = [ir.RankedTensorType.get([2, k + 1], ir.F32Type.get()) for k in range(MAX_RUNS)]
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):

            @func.FuncOp.from_py_func(*types)
            def main(*inits: ir.Value) -> list[ir.Value]:
                made = ScanOp.build(
                    inits, times=[0] * len(inits), steps=2, body=lambda *states: states
                )
                return list(made.operation.results)

        assert module.operation.verify()
        assert "SegmentSizes" not in str(module)
