"""Programs of derivatives: their arguments, results, places and zeros."""

from __future__ import annotations

from ted.errors import SourceLocation
from ted.ir.dtypes import FLOAT64, INT64
from ted.ir.equations import System, Tensor
from ted.ir.scalar import apply, cast, dim, load, mul
from ted.transforms.gradient import differentiate, jvp_system, push_forward, vjp_system
from unit.autodiff.systems import defined, values
from unit.transforms.recurrences import equation, given

i = dim(0)
PLACE = SourceLocation("model.py", 7, 0)


def program() -> System:
    x, w = given("x", 3), given("w", 3)
    y = defined("y", (3,), equation((3,), mul(load(x, [i]), load(x, [i]))))
    y.location = PLACE
    n = Tensor("n", (3,), INT64, 0, (equation((3,), cast(load(x, [i]), INT64)),))
    x.location = PLACE
    return System((x, w), (y, n))


def test_a_vjp_takes_inputs_and_heads_of_float_results() -> None:
    found = vjp_system(program(), [1, 0], "f_vjp")
    assert [t.name for t in found.inputs] == ["x", "w", "dy"]
    assert found.inputs[2].location == PLACE
    assert found.name == "f_vjp"
    results = values(found.inputs, found.outputs, [[1, 2, 3], [0, 0, 0], [1, 10, 100]])
    assert [r.tolist() for r in results] == [[1, 4, 9], [1, 2, 3], [0, 0, 0], [2, 40, 600]]


def test_a_jvp_takes_inputs_and_their_tangents() -> None:
    found = jvp_system(program(), [0], "f_jvp")
    assert [t.name for t in found.inputs] == ["x", "w", "x_dot"]
    assert found.inputs[2].location == PLACE
    results = values(found.inputs, found.outputs, [[1, 2, 3], [0, 0, 0], [1, 10, 100]])
    assert [r.tolist() for r in results] == [[1, 4, 9], [1, 2, 3], [2, 40, 600]]
    still = jvp_system(program(), [1], "f_jvp")
    assert (
        values(still.inputs, still.outputs[2:], [[1, 2, 3], [0] * 3, [1] * 3])[0].tolist()
        == [0] * 3
    )


def test_gradients_of_what_no_output_depends_on_are_zeros_and_said() -> None:
    x, w = given("x", 3), given("w", 3)
    y = defined("y", (3,), equation((3,), apply("exp", load(x, [i]))))
    found = differentiate([y], [x, w], [Tensor("dy", (3,), FLOAT64)])
    assert [str(r) for r in found.remarks] == [
        "ted-differentiate: no output depends on w[3], its gradient is zeros"
    ]
    dx, dw = found.gradients
    assert (dw.fill, dw.equations, dw.shape) == (0, (), (3,))
    assert found.adjoints[x] is dx
    assert y in found.adjoints


def test_tangents_of_what_does_not_move_are_zeros() -> None:
    x, w = given("x", 3), given("w", 3)
    y = defined("y", (3,), equation((3,), apply("exp", load(x, [i]))))
    (tangent,) = push_forward([y], [w], [Tensor("w_dot", (3,), FLOAT64)]).gradients
    assert (tangent.fill, tangent.equations) == (0, ())
