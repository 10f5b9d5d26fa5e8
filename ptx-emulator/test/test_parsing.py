"""PTX text becomes functions, variables, instructions; what is not PTX is an error with a line."""

from __future__ import annotations

import numpy as np
import pytest

from ptx_emulator import Device, launch, parse
from ptx_emulator.errors import PtxSyntaxError, UnknownInstruction
from ptx_emulator.syntax import Address, Name, Vector
from ptx_kernels import entry, run


def test_declarations_and_instructions_are_read() -> None:
    module = parse("""
.version 7.0
.target sm_80
.address_size 64
.global .align 4 .b8 table[8] = {1, 2, 3, 4, 0x05};
.extern .shared .align 16 .b8 dynamic[];
.visible .entry k(.param .u64 .ptr .global .align 16 k_x, .param .align 64 .b8 k_map[128])
.maxntid 128, 1, 1
.minnctapersm 2
{
  .reg .b32 %r<3>; // a comment
  .shared .align 8 .f32 tile[4][5];
  .loc 1 2 3
start:
  ld.global.v2.b32 {%r1, _}, [%r2+-8]; /* another
  one */
  @!%p1 bra.uni start;
  .reg .pred %p1;
}
""")
    function = module.functions["k"]
    assert module.kernels == ["k"]
    assert module.target == "sm_80"
    assert module.variables["table"].data == bytes([1, 2, 3, 4, 5])
    assert module.variables["table"].bytes == 8
    assert module.variables["dynamic"].bytes is None
    assert [(p.bytes, p.align) for p in function.parameters] == [(8, 8), (128, 64)]
    assert function.directives == {"maxntid": (128, 1, 1), "minnctapersm": (2,)}
    assert function.variables["tile"].bytes == 80
    load, branch = function.instructions
    assert load.opcode == "ld.global.v2.b32"
    assert load.operands == (Vector((Name("%r.1"), Name("_"))), Address(Name("%r.2"), -8))
    assert load.line == 15
    assert (branch.guard, branch.negated, function.labels["start"]) == ("%p1", True, 0)


def test_names_of_inner_scopes_are_their_own() -> None:
    text = entry("""
  mov.u32 %r1, 1;
  { .reg .b32 %r1; .reg .b32 inner; mov.u32 %r1, 10;
    { .reg .b32 inner; mov.u32 inner, 100; add.u32 %r1, %r1, inner;
      bra done;
      mov.u32 %r1, 0;
    done: add.u32 %r1, %r1, 0; }
    mov.u32 %r2, %r1;
  }
  { bra done; mov.u32 %r2, 0; done: }
  add.u32 %r2, %r2, %r1;
  st.global.u32 [%y], %r2;
""", "y")  # fmt: skip
    assert run(text, {}, {"y": ((1,), np.uint32)}, threads=1)[0] == 111


def test_calls_of_functions_pass_parameters_and_results() -> None:
    text = """
.version 7.0
.target sm_80
.address_size 64
.func (.param .b32 twice_result) twice(.param .b32 twice_a, .param .align 4 .b8 twice_b[8])
{
  .reg .b32 %r<5>;
  .reg .pred %p<2>;
  ld.param.b32 %r1, [twice_a];
  ld.param.b32 %r2, [twice_b+4];
  setp.gt.u32 %p1, %r1, 3;
  @%p1 bra more;
  st.param.b32 [twice_result], %r2;
  ret;
more:
  add.u32 %r3, %r1, %r2;
  st.param.b32 [twice_result], %r3;
  ret;
}
.visible .entry k(.param .u64 k_y)
{
  .reg .b32 %r<9>;
  .reg .b64 %rd<3>;
  ld.param.u64 %rd1, [k_y];
  mov.u32 %r1, %tid.x;
  mov.u32 %r7, 5;
  { .param .b32 a; .param .align 4 .b8 b[8]; .param .b32 back;
    st.param.b32 [a], %r1; st.param.b32 [b], 7; st.param.b32 [b+4], %r7;
    call.uni (back), twice, (a, b);
    ld.param.b32 %r2, [back]; }
  { .param .b32 a; .param .align 4 .b8 b[8]; .param .b32 back;
    st.param.b32 [a], %r2; st.param.b32 [b+4], 1000;
    call.uni (back), twice, (a, b);
    ld.param.b32 %r2, [back]; }
  mad.wide.u32 %rd2, %r1, 4, %rd1;
  st.global.u32 [%rd2], %r2;
  ret;
}
"""
    (found,) = run(text, {}, {"y": ((32,), np.uint32)})
    threads = np.arange(32)
    assert (found == np.where(threads > 3, threads + 5, 5) + 1000).all()


def test_module_variables_have_their_initial_values() -> None:
    text = """
.version 7.0
.target sm_80
.address_size 64
.const .align 4 .f32 numbers[3] = {0f3F800000, 0f40000000, -2.5};
.global .align 8 .u64 total = 40;
.visible .entry k(.param .u64 k_y)
{
  .reg .f32 %f<4>;
  .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [k_y];
  ld.const.f32 %f1, [numbers+8];
  st.global.f32 [%rd1], %f1;
  ld.global.u64 %rd2, [total];
  add.u64 %rd2, %rd2, 2;
  st.global.u64 [total], %rd2;
  st.global.u64 [%rd1+8], %rd2;
  ret;
}
"""
    device = Device()
    y = device.put(np.zeros(2), "y")
    for wanted in (42, 44):
        launch(text, (1,), (1,), [y], device=device)
        assert device.get(y, (2,), np.uint64)[1] == wanted
    assert device.get(y, (2,), np.float32)[0] == -2.5


@pytest.mark.parametrize(
    ("body", "error", "message"),
    [
        ("  frobnicate.b32 %r1;", UnknownInstruction, r"frobnicate.*line 2\d"),
        ("  add.quickly.u32 %r1, %r1, 1;", UnknownInstruction, "quickly"),
        ("  add.u32 %r1, %unknown, 1;", PtxSyntaxError, "declared name, got %unknown"),
        ("  bra nowhere;", UnknownInstruction, "a label"),
        ("  add.u32 %r1, %r2;", UnknownInstruction, "a number of operands"),
        ("  mov.u32 %r1, %envreg3;", PtxSyntaxError, "envreg3"),
        ("  call.uni elsewhere, ();", UnknownInstruction, "function with a body"),
        ("  add.u32 %r1 %r2;", PtxSyntaxError, "got '%r2'"),
    ],
)
def test_what_is_unknown_is_an_error_that_names_it(body: str, error: type, message: str) -> None:
    with pytest.raises(error, match=message):
        run(entry(body), {"x": np.zeros(1), "y": np.zeros(1)})


def test_other_characters_are_an_error_with_their_line() -> None:
    with pytest.raises(PtxSyntaxError, match=r"line 3"):
        parse(".version 7.0\n.target sm_80\n#pragma")
