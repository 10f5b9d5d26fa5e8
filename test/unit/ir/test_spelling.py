"""Every scalar operation on every type becomes ops and comes back as itself."""

from __future__ import annotations

import pytest

from ted.domain import sets
from ted.ir import scalar
from ted.ir.dtypes import BOOL, ELEMENT_TYPES, INDEX, INT64, DType
from ted.ir.equations import Equation, System, Tensor
from ted.ir.expressions import Expr
from ted.ir.from_ops import from_module
from ted.ir.operations import OPERATIONS
from ted.ir.scalar import cast, dim, load
from ted.ir.to_ops import to_module

TYPES = (*ELEMENT_TYPES, INDEX)


def there_and_back(body: Expr, inputs: list[Tensor]) -> Expr:
    equation = Equation((3,), 1, sets.box((3,)), (dim(0),), "set", body)
    result = Tensor("y", (3,), body.dtype, None, (equation,))
    module = to_module(System(tuple(inputs), (result,)))
    assert module.operation.verify()
    back = from_module(module)
    renamed = dict(zip(back.inputs, inputs, strict=True))
    (found,) = scalar.replace_tensors([back.outputs[0].equations[0].body], renamed)
    return found


def value(name: str, dtype: DType) -> tuple[Expr, list[Tensor]]:
    """A value of a type, and the tensor that it reads."""
    tensor = Tensor(name, (3,), INT64 if dtype.is_index else dtype)
    return cast(load(tensor, (dim(0),)), dtype), [tensor]


CASES = [
    (row.name, dtype)
    for row in OPERATIONS.values()
    for dtype in TYPES
    if dtype.kind in row.kinds and row.name not in ("cast", "unchecked")
]


@pytest.mark.fast(27)
@pytest.mark.parametrize(("name", "dtype"), CASES, ids=lambda v: str(v))
def test_an_operation_comes_back(name: str, dtype: DType) -> None:
    row = OPERATIONS[name]
    arguments = [value(f"x{k}", dtype) for k in range(row.arity)]
    if name == "select":
        arguments[0] = value("p", BOOL)
    inputs = [tensor for _, tensors in arguments for tensor in tensors]
    body = scalar.apply(name, *(e for e, _ in arguments))
    body = cast(body, INT64) if body.dtype.is_index else body
    assert there_and_back(body, inputs) is body


ONE_STEP = [(a, b) for a in TYPES for b in TYPES if a != b and b != BOOL]


@pytest.mark.fast(15)
@pytest.mark.parametrize(("source", "target"), ONE_STEP, ids=lambda v: str(v))
def test_a_cast_comes_back_as_its_steps(source: DType, target: DType) -> None:
    argument, inputs = value("x", source)
    body = cast(argument, target)
    body = cast(body, INT64) if body.dtype.is_index else body
    back = there_and_back(body, inputs)
    assert back.dtype == body.dtype
    assert there_and_back(back, inputs) is back


@pytest.mark.parametrize("source", [t for t in TYPES if t != BOOL], ids=str)
def test_a_cast_to_bool_is_a_comparison_with_zero(source: DType) -> None:
    argument, inputs = value("x", source)
    back = there_and_back(cast(argument, BOOL), inputs)
    assert back is scalar.compare("ne", argument, scalar.const(0, source))


@pytest.mark.parametrize("number", [float("inf"), float("-inf"), -0.0, 1e-45, 3.5])
def test_float_constants_keep_their_bits(number: float) -> None:
    argument, inputs = value("x", ELEMENT_TYPES[0])
    body = scalar.mul(argument, scalar.const(number, ELEMENT_TYPES[0]))
    assert there_and_back(body, inputs) is body


def test_nan_stays_nan() -> None:
    argument, inputs = value("x", ELEMENT_TYPES[0])
    body = scalar.apply("maximum", argument, scalar.const(float("nan"), ELEMENT_TYPES[0]))
    assert "nan" in str(there_and_back(body, inputs))
