"""Memory in the interpreter: cells that know whether somebody wrote them, and views of them.

A view shares cells and marks with what it is a view of. A read of a cell that nobody wrote is an
error, also of one that has been freed, and so is a place outside: memory is never a guess.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ted.mlir import ir
from ted.mlir.queries import symbol_name
from ted.testing.interpreter_tensors import dense_elements, static_or_operands, window, within
from ted.testing.interpreter_values import Cells, empty, name_of, shape_and_type
from ted.testing.scalar_domains import ScalarDomain

Function = Callable[..., Any]


def is_memory(value: ir.Value) -> bool:
    """Whether a value is memory, and no tensor."""
    return isinstance(value.type, ir.MemRefType)


def memory_name(value: ir.Value) -> str:
    """The user's name of the memory behind views, or what made it."""
    while isinstance(value, ir.OpResult) and value.owner.name in VIEWS:
        value = value.owner.operands[0]
    if isinstance(value, ir.OpResult):
        return name_of(value, f"memory of {value.owner.name}")
    return name_of(value, f"argument {ir.BlockArgument(value).arg_number}")


def as_memory(cells: Cells) -> Cells:
    """Cells with a mark each; those of a tensor are all written."""
    if cells.undefined is not None:
        return cells
    return Cells(cells.data, np.zeros(cells.data.shape, np.bool_))


def never_written(at: tuple[int, ...], name: str) -> Any:
    """What a read of a cell without a value does.

    Raises: IndexError.
    """
    raise IndexError(f"reads what has been written, got nothing at index {[*at]} of {name}")


def loaded(memory: Cells, at: tuple[int, ...], name: str) -> Any:
    """One cell.

    Raises: IndexError outside of the memory, and where nobody wrote.
    """
    place = tuple(map(within, at, memory.data.shape))
    return never_written(at, name) if _marks(memory)[place] else memory.data[place]


def written(value: Any, memory: Cells, at: tuple[int, ...]) -> None:
    """Write one cell.

    Raises: IndexError outside of the memory.
    """
    place = tuple(map(within, at, memory.data.shape))
    memory.data[place] = value
    _marks(memory)[place] = False


def moved(source: Cells, target: Cells) -> None:
    """Copy all cells with their marks: a window of a history moves before it is full."""
    target.data[...] = source.data.copy()
    _marks(target)[...] = _marks(source).copy()


def freed(memory: Cells) -> None:
    """Nothing may be read any more."""
    _marks(memory)[...] = True


def _marks(memory: Cells) -> np.ndarray[Any, Any]:
    assert memory.undefined is not None, "memory has marks"
    return memory.undefined


# ------------------------------------------------------------------ what gives memory


def _reshaped(op: ir.Operation, domain: ScalarDomain) -> Function:
    shape, _ = shape_and_type(op.results[0].type, domain)

    def view(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        made = array.reshape(shape)
        assert not made.size or np.may_share_memory(made, array), "a view is of the same cells"
        return made

    return lambda memory, *_: memory.like(view)


def _subview(op: ir.Operation, domain: ScalarDomain) -> Function:
    shape, _ = shape_and_type(op.results[0].type, domain)
    names = ("static_offsets", "static_sizes", "static_strides")
    first = list(op.operands)[1:]
    parts = static_or_operands(op, names, 1)

    def view(memory: Cells, *operands: int) -> Cells:
        given = dict(zip(first, operands, strict=True))
        offsets, sizes, strides = (
            [n if isinstance(n, int) else given[n] for n in part] for part in parts
        )
        return window(memory, offsets, sizes, strides, shape)

    return view


def _made(op: ir.Operation, domain: ScalarDomain) -> Function:
    return lambda *_: empty(op.results[0].type, domain)


def _global(op: ir.Operation, domain: ScalarDomain) -> Function:
    name = ir.FlatSymbolRefAttr(op.attributes["name"]).value
    top = op
    while top.parent is not None:
        top = top.parent.operation
    tops = [view.operation for view in top.regions[0].blocks[0].operations]
    found = next(o for o in tops if o.name == "memref.global" and symbol_name(o) == name)
    value = ir.DenseElementsAttr(found.attributes["initial_value"])
    return lambda: as_memory(Cells(dense_elements(value, op.results[0].type, domain)))


VIEWS: dict[str, Callable[[ir.Operation, ScalarDomain], Function]] = {
    "memref.cast": _reshaped,
    "memref.collapse_shape": _reshaped,
    "memref.expand_shape": _reshaped,
    "memref.subview": _subview,
}
MEMORY_OPS = VIEWS | {
    "memref.alloc": _made,
    "memref.alloca": _made,
    "memref.get_global": _global,
}

# As Python on the operands, the name of the first, and the indices behind one or two operands.
ACCESSES = {
    "memref.copy": "moved({0}, {1})",
    "memref.dealloc": "freed({0})",
    "memref.load": "loaded({0}, {behind_one}, {name})",
    "memref.store": "written({0}, {1}, {behind_two})",
}
ON_MEMORY = frozenset((*MEMORY_OPS, *ACCESSES))
RUNTIME: dict[str, Any] = {
    "freed": freed,
    "loaded": loaded,
    "moved": moved,
    "never_written": never_written,
    "written": written,
}
