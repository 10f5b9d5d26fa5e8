"""What fusing costs: cheap producers are computed again, but not chains of them for each reader."""

from __future__ import annotations

import pytest

from ted.ir import affine
from ted.ir.dtypes import FLOAT64
from ted.ir.equations import System, Tensor, whole
from ted.ir.expressions import Expr
from ted.ir.scalar import (
    add,
    apply,
    compare,
    const,
    dim,
    index,
    load,
    mod,
    mul,
    select,
    sub,
    weight,
)
from ted.transforms import ted_fuse_pointwise
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


def shifted(source: Tensor, links: int) -> Tensor:
    """A sum of neighbours, each added by a tensor of its own."""
    link = source
    for k in range(links):
        at = [mod(add(dim(0), index(k)), index(8))]
        link = tensor(f"t{k}", add(load(link, HERE), load(source, at)))
    return link


def test_the_indices_of_a_growing_body_are_brought_into_form_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[Expr] = []
    monkeypatch.setattr(affine, "canonical_index", lambda e, _: asked.append(e) or e)
    x = Tensor("x", (8,), FLOAT64)
    fused, _ = fuse_pointwise(System((x,), (shifted(x, LENGTH),)))
    assert len(fused.tensors()) == 2
    assert len(asked) == len(set(asked)) <= 2 * LENGTH + 1


def window(source: Tensor, uses: int) -> Tensor:
    """The sum of so many neighbouring elements."""
    body = load(source, HERE)
    for k in range(1, uses):
        body = add(body, load(source, [mod(add(dim(0), index(k)), index(8))]))
    return tensor("w", body)


@pytest.mark.parametrize(("uses", "stored"), [(3, 2), (6, 2), (7, 3)])
def test_a_function_of_one_element_is_computed_again_for_as_much_work_as_is_cheap(
    uses: int, stored: int
) -> None:
    x = Tensor("x", (8,), FLOAT64)
    scaled = tensor("s", mul(mul(load(x, HERE), load(x, HERE)), load(x, HERE)))
    fused, _ = fuse_pointwise(System((x,), (window(scaled, uses),)))
    assert len(fused.tensors()) == stored


@pytest.mark.parametrize(("uses", "stored"), [(3, 3), (4, 4)])
def test_what_reads_several_elements_has_few_uses_however_cheap(uses: int, stored: int) -> None:
    x, y = Tensor("x", (8,), FLOAT64), Tensor("y", (8,), FLOAT64)
    added = tensor("a", add(load(x, HERE), load(y, HERE)))
    fused, _ = fuse_pointwise(System((x, y), (window(added, uses),)))
    assert len(fused.tensors()) == stored


@pytest.mark.parametrize(("rows", "stored"), [(7, 4), (8, 3)])
def test_an_operand_that_is_repeated_for_many_elements_does_not_count(
    rows: int, stored: int
) -> None:
    x, mean = Tensor("x", (rows,), FLOAT64), Tensor("mean", (1,), FLOAT64)
    body = add(load(x, HERE), load(mean, [index(0)]))
    centered = Tensor("c", (rows,), FLOAT64, 0, (whole((rows,), body, None),))
    total = load(centered, HERE)
    for k in range(1, 5):
        total = add(total, load(centered, [mod(add(dim(0), index(k)), index(rows))]))
    result = Tensor("y", (rows,), FLOAT64, 0, (whole((rows,), total, None),))
    fused, _ = fuse_pointwise(System((x, mean), (result,)))
    assert len(fused.tensors()) == stored


def test_elements_that_are_read_by_what_is_computed_again_count_as_well() -> None:
    x, y = Tensor("x", (8,), FLOAT64), Tensor("y", (8,), FLOAT64)
    added = tensor("a", add(load(x, HERE), load(y, HERE)))
    negative = tensor("n", apply("neg", load(added, HERE)))
    fused, _ = fuse_pointwise(System((x, y), (window(negative, 4),)))
    assert [t.name for t in fused.tensors()] == ["x", "y", "n", "w"]


LARGE = (1 << 17) + 8  # elements of 8 bytes, more than 1 MiB


def around(name: str, source: Tensor, reach: int, length: int) -> Tensor:
    """Sums of neighbours up to `reach` apart, of which there are so many."""
    body = load(source, HERE)
    for k in range(1, reach + 1):
        body = add(body, load(source, [add(dim(0), index(k))]))
    return Tensor(name, (length,), FLOAT64, 0, (whole((length,), body, None),))


@pytest.mark.parametrize(
    ("length", "first", "second", "stored"),
    [
        (LARGE, 2, 3, 2),  # 2 additions at 4 points
        (LARGE, 7, 9, 2),  # 8 elements at 10 points: as much as may be
        (LARGE, 8, 9, 3),
        (LARGE // 2, 2, 3, 3),  # a cache holds it
    ],
)
def test_a_cheap_stencil_of_a_stencil_that_no_cache_holds_is_one(
    length: int, first: int, second: int, stored: int
) -> None:
    x = Tensor("x", (length,), FLOAT64)
    inner = around("a", x, first, length - first)
    system = System((x,), (around("b", inner, second, length - first - second),))
    fused, _ = fuse_pointwise(system)
    assert len(fused.tensors()) == stored


def test_a_large_map_of_one_element_is_not_computed_again_at_the_same_point() -> None:
    x = Tensor("x", (LARGE,), FLOAT64)
    steep = Tensor(
        "s", (LARGE,), FLOAT64, 0, (whole((LARGE,), apply("tanh", load(x, HERE)), None),)
    )
    results = [around(f"y{k}", steep, 0, LARGE) for k in range(2)]
    doubled = [
        Tensor(
            t.name,
            t.shape,
            t.dtype,
            0,
            (whole(t.shape, mul(load(steep, HERE), load(x, HERE)), None),),
        )
        for t in results
    ]
    fused, _ = fuse_pointwise(System((x,), tuple(doubled)))
    assert len(fused.tensors()) == 4


def test_what_is_read_backwards_is_stored() -> None:
    x = Tensor("x", (LARGE + 5,), FLOAT64)
    inner, length = around("a", x, 5, LARGE), LARGE - 1
    far = [load(inner, [add(mul(dim(0), index(-1)), index(length - k))]) for k in (0, 1)]
    outer = Tensor("b", (length,), FLOAT64, 0, (whole((length,), add(*far), None),))
    fused, _ = fuse_pointwise(System((x,), (outer,)))
    assert len(fused.tensors()) == 3


def diamond(x: Tensor, at: Expr) -> list[Tensor]:
    """What two maps read, one of them at some place, and these."""
    top = tensor("top", apply("exp", load(x, HERE)))
    left = tensor("left", apply("tanh", load(top, HERE)))
    return [top, left, tensor("right", apply("sin", load(top, [at])))]


def test_what_is_read_by_maps_that_meet_is_computed_where_they_do() -> None:
    x = Tensor("x", (8,), FLOAT64)
    _, left, right = diamond(x, dim(0))
    met = tensor("met", mul(load(left, HERE), load(right, HERE)))
    fused, _ = fuse_pointwise(System((x,), (met,)))
    assert len(fused.tensors()) == 2
    assert total(fused) == total(System((x,), (met,)))


def test_what_is_read_by_maps_that_do_not_meet_or_beside_its_point_is_stored() -> None:
    x = Tensor("x", (8,), FLOAT64)
    _, left, right = diamond(x, dim(0))
    fused, _ = fuse_pointwise(System((x,), (left, right)))
    assert len(fused.tensors()) == 4
    _, left, right = diamond(x, mod(add(dim(0), index(1)), index(8)))
    met = tensor("met", mul(load(left, HERE), load(right, HERE)))
    fused, _ = fuse_pointwise(System((x,), (met,)))
    assert [t.name for t in fused.tensors()] == ["x", "top", "met"]
    _, left, right = diamond(x, dim(0))
    link = tensor("link", mul(load(left, HERE), load(right, HERE)))
    at = mod(add(dim(0), index(1)), index(8))
    met = tensor("met", sub(load(link, HERE), load(link, [at])))
    fused, _ = fuse_pointwise(System((x,), (met,)))
    assert total(fused) == total(System((x,), (met,)))


def test_what_meets_in_a_body_that_would_be_long_is_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    x = Tensor("x", (8,), FLOAT64)
    _, left, right = diamond(x, dim(0))
    met = tensor("met", mul(load(left, HERE), load(right, HERE)))
    monkeypatch.setattr(ted_fuse_pointwise, "MAX_SHARED", 3)  # operations, of four
    fused, _ = fuse_pointwise(System((x,), (met,)))
    assert [t.name for t in fused.tensors()] == ["x", "top", "met"]


def test_what_may_meet_is_measured_as_the_body_where_it_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Four operations a link, and twice as many reads: a body at the limit computes each once."""
    links = 10
    monkeypatch.setattr(ted_fuse_pointwise, "MAX_SHARED", 4 * links)
    x, *others = (Tensor(f"x{k}", (8,), FLOAT64) for k in range(2 * links + 1))
    last = x
    for k in range(links):
        here, (a, b) = load(last, HERE), others[2 * k : 2 * k + 2]
        scaled = tensor(f"a{k}", mul(apply("tanh", here), load(a, HERE)))
        kept = tensor(f"b{k}", mul(here, load(b, HERE)))
        last = tensor(f"t{k}", add(load(scaled, HERE), load(kept, HERE)))
    system = System((x, *others), (last,))
    fused, _ = fuse_pointwise(system)
    assert [t for t in fused.tensors() if not t.is_input] == list(fused.outputs)
    assert total(fused) == total(system)


def test_a_time_of_a_recurrence_that_is_gone_means_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ted_fuse_pointwise, "REPEATED_STEP", 0)
    x = Tensor("x", (8,), FLOAT64)
    body = select(compare("lt", index(0), dim(0)), load(x, HERE), const(1.0, FLOAT64))
    start = tensor("start", body)
    start.time = 0
    last = tensor("last", mul(load(start, HERE), load(start, HERE)))
    fused, _ = fuse_pointwise(System((x,), (last,)))
    assert len(fused.tensors()) == 2
