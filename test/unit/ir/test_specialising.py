"""Numbers in place of sizes, and values that sizes cannot have."""

from __future__ import annotations

import pytest

import ted
from ted.errors import DomainError
from ted.ir.dtypes import (
    FLOAT64,
)  # fmt: skip
from ted.ir.equations import (
    System,
    Tensor,
    whole,
)  # fmt: skip
from ted.ir.scalar import (
    cast,
    const,
    dim,
    index,
    load,
    mul,
    sub,
)  # fmt: skip
from ted.ir.specialising import checked_values, sizes_of, specialise

i, j, r = dim(0), dim(1), dim(2)


def test_sizes_get_numbers_everywhere() -> None:
    n = ted.size("n", min=2)
    symbols = sizes_of(System((Tensor("z", (n,), FLOAT64),), ()))
    assert [s.name for s in symbols] == ["n"]
    assert checked_values(symbols, {"n": 3}) == {"n": 3}
    for wrong, message in (
        ({}, "one value for each of the sizes"), ({"n": 3, "m": 1}, "one value for each"),
        ({"n": 1}, "size n: must be at least 2, got 1"), ({"n": True}, "must be an integer"),
        ({"n": 2.5}, "must be an integer"),
    ):  # fmt: skip
        with pytest.raises(DomainError, match=message):
            checked_values(symbols, wrong)
    other = Tensor("w", (ted.size("n", min=5),), FLOAT64)
    with pytest.raises(DomainError, match="sizes of one name must promise the same"):
        sizes_of(System((Tensor("z", (n,), FLOAT64), other), ()))
    z = Tensor("z", (n,), FLOAT64)
    body = mul(load(z, [sub(sub(index(n), index(1)), i)]), cast(index(n), FLOAT64))
    y = Tensor("y", (n,), FLOAT64, 0, (whole((n,), body, None),))
    small = specialise(System((z,), (y,)), {"n": 4})
    ((only,),) = (t.equations for t in small.outputs)
    assert only.extents == (4,)
    assert small.inputs[0].shape == (4,)
    assert only.body is mul(load(small.inputs[0], [sub(index(3), i)]), const(4.0, FLOAT64))


def test_an_index_of_sizes_beyond_64_bits_is_refused() -> None:
    n = ted.size("n")
    body = cast(sub(mul(mul(index(n), index(n)), index(2**61)), i), FLOAT64)
    system = System((), (Tensor("y", (n,), FLOAT64, None, (whole((n,), body, None),)),))
    (only,) = specialise(system, {"n": 1}).outputs[0].equations
    assert only.body is cast(sub(index(2**61), i), FLOAT64)
    rule = rf"size: for n = 2 an index fits into 64 bits, got {2**63} in \["
    with pytest.raises(DomainError, match=rule):
        specialise(system, {"n": 2})
