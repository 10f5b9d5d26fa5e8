"""Exponentials on NVIDIA's unit for powers of two: the pass `ted-expand-gpu-math`.

Before: `math.exp %x : f32`      After: ten operations around `llvm.nvvm.ex2.approx.ftz.f`

`ted-expand-math` alone makes polynomials of 25 operations for vector units of CPUs; a kernel that
should wait for memory only cannot afford them. f16 and bf16 compute in f32; f64 has no such
instruction and stays. Results are within 1 unit in the last place (2 for tanh and erf) where the
instructions give the nearest number, and within 5 where they err by 2**-22 of it. (Source: the
construction of `expf` and `tanhf` in NVIDIA's device library.)
"""

from __future__ import annotations

from collections.abc import Callable

from ted.math.arithmetic import Num
from ted.math.elementary_functions import LOG2_E, erf_f32
from ted.math.float_formats import F32
from ted.math.ted_expand_math import expand
from ted.mlir import arith, ir
from ted.mlir.queries import operations
from ted.records import dataclass

# log2(e) = LOG2_E as f32 + LOG2_E_LOW.
LOG2_E_LOW = 1.925963033500e-08
# Exponents of normal numbers.
LEAST, GREATEST = -126.0, 127.0
# tanh(x) = x + x*z*P(z) on |x| <= 0.6, z = x*x, within 1e-8 relative.
TANH_NEAR = (
    -0.3333333033273151, 0.1333291536698609, -0.05387394884850796, 0.021110959049015915,
    -0.0062691197190361545,
)  # fmt: skip
NEAR = 0.6


@dataclass(frozen=True)
class TedExpandGpuMath:
    """Replace the functions of the table on scalars of 32 and 16 bits inside kernels."""

    def run(self, module: ir.Module) -> None:
        """Rewrite every GPU module."""
        for kernels in operations(module.operation, "gpu.module"):
            for op in operations(kernels, *_FUNCTIONS):
                if isinstance(op.results[0].type, (ir.F32Type, ir.F16Type, ir.BF16Type)):
                    expand(op, _FUNCTIONS[op.name], ir.F32Type.get())


def _exp(x: Num) -> Num:
    # Rounded to an integer by the magic number, that of infinity and NaN too: what is left of x
    # then makes the result infinite, zero, subnormal or NaN.
    shifted = _between(x.fma(LOG2_E, F32.magic), F32.magic + LEAST, F32.magic + GREATEST)
    rest = x.fma(LOG2_E, F32.magic - shifted)
    return _scaled(x.fma(LOG2_E_LOW, rest), shifted)


def _exp2(x: Num) -> Num:
    shifted = _between(x + F32.magic, F32.magic + LEAST, F32.magic + GREATEST)
    return _scaled(x - (shifted - F32.magic), shifted)


def _tanh(x: Num) -> Num:
    a, z = x.abs(), x * x
    near = (a * z).fma(z.polynomial(TANH_NEAR), a)
    far = _call("rcp", _call("ex2", a * (2 * LOG2_E)) + 1.0).fma(-2.0, 1.0)
    return a.compare("olt", NEAR).where(near, far).copysign(x)


def _erf(x: Num) -> Num:
    return erf_f32(x, _exp)


_FUNCTIONS: dict[str, Callable[[Num], Num]] = {
    "math.exp": _exp,
    "math.exp2": _exp2,
    "math.tanh": _tanh,
    "math.erf": _erf,
}


def _scaled(x: Num, shifted: Num) -> Num:
    """2**x times 2**n, n + magic being given."""
    # The low bits of n + magic are n; those above leave the word.
    scale = ((shifted.bits() << F32.mantissa) + (F32.bias << F32.mantissa)).from_bits(x.value.type)
    return _call("ex2", x) * scale


def _between(x: Num, low: float, high: float) -> Num:
    """Clamped; the lower end for NaN."""
    least = arith.MaxNumFOp(x.value, x.const(low).value).result
    return Num(arith.MinNumFOp(least, x.const(high).value).result)


def _call(name: str, x: Num) -> Num:
    """An approximation in hardware, which takes subnormal numbers as zero."""
    intrinsic = f"llvm.nvvm.{name}.approx.ftz.f"
    attributes = {
        "intrin": ir.StringAttr.get(intrinsic),
        "operandSegmentSizes": ir.DenseI32ArrayAttr.get([1, 0]),
        "op_bundle_sizes": ir.DenseI32ArrayAttr.get([]),
    }
    call = ir.Operation.create(
        "llvm.call_intrinsic", results=[x.value.type], operands=[x.value], attributes=attributes
    )
    return Num(call.results[0])
