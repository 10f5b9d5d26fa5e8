"""Roles and fusion of dims, on integers."""

from ted.linalg.strided_contractions import Dim, classify, fuse, swap_inputs


def test_a_matrix_product_has_one_dim_of_each_role() -> None:
    i, j, k = Dim(4, 6, 0, 5), Dim(5, 0, 1, 1), Dim(6, 1, 5, 0, reduction=True)
    found = classify((i, j, k))
    assert (found.batch, found.rows, found.columns, found.reduction) == ((), (i,), (j,), (k,))


def test_swapping_the_inputs_swaps_rows_and_columns() -> None:
    dims = (Dim(4, 6, 0, 5), Dim(5, 0, 1, 1), Dim(6, 1, 5, 0, reduction=True))
    found = classify(swap_inputs(dims))
    assert (found.row_count, found.column_count) == (5, 4)


def test_neighbouring_dims_become_one() -> None:
    assert fuse((Dim(3, 8, 0, 40), Dim(8, 1, 0, 5))) == (Dim(24, 1, 0, 5),)


def test_three_neighbours_become_one_in_any_order() -> None:
    dims = (Dim(4, 2, 2, 0, True), Dim(2, 1, 1, 0, True), Dim(3, 8, 8, 0, True))
    assert fuse(dims) == (Dim(24, 1, 1, 0, True),)


def test_a_window_keeps_its_dims_apart_where_only_one_operand_is_dense() -> None:
    kw, c = Dim(3, 16, 100, 0, True), Dim(16, 1, 5, 0, True)
    assert fuse((kw, c)) == (kw, c)


def test_a_parallel_dim_never_joins_a_reduction() -> None:
    dims = (Dim(3, 4, 4, 0), Dim(4, 1, 1, 0, True))
    assert fuse(dims) == dims


def test_dims_of_one_point_vanish() -> None:
    assert fuse((Dim(1, 7, 7, 7), Dim(2, 1, 0, 1))) == (Dim(2, 1, 0, 1),)
