"""What methods of tensors lead to: `x @ y` to `ted.matmul(x, y)`, `x.sum()` to `ted.sum(x)`."""

from __future__ import annotations

from ted.frontend import numpy_names, reductions, tensors, unevaluated
from ted.frontend.contraction import matmul
from ted.frontend.layout import flatten, reshape, transpose
from ted.frontend.slicing import subscript

tensors.functions.update(
    matmul=matmul, reshape=reshape, flatten=flatten, transpose=transpose, subscript=subscript
)
tensors.functions.update({name: getattr(reductions, name) for name in tensors.REDUCTIONS})
unevaluated.numpy_calls.update(ufunc=numpy_names.ufunc, function=numpy_names.array_function)
