"""Operators of torch that ted has itself, which are taken out of a graph and put back as equations.

Before: y, h, c = aten.lstm(x, [h0, c0], [w, u, b, d], ...);  return y @ v
After:  f(x, h0, c0, w, u, b, d, v, y, h, c) = (y @ v, x, h0, c0, w, u, b, d), and then
        y, h, c = the recurrence of ted.nn.lstm on what f gives of its other arguments

The importer has no such operators, or others than torch: torch takes a layer apart into one copy
for each step, and limits and maxima of the binding pass over NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from operator import getitem
from typing import Any

import torch
from torch.utils import _pytree

import ted
from ted.frontend.elementwise import cast
from ted.frontend.tensors import wrap
from ted.ir.equations import System
from ted.records import dataclass
from ted.torch.complex_graphs import Paired, is_of_pairs
from ted.torch.complex_matrices import MATRICES
from ted.torch.kept_algebra import ALGEBRA
from ted.torch.kept_control import CONTROL
from ted.torch.kept_functions import OF_ANY, OF_FLOATS, OF_SCALARS, aten
from ted.torch.kept_indices import INDICES, OF_ONE, is_indexed
from ted.torch.kept_orders import ORDERS
from ted.torch.registering import of_ted
from ted.transforms.overrides import substituted, substitution

Operator = Callable[..., Any]  # its result is a tensor or a tuple of them
_TENSOR = object()  # stands for a tensor among the arguments of an operator


@dataclass(frozen=True)
class Kept:
    """An operator without its tensors: `given` are its arguments, with a mark for each of them."""

    operator: Operator
    given: Sequence[Any]
    spec: Any
    takes: int
    gives: Sequence[tuple[tuple[int, ...], str]]  # the shapes and element types of its results

    def __call__(self, tensors: Sequence[Any]) -> Sequence[Any]:
        """The results as nodes, for the nodes of what it takes."""
        rest = iter(tensors)
        flat = [wrap(next(rest)) if a is _TENSOR else a for a in self.given]
        args, kwargs = _pytree.tree_unflatten(flat, self.spec)
        found = self.operator(*args, **kwargs)
        results = found if isinstance(found, tuple) else (found,)
        return [_given(r, *row) for r, row in zip(results, self.gives, strict=True)]


def _given(result: Any, shape: tuple[int, ...], kind: str) -> Any:
    """A result as torch says; a term that was left out may have had its shape."""
    whole = result if tuple(result.shape) == shape else ted.broadcast_to(result, shape)
    return cast(whole, kind).node


def _recurrent(layer: Callable[..., Any], states: int) -> Operator:
    """An operator of torch for a layer: the last layer's states, and the final ones of all."""

    def operator(
        x: Any, start: Any, weights: Sequence[Any], biased: bool, layers: int, _dropout: float,
        _train: bool, both: bool, batch_first: bool,
    ) -> tuple[Any, ...]:  # fmt: skip
        each = 4 if biased else 2
        starts = start if states == 2 else [start]
        count = layers * (2 if both else 1)
        x = ted.moveaxis(x, 0, 1) if batch_first else x
        y, finals = ted.nn.stacked(
            layer, x,
            [_parameters(layer, weights[k * each : (k + 1) * each]) for k in range(count)],
            [tuple(s[k] for s in starts) if states == 2 else start[k] for k in range(count)],
            bidirectional=both,
        )  # fmt: skip
        parts = zip(*finals, strict=True) if states == 2 else [finals]
        return (ted.moveaxis(y, 0, 1) if batch_first else y, *map(ted.stack, map(list, parts)))

    return operator


def _parameters(layer: Callable[..., Any], weights: Sequence[Any]) -> tuple[Any, ...]:
    """Those of torch as a layer of ted takes them; a GRU scales one of its two biases."""
    w_x, w_h, *biases = weights
    if not biases:
        return w_x.T, w_h.T
    return (w_x.T, w_h.T, *(biases if layer is ted.nn.gru else [biases[0] + biases[1]]))


def _rectified(x: Any, *parameters: Any, **options: Any) -> Any:
    return ted.nn.rnn(x, *parameters, activation=ted.nn.relu, **options)


_LAYERS: Mapping[Any, Operator] = {
    aten.lstm.input: _recurrent(ted.nn.lstm, 2),
    aten.gru.input: _recurrent(ted.nn.gru, 1),
    aten.rnn_tanh.input: _recurrent(ted.nn.rnn, 1),
    aten.rnn_relu.input: _recurrent(_rectified, 1),
}


OPERATORS: Mapping[Any, Operator] = {
    **_LAYERS, **OF_SCALARS, **OF_FLOATS, **ALGEBRA, **OF_ANY, **ORDERS, **CONTROL,
    **INDICES, **OF_ONE,
}  # fmt: skip


def kept_in(graphs: Sequence[Any]) -> set[Any]:
    """The operators that ted has for each place of graphs: torch need not take them apart."""
    nodes = [node for graph in graphs for node in graph.nodes]
    pairs = {node.target for node in nodes if is_of_pairs(node)}
    apart = {node.target for node in nodes if not (is_kept(node) or is_of_pairs(node))}
    return ({*OPERATORS} | pairs) - apart


def taken_out(graph: Any, inner: Mapping[str, Operator]) -> tuple[Any, list[Kept]]:
    """A graph without the operators, which is changed, and these in their order.

    What they take are further results of the graph, and what they give further arguments; `inner`
    has the graphs among what they take as functions.
    """
    found: list[Kept] = []
    for node in [node for node in graph.nodes if is_kept(node)]:
        empty = _is_empty(node)
        flat, spec = _pytree.tree_flatten(((), {}) if empty else (node.args, node.kwargs))
        parts = [a for a in flat if isinstance(a, torch.fx.Node) and a.op == "get_attr"]
        flat = [inner[a.target] if a in parts else a for a in flat]
        tensors = [a for a in flat if isinstance(a, torch.fx.Node)]
        values = _results(node)
        gives = [(tuple(v.shape), str(v.dtype).removeprefix("torch.")) for v in values]
        operator: Any = _zeros(gives) if empty else _form(node.target)
        given = [_TENSOR if isinstance(a, torch.fx.Node) else a for a in flat]
        found.append(Kept(operator, given, spec, len(tensors), gives))
        output = graph.output_node()
        output.args = ((*output.args[0], *tensors),)
        body = next(node for node in graph.nodes if node.op != "placeholder")
        with graph.inserting_before(body):
            places = [graph.placeholder(f"{node.name}_{k}") for k in range(len(values))]
        for place, value in zip(places, values, strict=True):
            place.meta["val"] = value
        if isinstance(node.meta["val"], torch.Tensor):
            node.replace_all_uses_with(places[0])
        for user in list(node.users):
            user.replace_all_uses_with(places[user.args[1]])
            graph.erase_node(user)
        for gone in (node, *parts):
            if not gone.users:
                graph.erase_node(gone)
    return graph, found


def _results(node: Any) -> Sequence[Any]:
    value = node.meta["val"]
    return [value] if isinstance(value, torch.Tensor) else value


def _zeros(gives: Sequence[tuple[tuple[int, ...], str]]) -> Operator:
    return lambda: tuple(ted.zeros(*row) for row in gives)


def _form(target: Any) -> Operator | None:
    """An operator in ted: a pair's is itself, one of `ted.torch.op` is of a function of ted."""
    return target if isinstance(target, Paired) else of_ted(target) or OPERATORS.get(target)


def _is_empty(node: Any) -> bool:
    """Whether a node computes tensors without elements, of which the binding can die."""
    if node.op != "call_function" or node.target is getitem or "val" not in node.meta:
        return False
    values = _results(node)
    if not isinstance(values, (list, tuple)):
        return False
    return bool(values) and all(isinstance(v, torch.Tensor) and 0 in v.shape for v in values)


def is_kept(node: Any) -> bool:
    """Whether an operator has a form of ted; layers: no dropout, no projections, and a time."""
    if (
        isinstance(node.target, Paired)
        or _is_empty(node)
        or of_ted(node.target)
        or any(node.target in table for table in (OF_ANY, ORDERS, CONTROL))
    ):
        return True
    if is_indexed(node.target, node.args):
        return True
    if node.target in OF_SCALARS:
        return not node.args[0].meta["val"].ndim
    if node.target in OF_FLOATS or node.target in ALGEBRA:
        value = _results(node)[0]
        return value.is_floating_point() or (
            value.is_complex() and node.target._opname in MATRICES  # a function of pairs soon
        )
    if node.target not in _LAYERS or len(node.args) != 9:
        return False
    x, _, weights, biased, layers, dropout, train, both, batch_first = node.args
    count = (4 if biased else 2) * layers * (2 if both else 1)
    steps = x.meta["val"].shape[1 if batch_first else 0]
    return len(weights) == count and steps > 0 and not (train and dropout)


def put_back(system: System, kept: Sequence[Kept]) -> System:
    """The system of a whole graph, from that of the copy without the operators."""
    inputs = len(system.inputs) - sum(len(one.gives) for one in kept)
    outputs = at = len(system.outputs) - sum(one.takes for one in kept)
    results = iter(system.inputs[inputs:])
    known: dict[Any, Any] = {}
    for one in kept:
        takes, became = substitution(system.outputs[at : at + one.takes], known)
        at += one.takes
        known.update(became)
        known.update(zip(islice(results, len(one.gives)), one(takes), strict=True))
    return System(system.inputs[:inputs], substituted(system.outputs[:outputs], known), system.name)
