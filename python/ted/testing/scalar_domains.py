"""What the scalars of an interpreted program are: a domain gives types, constants and functions.

The machine's numbers are the default, exactly as they round and wrap.  Another domain replaces the
floats, e.g. by exact numbers; integers, bools and indices are the machine's in every domain.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from ted.mlir import ir
from ted.testing import interpreter_scalars as scalars

Function = Callable[..., Any]


class ScalarDomain(Protocol):
    """The meaning of scalars; MLIR's names of element types say which."""

    def array_type(self, element: str) -> np.dtype[Any]:
        """The type of arrays of an element type."""
        ...

    def number(self, element: str, value: Any) -> Any:
        """The scalar of a Python number."""
        ...

    def function(self, op: ir.Operation) -> Function:
        """The function of an op's operands that gives its one result.

        Raises: ExecutionError for an op without meaning.
        """
        ...

    def combiner(self, name: str, element: str) -> Function:
        """What `outs (combiner) value` computes."""
        ...


class Machine:
    """The numbers of the machine: numpy scalars of exactly the element type."""

    def array_type(self, element: str) -> np.dtype[Any]:
        """numpy's type, that of ml_dtypes for bf16."""
        return np.dtype(scalars.NUMPY_TYPES[element])

    def number(self, element: str, value: Any) -> Any:
        """The nearest number of the type."""
        return scalars.NUMPY_TYPES[element](value)

    def function(self, op: ir.Operation) -> Function:
        """The op on numpy scalars."""
        return scalars.scalar_function(op)

    def combiner(self, name: str, element: str) -> Function:
        """The combiner on numpy scalars."""
        return scalars.combiner_function(name, element)


MACHINE = Machine()
