"""The proof after bufferization refuses programs in which results share memory unseen."""

from __future__ import annotations

import pytest

import ted
from numeric.shared_results import PROGRAMS
from ted.dialects import make_context
from ted.errors import PassFailed
from ted.ir import pass_driver
from ted.mlir import bufferization, func, ir
from ted.schedules.walking import defining, functions, operations


def _claim_results_twice(function: func.FuncOp) -> None:
    """Copy each result into memory that is no tensor, as if no tensor were in it.

    The last state of a chain of results has the memory of all of them, as it would have if chains
    did not belong to one result each.
    """
    block = function.entry_block
    end = block.operations[len(block.operations) - 1].operation
    puts = [defining(value) for value in end.operands]
    starts = {put.operands[0]: put.operands[1] for put in puts if put is not None}
    memories = [defining(put.operands[1]) for put in puts if put is not None]
    for copy in operations(function, "bufferization.materialize_in_destination"):
        if copy not in puts:
            starts[copy.operands[0]].replace_all_uses_with(copy.operands[1])
            copy.results[0].replace_all_uses_with(copy.operands[0])
            copy.erase()
    with ir.InsertionPoint(end), function.operation.location:
        for value, memory in zip(starts, memories, strict=True):
            assert memory is not None
            bufferization.MaterializeInDestinationOp(
                None, value, memory.operands[0], restrict=True, writable=True
            )
        func.ReturnOp([])
    end.erase()
    for put in puts:
        assert put is not None
        put.erase()
    kinds = [a.type for a in block.arguments]
    function.operation.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(kinds, []))


@pytest.mark.parametrize("name", PROGRAMS)
def test_memory_that_is_claimed_twice_is_refused(name: str) -> None:
    inputs, outputs = PROGRAMS[name]
    text = ted.compile(inputs, outputs).ir("scheduled")
    with make_context():
        module = ir.Module.parse(text)
        pass_driver.run_pipeline(module, "builtin.module(ted-bufferize)")
        module = ir.Module.parse(text)
        with ir.Location.unknown():
            for function in functions(module):
                _claim_results_twice(function)
        with pytest.raises(PassFailed, match="was written as another value before"):
            pass_driver.run_pipeline(module, "builtin.module(ted-bufferize)")


def test_locations_are_what_they_were() -> None:
    inputs, outputs = next(iter(PROGRAMS.values()))
    text = ted.compile(inputs, outputs).ir("scheduled")
    with make_context():
        module = ir.Module.parse(text)
        pass_driver.run_pipeline(module, "builtin.module(ted-bufferize)")
        assert "ted.number" not in str(module.operation.get_asm(enable_debug_info=True))
