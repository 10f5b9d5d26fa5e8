"""Matrix products of ted against NumPy's BLAS, one thread each.

    python benchmarks/matmul.py [--rounds 15] [--dtype f32] [--shapes 512x512x512,64x10x128]

Contenders run in turn in one process and are timed by the CPU time of the thread, so that other
processes drop out of the numbers. On a CPU with AVX-512, OpenBLAS is told to use its kernels for
that (it does not choose them on every such CPU), which must happen before NumPy is imported.
"""

from __future__ import annotations

import os

from ted.api.host import host_cpu

os.environ["OPENBLAS_NUM_THREADS"] = "1"
if host_cpu().name == "avx512":
    os.environ["OPENBLAS_CORETYPE"] = "SkylakeX"

import argparse
import ctypes
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from timing import rounds

from ted.codegen.jit import compile_module
from ted.cpu.pipeline import cpu_stages
from ted.dialects import make_context
from ted.ir.pipelines import run_stages
from ted.mlir import ir
from ted.runtime.library import library_path

DTYPES = {"f32": np.float32, "f64": np.float64}
SHAPES = (
    "512x512x512,1000x1000x1000,500x511x129,64x10x128,64x64x256,128x128x128,1024x1024x1024,"
    "2048x2048x2048"
)
# Operands as stored: n is as written, t is transposed.
FORMS = {"nn": ("ik", "kj"), "tn": ("ki", "kj"), "nt": ("ik", "jk"), "tt": ("ki", "jk")}


@dataclass(frozen=True)
class Case:
    """C (m x n) = op(A) op(B), k products per element."""

    m: int
    n: int
    k: int
    form: str
    dtype: str

    def shape(self, dims: str) -> tuple[int, ...]:
        """Extents of the dims i j k."""
        return tuple({"i": self.m, "j": self.n, "k": self.k}[dim] for dim in dims)

    @property
    def operations(self) -> int:
        """Multiplications and additions."""
        return 2 * self.m * self.n * self.k


def source(case: Case) -> str:
    """The product as a `linalg.matmul` with indexing maps."""
    subscripts = [*FORMS[case.form], "ij"]
    a, b, c = (
        f"tensor<{'x'.join([*map(str, case.shape(dims)), case.dtype])}>" for dims in subscripts
    )
    maps = ", ".join(f"affine_map<(i, j, k) -> ({', '.join(dims)})>" for dims in subscripts)
    return f"""
func.func @main(%A: {a}, %B: {b}) -> {c} {{
  %zero = arith.constant 0.0 : {case.dtype}
  %empty = tensor.empty() : {c}
  %start = linalg.fill ins(%zero : {case.dtype}) outs(%empty : {c}) -> {c}
  %r = linalg.matmul indexing_maps = [{maps}] ins(%A, %B : {a}, {b}) outs(%start : {c}) -> {c}
  return %r : {c}
}}
"""


def compiled(case: Case, arrays: Sequence[np.ndarray]) -> tuple[Callable[[], None], float]:
    """A call of the compiled product on these arrays, and the seconds that compiling took."""
    began = time.thread_time()
    with make_context() as context:
        context.enable_multithreading(False)
        module = run_stages(ir.Module.parse(source(case), context), cpu_stages(host_cpu()))
        code = compile_module(module, (library_path(),))
    seconds = time.thread_time() - began
    function = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(code.address)
    pointers = [ctypes.c_void_p(array.ctypes.data) for array in arrays]
    packed = (ctypes.c_void_p * len(pointers))(*map(ctypes.addressof, pointers))

    def call() -> None:
        function(packed)

    call.keep = (code, pointers, arrays)  # type: ignore[attr-defined]
    return call, seconds


def measure(case: Case, count: int) -> str:
    """One line of the table; the result is checked first."""
    rng = np.random.default_rng(0)
    dtype = DTYPES[case.dtype]
    a, b = (rng.uniform(-1, 1, case.shape(d)).astype(dtype) for d in FORMS[case.form])
    c, theirs = np.empty((2, case.m, case.n), dtype)
    call, compile_seconds = compiled(case, (a, b, c))
    left = a if FORMS[case.form][0] == "ik" else a.T
    right = b if FORMS[case.form][1] == "kj" else b.T
    call()
    exact = left.astype(np.float64) @ right.astype(np.float64)
    np.testing.assert_allclose(c, exact, rtol=0, atol=8 * np.finfo(dtype).eps * case.k)
    ours, numpys = rounds([call, lambda: np.matmul(left, right, out=theirs)], count)
    ratios = sorted(y / x for x, y in zip(ours, numpys, strict=True))
    low, high = ratios[len(ratios) // 4], ratios[-1 - len(ratios) // 4]
    return (
        f"{case.form} {case.m}x{case.n}x{case.k:<8} {case.dtype}"
        f"  ted {case.operations / statistics.median(ours) / 1e9:7.1f}"
        f"  numpy {case.operations / statistics.median(numpys) / 1e9:7.1f} GFLOP/s"
        f"  ratio {statistics.median(ratios):.2f} [{low:.2f}, {high:.2f}]"
        f"  compile {compile_seconds * 1e3:.0f} ms"
    )


def baseline() -> str:
    """NumPy, its BLAS and the kernels that the BLAS runs."""
    from threadpoolctl import threadpool_info

    libraries = [one for one in threadpool_info() if one["user_api"] == "blas"]
    kernels = ", ".join(
        f"{one['internal_api']} {one['version']} with {one['architecture']} kernels"
        for one in libraries
    )
    return f"baseline: numpy {np.__version__}, {kernels}, 1 thread"


def main() -> None:
    """Print the table; the ratio is NumPy's time over ours, above 1 is faster, with quartiles."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--dtype", choices=DTYPES, default="f32")
    parser.add_argument("--shapes", default=SHAPES, help="MxNxK with commas between them")
    parser.add_argument("--forms", default="nn,tn,nt,tt", help=f"of {', '.join(FORMS)}")
    arguments = parser.parse_args()
    print(baseline())
    print(f"ted: CPU row {host_cpu().name}, 1 thread, median of {arguments.rounds} rounds")
    for shape in arguments.shapes.split(","):
        m, n, k = (int(size) for size in shape.split("x"))
        for form in arguments.forms.split(","):
            print(measure(Case(m, n, k, form, arguments.dtype), arguments.rounds), flush=True)


if __name__ == "__main__":
    main()
