"""The programs that are measured on GPUs, each at a small size for its numbers and a large one.

`prepare.py` compiles them; `measure.py` knows their baselines by name and needs nothing from here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import ted

Program = tuple[list[ted.Tensor], list[ted.Tensor]]


@dataclass(frozen=True)
class Case:
    """A program by its sizes; `operations` counts multiplications and additions of a call.

    Programs without a count move memory, and are compared with a copy.
    """

    name: str
    build: Callable[..., Program]
    small: tuple[int, ...]
    large: tuple[int, ...]
    dtype: str = "float32"
    operations: Callable[..., int] | None = None
    options: str = ""  # of the target, behind the chip

    def program(self, sizes: Sequence[int]) -> Program:
        """Inputs and outputs."""
        return self.build(self.dtype, *sizes)


def with_gradient(
    operator: Callable[..., Any], shapes: Callable[..., Any], indices: Sequence[int] = ()
) -> tuple[Any, Any, Any]:
    """Builders of an operator, of its VJP: (x, ..., head) -> (dx, ...), and of both at once.

    The inputs at positions `indices` are int64, and have no gradient.
    """

    def both(dtype: str, *sizes: int) -> Program:
        inputs = [
            ted.placeholder(shape, "int64" if k in indices else dtype, name=f"x{k}")
            for k, shape in enumerate(shapes(*sizes))
        ]
        result = operator(*inputs)
        head = ted.placeholder(result.shape, dtype, name="head")
        primals = [x for k, x in enumerate(inputs) if k not in indices]
        return [*inputs, head], [result, *ted.differentiate(result, primals, head)]

    def forward(dtype: str, *sizes: int) -> Program:
        inputs, outputs = both(dtype, *sizes)
        return inputs[:-1], outputs[:1]

    def backward(dtype: str, *sizes: int) -> Program:
        inputs, outputs = both(dtype, *sizes)
        return inputs, outputs[1:]

    return forward, backward, both


def matmul(dtype: str, n: int, m: int, k: int) -> Program:
    """A plain product of matrices."""
    a, b = ted.placeholder((n, k), dtype, name="a"), ted.placeholder((k, m), dtype, name="b")
    return [a, b], [a @ b]


def convolution(
    dtype: str, n: int, size: int, channels: int
) -> tuple[list[ted.Tensor], ted.Tensor]:
    """3x3, padding 1, as many channels out as in, channels last."""
    x = ted.placeholder((n, size, size, channels), dtype, name="x")
    w = ted.placeholder((3, 3, channels, channels), dtype, name="w")
    return [x, w], ted.nn.conv2d(x, w, padding=1)


def convolution_forward(dtype: str, *sizes: int) -> Program:
    """The convolution."""
    inputs, y = convolution(dtype, *sizes)
    return inputs, [y]


def convolution_gradient(position: int) -> Callable[..., Program]:
    """The gradient with respect to the image (0) or the filter (1)."""

    def build(dtype: str, *sizes: int) -> Program:
        inputs, y = convolution(dtype, *sizes)
        head = ted.placeholder(y.shape, dtype, name="head")
        (gradient,) = ted.differentiate(y, [inputs[position]], head)
        return [inputs[1 - position], head], [gradient]

    return build


def convolution_operations(n: int, size: int, channels: int) -> int:
    """Of the forward pass and of each gradient."""
    return 2 * n * size**2 * channels**2 * 9


chain, chain_vjp, chain_and_vjp = with_gradient(
    lambda a, b, c: ted.tanh(a) * b + ted.sigmoid(c) * a, lambda n, m: ((n, m),) * 3
)
softmax, softmax_vjp, _ = with_gradient(ted.nn.softmax, lambda n, m: ((n, m),))
layer_norm, layer_norm_vjp, _ = with_gradient(ted.nn.layer_norm, lambda n, m: ((n, m), (m,), (m,)))
column_sum, _, _ = with_gradient(lambda x: ted.sum(x, axis=0), lambda n, m: ((n, m),))
transposed, _, _ = with_gradient(lambda x, y: x.T + y, lambda n, m: ((n, m), (m, n)))
running_sum, running_sum_vjp, _ = with_gradient(
    lambda x: ted.cumsum(x, axis=1), lambda n, m: ((n, m),)
)
stencil, stencil_vjp, _ = with_gradient(
    lambda x: x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:] - 4 * x[1:-1, 1:-1],
    lambda n, m: ((n, m),),
)
pool, pool_vjp, _ = with_gradient(
    lambda x: ted.nn.max_pool2d(x, 2), lambda n, size, channels: ((n, channels, size, size),)
)
lookup, lookup_vjp, _ = with_gradient(
    lambda table, index: ted.take(table, index, axis=0), lambda n, m: ((m, 64), (n,)), (1,)
)
loss, loss_vjp, _ = with_gradient(ted.nn.cross_entropy, lambda n, m: ((n, m), (n,)), (1,))
attention, attention_vjp, _ = with_gradient(
    ted.nn.attention, lambda n, time, m: ((n, 8, time, m),) * 3
)
batched, batched_vjp, _ = with_gradient(lambda a, b: a @ b, lambda n, m: ((n, m, m), (n, m, m)))


def attention_operations(n: int, time: int, m: int) -> int:
    """Of the forward pass."""
    return 4 * n * 8 * time**2 * m


ROWS = {"small": (64, 256), "large": (32768, 2048)}
PICTURES = {"small": (2, 8, 32), "large": (32, 56, 256)}
GEMM = {"small": (256, 256, 128), "operations": lambda n, m, k: 2 * prod((n, m, k))}

CASES = (
    Case("chain", chain, **ROWS),
    Case("chain_vjp", chain_vjp, **ROWS),
    Case("chain_and_vjp", chain_and_vjp, **ROWS),
    Case("softmax", softmax, **ROWS),
    Case("softmax_vjp", softmax_vjp, **ROWS),
    Case("layer_norm", layer_norm, **ROWS),
    Case("layer_norm_vjp", layer_norm_vjp, **ROWS),
    Case("column_sum", column_sum, **ROWS),
    Case("transposed", transposed, (64, 96), (8192, 8192)),
    Case("running_sum", running_sum, (16, 256), (8192, 8192)),
    Case("running_sum_vjp", running_sum_vjp, (16, 256), (8192, 8192)),
    Case("stencil", stencil, (40, 70), (8192, 8192)),
    Case("stencil_vjp", stencil_vjp, (40, 70), (8192, 8192)),
    Case("pool", pool, **PICTURES),
    Case("pool_vjp", pool_vjp, **PICTURES),
    Case("lookup", lookup, (300, 50), (1 << 19, 50000)),
    Case("lookup_vjp", lookup_vjp, (300, 50), (1 << 19, 50000)),
    Case("loss", loss, (64, 100), (8192, 16000)),
    Case("loss_vjp", loss_vjp, (64, 100), (8192, 16000)),
    Case("attention_bf16", attention, (1, 64, 32), (8, 1024, 64), "bfloat16", attention_operations),
    Case(
        "attention_bf16_vjp",
        attention_vjp,
        (1, 64, 32),
        (8, 1024, 64),
        "bfloat16",
        lambda *sizes: 3 * attention_operations(*sizes),
    ),
    Case("batched_f32", batched, (3, 64), (512, 256), operations=lambda n, m: 2 * n * m**3),
    Case("batched_f32_vjp", batched_vjp, (3, 64), (512, 256), operations=lambda n, m: 4 * n * m**3),
    Case("matmul_f64", matmul, large=(2048,) * 3, dtype="float64", **GEMM),
    Case("matmul_tf32", matmul, large=(4096,) * 3, options=",tf32", **GEMM),
    Case("matmul_f32", matmul, large=(4096,) * 3, **GEMM),
    Case("matmul_bf16", matmul, large=(4096,) * 3, dtype="bfloat16", **GEMM),
    Case("matmul_bf16_8192", matmul, large=(8192,) * 3, dtype="bfloat16", **GEMM),
    Case("matmul_f16", matmul, large=(4096,) * 3, dtype="float16", **GEMM),
    *(
        Case(f"{name}_{short}", build, dtype=dtype, operations=convolution_operations, **PICTURES)
        for short, dtype in (("f32", "float32"), ("bf16", "bfloat16"))
        for name, build in (
            ("conv", convolution_forward),
            ("conv_dx", convolution_gradient(0)),
            ("conv_dw", convolution_gradient(1)),
        )
    ),
)
