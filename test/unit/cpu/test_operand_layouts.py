"""Which operands are copied before a contraction, by cost; results do not change."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ted.cpu import operand_layouts
from ted.cpu.contraction_plan import Plan, plan_contraction
from ted.cpu.operand_layouts import reading_cycles, transposing_cycles
from ted.cpu.ted_schedule_contractions import TedScheduleContractions
from ted.dialects import make_context
from ted.errors import ScheduleError
from ted.linalg.strided_contractions import Dim
from ted.machine import CPUS, Cache
from ted.mlir import ir
from unit.cpu.contraction_programs import Program, check, text

CPU = CPUS["avx512"]


def across(m: int, n: int, k: int, cpu: str = "avx512", element_bytes: int = 4) -> Plan:
    """The plan of A^T B: steps of the sum are rows of both."""
    dims = (Dim(m, 1, 0, n), Dim(n, 0, 1, 1), Dim(k, m, n, 0, reduction=True))
    plan = plan_contraction(dims, element_bytes, CPUS[cpu])
    assert plan is not None
    return plan


def is_copied(m: int, n: int, k: int) -> bool:
    plan = across(m, n, k)
    return reading_cycles(plan, 4, CPU) > transposing_cycles(plan, 4, CPU)


@pytest.mark.parametrize(
    ("cache", "step", "lines"),
    [
        (Cache(32 << 10, 8), 64, 512),
        (Cache(32 << 10, 8), 4096, 8),
        (Cache(32 << 10, 8), 4032, 512),
        (Cache(32 << 10, 8), 4000, 512),
        (Cache(1 << 20, 16), 4096, 256),
        (Cache(1 << 20, 16), 6144, 512),
    ],
)
def test_lines_whose_distance_divides_a_cache_share_its_places(
    cache: Cache, step: int, lines: int
) -> None:
    assert cache.lines(step) == lines


@pytest.mark.parametrize("cpu", CPUS)
def test_a_large_product_waits_longer_for_far_lines_than_a_copy_takes(cpu: str) -> None:
    plan, row = across(1024, 1024, 1024, cpu), CPUS[cpu]
    assert reading_cycles(plan, 4, row) > transposing_cycles(plan, 4, row)


def test_few_panels_do_not_pay_for_a_copy() -> None:
    assert not is_copied(784, 64, 512)
    assert is_copied(784, 512, 512)


def test_few_steps_stay_in_the_first_cache() -> None:
    assert reading_cycles(across(1000, 256, 128), 4, CPU) == 0


def test_steps_that_share_lines_cost_nothing() -> None:
    plan = across(1024, 1024, 1024)
    near = replace(plan, reduction=(replace(plan.reduction[0], a=8),))
    assert reading_cycles(near, 4, CPU) == 0


def test_steps_on_more_pages_than_the_tables_have_cost_more() -> None:
    many = across(2048, 2048, 2048)
    plenty = replace(CPU, pages=4096)
    assert reading_cycles(many, 4, CPU) > 1.5 * reading_cycles(many, 4, plenty)


def test_steps_of_one_page_do_not_wait_for_its_entry() -> None:
    plan = across(1000, 1024, 2048)
    assert reading_cycles(plan, 4, CPU) == reading_cycles(plan, 4, replace(CPU, pages=4096))


def test_lines_that_no_tile_read_before_are_waited_for() -> None:
    few, many = (reading_cycles(across(m, 64, 600), 4, CPU) / m for m in (400, 4000))
    assert many > 1.2 * few  # more than the second cache holds


def test_a_copy_behind_the_second_cache_costs_more() -> None:
    near, far = (transposing_cycles(across(n, 64, 128), 4, CPU) for n in (1024, 2048))
    assert far - operand_layouts.BEGIN_CYCLES > 2.2 * (near - operand_layouts.BEGIN_CYCLES)


def test_a_batch_is_copied_as_often_as_it_moves() -> None:
    plan = across(1024, 1024, 1024)
    batch = Dim(3, 1 << 20, 1 << 20, 1 << 20)
    one = transposing_cycles(plan, 4, CPU) - operand_layouts.BEGIN_CYCLES
    three = transposing_cycles(replace(plan, batch=(batch,)), 4, CPU)
    assert three == operand_layouts.BEGIN_CYCLES + 3 * one
    still = replace(batch, a=0)
    alone = transposing_cycles(replace(plan, batch=(still,)), 4, CPU)
    assert alone == operand_layouts.BEGIN_CYCLES + one


def matmul(element: str, layout: tuple[str, str] = ("k, i", "k, j")) -> Program:
    sizes = {"i": 61, "j": 70, "k": 45}
    shapes = [tuple(sizes[name] for name in dims.split(", ")) for dims in layout]
    return Program(
        "ppr", (shapes[0], layout[0]), (shapes[1], layout[1]), ((61, 70), "i, j"), element
    )


PROGRAMS = {
    "f32": matmul("f32"),
    "f64": matmul("f64"),
    "batches": Program(
        "pppr", ((3, 40, 25), "i, l, j"), ((3, 40, 33), "i, l, k"), ((3, 25, 33), "i, j, k")
    ),
    "the second input fills rows": Program(
        "ppr", ((40, 33), "k, j"), ((40, 25), "k, i"), ((25, 33), "i, j")
    ),
    "two summed dims": Program(
        "pprr", ((6, 9, 25), "k, l, i"), ((9, 6, 33), "l, k, j"), ((25, 33), "i, j")
    ),
}


@pytest.mark.fast(1)
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_contraction_of_the_copy_is_right(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[object] = []
    emit = operand_layouts._copy
    monkeypatch.setattr(operand_layouts, "_copy", lambda *a: made.append(a) or emit(*a))
    monkeypatch.setattr(operand_layouts, "reading_cycles", lambda *_: np.inf)
    check(PROGRAMS[name])
    assert made


def scheduled(source: str) -> str:
    with make_context() as context:
        module = ir.Module.parse(source, context)
        TedScheduleContractions("avx512").run(module)
        return str(module)


def asking(program: Program, layout: str) -> str:
    return text(program).replace("iterator_types", f"ted.layout = {layout}, iterator_types")


def test_the_operand_that_fills_rows_is_copied_and_not_the_other() -> None:
    second = Program("ppr", ((512, 4096), "k, j"), ((512, 512), "k, i"), ((512, 4096), "i, j"))
    assert "outs(%0 : tensor<512x512xf32>)" in scheduled(asking(second, '{name = "transposed"}'))


def test_two_orders_of_one_operand_are_two_copies() -> None:
    source = """
      #A = affine_map<(b, i, j, k) -> (b, k, i)>
      #D = affine_map<(b, i, j, k) -> (k, b, i)>
      #B = affine_map<(b, i, j, k) -> (b, k, j)>
      #C = affine_map<(b, i, j, k) -> (b, i, j)>
      func.func @main(%A: tensor<8x8x64xf32>, %B: tensor<8x8x64xf32>, %C: tensor<8x64x64xf32>)
          -> (tensor<8x64x64xf32>, tensor<8x64x64xf32>) {
    """
    for name in "AD":
        source += f"""
        %{name}r = linalg.generic {{indexing_maps = [#{name}, #B, #C],
            iterator_types = ["parallel", "parallel", "parallel", "reduction"],
            ted.layout = {{name = "transposed"}}}}
            ins(%A, %B : tensor<8x8x64xf32>, tensor<8x8x64xf32>) outs(%C : tensor<8x64x64xf32>) {{
        ^bb0(%a: f32, %b: f32, %c: f32):
          %p = arith.mulf %a, %b : f32
          %s = arith.addf %c, %p : f32
          linalg.yield %s : f32
        }} -> tensor<8x64x64xf32>
        """
    source += "return %Ar, %Dr : tensor<8x64x64xf32>, tensor<8x64x64xf32>}"
    assert scheduled(source).count("linalg.generic") == 4


def test_an_operand_may_be_asked_to_stay() -> None:
    large = Program("ppr", ((1024, 1024), "k, i"), ((1024, 512), "k, j"), ((1024, 512), "i, j"))
    assert scheduled(text(large)).count("linalg.generic") == 2
    assert scheduled(asking(large, '{name = "as_it_lies"}')).count("linalg.generic") == 1


@pytest.mark.parametrize(
    ("program", "layout", "reason"),
    [
        (matmul("f32", ("i, k", "k, j")), '{name = "transposed"}', "what is summed lies together"),
        (
            Program("ppr", ((9, 8, 8), "k, i, i"), ((9, 64), "k, j"), ((8, 64), "i, j")),
            '{name = "transposed"}',
            "no loop by itself",
        ),
        (
            Program("ppr", ((9, 8, 2), "k, i, 0"), ((9, 64), "k, j"), ((8, 64), "i, j")),
            '{name = "transposed"}',
            "no loop by itself",
        ),
        (
            Program("pprp", ((9, 20, 3), "k, i, l"), ((9, 64), "k, j"), ((20, 64, 3), "i, j, l")),
            '{name = "transposed"}',
            "no neighbours",
        ),
        (matmul("f32"), '{name = "transposed", operand = 1}', "numbers follow from the operands"),
        (matmul("f32"), '{name = "packed"}', "name is one of transposed, as_it_lies"),
    ],
)
def test_what_does_not_fit_is_refused(program: Program, layout: str, reason: str) -> None:
    with pytest.raises(ScheduleError, match=reason):
        scheduled(asking(program, layout))


def test_a_layout_at_what_is_no_contraction_is_refused() -> None:
    source = text(Program("pr", ((8, 9), "i, j"), ((9,), "j"), ((8,), "i")))
    with pytest.raises(ScheduleError, match="nothing is decided about"):
        scheduled(source.replace("iterator_types", 'ted.layout = {name = "x"}, iterator_types'))
