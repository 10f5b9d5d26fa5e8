"""The numbers of a dense attribute as an array of numpy, bfloat16 included.

Before: dense<[1.0, 2.0]> : tensor<2xbf16>      After: array([1, 2], dtype=bfloat16)
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from ted.mlir import ir


def numbers_of(attribute: ir.DenseElementsAttr) -> Any:
    """The elements in their shape; a splat has as many as its type says.

    The binding gives no elements of bfloat16: they are read from the text, which is exact.
    """
    kind = ir.ShapedType(attribute.type)
    if not isinstance(kind.element_type, ir.BF16Type):
        return np.broadcast_to(np.array(attribute), list(kind.shape))
    import ml_dtypes

    text = str(attribute).partition("<")[2].rpartition("> :")[0]
    if text.startswith('"'):
        bits = np.frombuffer(bytes.fromhex(text[3:-1]), np.uint16)
        found = bits.view(ml_dtypes.bfloat16)
    else:
        words = re.findall(r"[^\s,\[\]]+", text)
        numbers = [_bfloat16(word, ml_dtypes.bfloat16) for word in words]
        found = np.array(numbers, ml_dtypes.bfloat16)
    count = int(np.prod(kind.shape))
    return (found if len(found) == count else np.repeat(found, count)).reshape(kind.shape)


def _bfloat16(word: str, kind: Any) -> Any:
    if word.startswith("0x"):
        return np.uint16(int(word, 16)).view(kind)
    return kind(float(word))
