"""Operators of torch that take graphs, as functions of ted that take functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

import ted
from ted.raising.loops import looped

Function = Callable[..., tuple[Any, ...]]
Tensors = Sequence[Any]
higher = torch.ops.higher_order


def _chosen(condition: Any, yes: Function, no: Function, tensors: Tensors) -> Any:
    return ted.cond(ted.reshape(condition, ()), yes, no, *tensors)


def _scanned(step: Function, start: Tensors, rows: Tensors, others: Tensors = ()) -> Any:
    def split(carry: Tensors, row: Tensors) -> Any:
        results = step(*carry, *row, *others)
        return results[: len(start)], results[len(start) :]

    last, stacked = ted.scan(split, tuple(start), tuple(rows))
    return (*last, *stacked)


def _repeated(going: Function, body: Function, start: Tensors, others: Tensors = ()) -> Any:
    return tuple(
        looped(
            list(start),
            lambda states: ted.reshape(going(*states, *others)[0], ()),
            lambda states: list(body(*states, *others)),
        )
    )


def _mapped(function: Function, rows: Tensors, others: Tensors = ()) -> Any:
    return ted.vmap(lambda *row: function(*row, *others))(*rows)


def _called(enabled: bool, function: Function, *tensors: Any) -> Any:
    results = function(*tensors)
    return results if enabled else tuple(map(ted.stop_gradient, results))


CONTROL: Mapping[Any, Function] = {
    higher.cond: _chosen, higher.scan: _scanned, higher.while_loop: _repeated,
    higher.map_impl: _mapped, higher.wrap_with_set_grad_enabled: _called,
}  # fmt: skip
