"""Tensors that are derived when somebody looks at them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ted.ir.derivations import Deferred, Derivation, defer, origin_of
from ted.ir.dtypes import FLOAT64
from ted.ir.equations import Tensor, operands, topological, whole
from ted.ir.scalar import add, const, dim, index, load, mul

X = Tensor("x", (6,), FLOAT64)
ROW = dim(0)


def scaled(x: Tensor, factor: float, name: str) -> Tensor:
    body = mul(load(x, [ROW]), const(factor, FLOAT64))
    return Tensor(name, (6,), FLOAT64, 0, (whole((6,), body, None),))


def waiting(derivation: Derivation, count: int) -> list[Tensor]:
    found = [Deferred(f"late{k}", (6,), FLOAT64) for k in range(count)]
    for k, tensor in enumerate(found):
        defer(tensor, derivation, k)
    return list(found)


def test_nothing_is_derived_before_somebody_looks() -> None:
    asked: list[str] = []

    def derive() -> Sequence[Tensor]:
        asked.append("derive")
        return [scaled(X, 2.0, "a"), scaled(X, 3.0, "b")]

    derivation = Derivation("vjp", ((X,),), derive)
    a, b = waiting(derivation, 2)
    y = scaled(a, 5.0, "y")
    assert (a.shape, a.dtype, a.name, asked) == ((6,), FLOAT64, "late0", [])
    assert b.equations[0].body == mul(load(X, [ROW]), const(3.0, FLOAT64))
    assert topological([y]) == [X, a, y]
    assert (type(a), a.fill, a.is_input, asked) == (Tensor, 0, False, ["derive"])
    assert origin_of(a) == (derivation, 0)


def test_what_reads_a_result_reads_the_one_that_waited() -> None:
    a = scaled(X, 2.0, "a")
    b = scaled(scaled(a, 3.0, "between"), 4.0, "b")
    first, second = waiting(Derivation("vjp", ((X,),), lambda: [a, b]), 2)
    assert topological([second]) == [X, first, *operands(second), second]
    assert a not in topological([second])


def test_a_recurrence_reads_itself() -> None:
    state = Tensor("s", (6,), FLOAT64, 0.0, time=0)
    body = add(load(state, [add(ROW, index(-1))]), load(X, [ROW]))
    state.equations = (whole((6,), body, None),)
    (late,) = waiting(Derivation("vjp", ((X,),), lambda: [state]), 1)
    assert late.time == 0
    assert set(operands(late)) == {late, X}


def test_a_copy_of_a_tensor_that_waits_is_an_ordinary_one() -> None:
    (late,) = waiting(Derivation("vjp", ((X,),), lambda: [scaled(X, 2.0, "a")]), 1)
    copy = replace(late, name="copy")
    assert (type(copy), copy.name, origin_of(copy)) == (Tensor, "copy", None)
    assert copy.equations == late.equations


def test_what_waits_can_be_given_equations() -> None:
    (late,) = waiting(Derivation("vjp", ((X,),), lambda: [scaled(X, 2.0, "a")]), 1)
    late.fill = 1
    assert (type(late), late.fill, len(late.equations)) == (Tensor, 1, 1)
