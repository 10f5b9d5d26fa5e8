"""Loops read out of machine code: first from text, then from compiled programs."""

from __future__ import annotations

import platform

import pytest

import ted
from support.machine_loops import innermost_loops, scalar_loops
from ted.api.host import executable_cpus, host_cpu
from ted.codegen.assembly import disassemble
from ted.codegen.jit import compile_module
from ted.cpu.pipeline import cpu_stages
from ted.dialects import make_context
from ted.ir.pipelines import run_stages
from ted.mlir import ir
from ted.runtime.library import library_path
from unit.linalg.equation_text import compute, fill, module_text, tensor_type

NESTED = """
0000000000000000 <f>:
   0:\txor    %eax,%eax
   2:\txor    %ecx,%ecx
   4:\tvaddps (%rdi,%rcx,4),%zmm0,%zmm0
   8:\tadd    $0x10,%rcx
   c:\tjne    4 <f+0x4>
   e:\tvaddss (%rdi,%rcx,4),%xmm0,%xmm0
  12:\tinc    %rcx
  15:\tjne    e <f+0xe>
  17:\tvmulss (%rsi),%xmm0,%xmm0
  1b:\tinc    %eax
  1d:\tjne    2 <f+0x2>
  1f:\tret
"""


def test_only_innermost_loops_are_found():
    widths = [(loop.function, loop.width) for loop in innermost_loops(NESTED)]
    assert widths == [("f", 512), ("f", 0)]


def test_a_remainder_is_no_scalar_loop():
    assert [loop.is_scalar for loop in innermost_loops(NESTED)] == [False, True]
    assert scalar_loops(NESTED) == []


def test_a_loop_without_a_vector_partner_is_scalar():
    alone = NESTED.replace("vaddps (%rdi,%rcx,4),%zmm0,%zmm0", "vmulps (%rdi,%rcx,4),%zmm0,%zmm0")
    (loop,) = scalar_loops(alone)
    assert loop.operations == {"add"}


SHAPE = (96, 1000)
YIELD_A = '"ted.yield"(%a) : (f32) -> ()'


def reduction(combiner: str, subscripts: str, start: str, domain: str = "0 == 0") -> str:
    source = SHAPE if subscripts == "i, j" else SHAPE[::-1]
    return fill("z", SHAPE[:1], start) + compute(
        "y", [("A", tensor_type(source), subscripts)], [("z", tensor_type(SHAPE[:1]))], SHAPE,
        "pr", "i", YIELD_A, combiner, domain,
    )  # fmt: skip


def elementwise(operation: str, subscripts: str = "i, j", guard: str = "0 == 0") -> str:
    source = SHAPE if subscripts != "j, i" else SHAPE[::-1]
    return f"%e = tensor.empty() : {tensor_type(SHAPE)}\n" + compute(
        "y", [("A", tensor_type(source), subscripts)], [("e", tensor_type(SHAPE))], SHAPE, "pp",
        "i, j", f'%p = {operation} %a : f32\n"ted.yield"(%p) : (f32) -> ()', guards=[guard],
    )  # fmt: skip


MINUS_INFINITY = "0xFF800000"
PROGRAMS = {
    "pointwise": (SHAPE, elementwise("math.exp"), SHAPE),
    "row_sum": (SHAPE, reduction("add", "i, j", "0.0"), SHAPE[:1]),
    "row_max": (SHAPE, reduction("max", "i, j", MINUS_INFINITY), SHAPE[:1]),
    "column_sum": (SHAPE[::-1], reduction("add", "j, i", "0.0"), SHAPE[:1]),
    "triangle": (SHAPE, reduction("add", "i, j", "0.0", "i + 900 - j >= 0"), SHAPE[:1]),
    "transpose": (SHAPE[::-1], elementwise("math.absf", "j, i"), SHAPE),
    "sine": (SHAPE, elementwise("math.sin"), SHAPE),
    "guarded": (SHAPE, elementwise("math.tanh", "i, j - 3", "j - 3 >= 0"), SHAPE),
}


reads_x86 = pytest.mark.skipif(platform.machine() != "x86_64", reason="reads x86 registers")


@pytest.mark.fast(3)
@reads_x86
@pytest.mark.parametrize("cpu", executable_cpus(), ids=lambda cpu: cpu.name)
@pytest.mark.parametrize("name", PROGRAMS)
def test_innermost_loops_use_the_whole_registers_of_a_row(name, cpu):
    source, body, result = PROGRAMS[name]
    text = module_text([("A", tensor_type(source))], body, [("y", tensor_type(result))])
    with make_context(), ir.Location.unknown():
        module = run_stages(ir.Module.parse(text), cpu_stages(cpu))
        compiled = compile_module(module, (library_path(),))
    assembly = disassemble(*compiled.made.objects)
    assert scalar_loops(assembly) == []
    assert max(loop.width for loop in innermost_loops(assembly)) == 8 * cpu.vector_bytes


@reads_x86
@pytest.mark.parametrize("cpu", [c for c in executable_cpus() if c.fuses], ids=lambda c: c.name)
def test_a_loop_around_a_function_with_rare_cases_moves_whole_registers(cpu):
    numbers = tensor_type((1000,), "f64")
    body = '%p = math.sin %a : f64\n"ted.yield"(%p) : (f64) -> ()'
    y = compute("y", [("A", numbers, "i")], [("e", numbers)], (1000,), "p", "i", body)
    text = module_text([("A", numbers)], f"%e = tensor.empty() : {numbers}\n{y}", [("y", numbers)])
    with make_context(), ir.Location.unknown():
        module = run_stages(ir.Module.parse(text), cpu_stages(cpu))
        compiled = compile_module(module, (library_path(),))
    loops = innermost_loops(disassemble(compiled.made.objects[0]))
    widths = [loop.width for loop in loops if loop.function.startswith("kernel")]
    assert max(widths) == 8 * cpu.vector_bytes


CONTRACTIONS = {
    "product": (lambda a, b: a @ b, (48, 64), (64, 80)),
    "convolution": (lambda x, w: ted.nn.conv2d(x, w, padding=1), (2, 8, 8, 32), (3, 3, 32, 64)),
    "strided": (lambda x, w: ted.nn.conv2d(x, w, stride=2), (2, 17, 17, 32), (3, 3, 32, 64)),
}


@pytest.mark.fast(1)
@reads_x86
@pytest.mark.parametrize("name", CONTRACTIONS)
def test_a_contraction_and_its_gradients_use_whole_registers(name):
    made, *shapes = CONTRACTIONS[name]
    inputs = [ted.placeholder(shape, name=f"x{k}") for k, shape in enumerate(shapes)]
    output = made(*inputs)
    head = ted.placeholder(output.shape, name="head")
    for result in (output, *ted.differentiate(output, inputs, head)):
        assembly = ted.compile([*inputs, head], result).ir("asm")
        assert scalar_loops(assembly) == []
        assert max(loop.width for loop in innermost_loops(assembly)) == 8 * host_cpu().vector_bytes


@reads_x86
@pytest.mark.parametrize(("name", "kind"), [("max", "float32"), ("min", "float64")])
def test_a_maximum_of_some_uses_whole_registers(name, kind):
    """LLVM takes what is elsewhere for no change of the total, and vectorises no such loop."""
    x = ted.placeholder((4096,), kind, name="x")
    assembly = ted.compile([x], getattr(ted, name)(x, where=x < 1)).ir("asm")
    assert scalar_loops(assembly) == []
    assert max(loop.width for loop in innermost_loops(assembly)) == 8 * host_cpu().vector_bytes
