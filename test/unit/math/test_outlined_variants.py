"""Functions are made for as many lanes as loops can call them with, and for no more."""

from __future__ import annotations

import re

import pytest

from ted import dialects
from ted.ir.pass_driver import run_pipeline
from ted.mlir import ir

CALL = """
  %v = memref.load %a[%i] : memref<?xf64>
  %y = math.sin %v : f64
  memref.store %y, %a[%i] : memref<?xf64>
"""


def loop(start: str, end: str, body: str = CALL, index: str = "i") -> str:
    return f"scf.for %{index} = {start} to {end} step %c1 {{ {body} }}"


def lanes(*bodies: str) -> list[int]:
    """For how many lanes sin is made in a program of such functions, for AVX2."""
    numbers = (1, 2, 3, 7, 8, 32, 60, 63, 64)
    constants = "\n".join(f"%c{n} = arith.constant {n} : index" for n in numbers)
    text = "\n".join(
        f"func.func @f{k}(%a: memref<?xf64>, %n: index) {{ {constants}\n {body}\n return }}"
        for k, body in enumerate(bodies)
    )
    with dialects.session():
        module = ir.Module.parse(text)
        run_pipeline(module, "builtin.module(ted-outline-math{cpu=avx2})")
        made = str(module)
    found = sorted(int(n) for n in re.findall(r"func.func private @ted_sin_f64_x(\d+)\(", made))
    named = sorted(int(n) for n in re.findall(r"_ZGV_LLVM_N(\d+)v_ted_sin_f64\(", made))
    assert found == named
    assert ("ted.together" in made) == (8 in found)
    return found


@pytest.mark.parametrize(
    ("body", "made"),
    [
        (loop("%c1", "%c2"), [2]),
        (loop("%c2", "%c3"), [2, 4]),  # by the end, which counts for what is long
        (loop("%c1", "%c3"), [2, 4]),
        (loop("%c1", "%c63"), [2, 4]),
        (loop("%c60", "%c64"), [2, 4, 8]),
        (loop("%c1", "%c64"), [2, 4, 8]),
        (loop("%c1", "%n"), [2, 4, 8]),
        (loop("%c1", "%c8", loop("%c1", "%c8"), "j"), [2, 4, 8]),
        (loop("%c1", "%c8", loop("%c1", "%c7"), "j"), [2, 4]),
        (loop("%c1", "%c32") + loop("%c1", "%c32"), [2, 4, 8]),
        ("%f = arith.constant 2.0 : f64\n %y = math.sin %f : f64", [2, 4, 8]),
    ],
)
def test_functions_are_made_for_what_loops_may_call_at_once(body, made):
    assert lanes(body) == made


def test_loops_of_other_functions_are_no_longer():
    short = loop("%c1", "%c32")
    assert lanes(short, short) == [2, 4]
    assert lanes(short, loop("%c1", "%c64")) == [2, 4, 8]


def test_a_loop_under_a_condition_counts_and_a_parallel_one_is_of_any_length():
    condition = "%t = arith.cmpi eq, %n, %c1 : index\n"
    assert lanes(loop("%c1", "%c3", f"{condition} scf.if %t {{ {CALL} }}")) == [2, 4]
    parallel = "scf.parallel (%i) = (%c1) to (%c3) step (%c1) { " + CALL + " scf.reduce }"
    assert lanes(parallel) == [2, 4, 8]
