"""ted's operators inside `torch.compile`: whole graphs, derivatives in and outside of them."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
import torch
from functorch.compile import make_boxed_func
from torch._dynamo.backends.common import aot_autograd
from torch._dynamo.exc import Unsupported
from torch.fx.experimental.proxy_tensor import make_fx

import ted
import ted.torch
from ted.errors import ExecutionError, FrontendError
from unit.torch.programs import (
    arguments,
    assert_equal,
    energy,
    force_loss,
    operator,
    torch_layer,
)
from unit.torch.test_operators import TRANSFORMS, nested, scripting

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


def counting_graphs(graphs: list[str]) -> Any:
    """A backend of AOT autograd that keeps the operators of each graph."""

    def compiler(graph: Any, _: Any) -> Any:
        targets = (str(n.target) for n in graph.graph.nodes if n.op == "call_function")
        graphs.append(" ".join(t for t in targets if t.startswith("ted.")))
        return make_boxed_func(graph.forward)

    return aot_autograd(fw_compiler=compiler)


def test_a_graph_serves_every_number_of_rows_and_keeps_residuals() -> None:
    graphs: list[str] = []
    x, w = arguments()
    f = whole(energy(operator), counting_graphs(graphs), dynamic=True)
    for rows in (3, 5, 2, 9):
        part = x.repeat(3, 1)[:rows].clone().requires_grad_()
        found, expected = f(part, w), energy(torch_layer)(part, w)
        assert_equal(found, expected)
        assert_equal(torch.autograd.grad(found, part), torch.autograd.grad(expected, part))
    forward, backward = graphs
    assert re.fullmatch(r"ted\.layer_fwd(_\d+)?\.default", forward)
    assert re.fullmatch(r"ted\.layer_bwd(_\d+)?\.default", backward)


@pytest.mark.parametrize("writes", [False, True], ids=["results", "out"])
def test_operators_that_one_line_calls_have_graphs_of_their_own(writes: bool) -> None:
    def compiled(op: Any) -> Callable[..., Any]:
        return whole(lambda x: op.out(x, out=torch.empty(3)) if writes else op(x), "eager")

    x, operators = torch.ones(3), [ted.torch.op(lambda x: x * 2), ted.torch.op(lambda x: x * 3)]
    for op in operators:  # now both have been in graphs
        compiled(op)(x)
    torch._dynamo.reset()
    for op in operators:
        torch.testing.assert_close(compiled(op)(x), op(x))


def test_a_graph_takes_only_sizes_in_numbers_for_constants() -> None:
    graphs: list[str] = []
    scores = ted.torch.op(lambda q: q @ ted.matrix_transpose(q) / q.shape[-1] ** 0.5, name="scores")
    f = whole(scores, counting_graphs(graphs), dynamic=True)
    for batch, rows, width in ((2, 3, 5), (4, 5, 5), (3, 2, 5), (2, 3, 4)):
        q = torch.rand(batch, rows, width, dtype=torch.float64)
        assert_equal(f(q), q @ q.mT / width**0.5)
    assert len(graphs) == 2  # one for each width


def test_a_batch_is_one_graph() -> None:
    graphs: list[str] = []
    in_rows = ted.torch.op(lambda w, x: ted.sum(ted.sin(x @ w), axis=0), name="rows", batch=1)
    f = whole(in_rows, counting_graphs(graphs))
    x, w = arguments()
    x = x.repeat(3, 1)
    for rows in (9, 5, 4):
        part, weights = x[:rows].clone(), w.clone().requires_grad_()
        torch._dynamo.mark_dynamic(part, 0)
        found, expected = f(weights, part), torch.sin(part @ weights).sum(0)
        assert_equal(found, expected)
        slope = torch.autograd.grad(found.sum(), weights)
        assert_equal(slope, torch.autograd.grad(expected.sum(), weights))
    assert len(graphs) == 2


def test_shapes_that_do_not_fit_are_refused_while_torch_traces() -> None:
    with pytest.raises(Unsupported, match=r"matmul: inner extents must agree, got \(3, 4\)"):
        whole(operator)(torch.ones(3, 4), torch.ones(3, 2))


PRODUCT = ted.torch.op(lambda x, y: x @ y, name="product")
TRIPLE = ted.torch.op(lambda x: 3 * x, name="triple")
TAKEN = ted.torch.op(lambda x, places: ted.take(x, places, axis=0), name="taken")
CALLS = {
    "result": lambda x, places: TAKEN(x, places),
    "out": lambda x, places: TAKEN.out(x, places, out=torch.empty(1)),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_a_graph_that_runs_raises_errors_at_the_line_of_the_user(call: Any, backend: str) -> None:
    f, x = whole(call, backend), torch.ones(3)
    assert_equal(f(x, torch.tensor([2])), x[:1])
    with pytest.raises(ExecutionError, match=r"out of range: tensor x .*index 7") as caught:
        f(x, torch.tensor([7]))
    assert caught.value.location is not None
    assert caught.value.location.file == __file__


def test_calls_that_torch_leaves_to_python_are_as_without_it() -> None:
    product = torch.compile(lambda x, y: PRODUCT(x, y), backend="eager")
    with pytest.raises(FrontendError, match="matmul: inner extents must agree"):
        product(torch.ones(3, 4), torch.ones(3, 4))
    assert_equal(product(torch.ones(3, 4), torch.ones(4, 2)), torch.full((3, 2), 4.0))


def test_a_graph_has_an_operator_without_tensors() -> None:
    rows = ted.torch.op(lambda count: ted.arange(count) * 2, name="rows")
    assert whole(lambda: rows(3))().tolist() == [0, 2, 4]


def test_a_program_that_lost_its_gradient_warns() -> None:
    class Doubled(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return TRIPLE(x) + x

    program = torch.export.export(Doubled(), (torch.ones(2),)).run_decompositions()
    y = program.module()(torch.ones(2, requires_grad=True))
    with pytest.warns(UserWarning, match=r"triple_below.*an autograd kernel was not registered"):
        y.sum().backward()


def test_nests_and_constants_are_compiled() -> None:
    x, w = arguments(requires_grad=True)
    f = whole(lambda x, w: nested({"w": x, "layers": [w]}, 0.5, power=3).total)
    expected = ((x @ w * 0.5) ** 3).sum()
    assert_equal(f(x, w), expected)
    assert_equal(torch.autograd.grad(f(x, w), w), torch.autograd.grad(expected, w))


def test_graphs_take_none_and_dicts_of_other_kinds() -> None:
    scaled = ted.torch.op(lambda n, by: n["x"] if by is None else n["x"] * by, name="scaled")
    x = torch.ones(2)
    assert_equal(whole(lambda x: scaled({"x": x}, 2))(x), 2 * x)
    assert_equal(whole(lambda x: scaled(OrderedDict(x=x), 2))(x), 2 * x)
    first = ted.torch.op(lambda x, by: x if by is None else x * by, name="first")
    assert_equal(whole(lambda x: first(x, None))(x), x)


def test_a_call_in_a_graph_compares_nothing_of_the_nests_of_torch() -> None:
    double = ted.torch.op(lambda x: x + x, name="double")
    guards = torch._dynamo.explain(lambda x: double(x))(torch.ones(2)).out_guards
    assert not [guard.name for guard in guards if "pytree" in guard.name]


@pytest.mark.parametrize("count", [64, 65])
def test_graphs_take_more_tensors_than_arguments_of_an_operator_of_torch(count: int) -> None:
    last = ted.torch.op(lambda *xs: 2 * xs[-1], name="last")
    xs = [torch.ones(2) for _ in range(count)]
    assert_equal(whole(last)(*xs), 2 * xs[-1])
    overload, given = last.registered(*xs)
    assert_equal(overload(*given)[0], 2 * xs[-1])


@dataclass(frozen=True)
class Waves:
    """Results with a field that is no tensor."""

    both: dict[str, Any]
    kind: str = field(metadata={"static": True})


def test_results_in_a_dataclass_come_out_of_a_graph() -> None:
    waves = ted.torch.op(lambda x: [Waves({"sin": ted.sin(x), "none": None}, "real"), ted.cos(x)])
    x = torch.ones(2, dtype=torch.float64)
    found, cosine = whole(waves)(x)
    assert found.kind == "real"
    assert_equal((found.both, cosine), ({"sin": x.sin(), "none": None}, x.cos()))


def test_numbers_that_a_graph_does_not_know_become_constants() -> None:
    scaled = ted.torch.op(lambda x, by, power: (x * by) ** power, name="scaled")
    f = whole(scaled, dynamic=True)
    x = torch.ones(2)
    for by, power in ((0.5, 2), (1.5, 3), (2.5, 4)):
        assert_equal(f(x, by, power), (x * by) ** power)


def test_a_gradient_of_what_was_computed_before_is_traced() -> None:
    x, w = arguments(requires_grad=True)
    y = operator(x, w)
    traced = make_fx(lambda head: torch.autograd.grad(y, x, head, retain_graph=True)[0])
    graph = traced(torch.ones_like(y))
    head = torch.randn_like(y)
    assert_equal(graph(head), torch.autograd.grad(torch_layer(x, w), x, head)[0])
