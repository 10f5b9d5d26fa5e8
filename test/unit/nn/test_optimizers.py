"""Steps of the optimisers follow torch's, step by step; those it has not follow their papers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ted
from ted import nn
from ted.errors import FrontendError
from ted.testing.tracing import interpreted, traced

torch = pytest.importorskip("torch")
TOLERANCE = 1e-12
STEPS = 4
RNG = np.random.default_rng(3)
START = {"w": RNG.normal(size=(3, 2)), "b": [RNG.normal(size=2)]}
GRADIENTS = [{"w": RNG.normal(size=(3, 2)), "b": [RNG.normal(size=2)]} for _ in range(STEPS)]

# Ours, and torch's.
TORCH: dict[str, tuple[nn.Optimizer, Callable[[Any], Any]]] = {
    "sgd": (nn.sgd(0.1), lambda ps: torch.optim.SGD(ps, lr=0.1)),
    "heavy sgd": (
        nn.sgd(0.1, 0.9, weight_decay=0.2),
        lambda ps: torch.optim.SGD(ps, lr=0.1, momentum=0.9, weight_decay=0.2),
    ),
    "nesterov": (
        nn.sgd(0.1, 0.9, nesterov=True),
        lambda ps: torch.optim.SGD(ps, lr=0.1, momentum=0.9, nesterov=True),
    ),
    "adam": (
        nn.adam(0.01, weight_decay=0.2),
        lambda ps: torch.optim.Adam(ps, lr=0.01, weight_decay=0.2),
    ),
    "adamw": (
        nn.adamw(0.01, 0.8, 0.99, 1e-6, 0.2),
        lambda ps: torch.optim.AdamW(
            ps, lr=0.01, betas=(0.8, 0.99), eps=1e-6, weight_decay=0.2
        ),
    ),
    "rmsprop": (
        nn.rmsprop(0.01, 0.95, weight_decay=0.2),
        lambda ps: torch.optim.RMSprop(ps, lr=0.01, alpha=0.95, weight_decay=0.2),
    ),
    "adagrad": (
        nn.adagrad(0.1, rate_decay=0.3, weight_decay=0.2),
        lambda ps: torch.optim.Adagrad(ps, lr=0.1, lr_decay=0.3, weight_decay=0.2),
    ),
}  # fmt: skip


def ours(optimizer: nn.Optimizer, start: Any, gradients: list[Any]) -> tuple[Any, Any]:
    """Parameters and state after all steps, by the interpreter."""
    params, state = start, optimizer.init(start)
    outputs, inputs, tree = _update(optimizer, (params, gradients[0], state))
    run = interpreted(inputs, outputs)
    for gradient in gradients:
        new = run(*ted.tree.leaves((params, gradient, state)))
        params, state = ted.tree.unflatten(tree, [np.asarray(x) for x in new])
    return params, state


def _update(optimizer: nn.Optimizer, args: Any) -> tuple[Any, Any, Any]:
    trees = []

    def update(params: Any, gradients: Any, state: Any) -> Any:
        made = optimizer.update(params, gradients, state)
        trees.append(ted.tree.structure(made))
        return tuple(ted.tree.leaves(made))

    outputs, inputs = traced(update, args, ted.tree.leaves(args), what="test")
    return outputs, inputs, trees[-1]


def theirs(make: Callable[[Any], Any]) -> list[np.ndarray]:
    leaves = [torch.tensor(x, requires_grad=True) for x in ted.tree.leaves(START)]
    optimizer = make(leaves)
    for gradient in GRADIENTS:
        for leaf, g in zip(leaves, ted.tree.leaves(gradient), strict=True):
            leaf.grad = torch.tensor(g)
        optimizer.step()
    return [leaf.detach().numpy() for leaf in leaves]


@pytest.mark.parametrize("name", TORCH)
def test_steps_are_those_of_torch(name: str) -> None:
    optimizer, make = TORCH[name]
    params, state = ours(optimizer, START, GRADIENTS)
    assert state["step"] == STEPS
    for got, want in zip(ted.tree.leaves(params), theirs(make), strict=True):
        np.testing.assert_allclose(got, want, rtol=TOLERANCE)


def _lion(p: Any, g: Any, m: Any) -> Any:
    return p - 0.1 * (np.sign(0.9 * m + 0.1 * g) + 0.2 * p), 0.99 * m + 0.01 * g


def test_lion_is_as_in_its_paper() -> None:
    params, _ = ours(nn.lion(0.1, weight_decay=0.2), START, GRADIENTS)
    want, m = START["w"], np.zeros((3, 2))
    for gradient in GRADIENTS:
        want, m = _lion(want, gradient["w"], m)
    np.testing.assert_allclose(params["w"], want, rtol=TOLERANCE)


def test_lamb_is_as_in_its_paper() -> None:
    start = {"w": START["w"], "zero": np.zeros(2)}
    gradients = [{"w": g["w"], "zero": g["b"][0]} for g in GRADIENTS]
    params, _ = ours(nn.lamb(0.1, weight_decay=0.2), start, gradients)
    for name, p in start.items():
        m = v = np.zeros_like(p)
        for t, g in enumerate((g[name] for g in gradients), 1):
            m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
            way = m / (1 - 0.9**t) / (np.sqrt(v / (1 - 0.999**t)) + 1e-6) + 0.2 * p
            length = np.linalg.norm(p)
            p = p - 0.1 * (length / np.linalg.norm(way) if length else 1.0) * way
        np.testing.assert_allclose(params[name], p, rtol=1e-10)


def test_parameters_of_half_types_keep_their_state_in_float32() -> None:
    start = ted.tree.map(lambda x: x.astype(np.float16), START)
    gradients = [ted.tree.map(lambda x: x.astype(np.float16), g) for g in GRADIENTS]
    params, state = ours(nn.adam(0.01), start, gradients)
    assert params["w"].dtype == np.float16
    assert state["v"]["b"][0].dtype == np.float32
    want, _ = ours(nn.adam(0.01), START, GRADIENTS)
    np.testing.assert_allclose(params["w"], want["w"], atol=4e-3)


def _rates(schedule: Callable[[Any], Any], counts: list[int]) -> list[float]:
    outputs, inputs = traced(
        lambda ns: tuple(schedule(ns[k]) for k in range(len(counts))), [np.array(counts)], what="t"
    )
    return [float(x) for x in interpreted(inputs, outputs)(np.array(counts))]


@pytest.mark.parametrize(
    ("schedule", "counts", "want"),
    [
        (nn.linear_schedule(1.0, 0.0, 4), [0, 1, 4, 9], [1, 0.75, 0, 0]),
        (nn.cosine_schedule(2.0, 12, 4, 0.5), [0, 2, 4, 8, 12, 99], [0, 1, 2, 1.25, 0.5, 0.5]),
        (nn.cosine_schedule(2.0, 8), [0, 4, 8], [2, 1, 0]),
        (nn.exponential_schedule(3.0, 0.25, 4), [0, 2, 4], [3, 1.5, 0.75]),
        (nn.step_schedule(3.0, 0.5, 4), [0, 3, 4, 8], [3, 3, 1.5, 0.75]),
        (nn.piecewise_schedule([3.0, 2.0, 1.0], [2, 5]), [0, 1, 2, 4, 5, 9], [3, 3, 2, 2, 1, 1]),
    ],
)
def test_schedules_are_functions_of_the_steps_before(schedule, counts, want) -> None:
    np.testing.assert_allclose(_rates(schedule, counts), want, atol=1e-15)


def test_a_schedule_is_asked_for_the_steps_before_this_one() -> None:
    params, _ = ours(nn.sgd(nn.step_schedule(1.0, 0.5, 1)), START, GRADIENTS)
    want = START["w"] - sum(0.5**k * g["w"] for k, g in enumerate(GRADIENTS))
    np.testing.assert_allclose(params["w"], want, rtol=TOLERANCE)


@pytest.mark.parametrize("most", [0.5, 100.0])
def test_gradients_are_clipped_as_by_torch(most: float) -> None:
    leaves = ted.tree.leaves(GRADIENTS[0])
    outputs, inputs = traced(
        lambda *xs: tuple(nn.clip_by_global_norm(list(xs), most)), leaves, what="test"
    )
    parameters = [torch.zeros(x.shape, dtype=torch.float64) for x in leaves]
    for parameter, leaf in zip(parameters, leaves, strict=True):
        parameter.grad = torch.tensor(leaf)
    torch.nn.utils.clip_grad_norm_(parameters, most)
    for got, want in zip(interpreted(inputs, outputs)(*leaves), parameters, strict=True):
        np.testing.assert_allclose(got, want.grad.numpy(), rtol=1e-5)


def test_a_step_of_donated_parameters_is_in_place() -> None:
    optimizer = nn.adam(nn.cosine_schedule(0.1, 10), weight_decay=0.1)
    params = {"w": np.ones(5, np.float32)}
    state = optimizer.init(params)

    def update(params: Any, state: Any, x: Any) -> Any:
        gradients = ted.grad(lambda p: ted.sum((p["w"] * x) ** 2))(params)
        return optimizer.update(params, gradients, state)

    x = np.arange(5, dtype=np.float32)
    want = ted.function(update)(params, state, x)
    places = [a.ctypes.data for a in (params["w"], state["m"]["w"], state["v"]["w"])]
    new, kept = ted.function(update, donate=(0, 1))(params, state, x)
    assert [a.ctypes.data for a in (new["w"], kept["m"]["w"], kept["v"]["w"])] == places
    np.testing.assert_array_equal(new["w"], want[0]["w"])
    assert kept["step"] == 1


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: nn.sgd(0.1, nesterov=True), "nesterov needs a momentum"),
        (lambda: nn.adam(b1=1.0), "adam: b1 is a number of at least 0 and below 1, got 1.0"),
        (lambda: nn.lamb(eps=-1.0), "lamb: eps is a number of at least 0, got -1.0"),
        (lambda: nn.adam().init({"n": np.zeros(2, int)}), "adam: n must be of a float type"),
        (lambda: nn.cosine_schedule(1.0, 5, 5), "warmup is less than steps=5, got 5"),
        (lambda: nn.piecewise_schedule([1.0], [3]), "one rate more than bounds"),
        (lambda: nn.step_schedule(1.0, 0.0, 3), "factor must be a positive number, got 0.0"),
        (lambda: nn.clip_by_global_norm([np.ones(2)], 0), "most is above 0, got 0"),
    ],
)
def test_what_is_out_of_range_is_refused(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(FrontendError, match=message):
        make()


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ((START, {"w": START["w"]}, nn.sgd(1).init(START)), "gradients are nested as params are"),
        ((START, START, nn.adam(1).init(START)), r"state is what init gives, with \('step',\)"),
        (
            ({"w": START["w"]}, {"w": START["b"][0]}, nn.sgd(1).init(START)),
            r"gradient of w: must have shape \(3, 2\), got \(2,\)",
        ),
    ],
)
def test_nests_that_do_not_fit_are_refused(args: Any, message: str) -> None:
    with pytest.raises(FrontendError, match=message):
        _update(nn.sgd(1), args)
