"""Models of ONNX as functions: parameters, gradients, shapes of the call, control flow, errors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import ted
import ted.onnx
from ted.errors import FrontendError
from unit.onnx.models import model, values

RNG = np.random.default_rng(0)
W, V = RNG.standard_normal((3, 4)), RNG.standard_normal((4, 2))
PERCEPTRON = model(
    """perceptron (double[n, 3] x) => (double[n, 2] y) {
        h = MatMul(x, w)
        a = Tanh(h)
        y = MatMul(a, v)
    }""",
    w=W, v=V,
)  # fmt: skip


def test_a_model_is_a_function_of_its_parameters_with_gradients() -> None:
    f = ted.onnx.from_model(PERCEPTRON)
    assert list(f.params) == ["w", "v"]
    assert f.inputs == ("x",)
    ted.testing.check_grads(f, (f.params, RNG.standard_normal((5, 3))), order=2)


def test_extents_without_numbers_are_those_of_the_call() -> None:
    f = ted.onnx.from_model(PERCEPTRON)
    apply = ted.function(f)
    for rows in (2, 5):
        x = RNG.standard_normal((rows, 3))
        np.testing.assert_allclose(apply(f.params, x), np.tanh(x @ W) @ V)


def test_a_model_is_read_from_bytes_and_files(tmp_path: Path) -> None:
    x, path = RNG.standard_normal((2, 3)), tmp_path / "model.onnx"
    onnx.save(PERCEPTRON, path)
    for source in (path, str(path), PERCEPTRON.SerializeToString()):
        f = ted.onnx.from_model(source)
        np.testing.assert_allclose(ted.function(f)(f.params, x), np.tanh(x @ W) @ V)


def test_shapes_that_a_model_computes_are_numbers() -> None:
    source = model(
        """flat (float[n, c, h, w] x) => (float[n, m] y) {
            all = Shape(x)
            zero = Constant<value_ints = [0]>()
            one = Constant<value_ints = [1]>()
            rows = Slice(all, zero, one)
            rest = Constant<value_ints = [-1]>()
            shape = Concat<axis = 0>(rows, rest)
            y = Reshape(x, shape)
        }"""
    )
    x = RNG.standard_normal((2, 3, 4, 5)).astype("f4")
    (y,) = ted.onnx.run_model(source, [x])
    np.testing.assert_array_equal(y, x.reshape(2, -1))


def test_an_input_that_decides_a_shape_is_part_of_the_program() -> None:
    source = model("tiled (float[n] x, int64[1] k) => (float[m] y) { y = Tile(x, k) }")
    f = ted.onnx.from_model(source)
    x = np.arange(2, dtype="f4")
    prepared = ted.onnx.prepare(source)
    for times in (2, 3, 2):
        (y,) = prepared.run([x, np.array([times])])
        np.testing.assert_array_equal(y, np.tile(x, times))
    twice = ted.grad(lambda x: ted.sum(f({}, x, np.array([2]))))
    np.testing.assert_array_equal(twice(x), [2, 2])
    with pytest.raises(FrontendError, match=r"Tile 'y': input 1 \(k\) must be known.*give k as"):
        ted.function(f)({}, x, np.array([2]))


BRANCHES = """chosen (float[3] x, bool c) => (float[3] y) {
    y = If (c) <
        then_branch = yes () => (a) { a = Exp(x) }, else_branch = no () => (b) { b = Neg(x) }
    >
}"""


def test_a_branch_that_is_data_is_taken_when_the_program_runs() -> None:
    f = ted.onnx.from_model(model(BRANCHES))
    slope = ted.grad(lambda x, c: ted.sum(f({}, x, c)))
    x = RNG.standard_normal(3).astype("f4")
    np.testing.assert_allclose(slope(x, np.array(True)), np.exp(x), rtol=1e-6)
    np.testing.assert_array_equal(slope(x, np.array(False)), -np.ones(3))


LOOP = """powers (double[3] x, int64 n) => (double[3] y, double[m, 3] all) {
    go = Constant<value = bool {1}>()
    y, all = Loop (n, go, x) <
    body = step (int64 i, bool g, double[3] v) => (bool h, double[3] w, double[3] u) {
        h = Identity(g)
        w = Mul(v, x)
        u = Neg(w)
    }>
}"""


def test_a_loop_of_known_steps_has_gradients() -> None:
    f = ted.onnx.from_model(model(LOOP))
    x = RNG.standard_normal(3)
    apply = ted.function(lambda x: f({}, x, np.array(3)))
    last, rows = apply(x)
    np.testing.assert_allclose(last, x**4)
    np.testing.assert_allclose(rows, [-(x**2), -(x**3), -(x**4)])
    slope = ted.grad(lambda x: ted.sum(f({}, x, np.array(3))[0]))
    np.testing.assert_allclose(slope(x), 4 * x**3)


def test_a_loop_of_many_steps_is_a_recurrence() -> None:
    f = ted.onnx.from_model(model(LOOP))
    x = 1 + RNG.standard_normal(3) / 100

    def both(x: Any) -> Any:
        last, rows = f({}, x, np.array(90))
        return ted.sum(last) + ted.sum(rows[7])

    value, slope = ted.value_and_grad(both)(x)
    np.testing.assert_allclose(value, np.sum(x**91 - x**9))
    np.testing.assert_allclose(slope, 91 * x**90 - 9 * x**8)


def _of_steps(last: int, bound: int = 2**63 - 1) -> Any:
    """A loop that its condition ends after step `last`."""
    ends = f"e = Constant<value = int64 {{{last}}}>()\n        h = Less(i, e)"
    f = ted.onnx.from_model(model(LOOP.replace("h = Identity(g)", ends)))
    return ted.function(lambda x: f({}, x, np.array(bound))[0])


def test_a_loop_of_a_bound_that_stands_for_none_ends_by_its_condition() -> None:
    x = 1 + RNG.standard_normal(3) / 100
    np.testing.assert_allclose(_of_steps(4)(x), x**6)


def test_a_loop_of_many_steps_that_may_end_before_is_refused() -> None:
    with pytest.raises(FrontendError, match="more than 64 steps must go on to the last one"):
        _of_steps(70, 90)(np.ones(3))
    with pytest.raises(FrontendError, match="loops must have at most 64 known steps"):
        _of_steps(70)(np.ones(3))


def test_an_operator_that_onnx_has_as_a_function_needs_no_row() -> None:
    source = model("celu (float[n] x) => (float[n] y) { y = CenterCropPad<axes = [0]>(x, s) }",
                   s=np.array([3]))  # fmt: skip
    x = np.arange(5, dtype="f4")
    np.testing.assert_array_equal(ted.onnx.run_model(source, [x])[0], [1, 2, 3])


def test_functions_of_the_model_are_called_with_their_attributes() -> None:
    source = onnx.parser.parse_model("""
        <ir_version: 10, opset_import: ["" : 21, "own" : 1]>
        main (float[3] x) => (float[3] y) { y = own.leaky<slope = 0.5>(x) }
        <domain: "own", opset_import: ["" : 21]>
        leaky <slope> (x) => (y) { y = LeakyRelu<alpha : float = @slope>(x) }
    """)
    x = np.array([-2, 0, 2], "f4")
    np.testing.assert_array_equal(ted.onnx.run_model(source, [x])[0], [-1, 0, 2])


# text, inputs; values and gradients against ONNX's reference and central differences
PROGRAMS = {
    "a convolution, pooled and flattened": (
        """(double[1, 2, 5, 5] x, double[3, 2, 3, 3] w) => (double[1, 12] y) {
            c = Conv<pads = [1, 1, 1, 1], strides = [2, 2]>(x, w)
            p = MaxPool<kernel_shape = [2, 2]>(c)
            y = Flatten(p)
        }""",
        [(1, 2, 5, 5), (3, 2, 3, 3)],
    ),
    "a gru whose reset is before the product": (
        """(double[2, 2, 2] x, double[1, 6, 2] w, double[1, 6, 2] r) => (double[2, 1, 2, 2] y) {
            y = GRU<hidden_size = 2>(x, w, r)
        }""",
        [(2, 2, 2), (1, 6, 2), (1, 6, 2)],
    ),
    "cubic resizing": (
        """(double[1, 1, 4, 4] x) => (double[1, 1, 7, 8] y) {
            none = Constant<value = float[0] {}>()
            sizes = Constant<value_ints = [1, 1, 7, 8]>()
            y = Resize<mode = "cubic">(x, none, none, sizes)
        }""",
        [(1, 1, 4, 4)],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_values_are_those_of_the_reference_and_gradients_differences(name: str) -> None:
    text, shapes = PROGRAMS[name]
    source = model("main " + text)
    inputs = [RNG.standard_normal(shape) for shape in shapes]
    for got, wanted in zip(
        ted.onnx.run_model(source, inputs), values(source, *inputs), strict=True
    ):
        np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-6)
    f = ted.onnx.from_model(source)
    ted.testing.check_grads(lambda *x: f({}, *x), inputs)


# ------------------------------------------------------------------ bad input


def one_node(op: str, dtype: int = TensorProto.FLOAT, **attributes: Any) -> onnx.ModelProto:
    x = helper.make_tensor_value_info("x", dtype, [2])
    y = helper.make_tensor_value_info("y", dtype, ["n"])
    node = helper.make_node(op, ["x"], ["y"], name="odd", **attributes)
    graph = helper.make_graph([node], "graph", [x], [y])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)])


X = np.ones(2, "f4")
BAD: dict[str, tuple[Any, str]] = {
    "no model": (
        lambda: ted.onnx.from_model(3),
        "from_model: takes a model of ONNX, bytes or a path, got int",
    ),
    "a file that is not there": (
        lambda: ted.onnx.from_model("/no/such/model.onnx"), "from_model: the model must be valid",
    ),
    "bytes of something else": (
        lambda: ted.onnx.from_model(b"nothing"), "from_model: the model must be valid",
    ),
    "an operator with neither row nor function": (
        lambda: ted.onnx.run_model(one_node("Multinomial"), [X]),
        "Multinomial 'odd': operators must have a row or a function of ONNX's, got neither",
    ),
    "a result with as many elements as numbers say": (
        lambda: ted.onnx.run_model(one_node("NonZero"), [X]),
        "NonZero 'odd': shapes must be known",
    ),
    "a type that ted does not have": (
        lambda: ted.onnx.run_model(one_node("Cast", to=TensorProto.FLOAT8E5M2), [X]),
        "Cast 'odd': element types must be .*, got FLOAT8E5M2",
    ),
    "strings": (
        lambda: ted.onnx.run_model(one_node("Identity"), [np.array(["a", "b"])]),
        "element types must be .*, got strings",
    ),
    "an extent that the model does not have": (
        lambda: ted.onnx.run_model(one_node("Neg"), [np.ones(3, "f4")]),
        r"graph: x must have shape \[2\], got \[3\]",
    ),
    "an attribute of a rule of ted's": (
        lambda: ted.onnx.run_model(one_node("Softmax", axis=4), [X]), "Softmax 'odd': ",
    ),
    "another device": (
        lambda: ted.onnx.prepare(one_node("Neg"), "CUDA"), "prepare: the device must be CPU",
    ),
    "parameters of another name": (
        lambda: ted.function(ted.onnx.from_model(PERCEPTRON))({"w": W}, np.ones((1, 3))),
        r"perceptron: params must be \['w', 'v'\], got \['w'\]",
    ),
    "a parameter of another shape": (
        lambda: ted.function(ted.onnx.from_model(PERCEPTRON))({"w": V, "v": V}, np.ones((1, 3))),
        r"perceptron: w must have shape \(3, 4\), got \(4, 2\)",
    ),
    "too few inputs": (
        lambda: ted.function(ted.onnx.from_model(PERCEPTRON))({"w": W, "v": V}),
        r"perceptron: takes \['x'\], got 0 inputs",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_what_is_not_covered_is_named_with_its_place(name: str) -> None:
    call, message = BAD[name]
    with pytest.raises(FrontendError, match=message):
        call()
