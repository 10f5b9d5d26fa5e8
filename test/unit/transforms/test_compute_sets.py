"""The sets of an op as they are written."""

from __future__ import annotations

import ted
from ted.transforms.compute_sets import ComputeSets, computes, name_of, scans
from unit.domain.random_maps import enumerate_set

X = ted.placeholder((5, 3), "float64", name="x")


def sets_of(output: ted.Tensor) -> tuple[ComputeSets, object]:
    module = ted.module([output])
    (op,) = computes(module)
    return ComputeSets(op), module


def test_a_map_with_a_guard() -> None:
    found, _module = sets_of(
        ted.compute((4, 3), lambda i, j: ted.where(i > 1, X[i + 1, j], 0.0), name="y")
    )
    assert found.box == (4, 3)
    assert found.parallel == (0, 1)
    assert found.is_box
    (read,) = found.reads
    assert (read.label, read.tensor, read.shape) == ("read 0", "x", (5, 3))
    assert [str(e) for e in read.subscripts] == ["d0 + 1", "d1"]
    assert enumerate_set(read.points) == [(i, j) for i in (2, 3) for j in range(3)]
    assert not read.is_box
    assert (found.write.label, found.write.shape) == ("write", (4, 3))
    assert found.write.is_box
    assert found.dim_names == ("i", "j")
    assert found.place is not None


def test_a_sum_over_a_triangle() -> None:
    k = ted.reduce_axis(5, name="k")
    found, _module = sets_of(
        ted.compute((5,), lambda i: ted.sum(X[k, 0], axis=k, where=k <= i), name="y")
    )
    assert found.parallel == (0,)
    assert found.box == (5, 5)
    points = enumerate_set(next(iter(found.reads)).points)
    assert points == [(i, k) for i in range(5) for k in range(i + 1)]


def test_a_read_at_data_has_no_subscript() -> None:
    n = ted.placeholder((5,), "int64", name="n")
    module = ted.module([ted.index_add(X, 0, n, X * 2.0)])
    written = [ComputeSets(op).write for op in computes(module)]
    assert any(None in w.subscripts for w in written)
    assert scans(module) == []


def test_names_of_values() -> None:
    module = ted.module([ted.compute((5,), lambda i: X[i, 0] * 2.0, name="y")])
    (op,) = computes(module)
    assert name_of(op.results[0]) == "y"
    assert name_of(op.inputs[0]) == "x"


def test_sizes_of_the_function_around_an_op() -> None:
    n = ted.size("n", min=3)
    v = ted.placeholder((n, 2), "float64", name="v")
    found, _module = sets_of(ted.compute((n, 2), lambda i, j: v[i, j] * 2.0, name="y"))
    assert [s.name for s in found.symbols.sizes] == ["n"]
    assert found.box == (n, 2)
    assert found.write.shape == (n, 2)
