"""Parts of an adjoint by the tensors that read: whose they are, and what they hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ted.autodiff.override import Override
from ted.ir.dtypes import FLOAT64
from ted.ir.equations import Tensor, topological
from ted.ir.scalar import add, apply, compare, const, dim, index, load, mul, select, sub
from ted.transforms.gradient import differentiate
from ted.transforms.preparation import Overrides, no_overrides
from unit.autodiff.systems import defined, values
from unit.transforms.recurrences import equation, given

i, r = dim(0), dim(1)
X = given("x", 3)


def parts(
    output: Tensor, of: Tensor, *arrays: Any, inputs: Sequence[Tensor] = (X,),
    overrides: Overrides = no_overrides,
) -> dict[str, Any]:  # fmt: skip
    """The parts of one adjoint, by the names of their readers, for a head of 1, 10, 100."""
    head = Tensor("h", output.shape, FLOAT64)
    found = differentiate([output], inputs, [head], overrides).summands()[of]
    assert all((p.shape, p.dtype, p.time) == (of.shape, of.dtype, None) for p in found.values())
    assert [p.name for p in found.values()] == [f"d{of.name}_from_{t.name}" for t in found]
    given_arrays = [*arrays, [1.0, 10.0, 100.0]]
    results = values([*inputs, head], list(found.values()), given_arrays)
    return {t.name: result.tolist() for t, result in zip(found, results, strict=True)}


def test_each_reader_has_a_part_and_the_head_is_none() -> None:
    y = defined("y", (3,), equation((3,), mul(load(X, [i]), load(X, [i]))))
    turned = load(X, [sub(index(2), i)])
    z = defined("z", (3,), equation((3,), add(turned, load(y, [i]))))
    assert parts(z, X, [1, 2, 3]) == {"z": [100, 10, 1], "y": [2, 40, 600]}
    assert parts(z, y, [1, 2, 3]) == {"z": [1, 10, 100]}
    head = Tensor("h", (3,), FLOAT64)
    assert z not in differentiate([z], [X], [head]).summands()


def test_parts_are_functions_of_the_adjoints_that_are_there() -> None:
    y = defined("y", (3,), equation((3,), mul(load(X, [i]), load(X, [i]))))
    z = defined("z", (3,), equation((3,), mul(load(y, [i]), load(y, [i]))))
    found = differentiate([z], [X], [Tensor("h", (3,), FLOAT64)])
    part = found.summands()[X][y]
    assert found.adjoints[y] in topological([part])
    assert part.equations[0].combiner == "set"


def test_reads_of_one_reader_are_one_part() -> None:
    reads = [equation((3,), load(X, [at]), "add") for at in (i, sub(index(2), i))]
    assert parts(defined("y", (3,), *reads), X, [0, 0, 0]) == {"y": [101, 20, 101]}


def test_levels_of_a_product_count_as_the_product() -> None:
    x = given("m", 3, 4)
    y = defined("y", (3,), equation((3, 4), load(x, [i, r]), "mul", 1), fill=1)
    found = parts(y, x, [[1, 2, 3, 4]] * 3, inputs=[x])
    assert found == {"y": [[24, 12, 8, 6], [240, 120, 80, 60], [2400, 1200, 800, 600]]}


def test_a_producer_that_moves_into_its_reader_counts_as_that() -> None:
    root = defined("root", (3,), equation((3,), apply("sqrt", load(X, [i]))))
    positive = compare("lt", const(0.0, FLOAT64), load(X, [i]))
    guarded = select(positive, load(root, [i]), const(0.0, FLOAT64))
    y = defined("y", (3,), equation((3,), guarded))
    assert parts(y, X, [0, 4, 1]) == {"y": [0, 2.5, 50]}


def test_a_derivative_of_the_user_s_is_a_part() -> None:
    y = defined("y", (3,), equation((3,), mul(load(X, [i]), load(X, [i]))))

    def squares(node: Tensor, head: Tensor) -> list[Tensor]:
        del node
        return [defined("t", (3,), equation((3,), mul(load(head, [i]), load(head, [i]))))]

    own = Override((X,), squares)
    z = defined("z", (3,), equation((3,), add(load(y, [i]), load(X, [i]))))
    found = parts(z, X, [5, 5, 5], overrides=lambda t: own if t is y else None)
    assert found == {"y": [1, 100, 10000], "z": [1, 10, 100]}


def test_what_nobody_reads_has_no_parts() -> None:
    assert differentiate([X], [X], [Tensor("h", (3,), FLOAT64)]).summands() == {}
