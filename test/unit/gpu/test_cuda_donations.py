"""Results in the memory of inputs, and elsewhere: the same numbers, and no needless copy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ted
from ted import nn

RNG = np.random.default_rng(5)
N = 64
R = ted.reduce_axis(3, "r")
Program = tuple[list[ted.Tensor], list[ted.Tensor], list[ted.Tensor]]


def squares() -> list[ted.Tensor]:
    return [ted.placeholder((N, N), name=name) for name in "xw"]


def of_squares(outputs: Callable[[ted.Tensor, ted.Tensor], list[ted.Tensor]]) -> Program:
    x, w = squares()
    return [x, w], outputs(x, w), [x]


def product() -> Program:
    x, w = ted.placeholder((N, N), name="x"), ted.placeholder((N, 32), name="w")
    half = x * 0.5
    return [x, w], [x @ w + half[:, :32], half], [x]


def scattered() -> Program:
    base, index = ted.placeholder((N, 3), name="base"), ted.placeholder((300,), "int64", name="i")
    rows = ted.placeholder((300, 3), name="rows")
    return [base, index, rows], [ted.scatter((N, 3), index, rows, init=base)], [base]


def scanned() -> Program:
    a, b = ted.placeholder((200, 4), name="a"), ted.placeholder((200, 4), name="b")
    start = ted.placeholder((4,), name="start")
    last, y = ted.scan(lambda h, x: (x[0] * h + x[1],) * 2, start, (a, b))
    return [a, b, start], [y, last], [a, start]


def pieces() -> Program:
    x, w = ted.placeholder((65,), name="x"), ted.placeholder((3,), name="w")
    y = ted.compute((32,), lambda i: ted.sum(x[2 * i + R] * w[R], axis=R))
    head = ted.placeholder((32,), name="head")
    (dx,) = ted.differentiate(y, [x], head)
    return [x, w, head], [x - dx, dx], [x]


PROGRAMS: dict[str, Callable[[], Program]] = {
    "read by a product": product,
    "a product": lambda: of_squares(lambda x, w: [nn.relu(x @ w)]),
    "rows": lambda: of_squares(lambda x, w: [nn.softmax(x + w)]),
    "turned": lambda: of_squares(lambda x, _: [ted.swapaxes(x, 0, 1)]),
    "read by a sum": lambda: of_squares(lambda x, _: [x * 2.0, ted.sum(x, axis=0)]),
    "running": lambda: of_squares(lambda x, w: [ted.cumsum(x, 1), x + w]),
    "scattered": scattered,
    "scanned": scanned,
    "pieces": pieces,
}


@pytest.mark.fast(1)
@pytest.mark.parametrize("name", PROGRAMS)
def test_results_may_be_in_the_memory_of_inputs_or_elsewhere(name: str) -> None:
    inputs, outputs, donated = PROGRAMS[name]()
    function: Any = ted.compile(inputs, outputs, target="cuda:sm_80", donate=donated)
    arrays: list[Any] = [
        RNG.integers(0, N, i.shape) if i.dtype == "int64" else RNG.normal(size=i.shape).astype("f4")
        for i in function.manifest.inputs
    ]
    wanted: Any = ted.compile(inputs, outputs)(*arrays)
    for is_taken in (True, False):
        with ted.testing.emulated_gpu(order="random", seed=3):
            given = [ted.cuda.asarray(a) for a in arrays]
            others = None if is_taken else [ted.cuda.empty(t.shape, "float32") for t in outputs]
            found = function(*given, out=others)
            taken = [any(one is other for other in given) for one in found]
            assert sum(taken) == (len(donated) if is_taken else 0)
            for one, want in zip(found, wanted, strict=True):
                np.testing.assert_allclose(one.numpy(), want, rtol=1e-4, atol=1e-4)


def test_what_is_updated_point_by_point_is_not_copied() -> None:
    w, m, g = (ted.placeholder((1000,), name=name) for name in "wmg")
    mean = 0.9 * m + g
    f: Any = ted.compile([w, m, g], [w - mean, mean], target="cuda:sm_80", donate=[w, m])
    a, b, c = (RNG.normal(size=1000).astype("f4") for _ in range(3))
    with ted.testing.emulated_gpu() as driver:
        given = [ted.cuda.asarray(x) for x in (a, b, c)]
        new, means = f(*given)
        assert new is given[0]
        assert means is given[1]
        assert not [entry for entry in driver.log if entry[0] == "DtoD"]
        np.testing.assert_allclose(new.numpy(), a - (0.9 * b + c), rtol=1e-5, atol=1e-5)
