"""Random index arithmetic with large constants: right to the last bit, or refused at the build."""

import functools
import random
import re
from collections.abc import Callable
from typing import Any

import pytest

import ted
from ted.errors import FrontendError

CONSTANTS = (1, 2, 3, 5, 7, 2**20, 2**31, 2**40, 2**61, 2**62, 10**9 + 7)
SHAPE = (3, 4)
Row = tuple[Callable[..., Any], Callable[..., Any]]
OPERATIONS: dict[str, tuple[int, Row]] = {  # the number of operands; on scalars; on integers
    "add": (2, (lambda a, b: a + b, lambda a, b: a + b)),
    "sub": (2, (lambda a, b: a - b, lambda a, b: a - b)),
    "mul": (2, (lambda a, b: a * b, lambda a, b: a * b)),
    "floordiv": (2, (lambda a, b: a // b, lambda a, b: a // b if b else 0)),
    "mod": (2, (lambda a, b: a % b, lambda a, b: a % b if b else 0)),
    "neg": (1, (lambda a: -a, lambda a: -a)),
    "cube": (1, (lambda a: a**3, lambda a: a**3)),
    "abs": (1, (ted.abs, abs)),
    "minimum": (2, (ted.minimum, min)),
    "maximum": (2, (ted.maximum, max)),
    "where": (3, (lambda c, a, b: ted.where(c < 2, a, b), lambda c, a, b: a if c < 2 else b)),
}


def tree(rng: random.Random, depth: int) -> Any:
    """An operation and its operands, a constant, or the number of a dim in brackets."""
    if depth == 0 or rng.random() < 0.15:
        return rng.choice([[0], [1], rng.choice(CONSTANTS) * rng.choice([1, -1])])
    name = rng.choice(list(OPERATIONS))
    return name, *(tree(rng, depth - 1) for _ in range(OPERATIONS[name][0]))


def value(node: Any, point: Any) -> Any:
    """The value at numbers, or the expression at index variables."""
    if not isinstance(node, tuple):
        return point[node[0]] if isinstance(node, list) else node
    args = [value(a, point) for a in node[1:]]
    on_integers = all(isinstance(a, int) for a in args)
    return OPERATIONS[node[0]][1][on_integers](*args)


@pytest.mark.fast(1)
@pytest.mark.parametrize("first", range(0, 200, 50))
def test_index_arithmetic_is_exact_or_refused(first: int) -> None:
    accepted: list[tuple[Any, ted.Tensor]] = []
    refused: list[str] = []
    for seed in range(first, first + 50):
        node = tree(random.Random(seed), 4)
        try:
            element = functools.partial(lambda i, j, node: value(node, (i, j)) + i * 0, node=node)
            accepted.append((node, ted.compute(SHAPE, element, dtype="int64")))
        except FrontendError as error:
            refused.append(str(error))
    assert all(re.search("64 bits|must fit the type|must not be 0", text) for text in refused)
    assert 10 < len(accepted) < 50, "some of either kind"
    results = ted.compile([], [y for _, y in accepted])()
    for (node, _), found in zip(accepted, results, strict=True):
        wanted = [[value(node, (i, j)) for j in range(SHAPE[1])] for i in range(SHAPE[0])]
        assert found.tolist() == wanted, node
