"""What a node knows of all below it, against a walk."""

from __future__ import annotations

import pytest

from ted.domain import sets
from ted.ir.affine import condition_bounds
from ted.ir.dtypes import FLOAT64
from ted.ir.equations import Tensor
from ted.ir.expressions import LOGIC, Expr, postorder
from ted.ir.paths import implied_of_indices
from ted.ir.scalar import (
    FALSE,
    TRUE,
    add,
    apply,
    cast,
    compare,
    const,
    dim,
    index,
    is_work,
    land,
    lnot,
    load,
    lor,
    mul,
    select,
    weight,
)

i, j = dim(0), dim(1)
X = Tensor("x", (4,), FLOAT64)
READ = load(X, [add(mul(i, index(2)), index(1))])
POSITIVE = compare("lt", const(0.0, FLOAT64), READ)
LARGE = compare("lt", READ, load(X, [j]))
EARLY = compare("lt", i, index(3))

EXPRESSIONS = [
    i,
    index(3),
    const(2.5, FLOAT64),
    READ,
    POSITIVE,
    EARLY,
    TRUE,
    FALSE,
    land(POSITIVE, LARGE),
    land(POSITIVE, EARLY),
    lor(lnot(land(POSITIVE, LARGE)), lnot(POSITIVE)),
    lnot(lor(POSITIVE, land(LARGE, lnot(EARLY)))),
    select(EARLY, apply("sin", READ), cast(j, FLOAT64)),
    mul(cast(i, FLOAT64), cast(j, FLOAT64)),
]


def atoms(condition: Expr) -> list[Expr]:
    """What a condition combines."""
    if condition.op not in LOGIC:
        return [condition]
    return [atom for part in condition.args for atom in atoms(part)]


@pytest.mark.parametrize("e", EXPRESSIONS, ids=repr)
def test_a_node_knows_what_is_below_it(e: Expr) -> None:
    nodes = postorder(e)
    assert e.dims == {n.attr for n in nodes if n.op == "dim"}
    assert e.reads == any(n.op == "load" for n in nodes)
    assert e.tests == any(not atom.reads for atom in atoms(e))
    assert is_work(e) == (weight(e) > 0)


@pytest.mark.parametrize("e", [POSITIVE, *EXPRESSIONS[8:11:2]], ids=repr)
def test_conditions_on_data_alone_say_nothing_of_indices(e: Expr) -> None:
    domain = sets.box((4, 5))
    over, under = condition_bounds(e, domain)
    assert not e.tests
    assert implied_of_indices(e) is TRUE
    assert over.is_equal(domain)
    assert under.is_empty()
