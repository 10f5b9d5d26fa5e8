"""Equations of a branch: what is made in it gets its condition, what was there before does not."""

from __future__ import annotations

import ted
from ted.ir.equations import topological
from ted.ir.printing import format_tensor
from ted.transforms.branches import Branch, in_branch


def printed(outputs):
    return [format_tensor(t) for t in topological(outputs) if t.equations]


def test_only_what_is_made_in_the_branch_has_its_condition() -> None:
    x, p = ted.placeholder((4,), "float64", name="x"), ted.placeholder((), "bool", name="p")
    before = ted.exp(x)
    branch = Branch.of(p.node, taken=True)
    inside = ted.sum(before[1:] * 2.0)
    (found,) = in_branch([inside.node], branch)
    text = "\n".join(printed([found]))
    assert "exp[i] = exp(x[i])" in text
    assert "= where(p[], exp_slice[i]*2, 0)" in text
    assert "+= where(p[], " in text
    assert in_branch([before.node], branch) == (before.node,)
