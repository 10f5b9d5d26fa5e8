"""The proof beside the places of tensors refuses programs in which memory has another one."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

import ted
from numeric.shared_results import PROGRAMS
from support.in_process import compile_here
from ted.dialects import make_context
from ted.errors import PassFailed
from ted.ir.pass_driver import run_pipeline
from ted.linalg import equation_groups, memory_places
from ted.linalg.equation_groups import EQUATION, SCAN, init_of
from ted.mlir import ir
from ted.mlir.queries import defining

# Of the gradients none continues another one.
CHAINS = [name for name in PROGRAMS if not name.startswith("gradients")]
REFUSED = "memory has what is read from it, got .* written"


def always_goes_on(value: ir.Value) -> bool:
    """What starts from a computed tensor takes its memory, whoever reads that later."""
    return defining(init_of(value), EQUATION, SCAN) is not None


@pytest.mark.fast(4)
@pytest.mark.parametrize("name", CHAINS)
def test_memory_that_is_claimed_twice_is_refused(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    compile_here(monkeypatch)
    inputs, outputs = PROGRAMS[name]()
    ted.compile(inputs, outputs)
    for module in (memory_places, equation_groups):
        monkeypatch.setattr(module, "goes_on", always_goes_on)
    with pytest.raises(PassFailed, match=REFUSED):
        ted.compile(inputs, outputs)


X, Y = (ted.placeholder((8, 8), "float64", name=name) for name in "xy")


def shared_rows() -> ted.Tensor:
    """Rows of x that are read when others have been written, in one loop with sums of rows."""
    e = ted.exp(Y - ted.max(Y, axis=1, keepdims=True))
    return X[::-1] * e / ted.sum(e, axis=1, keepdims=True)


def added_later() -> ted.Tensor:
    """Rows of x that are read when the result has begun."""
    return ted.index_add(ted.exp(Y), 0, ted.cast(Y[:2, 0], "int64"), X[:2])


def parts_of_rows() -> ted.Tensor:
    """Row i of x that is read where rows 2 i and 2 i + 1 of the result are written."""
    e = ted.reshape(ted.exp(Y), (4, 2, 8))
    shares = e / ted.sum(e, axis=(1, 2), keepdims=True)
    return ted.reshape(X[:4][:, None, :] + shares, (8, 8))


# What reads x late, where the result lies in the memory of x.
LATE: dict[str, Callable[[], ted.Tensor]] = {
    "by a later equation": added_later,
    "at another place": lambda: Y + X[::-1],
    "at another place of a row": lambda: Y + X[:, ::-1],
    "at another row of a loop": shared_rows,
    "at the row of a loop that writes parts": parts_of_rows,
    "in a product": lambda: X @ Y,
    "at data": lambda: Y + ted.take(X, ted.cast(Y[:, 0], "int64"), axis=0),
    "a recurrence": lambda: ted.cumsum(X[::-1], 0),
}


IN_PLACE = "attributes {ted.in_place = array<i64: 0, 0>}"  # argument 0 lies in result 0


def emitted(y: ted.Tensor) -> str:
    """The kernels of equations whose result holds x when they begin."""
    text = ted.compile([X, Y], [y]).ir("ted")
    return lowered(re.sub(r"(func.func @main.*) \{\n", rf"\1 {IN_PLACE} {{\n", text))


def lowered(text: str) -> str:
    """The kernels of a function."""
    assert IN_PLACE in text
    with make_context():
        module = ir.Module.parse(text)
        run_pipeline(module, "builtin.module(ted-emit-kernels)")
        return str(module)


@pytest.mark.parametrize("name", LATE)
def test_what_is_read_late_from_memory_of_a_result_is_copied_or_refused(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    y = LATE[name]()
    assert "memref.copy" in emitted(y)
    monkeypatch.setattr(memory_places, "_is_read_before", lambda *_: True)
    with pytest.raises(PassFailed, match=REFUSED):
        emitted(y)


@pytest.mark.parametrize("y", [X + Y, ted.tanh(X) * ted.sum(ted.exp(X), axis=1, keepdims=True)])
def test_what_is_read_at_its_place_is_read_from_memory_of_the_result(y: ted.Tensor) -> None:
    assert "memref.copy" not in emitted(y)


SWAPPED = f"""
func.func @main(%x: tensor<4xf64>, %y: tensor<4xf64>)
    -> (tensor<4xf64>, tensor<4xf64>) {IN_PLACE} {{
  func.return %y, %x : tensor<4xf64>, tensor<4xf64>
}}"""


def test_what_is_copied_in_the_end_is_not_read_behind_it(monkeypatch: pytest.MonkeyPatch) -> None:
    assert lowered(SWAPPED).count("memref.copy") == 3  # x is saved
    monkeypatch.setattr(memory_places, "_is_read_before", lambda *_: True)
    with pytest.raises(PassFailed, match=REFUSED):
        lowered(SWAPPED)
