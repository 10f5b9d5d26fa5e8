"""Contractions for tests of the GPU templates: made, compiled, interpreted, compared with numpy."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from math import prod
from typing import Any

import ml_dtypes
import numpy as np

import ptx_emulator as ptx
from ted.codegen.nvptx import compile_to_ptx
from ted.codegen.nvptx.translate import mlir_gpu_module_to_llvm_text
from ted.dialects import session
from ted.gpu.templates.contraction import emit, plan
from ted.gpu.templates.kernels import Launch
from ted.gpu.templates.problem import Bound, Operand, Problem, as_gemm
from ted.gpu.templates.schedule import Plan, Tiling
from ted.gpu.templates.tensor_maps import TensorMap
from ted.linalg.strided_contractions import Dim
from ted.mlir import PassManager, ir

LOWER = """builtin.module(gpu.module(canonicalize, cse), convert-nvgpu-to-nvvm,
  gpu.module(expand-strided-metadata, lower-affine,
  convert-scf-to-cf, convert-vector-to-llvm, convert-gpu-to-nvvm{use-bare-ptr-memref-call-conv=1},
  reconcile-unrealized-casts, canonicalize, cse))"""
KINDS: dict[str, Any] = {
    "f64": np.float64, "f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16,
    "i64": np.int64, "i32": np.int32,
}  # fmt: skip
# Half of the distance of 1 to the next number.
ROUNDING = {"f64": 2.0**-53, "f32": 2.0**-24, "f16": 2.0**-11, "bf16": 2.0**-8, "tf32": 2.0**-11}


@dataclass(frozen=True)
class Kernels:
    """A compiled plan."""

    plan: Plan
    launches: tuple[Launch, ...]
    text: str
    ir: str


def problem(dims: tuple[Dim, ...], element: str, c: str = "", **options: Any) -> Problem:
    """A problem whose operands are just as large as the dims reach; negative steps fit in."""
    operands = []
    for side, kind in (("a", element), ("b", element), ("c", c or element)):
        steps = [(dim.extent - 1) * getattr(dim, side) for dim in dims]
        lowest, highest = sum(s for s in steps if s < 0), sum(s for s in steps if s > 0)
        operands.append(Operand(kind, highest - lowest + 1, -lowest))
    accumulator = "f32" if element in ("f16", "bf16") else element
    return Problem(dims, *operands, accumulator=accumulator, **options)


def matmul(
    sizes: tuple[int, int, int],
    element: str = "f32",
    layout: str = "",
    batch: int = 1,
    **options: Any,
) -> Problem:
    """C = A B for (m, n, k); `layout` names the operands that are stored transposed."""
    m, n, k = sizes
    row_a, col_a = (1, m) if "a" in layout else (k, 1)
    row_b, col_b = (1, k) if "b" in layout else (n, 1)
    row_c, col_c = (1, m) if "c" in layout else (n, 1)
    dims = (
        Dim(batch, m * k, k * n, m * n),
        Dim(m, row_a, 0, row_c),
        Dim(n, 0, col_b, col_c),
        Dim(k, col_a, row_b, 0, True),
    )
    return problem(dims, element, **options)


@dataclass(frozen=True)
class Convolution:
    """Shapes of a two-dimensional convolution; its padding is not in memory, but bounds."""

    images: int
    channels: int
    height: int
    width: int
    results: int
    window: tuple[int, int]
    stride: int = 1
    dilation: int = 1
    last: bool = False
    padding: int = 0

    def _dims(self) -> dict[str, tuple[int, int, int, int]]:
        """Per dim: extent, step in x, in w, in y."""
        kh, kw = self.window
        height, width = self.height + 2 * self.padding, self.width + 2 * self.padding
        h = (height - (kh - 1) * self.dilation - 1) // self.stride + 1
        w = (width - (kw - 1) * self.dilation - 1) // self.stride + 1
        x = _steps((self.channels, self.height, self.width), self.last)
        weight = _steps((self.channels, kh, kw), self.last)
        y = _steps((self.results, h, w), self.last)
        whole = {
            "x": self.channels * self.height * self.width,
            "w": self.channels * kh * kw,
            "y": self.results * h * w,
        }
        return {
            "n": (self.images, whole["x"], 0, whole["y"]),
            "o": (self.results, 0, whole["w"], y[0]),
            "h": (h, self.stride * x[1], 0, y[1]),
            "v": (w, self.stride * x[2], 0, y[2]),
            "c": (self.channels, x[0], weight[0], 0),
            "r": (kh, self.dilation * x[1], weight[1], 0),
            "s": (kw, self.dilation * x[2], weight[2], 0),
        }

    def forward(self, element: str = "f32", **options: Any) -> Problem:
        """y += x * w, summed over channels and taps."""
        dims = self._dims()
        found = problem(
            tuple(Dim(e, x, w, y, k in "crs") for k, (e, x, w, y) in dims.items()),
            element, **options,
        )  # fmt: skip
        return self._bounded(found, "a", (self.channels, self.height, self.width), "hr", "vs")

    def weight_gradient(self, element: str = "f32", **options: Any) -> Problem:
        """dw += dy * x, summed over images and positions."""
        dims = self._dims()
        found = problem(
            tuple(Dim(e, y, x, w, k in "nhv") for k, (e, x, w, y) in dims.items()),
            element, **options,
        )  # fmt: skip
        return self._bounded(found, "b", (self.channels, self.height, self.width), "hr", "vs")

    def _bounded(
        self, found: Problem, side: str, shape: tuple[int, int, int], *pairs: str
    ) -> Problem:
        """The problem whose operand has no padding in memory, but bounds instead."""
        if not self.padding:
            return found
        _, row, column = _steps(shape, self.last)
        names = "nohvcrs"
        speeds = (self.stride, self.dilation)
        bounds = tuple(
            Bound(side, -self.padding, extent,
                  tuple(speeds[pair.index(n)] if n in pair else 0 for n in names))
            for extent, pair in zip(shape[1:], pairs, strict=True)
        )  # fmt: skip
        operand = replace(
            getattr(found, side),
            size=self.images * prod(shape), offset=-self.padding * (row + column),
        )  # fmt: skip
        return replace(found, bounds=bounds, **{side: operand})

    def input_gradient(self, element: str = "f32", **options: Any) -> Problem:
        """dx += dy * w as a gather, for stride 1: dy is padded, the taps run backwards."""
        assert self.stride == self.dilation == 1
        assert not self.padding
        kh, kw = self.window
        padded = (self.height + kh - 1, self.width + kw - 1)
        y = _steps((self.results, *padded), self.last)
        x = _steps((self.channels, self.height, self.width), self.last)
        w = _steps((self.channels, kh, kw), self.last)
        dims = (
            Dim(self.images, self.results * padded[0] * padded[1], 0,
                self.channels * self.height * self.width),
            Dim(self.channels, 0, w[0], x[0]),
            Dim(self.height, y[1], 0, x[1]),
            Dim(self.width, y[2], 0, x[2]),
            Dim(self.results, y[0], self.channels * kh * kw, 0, True),
            Dim(kh, y[1], -w[1], 0, True),
            Dim(kw, y[2], -w[2], 0, True),
        )  # fmt: skip
        return problem(dims, element, **options)


def _steps(shape: tuple[int, int, int], last: bool) -> tuple[int, int, int]:
    """Steps of (channel, row, column), channels first or last."""
    channels, height, width = shape
    return (1, width * channels, channels) if last else (height * width, width, 1)


def forced(found: Problem, template: str, tiling: Tiling, chip: str, **options: Any) -> Plan:
    """A plan with the given tile sizes, whatever the planner would say."""
    return Plan(template, chip, as_gemm(found), tiling, **options)


def planned(found: Problem, chip: str = "sm_80", **options: Any) -> Plan:
    """What the planner says; it must not decline."""
    chosen = plan(found, chip, **options)
    assert isinstance(chosen, Plan), chosen
    return chosen


@cache
def build(chosen: Plan) -> Kernels:
    """The kernels of a plan as IR and as PTX."""
    with session():
        module = ir.Module.parse("module attributes {gpu.container_module} {gpu.module @k {}}")
        launches = emit(chosen, module.body.operations[0].operation, "kernel")
        module.operation.verify()
        source = str(module)
        PassManager.parse(LOWER.replace("\n", "")).run(module.operation)
        text = compile_to_ptx(mlir_gpu_module_to_llvm_text(module), chosen.chip)
    return Kernels(chosen, tuple(launches), text, source)


def arrays(found: Problem, seed: int = 0) -> dict[str, np.ndarray]:
    """Random contents of A, B and C."""
    generator = np.random.default_rng(seed)
    filled = {}
    inputs = () if found.epilogue is None else found.epilogue.inputs
    operands = {side: getattr(found, side) for side in "abc"}
    operands |= {f"input {k}": operand for k, operand in enumerate(inputs)}
    for side, operand in operands.items():
        kind = KINDS[operand.element]
        whole = np.issubdtype(np.dtype(kind), np.integer)
        values = generator.integers(-9, 9, operand.size) if whole else None
        drawn = generator.standard_normal(operand.size) if values is None else values
        filled[side] = drawn.astype(kind)
    return filled


def run(kernels: Kernels, found: dict[str, np.ndarray], **settings: Any) -> np.ndarray:
    """C after the launches, in the interpreter."""
    device = ptx.Device()
    memory = {side: device.put(array, side) for side, array in found.items()}
    size = kernels.plan.workspace_bytes
    if size:
        memory["workspace"] = device.allocate(size, "workspace")
    module = ptx.parse(kernels.text)
    for step in kernels.launches:
        values = [
            memory[x] if isinstance(x, str) else _encoded(x, memory[x.operand].address)
            for x in step.arguments
        ]
        ptx.launch(
            module, step.grid, step.block, values, device=device, name=step.symbol,
            dynamic_shared=step.dynamic_shared_bytes, **settings,
        )  # fmt: skip
    return device.get(memory["c"], found["c"].shape, found["c"].dtype)


def _encoded(found: TensorMap, address: int) -> ptx.TensorMap:
    item = np.dtype(KINDS[found.element]).itemsize
    ones = (1,) * len(found.dims)
    swizzle = int(found.swizzle.removesuffix("B"))
    return ptx.TensorMap(
        address + found.offset, item, found.dims, found.strides, found.box, ones, swizzle
    )


def check(
    chosen: Plan, found: Problem, seed: int = 0, epilogue: Any = None, **settings: Any
) -> None:
    """Run the kernels of a plan and compare with sums in float64.

    The bound: each factor rounded as the template says, one rounding per addition, one at the end.
    `epilogue` is what the problem's epilogue computes, of slope 1 at most in its sum, with one
    rounding of its own.
    """
    given = arrays(found, seed)
    actual = run(build(chosen), given, **settings).astype(np.float64)
    expected, sizes = _reference(found, given)
    if found.a.element.startswith("i"):
        np.testing.assert_array_equal(actual, expected)
        return
    depth = chosen.gemm.k + chosen.splits + 1
    bound = (depth + 1) * ROUNDING[found.accumulator] * sizes
    bound += 2 * ROUNDING["tf32"] * sizes if chosen.tf32 else 0.0
    if epilogue is not None:
        inputs = [_at_results(found, k, given[f"input {k}"]) for k in range(len(given) - 3)]
        expected = epilogue(expected, *inputs)
    bound += 2.02 * ROUNDING[found.c.element] * np.abs(expected)
    worst = np.max(np.abs(actual - expected) - bound)
    assert worst <= 0, f"off by {worst} more than the bound"


def _reference(found: Problem, given: dict[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """The results, and the sums of sizes of products that errors are measured by."""
    points = np.indices([dim.extent for dim in found.dims]).reshape(len(found.dims), -1)
    places = {
        side: getattr(found, side).offset
        + sum(p * getattr(dim, side) for p, dim in zip(points, found.dims, strict=True))
        for side in "abc"
    }
    values = {side: array.astype(np.float64) for side, array in given.items()}
    factors = [np.where(i := _inside(found, side, points), values[side][places[side] * i], 0.0)
               for side in "ab"]  # fmt: skip
    products = factors[0] * factors[1]
    expected = values["c"].copy()
    if not found.accumulate:
        expected[places["c"]] = 0.0
    sizes = np.abs(expected)
    np.add.at(expected, places["c"], products)
    np.add.at(sizes, places["c"], np.abs(products))
    return expected, sizes


def _inside(found: Problem, side: str, points: np.ndarray) -> np.ndarray:
    """Where an operand is in all its bounds."""
    inside = np.ones(points.shape[1], bool)
    for bound in found.bounds:
        if bound.side == side:
            coordinate = bound.offset + np.array(bound.steps) @ points
            inside &= (coordinate >= 0) & (coordinate < bound.extent)
    return inside


def _at_results(found: Problem, number: int, array: np.ndarray) -> np.ndarray:
    """An input of the epilogue, as large as C: its element for each of C's."""
    assert found.epilogue is not None
    points = np.indices([dim.extent for dim in found.dims]).reshape(len(found.dims), -1)
    source = found.epilogue.inputs[number].offset + np.zeros(points.shape[1], np.int64)
    target = found.c.offset + np.zeros(points.shape[1], np.int64)
    for point, dim, step in zip(points, found.dims, found.epilogue.steps[number], strict=True):
        source += point * step
        target += point * dim.c
    values = np.zeros(found.c.size)
    values[target] = array.astype(np.float64)[source]
    return values
