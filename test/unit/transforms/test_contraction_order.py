"""Products of many factors are taken two at a time, in the order of least work."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator

import pytest

from ted.transforms.contraction_order import ALL_ORDERS, Dims, Network, Step

EXTENTS = dict(zip("ijklm", (5, 9, 8, 7, 6), strict=True))


def network(formula: str, limit: int = 10**9, **extents: int) -> Network:
    sizes = {**EXTENTS, **extents}
    left, _, result = formula.partition("->")

    def volume(dims: Dims) -> int:
        return math.prod(sizes[chr(d)] for d in dims)

    factors = tuple(frozenset(map(ord, term)) for term in left.split(","))
    return Network(factors, frozenset(map(ord, result)), volume, limit)


def text(step: Step | None, formula: str) -> str:
    """The order with parentheses."""
    assert step is not None
    if not step.parts:
        return formula.split("->", maxsplit=1)[0].split(",")[step.factor]
    return f"({' '.join(sorted(text(part, formula) for part in step.parts))})"


@pytest.mark.parametrize(
    ("formula", "order"),
    [
        ("ij,jk->ik", "(ij jk)"),
        ("ij,jk,kl->il", "((ij jk) kl)"),
        ("ij,jk,k->i", "((jk k) ij)"),
        ("ij,kl->i", "((ij) (kl))"),
        ("ij->i", "(ij)"),
        ("ij->ij", "ij"),
        ("ij,ij->", "(ij ij)"),
    ],
)
def test_the_order_of_least_work_is_taken(formula: str, order: str) -> None:
    assert text(network(formula).best(), formula) == order


def test_sizes_decide_the_order() -> None:
    formula = "ij,jk,kl->il"
    assert text(network(formula, l=1).best(), formula) == "((jk kl) ij)"
    assert text(network(formula, i=1, l=7).best(), formula) == "((ij jk) kl)"


def test_work_and_points_are_those_of_all_steps() -> None:
    step = network("ij,jk,kl->il").best()
    assert step is not None
    assert step.points == 5 * 9 * 8 + 5 * 8 * 7
    assert step.work == 2 * step.points
    assert step.has_contraction


def test_no_step_but_the_last_keeps_more_than_the_limit() -> None:
    formula = "ij,jk,kl->il"
    limited = network(formula, limit=40).best()  # i, k are 40 elements, j, l are 63
    assert text(limited, formula) == "((ij jk) kl)"
    assert network(formula, limit=39).best() is None


def test_a_sum_of_squares_is_no_contraction() -> None:
    step = network("ij,ij->i").best()
    assert step is not None
    assert not step.has_contraction


def least_work(net: Network) -> int:
    """The least work of all orders, by trying them."""

    def after(parts: list[tuple[Dims, int]]) -> Iterator[int]:
        if len(parts) == 1:
            yield 0
        for a in range(len(parts)):
            for b in range(a + 1, len(parts)):
                rest = [p for k, p in enumerate(parts) if k not in (a, b)]
                dims = parts[a][0] | parts[b][0]
                kept = dims & net.result.union(*(d for d, _ in rest))
                own = net.volume(dims) * (1 if kept == dims else 2)
                yield from (own + w for w in after([*rest, (kept, 0)]))

    first, alone = [], 0
    for k, dims in enumerate(net.factors):
        kept = dims & net.result.union(*(f for n, f in enumerate(net.factors) if n != k))
        alone += net.volume(dims) if kept != dims else 0
        first.append((kept, 0))
    return alone + min(after(first))


@pytest.mark.parametrize("seed", range(20))
def test_no_other_order_takes_less_work(seed: int) -> None:
    draw = random.Random(seed)
    terms = ["".join(draw.sample("ijklm", draw.randint(1, 3))) for _ in range(draw.randint(2, 4))]
    result = "".join(c for c in "ijklm" if c in "".join(terms) and draw.random() < 0.4)
    net = network(f"{','.join(terms)}->{result}")
    step = net.best()
    assert step is not None
    assert step.work == least_work(net)


def test_many_factors_are_taken_by_the_cheapest_pairs() -> None:
    letters = "ijklmnopqr"
    pairs = [a + b for a, b in itertools.pairwise(letters)]
    assert len(pairs) > ALL_ORDERS
    step = network(f"{','.join(pairs)}->ir", **dict.fromkeys(letters, 4)).best()
    assert step is not None
    assert step.points <= (len(pairs) - 1) * 4**3
