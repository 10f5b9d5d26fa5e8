"""ted's operators inside `torch.compile`: whole graphs, derivatives in and outside of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

from unit.torch.programs import (
    arguments,
    assert_equal,
    energy,
    force_loss,
    operator,
    torch_layer,
)
from unit.torch.test_operators import TRANSFORMS, scripting

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    """Each test compiles by itself."""
    torch._dynamo.reset()
    with torch._dynamo.config.patch(trace_autograd_ops=True):
        yield


def whole(f: Callable[..., Any], backend: str = "aot_eager", **options: Any) -> Callable[..., Any]:
    """The function in one graph."""
    return torch.compile(f, fullgraph=True, backend=backend, **options)


def test_a_graph_has_the_operator_and_its_gradient() -> None:
    x, w = arguments(requires_grad=True)
    y = whole(lambda x, w: operator(x, w).sin())(x, w)
    expected = torch_layer(x, w).sin()
    assert_equal(y, expected)
    assert_equal(torch.autograd.grad(y.sum(), (x, w)), torch.autograd.grad(expected.sum(), (x, w)))


def check_force_matching(backend: str) -> None:
    x, w = arguments(requires_grad=True)
    loss = whole(force_loss(operator), backend)(x, w)
    expected = force_loss(torch_layer)(x, w)
    assert_equal(loss, expected)
    assert_equal(torch.autograd.grad(loss, (x, w)), torch.autograd.grad(expected, (x, w)))


def test_a_graph_has_a_gradient_whose_loss_is_differentiated() -> None:
    check_force_matching("aot_eager")


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["eager", "inductor"])
def test_other_backends_differentiate_twice(backend: str) -> None:
    check_force_matching(backend)


@scripting
@pytest.mark.slow
@pytest.mark.parametrize("transform", TRANSFORMS.values(), ids=TRANSFORMS)
def test_transformations_of_torch_func_are_compiled(transform: Any) -> None:
    given = arguments()
    assert_equal(whole(transform(operator))(*given), transform(torch_layer)(*given))


@scripting
def test_one_operator_is_under_grad_vmap_and_compile_at_once() -> None:
    transform = TRANSFORMS["vmap of grad"]
    given = arguments()
    assert_equal(whole(transform(operator))(*given), transform(torch_layer)(*given))


def test_a_graph_serves_every_number_of_rows() -> None:
    counts: list[int] = []

    def counting(graph: Any, inputs: Any) -> Any:
        counts.append(len(inputs))
        return graph.forward

    x, w = arguments()
    f = torch.compile(energy(operator), fullgraph=True, backend=counting, dynamic=True)
    for rows in (3, 5, 2, 9):
        part = x.repeat(3, 1)[:rows]
        assert_equal(f(part, w), energy(torch_layer)(part, w))
    assert len(counts) == 1
