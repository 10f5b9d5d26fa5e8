"""Whole programs for AMD GPUs: the kernels without tensor cores become objects that disassemble."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

import ted
from ted import nn
from ted.codegen.amdgpu import (
    amdgpu_assembly,
    compile_to_amdgpu_object,
    gpu_module_to_rocdl_text,
)
from ted.gpu.pipeline import gpu_stages
from ted.ir.pipelines import stage_text
from ted.machine import GPUS
from ted.mlir import ir
from ted.options import CompileOptions

CHIPS = ("gfx90a", "gfx942", "gfx1100")
WITHOUT_TENSOR_CORES = GPUS["sm_75"]
FLOATS = ("float32", "float64", "float16", "bfloat16")
# For the name of a case: a function, and the shapes of its arguments with their types.
Case = tuple[Callable[..., Any], tuple[Any, ...]]


def of_type(dtype: str, function: Callable[..., Any], *shapes: tuple[int, ...]) -> Case:
    return function, tuple((*shape, dtype) for shape in shapes)


INDICES = (400, "int64")
CASES: dict[str, Case] = {
    **{f"map_{t}": of_type(t, lambda x, y: x * y + x, (64, 256), (64, 256))
       for t in (*FLOATS, "int32", "int64", "int8")},
    **{f"math_{t}": of_type(t, lambda x: ted.exp(x) + ted.tanh(x) * ted.log(x), (300,))
       for t in FLOATS},
    "bool": (lambda x, y: [ted.where(x > y, x, 1.0), x > y], ((40,), (40,))),
    "transpose": (lambda x: ted.transpose(x) * 2, ((48, 70),)),
    "sum": (ted.sum, ((70000,),)),
    "sum_of_columns": (lambda x: ted.sum(x, axis=0), ((300, 50),)),
    **{f"{name}_of_rows": (lambda x, n=name: getattr(ted, n)(x, axis=1), ((30, 200),))
       for name in ("sum", "max", "argmax", "prod")},
    "sum_of_long_rows": (lambda x: ted.sum(x, axis=1), ((30, 3000, "float64"),)),
    "softmax": (nn.softmax, ((21, 300),)),
    "softmax_of_short_rows": (nn.softmax, ((21, 40),)),
    "layer_norm": (nn.layer_norm, ((21, 300), (300,), (300,))),
    "attention": (nn.attention, ((2, 16, 8),) * 3),
    "cumsum": (lambda x: ted.cumsum(x, 1), ((6, 5000),)),
    "rnn": (nn.rnn, ((4, 2, 3), (3, 3), (3, 3))),
    "embedding": (lambda i, t: nn.embedding(t, i), (INDICES, (6, 3))),
    "segment_sum": (lambda i, x: ted.segment_sum(x, i, 100), (INDICES, (400, 8))),
    "scatter_max": (lambda i, x: ted.scatter((60,), i, x, "max"), (INDICES, (400,))),
    "histogram": (lambda x: ted.histogram(x, 7, 0.0, 1.0), ((5000,),)),
    **{f"matmul_{t}": of_type(t, lambda a, b: a @ b, (96, 80), (80, 64))
       for t in ("float32", "float64", "float16", "int32")},
    "conv": (lambda x, w: nn.conv2d(x, w, stride=2, padding=1), ((2, 9, 9, 8), (3, 3, 8, 16))),
    "max_pool": (lambda x: nn.max_pool2d(x, 3, stride=2), ((2, 9, 9, 3),)),
}  # fmt: skip
FAST = ("map_bfloat16", "sum_of_rows", "softmax_of_short_rows", "matmul_float32", "scatter_max")


def kernels_of(case: str) -> ir.Module:
    """The kernels of a program with its gradients, in the gpu dialect, as CUDA has them."""
    function, shapes = CASES[case]
    inputs = [placeholder(k, shape) for k, shape in enumerate(shapes)]
    found = function(*inputs)
    outputs: Sequence[ted.Tensor] = found if isinstance(found, list) else [found]
    known = [x for x in inputs if x.dtype.is_float]
    if len(outputs) == 1 and outputs[0].dtype.is_float:
        head = placeholder(len(inputs), (*outputs[0].shape, outputs[0].dtype.name))
        outputs = [outputs[0], *ted.differentiate(outputs[0], known, head)]
    module = ted.module(outputs)
    with module.context, ir.Location.unknown():
        return ir.Module.parse(
            stage_text(module, gpu_stages(CompileOptions(WITHOUT_TENSOR_CORES)), "gpu")
        )


def placeholder(number: int, shape: tuple[Any, ...]) -> ted.Tensor:
    dtype = shape[-1] if shape and isinstance(shape[-1], str) else "float32"
    extents = tuple(n for n in shape if not isinstance(n, str))
    return ted.placeholder(extents, dtype, name=f"x{number}")


@pytest.mark.fast(1)
@pytest.mark.parametrize(
    "case", [c if c in FAST else pytest.param(c, marks=pytest.mark.slow) for c in CASES]
)
def test_kernels_become_objects_of_every_chip(case: str, tmp_path: Path) -> None:
    module = kernels_of(case)
    for chip in CHIPS:
        with module.context:
            text = gpu_module_to_rocdl_text(module, chip)
        names = re.findall(r"^define amdgpu_kernel void @(\w+)\(", text, re.MULTILINE)
        assembly = amdgpu_assembly(text, chip)
        assert names == re.findall(r"\.amdhsa_kernel (\w+)", assembly) != []
        assert "__ocml" not in assembly
        path = tmp_path / f"{chip}.o"
        path.write_bytes(compile_to_amdgpu_object(text, chip))
        check_disassembly(path, chip, names)


def check_disassembly(path: Path, chip: str, names: Sequence[str]) -> None:
    """Every kernel is there, and each of its words is an instruction; where there is a tool."""
    tool = shutil.which("llvm-objdump")
    if tool is None:
        return
    done = subprocess.run([tool, "-d", f"--mcpu={chip}", path], capture_output=True, text=True)
    if chip != CHIPS[0] and done.returncode:
        return  # the tool is older than the chip
    assert done.returncode == 0, done.stderr
    for name in names:
        _, found, code = done.stdout.partition(f"<{name}>:\n")
        assert found
        code, ended, _ = code.partition("s_endpgm")
        assert ended
        assert ".long" not in code
