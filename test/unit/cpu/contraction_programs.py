"""Contractions as text, their compiled result, and their value by NumPy in double precision."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ted.api.host import host_cpu
from ted.codegen.jit import compile_module
from ted.cpu.pipeline import cpu_stages
from ted.dialects import make_context
from ted.ir.pipelines import run_stages
from ted.machine import Cpu
from ted.mlir import ir
from ted.runtime.library import library_path

DTYPES = {"f32": np.float32, "f64": np.float64}
NAMES = "ijklmnpq"


# `C += A * B` of pairs of bf16 as `in_pairs` makes it, of any shapes and subscripts.
PRODUCTS_OF_PAIRS = """
func.func @main(%A: tensor<{a}xi32>, %B: tensor<{b}xi32>, %C: tensor<{c}xf32>) -> tensor<{c}xf32> {{
  %bits = arith.constant 16 : i32
  %upper = arith.constant -65536 : i32
  %r = linalg.generic {{
      indexing_maps = [affine_map<({dims}) -> ({in_a})>, affine_map<({dims}) -> ({in_b})>,
                       affine_map<({dims}) -> ({in_c})>],
      iterator_types = [{kinds}]}}
      ins(%A, %B : tensor<{a}xi32>, tensor<{b}xi32>) outs(%C : tensor<{c}xf32>) {{
  ^bb0(%a: i32, %b: i32, %c: f32):
    %0 = arith.andi %a, %upper : i32
    %1 = arith.bitcast %0 : i32 to f32
    %2 = arith.andi %b, %upper : i32
    %3 = arith.bitcast %2 : i32 to f32
    %4 = arith.mulf %1, %3 : f32
    %5 = arith.addf %c, %4 : f32
    %6 = arith.shli %a, %bits : i32
    %7 = arith.bitcast %6 : i32 to f32
    %8 = arith.shli %b, %bits : i32
    %9 = arith.bitcast %8 : i32 to f32
    %10 = arith.mulf %7, %9 : f32
    %11 = arith.addf %5, %10 : f32
    linalg.yield %11 : f32
  }} -> tensor<{c}xf32>
  return %r : tensor<{c}xf32>
}}
"""


@dataclass(frozen=True)
class Program:
    """`C[c] += A[a] * B[b]`: shapes and subscripts over i j k ..; `kinds` is like "ppr"."""

    kinds: str
    a: tuple[tuple[int, ...], str]
    b: tuple[tuple[int, ...], str]
    c: tuple[tuple[int, ...], str]
    element: str = "f32"

    @property
    def extents(self) -> dict[str, int]:
        """Extent of each dim, from the subscripts that are one dim."""
        return {
            name.strip(): size
            for shape, subscripts in (self.a, self.b, self.c)
            for name, size in zip(subscripts.split(","), shape, strict=True)
            if name.strip() in NAMES
        }

    @property
    def steps(self) -> int:
        """Products per element of C."""
        names = NAMES[: len(self.kinds)]
        summed = [n for n, kind in zip(names, self.kinds, strict=True) if kind == "r"]
        return int(np.prod([self.extents[name] for name in summed]))


def text(program: Program) -> str:
    """A function `main(A, B, start) -> C` where C starts from `start`."""
    dims = ", ".join(NAMES[: len(program.kinds)])
    maps = ", ".join(
        f"affine_map<({dims}) -> ({subscripts})>"
        for _, subscripts in (program.a, program.b, program.c)
    )
    kinds = ", ".join('"parallel"' if kind == "p" else '"reduction"' for kind in program.kinds)
    e = program.element
    a, b, c = (
        f"tensor<{'x'.join([*map(str, shape), e])}>"
        for shape, _ in (program.a, program.b, program.c)
    )
    return f"""
func.func @main(%A: {a}, %B: {b}, %start: {c}) -> {c} {{
  %r = linalg.generic {{indexing_maps = [{maps}], iterator_types = [{kinds}]}}
      ins(%A, %B : {a}, {b}) outs(%start : {c}) {{
  ^bb0(%x: {e}, %y: {e}, %o: {e}):
    %p = arith.mulf %x, %y : {e}
    %s = arith.addf %o, %p : {e}
    linalg.yield %s : {e}
  }} -> {c}
  return %r : {c}
}}
"""


def expected(program: Program, a: np.ndarray, b: np.ndarray, start: np.ndarray) -> np.ndarray:
    """The definition, point by point of the reduction, vectorised over nothing else."""
    names = NAMES[: len(program.kinds)]
    extents = [program.extents[name] for name in names]
    grid = dict(zip(names, np.ogrid[tuple(slice(0, n) for n in extents)], strict=True))
    points = [
        np.broadcast_arrays(*[np.asarray(eval(s, {}, grid)) for s in subscripts.split(",")])
        for subscripts in (program.a[1], program.b[1], program.c[1])
    ]
    product = a.astype(np.float64)[tuple(points[0])] * b.astype(np.float64)[tuple(points[1])]
    result = start.astype(np.float64).copy()
    shape = np.broadcast_shapes(product.shape, points[2][0].shape)
    where = tuple(np.broadcast_to(index, shape) for index in points[2])
    np.add.at(result, where, np.broadcast_to(product, shape))
    return result


def run(
    source: str, inputs: Sequence[np.ndarray], out: np.ndarray, cpu: Cpu | None = None,
    after: str | None = None,
) -> np.ndarray:  # fmt: skip
    """Compile `main` and call it with the inputs and the memory of its result.

    `after`: the stage whose form the program has already.
    """
    with make_context() as context:
        module = ir.Module.parse(source, context)
        run_stages(module, cpu_stages(cpu or host_cpu()), after=after)
        compiled = compile_module(module, (str(library_path()),))
    pointers = [ctypes.c_void_p(array.ctypes.data) for array in (*inputs, out)]
    packed = (ctypes.c_void_p * len(pointers))(*map(ctypes.addressof, pointers))
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(compiled.address)(packed)
    return out


def check(program: Program, cpu: Cpu | None = None) -> None:
    """Compiled and defined value agree to 8 eps k, k products per sum of values about 1."""
    rng = np.random.default_rng(0)
    dtype = DTYPES[program.element]
    a, b, start = (
        rng.uniform(-1, 1, shape).astype(dtype) for shape, _ in (program.a, program.b, program.c)
    )
    result = run(text(program), (a, b, start), np.full_like(start, np.nan), cpu)
    tolerance = 8 * np.finfo(dtype).eps * (program.steps + 1)
    np.testing.assert_allclose(result, expected(program, a, b, start), rtol=0, atol=tolerance)
