"""A pipeline of MLIR has one pass manager in a context, for as long as that lives."""

import gc

import pytest

from ted import dialects
from ted.mlir import ir, make_context, pass_managers
from ted.mlir.pass_managers import pass_manager

FOLDED = "builtin.module(canonicalize)"
ADDED = """
func.func @f() -> i64 {
  %a = arith.constant 20 : i64
  %b = arith.addi %a, %a : i64
  return %b : i64
}"""
RAISED = """
func.func @f() -> index {
  %a = index.constant 20
  %b = index.add %a, %a
  return %b : index
}"""


def test_managers_are_made_once_for_each_pipeline_context_and_verifier():
    first, second = dialects.make_context(), dialects.make_context()
    found = pass_manager(FOLDED, first)
    assert pass_manager(FOLDED, first) is found
    assert pass_manager(FOLDED, first, verify_each=False) is not found
    assert pass_manager("builtin.module(cse)", first) is not found
    assert pass_manager(FOLDED, second) is not found


def test_managers_of_the_latest_context_are_kept():
    first, second = dialects.make_context(), dialects.make_context()
    pass_manager(FOLDED, first)
    pass_manager(FOLDED, second)
    assert list(pass_managers._made) == [second]


def test_managers_go_with_their_context():
    context = make_context()
    pass_manager(FOLDED, context).run(ir.Module.parse(ADDED, context).operation)
    del context
    gc.collect()
    assert not pass_managers._made


def test_a_manager_folds_what_the_context_learned_of_after_its_first_run():
    context = dialects.make_context()
    for text in (ADDED, RAISED):
        module = ir.Module.parse(text, context)
        pass_manager(FOLDED, context).run(module.operation)
        assert "add" not in str(module)


def test_a_manager_runs_again_after_it_failed():
    context = dialects.make_context()
    context.allow_unregistered_dialects = True
    manager = pass_manager("builtin.module(one-shot-bufferize)", context)
    unknown = ir.Module.parse('%a = "some.op"() : () -> tensor<4xf32>', context)
    with pytest.raises(ir.MLIRError):
        manager.run(unknown.operation)
    manager.run(ir.Module.parse(ADDED, context).operation)


def test_text_that_is_no_pipeline_is_refused():
    with pytest.raises(ValueError, match="no-such-pass"):
        pass_manager("builtin.module(no-such-pass)", dialects.make_context())
