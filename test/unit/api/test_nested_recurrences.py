"""Recurrences in the steps of others: values and two orders of gradients, as of loops in torch."""

import numpy as np
import pytest
import torch

import ted
from ted.testing import interpret
from ted.transforms.ted_check_bounds import violations

F64 = "float64"


def _float(name, *shape):
    return ted.placeholder(shape, "float64", name=name)


# ---- a step of the outer recurrence in ted, and in torch ----------------------------------------


def _running_sums(h, row):
    total = ted.cumsum(h * row, 0)
    return ted.sin(total) * 0.5 + h, total


def _running_sums_torch(h, row):
    total = torch.cumsum(h * row, 0)
    return torch.sin(total) * 0.5 + h, total


def _scan(h, rows):
    h, ys = ted.scan(lambda c, y: (ted.tanh(c * y + 0.3 * c), c * y), h, rows)
    return h, ted.sum(ys)


def _scan_torch(h, rows):
    total = torch.zeros(())
    for row in rows:
        total = total + (h * row).sum()
        h = torch.tanh(h * row + 0.3 * h)
    return h, total


def _triangle(row):
    return 0.2 * row[:, None] * row[None, :]


def _implicit_step(u, row):
    u = ted.solve_triangular(ted.tril(_triangle(row)) + ted.eye(3, dtype="float64"), u + row)
    return u, u


def _implicit_step_torch(u, row):
    left = torch.tril(_triangle(row)) + torch.eye(3, dtype=torch.float64)
    u = torch.linalg.solve_triangular(left, (u + row)[:, None], upper=False)[:, 0]
    return u, u


def _gauss_seidel(u, row):
    def element(v, i):
        before = ted.where(i > 0, v[i - 1], 0.0)
        return (row[i] + before * before + ted.where(i < 2, u[i + 1], 0.0)) / 2.5

    u = ted.recurrence((3,), element, "float64")
    return u, u[1]


def _gauss_seidel_torch(u, row):
    new = []
    for i in range(3):
        before = new[i - 1] if i else torch.zeros(())
        new.append((row[i] + before * before + (u[i + 1] if i < 2 else 0.0)) / 2.5)
    return torch.stack(new), new[1]


def _inner_optimiser(w, row):
    def descend(w, _):
        (slope,) = ted.differentiate(ted.sum((ted.sin(w) - row) ** 2), [w])
        return w - 0.1 * slope, None

    after, _ = ted.scan(descend, w, length=3)
    return after, ted.sum((after - w) ** 2)


def _inner_optimiser_torch(w, row):
    before = w
    for _ in range(3):
        w = w - 0.2 * (torch.sin(w) - row) * torch.cos(w)
    return w, ((w - before) ** 2).sum()


def _both_ways(u, row):
    down = ted.recurrence((3,), lambda v, i: u[i] + ted.where(i > 0, row[i] * v[i - 1], 0.0), F64)
    up = ted.cumsum(ted.sin(down), 0, reverse=True)
    return up, down


def _both_ways_torch(u, row):
    down = [u[0]]
    for i in (1, 2):
        down.append(u[i] + row[i] * down[-1])
    down = torch.stack(down)
    return torch.flip(torch.cumsum(torch.flip(torch.sin(down), [0]), 0), [0]), down


def _three_levels(h, rows):
    def middle(h, row):
        return ted.tanh(ted.cumsum(h * row, 0) + h), None

    h, _ = ted.scan(middle, h, rows, reverse=True)
    return h, h


def _three_levels_torch(h, rows):
    for row in torch.flip(rows, [0]):
        h = torch.tanh(torch.cumsum(h * row, 0) + h)
    return h, h


ROW, ROWS = (3, 3), (2, 2, 3)
STEPS = {
    "running_sums": (_running_sums, _running_sums_torch, ROW),
    "scan": (_scan, _scan_torch, ROWS),
    "implicit_step": (_implicit_step, _implicit_step_torch, ROW),
    "gauss_seidel": (_gauss_seidel, _gauss_seidel_torch, ROW),
    "inner_optimiser": (_inner_optimiser, _inner_optimiser_torch, ROW),
    "both_ways": (_both_ways, _both_ways_torch, ROW),
    "three_levels": (_three_levels, _three_levels_torch, ROWS),
}
COMPILED = [
    pytest.param(name, marks=[] if name == "scan" else [pytest.mark.slow]) for name in STEPS
]


def _loss(step, h, xs):
    h, ys = ted.scan(step, h, xs)
    return ted.sum(h * h) + ted.sum(ys * ys * ys)


def _program(step, shape, orders):
    inputs = [_float("h", 3), _float("xs", *shape)]
    results = [_loss(step, *inputs)]
    results += ted.differentiate(results[0], inputs)
    if orders > 1:
        total = ted.sum(ted.sin(results[1])) + ted.sum(ted.sin(results[2]))
        results += ted.differentiate(total, inputs)
    return inputs, results


def _wanted(step, arrays, orders):
    tensors = [torch.tensor(a, requires_grad=True) for a in arrays]
    h, total = tensors[0], torch.zeros((), dtype=torch.float64)
    for row in tensors[1]:
        h, y = step(h, row)
        total = total + (y * y * y).sum()
    total = total + (h * h).sum()
    slopes = torch.autograd.grad(total, tensors, create_graph=True)
    found = [total, *slopes]
    if orders > 1:
        found += torch.autograd.grad(sum(torch.sin(s).sum() for s in slopes), tensors)
    return [t.detach().numpy() for t in found]


def _arrays(shape):
    generator = np.random.default_rng(3)
    return [generator.uniform(0.2, 0.9, s) for s in ((3,), shape)]


@pytest.mark.fast(2)
@pytest.mark.parametrize("name", STEPS)
def test_the_interpreter_runs_steps_in_the_order_of_both_times(name) -> None:
    step, reference, shape = STEPS[name]
    _, results = _program(step, shape, 1)
    module = ted.module(results)
    assert not list(violations(module))
    arrays = dict(zip(("h", "xs"), _arrays(shape), strict=True))
    order = [str(a.location).split('"')[1] for a in _arguments(module)]
    found = interpret(module, [arrays[n] for n in order])
    for one, other in zip(found, _wanted(reference, list(arrays.values()), 1), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-12)


def _arguments(module):
    return module.body.operations[0].regions[0].blocks[0].arguments


@pytest.mark.parametrize("name", COMPILED)
def test_compiled_values_and_two_orders_of_gradients_are_those_of_loops(name) -> None:
    step, reference, shape = STEPS[name]
    inputs, results = _program(step, shape, 2)
    arrays = _arrays(shape)
    found = ted.compile(inputs, results)(*arrays)
    for one, other in zip(found, _wanted(reference, arrays, 2), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-11)


def test_tangents_and_batches_go_through_both_recurrences() -> None:
    h, xs, dh = _float("h", 2, 3), _float("xs", 3, 3), _float("dh", 2, 3)

    def final(h):
        return ted.scan(_running_sums, h, xs)[0]

    _, moved = ted.jvp(ted.vmap(final), (h,), (dh,))
    generator = np.random.default_rng(5)
    given = {n: generator.uniform(0.2, 0.9, s) for n, s in (("h", (2, 3)), ("xs", (3, 3)))}
    given["dh"] = generator.normal(size=(2, 3))
    module = ted.module(moved)
    names = [str(a.location).split('"')[1] for a in _arguments(module)]
    (found,) = interpret(module, [given[n] for n in names])

    def reference(h):
        for row in torch.tensor(given["xs"]):
            h = torch.sin(torch.cumsum(h * row, 1)) * 0.5 + h
        return h

    arguments = (torch.tensor(given["h"]),), (torch.tensor(given["dh"]),)
    _, wanted = torch.autograd.functional.jvp(reference, *arguments)
    np.testing.assert_allclose(found, wanted.numpy(), rtol=1e-11)


def test_the_program_does_not_grow_with_the_steps_of_either() -> None:
    def text(outer, inner):
        h, xs = _float("h", 3), _float("xs", outer, inner, 3)
        loss = _loss(_scan, h, xs)
        return str(ted.module([loss, *ted.differentiate(loss, [h, xs])]))

    assert text(3, 4).count("ted.compute") == text(30, 50).count("ted.compute")


def test_histories_of_inner_steps_that_nobody_reads_are_not_kept() -> None:
    xs, h = _float("xs", 40, 50, 8), _float("h", 8)

    def inner(h, x):
        return ted.scan(lambda c, y: (ted.tanh(c + y), None), h, x)[0], None

    last, _ = ted.scan(inner, h, xs)
    f = ted.compile([h, xs], last)
    assert f.peak_bytes < 40 * 8 * 8
    arrays = np.linspace(0.1, 0.4, 8), np.random.default_rng(1).normal(size=(40, 50, 8))
    found = arrays[0]
    for y in arrays[1].reshape(2000, 8):
        found = np.tanh(found + y)
    np.testing.assert_allclose(f(*arrays), found, rtol=1e-11)
