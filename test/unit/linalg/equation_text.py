"""Short spellings of `ted.compute` programs, and a call of their compiled code."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

import ml_dtypes
import numpy as np

from ted.api.host import host_cpu
from ted.codegen.jit import compile_module
from ted.cpu.pipeline import cpu_stages
from ted.dialects import make_context
from ted.ir.pipelines import run_stages
from ted.mlir import ir
from ted.runtime.library import library_path

DTYPES = {
    "f64": np.float64, "f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16,
    "i64": np.int64, "i32": np.int32, "i8": np.int8, "i1": np.bool_,
}  # fmt: skip


def tensor_type(shape: Sequence[int], kind: str = "f32") -> str:
    return f"tensor<{'x'.join([*map(str, shape), kind])}>"


def fill(name: str, shape: Sequence[int], value: str = "0.0", kind: str = "f32") -> str:
    t = tensor_type(shape, kind)
    literal = value if kind == "i1" else f"{value} : {kind}"
    return (
        f"%{name}c = arith.constant {literal}\n%{name}e = tensor.empty() : {t}\n"
        f"%{name} = linalg.fill ins(%{name}c : {kind}) outs(%{name}e : {t}) -> {t}\n"
    )


def compute(
    result: str,
    inputs: Sequence[tuple[str, str, str]],
    inits: Sequence[tuple[str, str]],
    extents: Sequence[int],
    iterators: str,
    write: str,
    body: str,
    combiner: str = "set",
    domain: str = "0 == 0",
    guards: Sequence[str] = (),
    symbols: str = "",
    extra: str = "",
) -> str:
    """One equation; `inputs` are (name, type, subscripts), `iterators` like "pr", dims i j k l m n.

    In the body the reads are %a, %b, ...; the body is text up to and including `ted.yield`.
    """
    names = "ijklmn"[: len(extents)]
    dims = f"({', '.join(names)})"
    guards = [*guards, *["0 == 0"] * (len(inputs) - len(guards))]
    kinds = {"p": '"parallel"', "r": '"reduction"'}
    element = [t.rstrip(">").split("x")[-1].replace("tensor<", "") for _, t, _ in inputs]
    arguments = ", ".join(f"%{n}: {k}" for n, k in zip("abcdefgh", element, strict=False))
    operands = ", ".join(f"%{n}" for n in [*(i[0] for i in inputs), *(i[0] for i in inits)])
    types = ", ".join([*(i[1] for i in inputs), *(i[1] for i in inits)])
    outs = ", ".join(i[1] for i in inits)
    header = f"^bb0({arguments}):" if inputs else ""
    return f"""
%{result} = "ted.compute"({operands}) ({{
{header}
{body}
}}) {{ extents = array<i64{":" if extents else ""} {", ".join(map(str, extents))}>,
  iterators = [{", ".join(kinds[c] for c in iterators)}],
  domain = affine_set<{dims} : ({domain})>,
  reads = [{", ".join(f"affine_map<{dims} -> ({m})>" for _, _, m in inputs)}],
  guards = [{", ".join(f"affine_set<{dims} : ({g})>" for g in guards)}],
  write = affine_map<{dims}{symbols} -> ({write})>, combiner = "{combiner}"{extra}
}} : ({types}) -> ({outs})
"""


Typed = Sequence[tuple[str, str]]


def module_text(arguments: Typed, body: str, results: Typed) -> str:
    """A function @main of typed arguments that returns typed values of its body."""
    given = ", ".join(f"%{n}: {t}" for n, t in arguments)
    names = ", ".join(f"%{n}" for n, _ in results)
    types = ", ".join(t for _, t in results)
    return f"func.func @main({given}) -> ({types}) {{\n{body}\nreturn {names} : {types}\n}}"


def evaluate(
    text: str,
    inputs: Sequence[np.ndarray],
    outputs: Sequence[np.ndarray],
    after: str | None = None,
) -> list:
    """Compile the program and call it on the arrays; returns the outputs, written in place.

    `after`: the stage whose form the program has already.
    """
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        run_stages(module, cpu_stages(host_cpu()), after=after)
        compiled = compile_module(module, (library_path(),))
    pointers = [ctypes.c_void_p(a.ctypes.data) for a in (*inputs, *outputs)]
    packed = (ctypes.c_void_p * len(pointers))(*[ctypes.addressof(p) for p in pointers])
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(compiled.address)(packed)
    return list(outputs)
