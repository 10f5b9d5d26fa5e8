"""Index lambdas become the equations that they say, read back as text."""

from __future__ import annotations

import pytest

import ted
from ted.frontend.systems import system_of
from ted.ir.equations import topological
from ted.ir.printing import format_equation, format_tensor


def equations(tensor: ted.Tensor) -> list[str]:
    """The equations of a tensor and of what was outlined from it, operands first."""
    nodes = topological([tensor.node])
    system_of([t for t in map(_wrapped, nodes) if t.node.is_input], [tensor])
    return [format_equation(t, e) for t in nodes for e in t.equations]


def _wrapped(node):
    from ted.frontend.tensors import wrap

    return wrap(node)


@pytest.fixture
def a() -> ted.Tensor:
    return ted.placeholder((4, 5), name="A")


@pytest.fixture
def r():
    return ted.reduce_axis(5, name="r")


def test_a_sum_at_the_top_is_one_equation(a, r):
    b = ted.placeholder((5, 3), name="B")
    c = ted.compute((4, 3), lambda i, j: ted.sum(a[i, r] * b[r, j], axis=r), name="C")
    assert equations(c) == ["C[i, j] += A[i, r]*B[r, j]  for r < 5"]
    assert c.node.fill == 0


def test_a_map_names_its_dims_after_the_parameters(a):
    c = ted.compute((5, 4), lambda row, col: a[col, row] + 1, name="C")
    assert equations(c) == ["C[row, col] = A[col, row] + 1"]
    assert c.node.fill is None


def test_a_nested_sum_is_a_tensor_over_the_dims_it_needs(a, r):
    c = ted.compute((4, 5), lambda i, j: a[i, j] / ted.sum(a[i, r], axis=r), name="C")
    assert equations(c) == [
        "C_sum[i] += A[i, r]  for r < 5",
        "C[i, j] = A[i, j]/C_sum[i]",
    ]


def test_a_reduction_over_everything_depends_on_no_dim(a, r):
    s = ted.reduce_axis(4, name="s")
    c = ted.compute((4,), lambda i: a[i, 0] - ted.max(a[s, r], axis=(s, r)), name="C")
    assert equations(c)[0] == "C_max[] = max(A[s, r])  for s < 4, r < 5"


def test_the_mean_divides_once_per_row(a, r):
    c = ted.compute((4, 5), lambda i, j: a[i, j] - ted.mean(a[i, r], axis=r), name="C")
    assert equations(c) == [
        "C_sum[i] += A[i, r]  for r < 5",
        "C_mean[i] = C_sum[i]/5",
        "C[i, j] = A[i, j] - C_mean[i]",
    ]


def test_logsumexp_subtracts_a_maximum_without_derivative(a, r):
    text = equations(ted.compute((4,), lambda i: ted.logsumexp(a[i, r], axis=r), name="C"))
    assert text == [
        "C_max[i] = max(A[i, r])  for r < 5",
        "C_shift[i] = stop_gradient(where(abs(C_max[i]) == inf, 0, C_max[i]))",
        "C_sum[i] += exp(A[i, r] - C_shift[i])  for r < 5",
        "C[i] = where(C_sum[i] == 0, -inf, log(C_sum[i]) + C_shift[i])",
    ]


def test_an_affine_where_narrows_the_domain(a, r):
    c = ted.compute((4,), lambda i: ted.sum(a[i, r], axis=r, where=r <= i), name="C")
    assert equations(c) == ["C[i] += A[i, r]  for i < 4, r < 5  where i - r >= 0"]


def test_a_where_that_reads_data_masks_the_body(a, r):
    c = ted.compute((4,), lambda i: ted.max(a[i, r], axis=r, where=a[i, r] < 3), name="C")
    assert equations(c) == ["C[i] = max(where(A[i, r] < 3, A[i, r], -inf))  for r < 5"]


def test_a_mixed_where_is_split(a, r):
    c = ted.compute(
        (4,), lambda i: ted.sum(a[i, r], axis=r, where=(r > i) & (a[i, r] < 3)), name="C"
    )
    (text,) = equations(c)
    assert "where(A[i, r] < 3, A[i, r], 0)" in text
    assert text.endswith("where -i + r - 1 >= 0")


def test_init_is_written_before_the_reduction_adds_to_it(a, r):
    b = ted.placeholder((4,), name="B")
    c = ted.compute((4,), lambda i: ted.sum(a[i, r], axis=r, init=b[i]), name="C")
    assert equations(c) == ["C[i] = B[i]", "C[i] += A[i, r]  for r < 5"]


def test_an_outlined_reduction_is_computed_only_where_it_is_used(a, r):
    c = ted.compute((4,), lambda i: ted.where(i > 0, 2 * ted.sum(a[i - 1, r], axis=r), 0), name="C")
    assert equations(c)[0] == "C_sum[i] += A[i - 1, r]  for i < 4, r < 5  where i - 1 >= 0"


def test_a_condition_on_other_dims_does_not_narrow_an_outlined_reduction(a, r):
    c = ted.compute(
        (4, 5),
        lambda i, j: ted.where((j < 2) & (a[i, j] > 0), 2 * ted.sum(a[i, r], axis=r), 0),
        name="C",
    )
    assert equations(c)[0] == "C_sum[i] += A[i, r]  for r < 5"


def test_a_value_used_by_two_computes_is_one_tensor(a, r):
    s = ted.reduce_axis(4, name="s")
    total = 1 * ted.sum(a[s, r], axis=(s, r)) * 1 + 0
    c = ted.compute((4,), lambda i: a[i, 0] / total, name="C")
    d = ted.compute((4,), lambda i: a[i, 1] / total, name="D")
    (c_sum,) = {t for t in topological([c.node]) if t.name.endswith("_sum")}
    assert c_sum in topological([d.node])


def test_a_reduction_axis_may_start_above_zero(a):
    r = ted.reduce_axis((1, 4), name="r")
    c = ted.compute((4,), lambda i: ted.sum(a[i, r], axis=r), name="C")
    assert equations(c) == ["C[i] += A[i, r + 1]  for r < 3"]


def test_data_dependent_reads_convert_their_index(a):
    ids = ted.placeholder((7,), "int32", name="ids")
    c = ted.compute((7, 5), lambda i, j: a[ids[i], j], name="C")
    assert equations(c) == ["C[i, j] = A[index(ids[i]), j]"]


def test_a_compute_of_rank_zero_takes_no_index(a, r):
    c = ted.compute((), lambda: ted.sum(a[0, r], axis=r), name="C")
    assert c.shape == ()
    assert equations(c) == ["C[] += A[0, r]  for r < 5"]


def test_a_constant_index_counts_from_the_end_when_negative(a):
    c = ted.compute((4,), lambda i: a[i, -1], name="C")
    assert equations(c) == ["C[i] = A[i, 4]"]


def test_the_body_is_converted_to_the_dtype(a):
    c = ted.compute((4, 5), lambda i, j: a[i, j] > 0, name="C", dtype="int8")
    assert c.dtype.name == "int8"
    assert ted.compute((4,), lambda i: i, name="D").dtype.name == "int64"
    assert ted.compute((4,), lambda i: 1.5).dtype.name == "float32"


def test_an_axis_may_be_bound_twice_in_separate_reductions(a, r):
    s = ted.reduce_axis(4, name="s")
    c = ted.compute(
        (),
        lambda: ted.sum(a[s, 0] * ted.sum(a[s, r], axis=r), axis=s),
        name="C",
    )
    assert equations(c) == [
        "C_sum[s] += A[s, r]  for r < 5",
        "C[] += A[s, 0]*C_sum[s]  for s < 4",
    ]


def test_varargs_lambdas_serve_every_rank(a):
    c = ted.compute((4, 5), lambda *index: a[index] * 2, name="C")
    assert equations(c) == ["C[i, j] = A[i, j]*2"]


def test_wrapping_a_node_twice_gives_the_same_tensor(a):
    from ted.frontend.tensors import wrap

    assert wrap(a.node) is a
    assert {a: 1}[wrap(a.node)] == 1


@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 0, 2)])
def test_zero_extents_make_empty_tensors(shape):
    x = ted.placeholder(shape)
    assert (x + x).shape == shape
    assert ted.sum(x).shape == ()


def test_equations_carry_the_users_line(a):
    c = ted.compute((4, 5), lambda i, j: a[i, j] * 2, name="C")
    location = c.node.equations[0].location
    assert location is not None
    assert location.file == __file__
    assert a.node.location is not None
    assert a.node.location.file == __file__


def test_sugar_carries_the_users_line_too(a):
    b = ted.tanh(a) @ a.T
    lines = {e.location.file for t in topological([b.node]) for e in t.equations if e.location}
    assert lines == {__file__}


def test_a_tensor_prints_its_declaration(a):
    assert format_tensor(a.node) == "A: float32[4, 5] input"
