"""Where a load or a store goes, as a number: a constant and multiples of counters of loops."""

from __future__ import annotations

from dataclasses import dataclass

from ted.domain.linear import Form, dot, term
from ted.gpu.flat_views import flat_view_of
from ted.mlir import ir
from ted.mlir.aliasing import root
from ted.mlir.index_values import form_of
from ted.mlir.queries import defining


@dataclass(frozen=True)
class Address:
    """An element of a memory, a form in counters."""

    memory: ir.Value
    offset: Form[ir.Value]


def address_of(access: ir.Operation) -> Address | None:
    """Where a `memref.load` or `memref.store` goes; None if that is no such number."""
    view, *subscripts = list(access.operands)[access.name == "memref.store" :]
    flat = flat_view_of(view)
    if flat is None:
        return None
    strides = ir.MemRefType(view.type).get_strides_and_offset()[0]
    offset = flat.start + dot(map(term, subscripts), strides)
    forms = {value: form_of(value, _counter) for value, _ in offset.terms}
    known = {value: form for value, form in forms.items() if form is not None}
    return Address(root(view), offset.compose(known)) if len(known) == len(forms) else None


def _counter(value: ir.Value) -> Form[ir.Value] | None:
    return term(value) if defining(value) is None else None
