"""Every expression that is refused, with what the refusal says and the user's line."""

from __future__ import annotations

import pickle
import re

import numpy as np
import pytest

import ted
from ted.errors import FrontendError
from ted.frontend.systems import system_of
from ted.frontend.trees import flatten

A = ted.placeholder((4, 6), name="A")
B = ted.placeholder((6, 3), name="B")
LABELS = ted.placeholder((4,), "int32", name="labels")
SMALL = ted.placeholder((4,), "int8", name="small")
R = ted.reduce_axis(6, name="r")
ROWS = ted.reduce_axis(4, name="rows")


def element(function, shape=(4,)):
    return lambda: ted.compute(shape, function, name="C")


CASES = {
    # placeholders, shapes, types
    "extent_negative": (lambda: ted.placeholder((3, -1), name="X"), "extent 1 must be at least 0"),
    "extent_fractional": (lambda: ted.placeholder((2.5,)), "extent 0: must be an integer, got 2.5"),
    "extent_text": (lambda: ted.placeholder("ab"), "must be an integer, got 'ab'"),
    "extent_bool": (lambda: ted.placeholder((True,)), "must be an integer, got True"),
    "extent_huge": (lambda: ted.placeholder((2**40, 2**20), name="X"), "at most 2**47 bytes"),
    "extent_beyond_int64": (lambda: ted.placeholder((2**70,)), "at most 2**47 bytes"),
    "compute_huge": (lambda: ted.compute((2**24, 2**24), lambda i, j: 0.0), "at most 2**47 bytes"),
    "dtype_unknown": (lambda: ted.placeholder((2,), "complex64"), "got 'complex64'"),
    "dtype_kind": (lambda: ted.placeholder((2,), 7), "dtype must be one of float64, float32"),
    "name_broken": (
        lambda: ted.placeholder((2,), name="\ud800"),
        r"placeholder \ud800: name must be a non-empty string, got '\ud800'",
    ),
    "name_kind": (lambda: ted.placeholder((2,), name=7), "name must be a non-empty string, got 7"),
    "cast_unknown": (lambda: A.astype("float8"), "got 'float8'"),
    # index lambdas
    "lambda_too_many": (element(lambda i, j: A[i, j]), "one index for each of 1 dims, got 2"),
    "lambda_too_few": (element(lambda i: A[i, 0], (4, 6)), "one index for each of 2 dims, got 1"),
    "lambda_missing": (lambda: ted.compute((4,), 3), "must be a function of the indices, got 3"),
    "body_is_a_tensor": (element(lambda i: A), "the lambda must give one value, got Tensor"),
    "body_is_a_tuple": (element(lambda i: (1, 2)), "the lambda must give one value, got tuple"),
    "body_is_none": (element(lambda i: None), "the lambda must give one value, got NoneType"),
    "index_escapes": (
        lambda: ted.compute(
            (4,), lambda i: ted.compute((6,), lambda j: A[i, j], name="inner")[0]
        ),
        "an index may be used only inside its own lambda, got index i",
    ),
    "truth_value": (element(lambda i: A[i, 0] if A[i, 0] > 0 else 0), "ted.where(condition"),
    "truth_value_tensor": (lambda: bool(A > 0), "no truth value"),
    "and_keyword": (element(lambda i: (i > 0 and i < 2) * 1.0), "combine with & | ~"),
    "python_index": (element(lambda i: range(4)[i]), "what an index of a lambda reads is a"),
    "float_of_scalar": (element(lambda i: float(A[i, 0])), "Scalar(A[i, 0]: float32); write ted"),
    # indices of 64 bits
    "index_scaled": (element(lambda i: i * 2**62 > 0), "64 bits, got i*4611686018427387904 in [0"),
    "index_below": (element(lambda i: (i + 1) * -(2**62) < 0), "64 bits, got (i + 1)*-46116"),
    "index_sum": (element(lambda i: i * 2**61 + i * 2**61 + 2**61 > 0), "64 bits, got i*2305"),
    "index_product": (
        element(lambda i, j: (i * 2**31) * (j * 2**31) > 0, (4, 4)),
        "64 bits, got i*2147483648*(j*2147483648) in [0, 41505174165846491136]",
    ),
    "index_power": (element(lambda i: (i + 2**10) ** 16 > 0), "cast before it grows: ted.cast"),
    "index_quotient": (element(lambda i: A[(i * 2**62) // 2**62, 0]), "64 bits"),
    "index_remainder": (element(lambda i: A[(i * 2**62) % 4, 0]), "64 bits"),
    "index_negative": (element(lambda i: (i * 2**61 - 2**62 - 2**62) // -1), "64 bits, got -("),
    "index_absolute": (element(lambda i: abs(-2 * i - 2**62 - 2**62) + 0.0), "64 bits"),
    "index_as_a_value": (element(lambda i: ted.cast(i * 2**62, "float32")), "64 bits"),
    "index_beside_data": (element(lambda i: A[i, 0] * (i * 2**62)), "64 bits"),
    "index_of_a_sum": (
        element(lambda i: ted.sum(ted.where(i < R * 2**61, 1.0, 0.0), axis=R)),
        "sum: an index fits into 64 bits, got r*2305843009213693952 in [0, 115",
    ),
    "index_in_a_condition": (
        element(lambda i: ted.sum(A[i, R], axis=R, where=i < R * 2**61)), "64 bits, got r"
    ),
    "index_used_too_far": (
        element(lambda i: ted.where(i < 3, ted.cast(i * 2**62, "float64"), 0.0)), "64 bits"
    ),
    "index_of_a_size": (
        lambda: ted.compute((ted.size("n"),), lambda i: (i + 2**62) * 2 > 0),
        "got (i + 4611686018427387904)*2 in [9223372036854775808, inf]",
    ),
    "index_narrow": (
        lambda: ted.compute((300,), lambda i: ted.cast(i, "int8")),
        "8 bits, got i in [0, 299]; take a wider type",
    ),
    # subscripts
    "rank_too_low": (element(lambda i: A[i]), "one subscript for each of its 2 dims, got 1"),
    "rank_too_high": (element(lambda i: A[i, 0, 0]), "its 2 dims, got 3"),
    "rank_too_high_whole": (lambda: A[0, 0, 0], "at most 2 subscripts, got 3"),
    "subscript_float": (element(lambda i: A[i, i / 2]), "got float32; divide with //"),
    "subscript_data_float": (element(lambda i: A[i, A[i, 0]]), "must be an integer or an index"),
    "subscript_constant_out": (element(lambda i: A[i, 6]), "must be in [-6, 6), got 6"),
    "subscript_whole_out": (lambda: A[4], "subscript 0: must be in [-4, 4), got 4"),
    "subscript_slice_beside_index": (element(lambda i: A[i, :]), "every subscript is one index"),
    "subscript_text": (lambda: A["a"], "must be an integer, got 'a'"),
    "subscript_mask": (lambda: A[A > 0], "ted.compress(mask, x, size=n) chooses"),
    "subscript_two_ellipses": (lambda: A[..., ...], "one ... at most, got 2"),
    "slice_step_zero": (lambda: A[::0], "a slice step must not be 0"),
    "slice_bound": (lambda: A[1.5:], "slice bound: must be an integer, got 1.5"),
    "len_of_rank_zero": (lambda: len(ted.sum(A)), "has rank 0"),
    # operators
    "array_operand": (lambda: A + np.zeros((4, 5)), "got shapes (4, 6) and (4, 5)"),
    "array_operand_left": (lambda: np.zeros((4, 5)) * A, "got shapes (4, 5) and (4, 6)"),
    "text_operand": (lambda: A * "x", "tensors, scalars or Python numbers, got str"),
    "broadcast": (lambda: A + B, "extents must be equal or 1 to broadcast, got shapes (4, 6)"),
    "bool_arithmetic": (lambda: (A > 0) + (A > 0), 'convert one with .astype("int32")'),
    "bool_logic_on_numbers": (lambda: A & 1, "operands must be bools"),
    "constant_too_wide": (lambda: SMALL + 300, "the constant must fit the type int8, got 300"),
    "divisor_zero": (lambda: LABELS // 0, "the divisor must not be 0"),
    "remainder_zero": (lambda: LABELS % 0, "the divisor must not be 0"),
    "integer_power": (lambda: LABELS**-1, "an integer takes exponents >= 0, got -1"),
    "power_of_an_index": (element(lambda i: 2**i > 0), "must be a constant in [0, 16]"),
    "tensor_beside_index": (element(lambda i: A * i), "index it"),
    "function_of_list": (lambda: ted.exp([1.0, A]), "got list that holds Tensor(A"),
    "matmul_inner": (lambda: A @ A, "inner extents must agree, got (4, 6) (A) and (4, 6) (A)"),
    "matmul_scalar": (lambda: A @ ted.sum(A), "operands need at least 1 dim"),
    "einsum_extents": (lambda: ted.einsum("ij,ij->i", A, B), "'i' has extents 4 and 6"),
    "einsum_rank": (lambda: ted.einsum("ijk->i", A), "needs a tensor of rank 3"),
    "einsum_terms": (lambda: ted.einsum("ij,jk->ik", A), "has 2 terms, got 1 operands"),
    "einsum_result": (lambda: ted.einsum("ij->ik", A), "takes letters of the operands once"),
    "einsum_formula": (lambda: ted.einsum("i1->i", A), "must be letters, commas, ... and one ->"),
    "constant_overflow": (
        element(lambda i: A[i, (i * 0 + 2**62) * 4]), "the constant must fit the type index"
    ),
    "constant_power_overflow": (
        lambda: ted.compute((4,), lambda i: (i * 0 + 2**20) ** 4),
        "the constant must fit the type index",
    ),
    # reductions
    "axis_extent_negative": (lambda: ted.reduce_axis(-1), "the extent must be at least 0"),
    "axis_extent_wide": (lambda: ted.reduce_axis(2**63), "an index has 64 bits, got [0, 9223372"),
    "axis_extent_kind": (lambda: ted.reduce_axis("n"), "bound: must be an integer, got 'n'"),
    "axis_triple": (lambda: ted.reduce_axis((1, 2, 3)), "an extent or a pair (lower, upper)"),
    "axis_range_step": (lambda: ted.reduce_axis(range(0, 9, 2)), "must have step 1"),
    "axis_bound_varies": (
        element(lambda i: ted.sum(A[i, 0], axis=ted.reduce_axis((0, i)))),
        "state a varying bound by where=",
    ),
    "axis_not_reduced": (element(lambda i: A[i, R]), "write ted.sum(..., axis=r)"),
    "axis_reduced_elsewhere": (
        element(lambda i: ted.sum(A[ROWS, R], axis=R)),
        "got reduce_axis rows in [0, 4)",
    ),
    "axis_is_a_dim": (element(lambda i: ted.sum(A[i, 0], axis=i)), "got index i in [0, 4)"),
    "axis_of_no_reduction": (
        element(lambda i: A[i, ted.reduce_axis(4)]),
        "may be used only under a reduction over it, got one that no reduction can name; write r =",
    ),
    "axis_of_another_reduction": (
        element(lambda i: ted.sum(A[i, ted.reduce_axis(4)] * A[i, R], axis=R)),
        "sum: a reduction axis may be used only under a reduction over it, got one that no",
    ),
    "axis_is_an_expression": (element(lambda i: ted.sum(A[i, R], axis=R + 1)), "ted.reduce_axis"),
    "axis_is_a_number": (element(lambda i: ted.sum(A[i, R], axis=1)), "must be a ted.reduce_axis"),
    "axis_missing": (element(lambda i: ted.sum(A[i, R])), "must be a ted.reduce_axis"),
    "axis_twice": (element(lambda i: ted.sum(A[i, R], axis=(R, R))), "may appear once, got r, r"),
    "axis_out_of_range": (lambda: ted.sum(A, axis=2), "axis must be in [-2, 2), got 2"),
    "axis_repeated": (lambda: ted.sum(A, axis=(0, -2)), "an axis may appear once"),
    "axis_of_rank_zero": (
        lambda: ted.sum(ted.sum(A), axis=1),
        "sum: axis must be in [-1, 1), got 1",
    ),
    "axis_twice_of_rank_zero": (lambda: ted.sum(ted.sum(A), axis=(0, -1)), "may appear once"),
    "axis_on_whole_tensor": (lambda: ted.sum(A, axis=R), "index the tensor"),
    "keepdims_inside": (
        element(lambda i: ted.sum(A[i, R], axis=R, keepdims=True)),
        "keepdims applies to whole tensors",
    ),
    "where_is_a_number": (element(lambda i: ted.sum(A[i, R], axis=R, where=R)), "a condition"),
    "where_is_a_float_tensor": (lambda: ted.sum(A, where=A), "where must be a bool tensor"),
    "where_shape": (lambda: ted.sum(A, where=(B > 0)), "extents must be equal or 1"),
    "init_is_text": (lambda: ted.sum(A, init="0"), "init must be a number"),
    "reduce_a_list": (lambda: ted.sum({1, 2}), "takes a tensor or a value of an index lambda"),
    "array_of_a_tensor": (lambda: np.asarray(A), "got Tensor(A: float32[4, 6]); an array beside"),
    "float_of_a_tensor": (lambda: float(ted.sum(A)), "got Tensor(sum: float32[])"),
    # layout
    "reshape_size": (lambda: A.reshape(5, 5), "has 24 elements, got shape (5, 5)"),
    "reshape_two_unknown": (lambda: A.reshape(-1, -1), "one extent may be -1"),
    "reshape_indivisible": (lambda: A.reshape(-1, 7), "has 24 elements"),
    "transpose_axes": (lambda: A.transpose(0), "must name each of 2 dims once"),
    "transpose_repeated": (lambda: ted.transpose(A, (0, 0)), "an axis may appear once"),
    "concatenate_shapes": (lambda: ted.concatenate([A, B]), "must agree but for axis 0"),
    "concatenate_nothing": (lambda: ted.concatenate([]), "a non-empty list of tensors"),
    "concatenate_tensor": (lambda: ted.concatenate(A), "a non-empty list of tensors"),
    "stack_shapes": (lambda: ted.stack([A, B]), "shapes must be equal"),
    "pad_flat": (lambda: ted.pad(ted.stack([A, A]), (1, 1, 1)), "flat numbers, which torch reads"),
    "two of three axes": (
        lambda: ted.stack([A, A]).transpose(1, 2), "got (1, 2); ted.swapaxes(x, 1, 2) swaps two"
    ),
    "pad_mode": (lambda: ted.pad(A, 1, "mirror"), "pad: mode: must be 'constant', 'empty', 'edge'"),
    "pad_negative": (lambda: ted.pad(A, -1), "at least 0, got -1; cut with a slice"),
    "pad_odd_wide": (
        lambda: ted.pad(A, 4, "reflect", reflect_type="odd"),
        "reflect_type 'odd' of mode reflect takes widths up to 3, got 4",
    ),
    "pad_nothing": (
        lambda: ted.pad(A[:0], 1, "mean"), "mode mean needs an element to repeat, got extent 0"
    ),
    "pad_pairs": (lambda: ted.pad(A, ((1, 1), (1, 1), (1, 1))), "a pair for each of 2 dims"),
    "pad_value": (lambda: ted.pad(A, 1, value=((1, 2), (3, "a"))), "value must be a Python number"),
    "split_indivisible": (lambda: ted.split(A, 4, 1), "must divide extent 6, got 4"),
    "broadcast_to_smaller": (lambda: ted.broadcast_to(A, (4, 3)), "equal or 1 to broadcast"),
    "squeeze_extent": (lambda: ted.squeeze(A, 0), "dim 0 must have extent 1"),
    "tril_of_vector": (lambda: ted.tril(LABELS), "at least 2 dims"),
    "one_hot_floats": (lambda: ted.one_hot(A, 3), "labels must be integers, got float32"),
    "full_of_tensor": (lambda: ted.full((2,), A), "must be a Python number"),
    "full_overflow": (lambda: ted.full((2,), 2**40, "int32"), "must fit the type int32"),
    # systems
    "input_missing": (lambda: system_of([A], [A @ B]), "every placeholder that the outputs need"),
    "input_computed": (lambda: system_of([A @ B], [A @ B]), "which is computed"),
    "input_twice": (lambda: system_of([A, A], [A]), "given once, got A as input 1 again"),
    "input_kind": (lambda: system_of([1], [A]), "input 0 must be a placeholder, got int"),
    "output_kind": (lambda: system_of([A], ["A"]), "output 0 must be a tensor, got str"),
    # later versions
    # symbolic sizes
    "size_name": (lambda: ted.size("2n"), "size: the name must be an identifier, got '2n'"),
    "size_min": (lambda: ted.size("n", min=-1), "min must be at least 0"),
    "size_multiple": (lambda: ted.size("n", multiple_of=0), "multiple_of at least 1"),
    "size_broadcast": (
        lambda: ted.placeholder((ted.size("n"),)) + ted.placeholder((ted.size("m"),)),
        "extents must be equal or 1 to broadcast, got shapes (n,) and (m,)",
    ),
    "size_reshape": (
        lambda: ted.placeholder((ted.size("n"), 4)).reshape((ted.size("m"), 4)),
        "has 4*n elements, got shape (m, 4)",
    ),
    "size_outside": (
        lambda: ted.placeholder((ted.size("n"),), name="X")[ted.size("n")],
        "X: subscript 0: must be in [-n, n), got n",
    ),
    "size_length": (
        lambda: len(ted.placeholder((ted.size("n"),), name="X")),
        "len: the first extent must be a number, got n of X",
    ),
    # arguments of a wrong kind
    "axis_scalar_array": (lambda: ted.sum(A, np.array("s")), "axis: must be an integer, got array"),
    "shape_scalar_array": (lambda: ted.zeros(np.array("s")), "must be an integer, got array"),
    "huge_integer": (lambda: ted.exp(10**400), "exp: the constant must fit the type float64"),
    "arange_nan": (lambda: ted.arange(np.nan), "arange: bounds and step must be finite numbers"),
    "round_many": (lambda: ted.round(A, 10**9), "decimals must be in [-308, 308]"),
    "bits_of_a_float": (lambda: ted.bitwise_not(1.5), "takes integers or bools, got 1.5"),
    "hstack_none": (lambda: ted.hstack(None), "hstack: xs: must be a list, got None"),
    "dlpack_none": (lambda: ted.from_dlpack(None), "takes an array with __dlpack__, got None"),
    "histogram_none": (lambda: ted.histogram(A, 2, None, 1), "limits must be a number, got None"),
    "quantile_text": (lambda: ted.quantile(A, "q"), "q must be a number in [0, 1], or several"),
    "quantile_method": (lambda: ted.quantile(A, 0.5, method=[]), "method: must be 'linear'"),
    "tensordot_axes": (lambda: ted.tensordot(A, B, []), "or those of a and those of b, got []"),
    "norm_order": (lambda: ted.linalg.matrix_norm(A, ord=[]), "ord must be a number or a name"),
    "fft_extents": (lambda: ted.fft.fft2(A, 2), "s: must be a list, got 2"),
    "complex_where": (lambda: ted.where(A[0] > 0, 1j, fill=2), "where: of complex numbers takes"),
    "complex_parts": (lambda: ted.complex(None, 1.0), "must be numbers or tensors, got None"),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_refused_with_rule_and_line(case):
    program, message = CASES[case]
    with pytest.raises(FrontendError, match=re.escape(message)) as caught:
        program()
    assert caught.value.location is not None
    assert caught.value.location.file == __file__


def test_the_message_ends_with_the_users_line():
    with pytest.raises(FrontendError, match=r"\(test_frontend_errors\.py:\d+\)$"):
        A + B


def test_a_refusal_is_an_error_of_value_as_that_of_numpy():
    with pytest.raises(ValueError, match="broadcast") as refused:
        A + B
    error = refused.value
    other = pickle.loads(pickle.dumps(error))
    assert (str(other), vars(other)) == (str(error), vars(error)), "it has one place"


def test_flatten_of_a_leaf_is_the_leaf():
    assert flatten(3)[0] == [("", 3)]
