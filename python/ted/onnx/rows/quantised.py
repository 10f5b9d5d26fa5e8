"""Integers that stand for numbers: (q - zero) * scale, a scale for all, a slice or a block."""

from __future__ import annotations

from typing import Any

import ted
from ted.errors import FrontendError
from ted.frontend.tensors import Tensor
from ted.ir.dtypes import UINT8, DType
from ted.onnx.nodes import Node, element_type
from ted.onnx.rows.windows import convolve


def _spread(node: Node, parameter: Tensor, x: Tensor) -> Tensor:
    """A parameter at each element: one for all, for each slice along an axis, or for each block."""
    axis, block = node.attr("axis", 1), node.attr("block_size", 0)
    if block:
        axis %= x.ndim
        return ted.compute(
            x.shape, lambda *i: parameter[(*i[:axis], i[axis] // block, *i[axis + 1 :])],
            name="blocks",
        )  # fmt: skip
    if parameter.ndim == 0 or parameter.shape == (1,):
        return ted.reshape(parameter, ())
    axis %= x.ndim
    return ted.reshape(parameter, tuple(-1 if k == axis else 1 for k in range(x.ndim)))


def rounded(x: Tensor, dtype: DType) -> Tensor:
    """The nearest integers of a type, the ends of its range outside of it.

    Raises: FrontendError for a type that is none of integers.
    """
    if dtype.kind != "int":
        raise FrontendError(f"quantised types must be integers, got {dtype}")
    least, most = dtype.range
    return ted.clip(x, float(least), float(most)).astype(dtype)


def quantize(node: Node, x: Tensor, scale: Tensor, zero: Any = None) -> Tensor:
    """Numbers as integers."""
    code = node.attr("output_dtype", 0)
    dtype = zero.dtype if zero is not None else element_type(code) if code else UINT8
    wide = "float32" if scale.dtype.bits == 16 else scale.dtype
    found = ted.round(x.astype(wide) / _spread(node, scale, x).astype(wide))
    if zero is not None:
        found = found + _spread(node, zero, x).astype(found.dtype)
    return rounded(found, dtype)


def dequantize(node: Node, x: Tensor, scale: Tensor, zero: Any = None) -> Tensor:
    """Integers as numbers."""
    number = x.astype("int32") if x.dtype.kind == "int" else x
    if zero is not None:
        number = number - _spread(node, zero, x).astype("int32")
    code = node.attr("output_dtype", 0)
    found = number.astype(scale.dtype) * _spread(node, scale, x)
    return found.astype(element_type(code)) if code else found


def dynamic(node: Node, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Integers of 8 bits, with the scale and the zero that the range of the numbers asks for."""
    least, most = ted.minimum(ted.min(x), 0), ted.maximum(ted.max(x), 0)
    scale = (most - least) / 255
    zero = rounded(ted.round(-least / scale), UINT8)
    return rounded(ted.round(x / scale) + zero.astype(x.dtype), UINT8), scale, zero


def _shifted(x: Tensor, zero: Any, along: int) -> Tensor:
    """Integers without their zero, which may be one for each row (-2) or column (-1)."""
    number = x.astype("int32")
    if zero is None:
        return number
    if zero.ndim == 1 and zero.shape[0] > 1 and along == -2:
        zero = ted.reshape(zero, (-1, 1))
    return number - zero.astype("int32")


def matmul_integer(
    node: Node, a: Tensor, b: Tensor, a_zero: Any = None, b_zero: Any = None
) -> Tensor:
    """A product of integers in 32 bits."""
    return ted.matmul(_shifted(a, a_zero, -2), _shifted(b, b_zero, -1)).astype("int32")


def matmul(
    node: Node, a: Tensor, a_scale: Tensor, a_zero: Tensor, b: Tensor, b_scale: Tensor,
    b_zero: Tensor, y_scale: Tensor, y_zero: Tensor,
) -> Tensor:  # fmt: skip
    """A product of integers as integers of the result's scale."""
    total = ted.matmul(_shifted(a, a_zero, -2), _shifted(b, b_zero, -1)).astype("int32")
    found = total.astype("float32") * (a_scale * b_scale / y_scale).astype("float32")
    return rounded(ted.round(found) + y_zero.astype("float32"), y_zero.dtype)


def convolve_integer(
    node: Node, x: Tensor, weight: Tensor, x_zero: Any = None, w_zero: Any = None
) -> Tensor:
    """A convolution of integers in 32 bits."""
    return convolve(node, _shifted(x, x_zero, -1), _per_output(weight, w_zero))


def _per_output(weight: Tensor, zero: Any) -> Tensor:
    number = weight.astype("int32")
    if zero is None:
        return number
    return number - ted.reshape(zero, (-1, *(1,) * (weight.ndim - 1))).astype("int32")


def convolution(
    node: Node, x: Tensor, x_scale: Tensor, x_zero: Tensor, weight: Tensor, w_scale: Tensor,
    w_zero: Tensor, y_scale: Tensor, y_zero: Tensor, bias: Any = None,
) -> Tensor:  # fmt: skip
    """A convolution of integers as integers of the result's scale."""
    shape = (-1, *(1,) * (weight.ndim - 2))
    total = convolve(node, _shifted(x, x_zero, -1), _per_output(weight, w_zero), bias)
    scale = ted.reshape(x_scale * w_scale / y_scale, shape if w_scale.ndim else ())
    return rounded(ted.round(total.astype("float32") * scale) + y_zero.astype("float32"),
                   y_zero.dtype)  # fmt: skip


RULES = {
    "QuantizeLinear": quantize, "DequantizeLinear": dequantize, "DynamicQuantizeLinear": dynamic,
    "MatMulInteger": matmul_integer, "QLinearMatMul": matmul, "ConvInteger": convolve_integer,
    "QLinearConv": convolution,
}  # fmt: skip
