"""Put numbers where the symbolic sizes of a system are.

Before: `y[i] = x[i] * n` over i < n        After, for n = 4: `y[i] = x[i] * 4` over i < 4
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from numbers import Integral
from typing import Any

from ted.domain import parameters, sets, sizes
from ted.domain.size_factors import LONGEST, Symbol
from ted.domain.sizes import Extent
from ted.errors import DomainError, user_location
from ted.ir.equations import Equation, System, Tensor, components
from ted.ir.expressions import Expr, postorder
from ted.ir.index_ranges import overflow
from ted.ir.scalar import index, load, rewrite


def sizes_of(system: System) -> tuple[Symbol, ...]:
    """The symbolic sizes of a system in order: those it lists, those of its inputs, any others.

    Raises: DomainError where sizes of one name promise different things.
    """
    found = dict.fromkeys(system.sizes)
    for tensor in (*system.inputs, *system.tensors()):
        found.update(dict.fromkeys(sizes.symbols_of(tensor.shape)))
        for equation in tensor.equations:
            found.update(dict.fromkeys(_of_equation(equation)))
    named: dict[str, Symbol] = {}
    for symbol in found:
        if named.setdefault(symbol.name, symbol) != symbol:
            raise DomainError(
                f"size {symbol.name}: sizes of one name must promise the same, "
                f"got {named[symbol.name].promise} and {symbol.promise}; make it once, "
                f"or give them names of their own",
                user_location(),
            )
    return tuple(found)


def checked_values(symbols: Sequence[Symbol], given: Mapping[str, Any]) -> dict[str, int]:
    """A plain number for each size, by name.

    Raises: DomainError for a missing, an unknown or an impossible value.
    """
    names = [symbol.name for symbol in symbols]
    if sorted(given) != sorted(names):
        raise DomainError(f"one value for each of the sizes {names}, got {dict(given)}")
    values: dict[str, int] = {}
    for symbol in symbols:
        value = given[symbol.name]
        if isinstance(value, bool) or not isinstance(value, Integral):
            raise DomainError(f"size {symbol.name}: must be an integer, got {value!r}")
        refusal = symbol.refusal(int(value))
        if refusal is not None:
            raise DomainError(f"size {symbol.name}: {refusal}, got {value}")
        values[symbol.name] = int(value)
    return values


def _of_equation(equation: Equation) -> Sequence[Symbol]:
    leaves = [e.attr for e in postorder(*equation.expressions) if e.op == "size"]
    return [*sizes.symbols_of(equation.extents), *leaves]


def specialise(system: System, values: Mapping[str, int]) -> System:
    """The system for given sizes, by name: extents, index maps and domains are plain numbers.

    Raises: DomainError for an extent that the machine cannot count, or an index beyond 64 bits.
    """
    new: dict[Tensor, Tensor] = {}
    for tensor in system.inputs:
        new[tensor] = _shell(tensor, values)
    for group in components(system.outputs):
        new.update({t: _shell(t, values) for t in group if t not in new})
        for tensor in group:
            new[tensor].equations = tuple(_equation(e, values, new) for e in tensor.equations)
    inputs = tuple(new[t] for t in system.inputs)
    outputs = tuple(new[t] for t in system.outputs)
    return replace(system, inputs=inputs, outputs=outputs, sizes=())


def _shell(tensor: Tensor, values: Mapping[str, int]) -> Tensor:
    shape = _extents(tensor.shape, values, tensor)
    return replace(tensor, shape=shape, equations=())


def _extents(
    shape: Sequence[Extent], values: Mapping[str, int], of: Tensor | Equation
) -> tuple[int, ...]:
    extents = tuple(sizes.evaluate(n, values) for n in shape)
    for symbolic, extent in zip(shape, extents, strict=True):
        if extent >= LONGEST:
            raise DomainError(
                f"size: an extent must be below 2**63, got {symbolic} = {extent} "
                f"for {_known(values)}",
                of.location,
            )
    return extents


def _known(values: Mapping[str, int]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in values.items())


def _equation(
    equation: Equation, values: Mapping[str, int], new: Mapping[Tensor, Tensor]
) -> Equation:
    def visit(node: Expr, args: tuple[Expr, ...]) -> Expr | None:
        if node.op == "size":
            return index(values[node.attr.name])
        return load(new[node.attr], args) if node.op == "load" else None

    body, *write = rewrite(equation.expressions, visit)
    domain = parameters.at(equation.domain, values)
    extents = _extents(equation.extents, values, equation)
    domain = domain.intersect(sets.box(extents)).coalesce()
    beyond = overflow([body, *write], extents, domain, equation.dim_names)
    if beyond is not None:
        raise DomainError(f"size: for {_known(values)} {beyond}", equation.location)
    return replace(equation, extents=extents, domain=domain, body=body, write=tuple(write))
