"""Charts from isl's text, and the pairs of targets and points that they hold."""

import islpy as isl

from ted.domain import conversion, sets
from ted.domain.charts import Chart
from unit.domain.random_maps import enumerate_set


def chart(text: str, outer: int = 1) -> Chart:
    """All dims are coordinates of the points, the outer ones the targets."""
    domain = isl.Set(text)
    dims = sets.dim_affs(sets.rank_of(domain))
    return Chart(domain, outer, tuple(dims[:outer]), tuple(dims))


def pairs(one: Chart) -> list[tuple[int, ...]]:
    """Every pair of target and point, with repetitions."""
    values = [conversion.from_isl(v) for v in one.values]
    return sorted(tuple(v.evaluate(at) for v in values) for at in enumerate_set(one.domain))
