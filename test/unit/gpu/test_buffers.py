"""What is found about buffers of a program: who fills them, what they copy, whose rows they are."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import pytest

from ted import dialects
from ted.domain.linear import Form
from ted.gpu.copied_buffers import copied
from ted.gpu.dead_fills import known_starts
from ted.gpu.prefix_scans import address_of
from ted.gpu.row_loops import RowLoop, row_loop
from ted.gpu.strided_footprints import footprints_of
from ted.mlir import ir
from ted.mlir.dependences import Dependences
from ted.mlir.queries import functions, operations


@pytest.fixture(autouse=True)
def context() -> Iterator[None]:
    with dialects.session():
        yield


# ---- fills ---------------------------------------------------------------------------------------

SUM = """linalg.generic {{iterator_types = ["parallel", "reduction"],
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>]}}
    ins(%x : memref<8x4xf32>) outs({total}) {{
  ^bb0(%a: f32, %t: f32):
    %u = arith.addf %t, %a : f32
    linalg.yield %u : f32
  }}
"""
FILL = "linalg.fill ins(%c : f32) outs(%m : memref<8xf32>)\n"
WHOLE, PART = "%m : memref<8xf32>", "%v : memref<8xf32, strided<[1], offset: 0>>"
VIEW = (
    "%v = memref.subview %w[0] [8] [1] : memref<16xf32> to memref<8xf32, strided<[1], offset: 0>>\n"
)
COPY = "memref.copy %n, %m : memref<8xf32> to memref<8xf32>\n"
READ = "memref.copy %m, %n : memref<8xf32> to memref<8xf32>\n"
STARTS = {
    # Code; whether the fill has no kernel, and whether the sum starts from its value.
    "a sum": (FILL + SUM.format(total=WHOLE), True, True),
    "a sum behind a read": (FILL + READ + SUM.format(total=WHOLE), False, False),
    "overwritten as a whole": (FILL + COPY + SUM.format(total=WHOLE), True, False),
    "another memory": (FILL + VIEW + SUM.format(total=PART), False, False),
    "the fill is behind": (SUM.format(total=WHOLE) + FILL, False, False),
}


@pytest.mark.parametrize("case", STARTS)
def test_fills_that_the_next_operation_starts_from(case: str) -> None:
    code, is_folded, is_start = STARTS[case]
    module = ir.Module.parse(f"""func.func @f(%x: memref<8x4xf32>, %m: memref<8xf32>,
        %n: memref<8xf32>, %w: memref<16xf32>, %c: f32) {{ {code} return }}""")
    (function,) = functions(module)
    found = Dependences(function.entry_block, footprints_of)
    starts = known_starts(found)
    (fill,), (total,) = (operations(module.operation, f"linalg.{n}") for n in ("fill", "generic"))
    assert (fill in starts.folded) == is_folded
    assert (total in starts.of) == is_start
    if is_start:
        assert starts.of[total] == (fill.operands[0],)
        without = known_starts(found, {total})
        assert not without.folded
        assert not without.of


def test_a_fill_with_memory_is_none() -> None:
    module = ir.Module.parse(f"""func.func @f(%x: memref<8x4xf32>, %m: memref<8xf32>, %c: f32) {{
      {SUM.format(total=WHOLE)} {FILL} {FILL} return }}""")
    (function,) = functions(module)
    first, second = operations(module.operation, "linalg.fill")
    starts = known_starts(Dependences(function.entry_block, footprints_of))
    assert starts.folded == {first}, "the second one is what is left"
    assert second not in starts.folded


# ---- copies --------------------------------------------------------------------------------------

ADDED = """memref.copy %x, %v : memref<4x3xf32> to memref<4x3xf32, strided<[6, 1], offset: 7>>"""
PADDED = """%z = arith.constant 0.0 : f32
  %p = memref.alloc() : memref<7x6xf32>
  linalg.fill ins(%z : f32) outs(%p : memref<7x6xf32>)
  %v = memref.subview %p[1, 1] [4, 3] [1, 1]
      : memref<7x6xf32> to memref<4x3xf32, strided<[6, 1], offset: 7>>
  """
GATHERED = """%p = memref.alloc() : memref<3x4xf32>
  linalg.generic {{iterator_types = ["parallel", "parallel"],
      indexing_maps = [affine_map<(i, j) -> ({place})>]}} outs(%p : memref<3x4xf32>) {{
  ^bb0(%o: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %r = affine.apply affine_map<(j) -> (3 - j)>(%j)
    %u = memref.load %x[%r, %i] : memref<4x3xf32>
    linalg.yield %{given} : f32
  }}
  """


def view_of(code: str) -> object:
    """What the one buffer of a program is a view of."""
    module = ir.Module.parse(f"func.func @f(%x: memref<4x3xf32>, %q: f32) {{ {code} return }}")
    (alloc,) = operations(module.operation, "memref.alloc")
    found = copied(alloc)
    if found is None:
        return None
    view = found.view
    assert view.source == alloc.block.arguments[0]
    return view.offset, view.sizes, view.strides, view.low, view.inner


def test_a_padding_is_a_view_of_what_is_inside() -> None:
    assert view_of(PADDED + ADDED) == (0, (7, 6), (3, 1), (1, 1), (4, 3))
    assert view_of(PADDED.replace("0.0", "1.0") + ADDED) is None
    assert view_of(PADDED) is None, "nothing is copied"
    assert view_of(PADDED.replace("%z : f32", "%q : f32") + ADDED) is None
    both = "memref.store %q, %v[%i, %i] : memref<4x3xf32, strided<[6, 1], offset: 7>>"
    assert view_of(PADDED + ADDED + "%i = arith.constant 1 : index\n" + both) is None


def test_a_turned_copy_is_a_view_with_other_steps() -> None:
    found = view_of(GATHERED.format(place="i, j", given="u"))
    assert found == (9, (3, 4), (1, -3), (0, 0), (3, 4))
    offset, sizes, strides, *_ = (9, (3, 4), (1, -3))
    for i, j in product(*map(range, sizes)):
        assert offset + i * strides[0] + j * strides[1] == (3 - j) * 3 + i
    assert view_of(GATHERED.format(place="i, j", given="q")) is None, "no element of memory"


# ---- addresses -----------------------------------------------------------------------------------


def test_addresses_are_forms_in_the_counters_of_loops() -> None:
    module = ir.Module.parse("""func.func @f(%x: memref<8x6xf32>, %d: memref<4xindex>) {
      %0 = arith.constant 0 : index
      %1 = arith.constant 1 : index
      %3 = arith.constant 3 : index
      scf.for %i = %0 to %3 step %1 {
        scf.for %j = %0 to %3 step %1 {
          %k = affine.apply affine_map<(i, j) -> (i * 2 + j + 1)>(%i, %j)
          %a = memref.load %x[%k, %j] : memref<8x6xf32>
          %v = memref.subview %x[%i, 2] [4, 4] [1, 1]
              : memref<8x6xf32> to memref<4x4xf32, strided<[6, 1], offset: ?>>
          memref.store %a, %v[%3, %j] : memref<4x4xf32, strided<[6, 1], offset: ?>>
          %n = memref.load %d[%i] : memref<4xindex>
          memref.store %a, %x[%n, %j] : memref<8x6xf32>
        }
      }
      return
    }""")
    inner, outer = operations(module.operation, "scf.for")
    i, j = (loop.regions[0].blocks[0].arguments[0] for loop in (outer, inner))
    load, _ = operations(module.operation, "memref.load")
    store, at_data = operations(module.operation, "memref.store")
    found = address_of(load), address_of(store)
    assert found[0] is not None
    assert found[1] is not None
    assert (found[0].offset[i], found[0].offset[j], found[0].offset.constant) == (12, 7, 6)
    assert found[0].memory == found[1].memory == load.operands[0]
    for a, b in product(range(3), range(3)):
        values = {i: Form(a), j: Form(b)}
        assert found[0].offset.compose(values) == Form(6 * (2 * a + b + 1) + b)
        assert found[1].offset.compose(values) == Form(6 * a + 2 + 6 * 3 + b)
    assert address_of(at_data) is None, "data say where"


# ---- rows ----------------------------------------------------------------------------------------

LOOP = """func.func @f(%x: memref<5x4x6xf32>, %y: memref<5x4x6xf32>) {{
  scf.forall (%i, %j) in ({bounds}) {{
    %a = memref.subview {row} : memref<5x4x6xf32> to memref<6xf32, strided<[1], offset: ?>>
    %b = memref.subview %y[%i, %j, 0] [1, 1, 6] [1, 1, 1]
        : memref<5x4x6xf32> to memref<6xf32, strided<[1], offset: ?>>
    memref.copy %a, %b
        : memref<6xf32, strided<[1], offset: ?>> to memref<6xf32, strided<[1], offset: ?>>
  }}
  return
}}"""
OWN = "%x[%i, %j, 0] [1, 1, 6] [1, 1, 1]"
ROWS = {
    "its own": (OWN, True),
    "exchanged": ("%x[%j, %i, 0] [1, 1, 6] [1, 1, 1]", False),
    "one for all": ("%x[2, %j, 0] [1, 1, 6] [1, 1, 1]", False),
    "a column": ("%x[%i, %j, %i] [1, 1, 6] [1, 1, 1]", False),
}


def loop_in(module: ir.Module) -> RowLoop | None:
    """The one loop over rows."""
    (op,) = operations(module.operation, "scf.forall")
    return row_loop(op)


@pytest.mark.parametrize("case", ROWS)
def test_an_iteration_touches_its_own_row_only(case: str) -> None:
    row, is_own = ROWS[case]
    module = ir.Module.parse(LOOP.format(bounds="5, 4", row=row))
    loop = loop_in(module)
    assert loop is not None
    assert loop.extents == (5, 4)
    assert [op.name for op in loop.operations] == ["memref.subview"] * 2 + ["memref.copy"]
    (function,) = functions(module)
    x, y = function.entry_block.arguments
    assert loop.source_of_rows(y) == y
    assert loop.source_of_rows(x) == (x if is_own else None)


def test_other_loops_are_none_over_rows() -> None:
    text = LOOP.format(bounds="5, 4", row=OWN)
    assert (
        loop_in(ir.Module.parse(text.replace("in (5, 4)", "= (0, 0) to (5, 4) step (1, 2)")))
        is None
    )
    assert (
        loop_in(ir.Module.parse(text.replace("in (5, 4)", "= (1, 0) to (5, 4) step (1, 1)")))
        is None
    )
