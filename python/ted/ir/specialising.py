"""Put numbers where the symbolic sizes of a system are.

Before: `y[i] = x[i] * n` over i < n        After, for n = 4: `y[i] = x[i] * 4` over i < 4
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ted.domain import parameters, sets, sizes
from ted.domain.sizes import Symbol
from ted.ir.equations import Equation, System, Tensor, components
from ted.ir.scalar import Expr, index, load, postorder, rewrite


def sizes_of(system: System) -> tuple[Symbol, ...]:
    """The symbolic sizes of a system in order: those it lists, those of its inputs, any others."""
    found = dict.fromkeys(system.sizes)
    for tensor in (*system.inputs, *system.tensors()):
        found.update(dict.fromkeys(sizes.symbols_of(tensor.shape)))
        for equation in tensor.equations:
            found.update(dict.fromkeys(_of_equation(equation)))
    return tuple(found)


def _of_equation(equation: Equation) -> Sequence[Symbol]:
    leaves = [e.attr for e in postorder(equation.body, *equation.write) if e.op == "size"]
    return [*sizes.symbols_of(equation.extents), *leaves]


def specialise(system: System, values: Mapping[str, int]) -> System:
    """The system for given sizes, by name: extents, index maps and domains are plain numbers."""
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
    shape = tuple(sizes.evaluate(n, values) for n in tensor.shape)
    return replace(tensor, shape=shape, equations=())


def _equation(
    equation: Equation, values: Mapping[str, int], new: Mapping[Tensor, Tensor]
) -> Equation:
    def visit(node: Expr, args: tuple[Expr, ...]) -> Expr | None:
        if node.op == "size":
            return index(values[node.attr.name])
        return load(new[node.attr], args) if node.op == "load" else None

    body, *write = rewrite([equation.body, *equation.write], visit)
    domain = parameters.at(equation.domain, values)
    extents = tuple(sizes.evaluate(n, values) for n in equation.extents)
    domain = domain.intersect(sets.box(extents)).coalesce()
    return replace(equation, extents=extents, domain=domain, body=body, write=tuple(write))
