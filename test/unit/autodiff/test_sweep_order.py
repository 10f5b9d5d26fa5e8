"""The order of sweeps: operands and what overrides name first, circles as one group."""

from __future__ import annotations

from dataclasses import dataclass

from ted.autodiff.sweep_order import sweep_order
from ted.ir.equations import System, Tensor
from ted.ir.scalar import apply, dim, load
from unit.autodiff.systems import defined
from unit.transforms.recurrences import cumsum, equation, given


@dataclass
class Named:
    """What names other tensors."""

    dependencies: tuple[Tensor, ...]


def after(name: str, *operands: Tensor) -> Tensor:
    total = load(operands[0], [dim(0)])
    for other in operands[1:]:
        total = apply("add", total, load(other, [dim(0)]))
    return defined(name, (3,), equation((3,), apply("exp", total)))


X = given("x", 3)


def test_operands_come_before_their_users() -> None:
    a = after("a", X)
    b = after("b", X, a)
    assert sweep_order(System((X,), (b, a)), {}) == [[X], [a], [b]]


def test_what_an_override_names_comes_first_and_is_reached_through_it() -> None:
    y = given("y", 3)
    hidden = after("hidden", y)
    a = after("a", X)
    groups = sweep_order(System((X,), (a,)), {a: Named((hidden, X))})
    assert groups.index([y]) < groups.index([hidden]) < groups.index([a])
    assert groups.index([X]) < groups.index([a])
    assert sorted(len(g) for g in groups) == [1, 1, 1, 1]


def test_a_tensor_that_an_override_computes_from_a_later_one_is_in_its_group() -> None:
    a = after("a", X)
    b = after("b", a)
    c = after("c", b)
    groups = sweep_order(System((X,), (c,)), {a: Named((b, X))})
    assert [set(g) for g in groups] == [{X}, {a, b}, {c}]


def test_a_recurrence_stays_one_group() -> None:
    program = cumsum(3)
    d = after("d", program.output)
    (x,) = program.inputs
    e = after("e", d)
    assert sweep_order(System((x,), (e,)), {e: Named((d,))}) == [[x], [program.output], [d], [e]]
