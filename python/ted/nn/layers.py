"""Linear maps, flattening and table look-up."""

from __future__ import annotations

from typing import Any

import ted
from ted.frontend.elementwise import to_tensor
from ted.frontend.locations import fail
from ted.frontend.tensors import Tensor
from ted.nn.arguments import ranked, shaped


def dense(x: Any, weight: Any, bias: Any = None) -> Tensor:
    """x @ weight + bias.

    Shapes: x (..., inputs), weight (inputs, outputs), bias (outputs), result (..., outputs).
    Raises: FrontendError for shapes that do not fit together.
    """
    weight = ranked(weight, 2, "dense: weight")
    result = ted.matmul(x, weight)
    return result if bias is None else result + shaped(bias, weight.shape[1:], "dense: bias")


def linear(x: Any, weight: Any, bias: Any = None) -> Tensor:
    """x @ weight.T + bias, the weight as torch keeps it.

    Shapes: x (..., inputs), weight (outputs, inputs), bias (outputs), result (..., outputs).
    Raises: FrontendError for shapes that do not fit together.
    """
    x, weight = to_tensor(x, "linear: x"), ranked(weight, 2, "linear: weight")
    outputs, inputs = weight.shape
    if x.ndim == 0 or x.shape[-1] != inputs:
        fail(f"linear: x must end with extent {inputs} as weight does, got shape {x.shape}")
    r = ted.reduce_axis(inputs, "r")
    result = ted.compute(
        (*x.shape[:-1], outputs),
        lambda *i: ted.sum(x[(*i[:-1], r)] * weight[i[-1], r], axis=r),
        name="linear",
    )
    return result if bias is None else result + shaped(bias, (outputs,), "linear: bias")


def flatten(x: Any) -> Tensor:
    """All dims but the first joined, row-major.

    Shapes: x (n, ...), result (n, product of the rest).
    """
    x = to_tensor(x, "flatten")
    return ted.flatten(x, 1) if x.ndim > 1 else ted.reshape(x, (*x.shape, 1))


def embedding(table: Any, ids: Any) -> Tensor:
    """The rows of `table` at `ids`; an id outside the table is an error when the program runs.

    Shapes: table (rows, width), ids (...) of integers, result (..., width).
    Raises: FrontendError for a table of another rank, or ids that are no integers.
    """
    table, ids = ranked(table, 2, "embedding: table"), to_tensor(ids, "embedding: ids")
    if ids.dtype.kind != "int":
        fail(f"embedding: ids must be integers, got {ids.dtype} ({ids.name})")
    return ted.compute(
        (*ids.shape, table.shape[1]), lambda *i: table[ids[i[:-1]], i[-1]], name="embedding"
    )
