"""The proof after bufferization refuses programs in which results share memory unseen."""

from __future__ import annotations

import numpy as np
import pytest

import ted
from numeric.shared_results import PROGRAMS
from ted.dialects import make_context
from ted.errors import PassFailed
from ted.ir import pass_driver
from ted.linalg.memory_origins import Expected, check_memory, read_only
from ted.linalg.tensor_origins import Origins
from ted.mlir import bufferization, func, ir
from ted.mlir.queries import defining, functions, operations


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


# Of the gradients none continues another one.
CHAINS = [name for name in PROGRAMS if not name.startswith("gradients")]


@pytest.mark.fast(4)
@pytest.mark.parametrize("name", CHAINS)
def test_memory_that_is_claimed_twice_is_refused(name: str) -> None:
    inputs, outputs = PROGRAMS[name]()
    text = ted.compile(inputs, outputs, target="cuda").ir("scheduled")
    with make_context():
        module = ir.Module.parse(text)
        pass_driver.run_pipeline(module, "builtin.module(ted-bufferize)")
        module = ir.Module.parse(text)
        with ir.Location.unknown():
            for function in functions(module):
                _claim_results_twice(function)
        with pytest.raises(PassFailed, match="was written as another value before"):
            pass_driver.run_pipeline(module, "builtin.module(ted-bufferize)")


@pytest.mark.parametrize("reverse", [False, True])
def test_a_first_step_may_look_back_at_what_is_not_there(reverse: bool) -> None:
    """Its read is behind a condition on data that does not hold: whatever is there is not used."""
    back, x = ted.placeholder((4,), "int64"), ted.placeholder((4, 3), "float64")

    def step(h: ted.Scalar, t: ted.Scalar, i: ted.Scalar) -> ted.Scalar:
        before, is_later = (t + 1, t < 3) if reverse else (t - 1, t > 0)
        is_past = (back[t] > t) if reverse else (back[t] < t)
        looked = ted.where(is_past & (i > 0) & (x[t, i] > 0), h[back[t], i - 1], 0.5)
        return ted.where(is_later, h[before, i], 0.25) + looked

    h = ted.recurrence((4, 3), step, "float64", reverse=reverse)
    times, values = np.array([1, 0, 3, 2] if reverse else [1, 0, 1, 2]), np.ones((4, 3))
    values[2, 1] = -1.0
    expected = np.zeros((4, 3))
    for t in range(3, -1, -1) if reverse else range(4):
        is_past = times[t] > t if reverse else times[t] < t
        for i in range(3):
            is_first = t == (3 if reverse else 0)
            expected[t, i] = 0.25 if is_first else expected[t + 1 if reverse else t - 1, i]
            is_read = is_past and i > 0 and values[t, i] > 0
            expected[t, i] += expected[times[t], i - 1] if is_read else 0.5
    (found,) = ted.compile([back, x], [2.0 * h])(times, values)
    np.testing.assert_allclose(found, 2.0 * expected)


def test_locations_are_what_they_were() -> None:
    inputs, outputs = next(iter(PROGRAMS.values()))()
    text = ted.compile(inputs, outputs, target="cuda").ir("scheduled")
    with make_context():
        module = ir.Module.parse(text)
        pass_driver.run_pipeline(module, "builtin.module(ted-bufferize)")
        assert "ted.number" not in str(module.operation.get_asm(enable_debug_info=True))


# Operation 0 writes, 1 writes something else, 2 reads what only 0 must and may have written.
WRITE = 'memref.store %z, %m[%c0] : memref<4xf32> loc("ted.number 0")'
OTHER = 'memref.store %z, %m[%c1] : memref<4xf32> loc("ted.number 1")'
READ = '%v = memref.load %m[%c0] : memref<4xf32> loc("ted.number 2")'
LOOP = "scf.for %i = %c0 to %c2 step %c1 {{ {} }}"
BRANCH = "scf.if %b {{ {} }}"
ALLOCATE = "%m = memref.alloc() : memref<4xf32>"
COPIES = """%n = memref.alloc() : memref<4xf32>
memref.copy %m, %n : memref<4xf32> to memref<4xf32>
%w = memref.load %n[%c0] : memref<4xf32> loc("ted.number 2")"""
VIEW = """%n = memref.subview %m[0] [2] [1] : memref<4xf32> to memref<2xf32, strided<[1]>>
memref.store %z, %n[%c0] : memref<2xf32, strided<[1]>> loc("ted.number 1")"""
FILL = 'linalg.fill ins(%z : f32) outs(%m : memref<4xf32>) loc("ted.number 0")'
PART = """%n = memref.subview %m[0] [2] [1] : memref<4xf32> to memref<2xf32, strided<[1]>>
linalg.fill ins(%z : f32) outs(%n : memref<2xf32, strided<[1]>>) loc("ted.number 0")"""
CARRIED = """%q = memref.alloc() : memref<4xf32>
%l = scf.for %i = %c0 to %c2 step %c1 iter_args(%n = %m) -> (memref<4xf32>) {
  memref.store %z, %n[%c0] : memref<4xf32> loc("ted.number 1")
  scf.yield %q : memref<4xf32>
}"""
TURNED = """%p = memref.alloc() : memref<4xf32>
%o = memref.alloc() : memref<4xf32>
memref.store %z, %o[%c0] : memref<4xf32> loc("ted.number 1")
%l:3 = scf.for %i = %c0 to %c2 step %c1 iter_args(%x = %m, %y = %p, %w = %o)
    -> (memref<4xf32>, memref<4xf32>, memref<4xf32>) {
  %v = memref.load %x[%c0] : memref<4xf32> loc("ted.number 2")
  scf.yield %y, %w, %w : memref<4xf32>, memref<4xf32>, memref<4xf32>
}"""


@pytest.mark.parametrize(
    ("body", "refused"),
    [
        ([ALLOCATE, WRITE, READ], None),
        ([ALLOCATE, READ], "must be written before, by linalg.first"),
        ([ALLOCATE, WRITE, OTHER, READ], "as another value before, by linalg.second"),
        ([ALLOCATE, WRITE, READ, OTHER], None),
        ([ALLOCATE, WRITE, VIEW, READ], "as another value"),
        ([ALLOCATE, WRITE, BRANCH.format(OTHER), READ], "as another value"),
        ([ALLOCATE, BRANCH.format(WRITE), READ], None),
        ([ALLOCATE, WRITE, LOOP.format(f"{READ}\n{OTHER}")], "as another value"),
        ([ALLOCATE, WRITE, LOOP.format(OTHER), READ], "as another value"),
        ([LOOP.format("\n".join([ALLOCATE, WRITE, READ, OTHER]))], None),
        ([ALLOCATE, WRITE, COPIES, OTHER], None),
        ([ALLOCATE, WRITE, OTHER, COPIES], "as another value"),
        ([ALLOCATE, OTHER, FILL, READ], None),
        ([ALLOCATE, OTHER, PART, READ], "as another value"),
        ([ALLOCATE, FILL, OTHER, READ], "as another value"),
        ([ALLOCATE, WRITE, CARRIED, READ], "as another value"),
        ([ALLOCATE, WRITE, TURNED], "as another value"),
    ],
)
def test_reads_see_the_writes_that_they_expect(body: list[str], refused: str | None) -> None:
    lines = "\n".join(body)
    text = f"""func.func @f(%z: f32, %b: i1) {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      {lines}
      return
    }}"""
    with make_context():
        unknown, module = ir.Location.unknown(), ir.Module.parse(text)
        (function,) = functions(module)
        expected = {
            0: Expected((), "linalg.first", unknown),
            1: Expected((), "linalg.second", unknown),
            2: Expected((Origins(1, 1),), "linalg.third", unknown),
        }
        if refused is None:
            check_memory(function, expected)
        else:
            with pytest.raises(PassFailed, match=refused):
                check_memory(function, expected)


GLOBAL = 'memref.global "private" constant @c : memref<4xf32> = dense<1.0>'
STORE = 'memref.store %z, {}[%c0] : memref<4xf32> loc("ted.number 0")'
PASSED = """%n = memref.subview %b[0] [2] [1] : memref<4xf32> to memref<2xf32, strided<[1]>>
linalg.fill ins(%z : f32) outs(%n : memref<2xf32, strided<[1]>>) loc("ted.number 0")"""
COPIED = "memref.copy %a, %b : memref<4xf32> to memref<4xf32>"


@pytest.mark.parametrize(
    ("body", "writer"),
    [
        (STORE.format("%a"), None),
        (STORE.format("%b"), "linalg.first"),
        (PASSED, "linalg.first"),
        (LOOP.format(STORE.format("%b")), "linalg.first"),
        (COPIED, "a copy"),
        ("%g = memref.get_global @c : memref<4xf32>\n" + STORE.format("%g"), "linalg.first"),
    ],
)
def test_arguments_and_constants_are_not_written_to(body: str, writer: str | None) -> None:
    text = f"""{GLOBAL}
    func.func @f(%z: f32, %a: memref<4xf32>, %b: memref<4xf32>) {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      {body}
      return
    }}"""
    with make_context():
        module = ir.Module.parse(text)
        (function,) = functions(module)
        expected = {0: Expected((), "linalg.first", ir.Location.unknown())}
        if writer is None:
            check_memory(function, expected, [2])
            return
        rule = f"must be left as it is, got {writer}.* which writes to memref<4xf32>"
        with pytest.raises(PassFailed, match=rule):
            check_memory(function, expected, [2])


def test_memory_that_is_not_given_to_be_written_is_known() -> None:
    text = """func.func @f(%a: memref<4xf32>, %b: memref<4xf32>, %c: memref<4xf32>) {
      %0 = bufferization.to_tensor %a restrict : memref<4xf32> to tensor<4xf32>
      %1 = bufferization.to_tensor %b restrict writable : memref<4xf32> to tensor<4xf32>
      return
    }"""
    with make_context():
        module = ir.Module.parse(text)
        (function,) = functions(module)
        assert read_only(function) == [0]
