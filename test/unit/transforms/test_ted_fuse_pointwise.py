"""What fusing costs: cheap producers are computed again, but not chains of them for each reader."""

from __future__ import annotations

from ted.ir.dtypes import FLOAT64
from ted.ir.equations import System, Tensor, whole
from ted.ir.expressions import Expr
from ted.ir.scalar import add, apply, dim, load, mul, weight
from ted.transforms.ted_fuse_pointwise import fuse_pointwise

HERE = [dim(0)]
LENGTH = 24


def tensor(name: str, body: Expr) -> Tensor:
    return Tensor(name, (8,), FLOAT64, 0, (whole((8,), body, None),))


def total(system: System) -> int:
    return sum(weight(e.body) for t in system.tensors() for e in t.equations)


def test_a_chain_that_is_read_at_every_link_is_not_computed_again_for_each_reader() -> None:
    x = Tensor("x", (8,), FLOAT64)
    link, results = x, []
    for k in range(LENGTH):
        link = tensor(
            f"t{k}", apply("maximum", load(link, HERE), mul(load(x, HERE), load(x, HERE)))
        )
        results.append(tensor(f"y{k}", add(load(link, HERE), load(x, HERE))))
    system = System((x,), tuple(results))
    fused, _ = fuse_pointwise(system)
    assert total(system) == 3 * LENGTH
    assert total(fused) <= 2 * total(system)
    assert len(fused.tensors()) < len(system.tensors())


def test_a_chain_with_one_reader_is_one_tensor() -> None:
    x = Tensor("x", (8,), FLOAT64)
    link = x
    for k in range(LENGTH):
        link = tensor(f"t{k}", apply("maximum", load(link, HERE), load(x, HERE)))
    fused, _ = fuse_pointwise(System((x,), (link,)))
    assert len(fused.tensors()) == 2
