"""A function of linalg, tensor, scf and arith -> a `System` of equations.

Before: %0 = linalg.generic {...} ins(%A, %B) outs(%C) { mulf; addf; yield }
After:  C[i, j] += A[i, r] * B[r, j]

Values are tensors and scalar expressions (`raising/values.py`), or pairs of them; a
rule for each op, in tables by name, says what its results are. Nothing here knows what a program
computes: convolutions, pools and attention are what their loops say.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from ted.errors import TedError, VerifyError, located
from ted.frontend.complex_pairs import Complex
from ted.ir.dtypes import INT64
from ted.ir.equations import System, Tensor
from ted.ir.expressions import Expr
from ted.mlir import ir
from ted.mlir.locations import source_location, user_name
from ted.mlir.queries import terminator
from ted.raising.complexes import is_complex, opened, part_of
from ted.raising.values import Value, as_tensor, as_typed, type_of, unraisable

Rule = Callable[["Reader", ir.Operation], Sequence[Value]]


class Reader:
    """What each value of a program is, while its functions are read.

    `rules` has a rule for each op, `elementwise` is that for the others; `calls` has the functions
    that a program calls by name. `of_pairs` are the ops whose rules take complex values; all others
    read one part of them, and are read twice.
    """

    def __init__(
        self,
        functions: Mapping[str, ir.Operation],
        rules: Mapping[str, Rule],
        elementwise: Rule,
        calls: Mapping[str, Callable[..., Any]],
        of_pairs: Collection[str],
    ) -> None:
        self.functions = functions
        self.rules = rules
        self.elementwise = elementwise
        self.calls = calls
        self.of_pairs = of_pairs
        self.part: str | None = None  # the part of complex values that is read now
        self.known: dict[ir.Value, Value] = {}
        self.open: list[str] = []

    def system(self, name: str) -> System:
        """The system of a function.

        Raises: VerifyError for an op, a type or a size that has no equations.
        """
        block = self._body(name)
        inputs = [self._input(k, argument) for k, argument in enumerate(block.arguments)]
        outputs = opened(self.call(name, inputs))
        last = terminator(block)
        for value in last.operands:
            type_of(value.type, last.location, last.name)
        tensors = [as_tensor(v, source_location(self.functions[name].location)) for v in outputs]
        return System(tuple(opened(inputs)), tuple(tensors), name)

    def call(self, name: str, arguments: Sequence[Value]) -> list[Value]:
        """What a function gives for arguments.

        Raises: VerifyError as `system`, and for functions that call themselves.
        """
        block = self._body(name)
        if name in self.open:
            place = source_location(self.functions[name].location)
            raise VerifyError(
                f"{name}: calls must not form a cycle, got {[*self.open, name]}", place
            )
        self.open.append(name)
        found = self.block(block, arguments)
        self.open.pop()
        return found

    def _body(self, name: str) -> ir.Block:
        op = self.functions[name]
        blocks = list(op.regions[0].blocks)
        if len(blocks) != 1:
            place = source_location(op.location)
            raise VerifyError(f"{name}: a function must have one block, got {len(blocks)}", place)
        return blocks[0]

    def _input(self, position: int, argument: ir.Value) -> Value:
        shape, dtype = type_of(argument.type, argument.location, "func.func")
        dtype = INT64 if dtype.is_index else dtype
        name = user_name(argument.location) or f"arg{position}"
        place = source_location(argument.location)
        if is_complex(argument.type):
            parts = (f"{name}.{part}" for part in ("real", "imag"))
            return Complex(*(Tensor(n, shape, dtype, None, (), place) for n in parts))
        return Tensor(name, shape, dtype, None, (), place)

    # ---- values ----------------------------------------------------------------------------------

    def block(self, block: ir.Block, arguments: Sequence[Value]) -> list[Value]:
        """What a block gives to its terminator."""
        for argument, given in zip(block.arguments, arguments, strict=True):
            self.known[argument] = as_typed(given, argument.type)
        *operations, last = [op.operation for op in block.operations]
        for op in operations:
            self.run(op)
        return [self.value(v) for v in last.operands]

    def run(self, op: ir.Operation) -> None:
        """Read one op.

        Raises: VerifyError for one that has no equations.
        """
        rule = self.rules.get(op.name, self.elementwise)
        with located(source_location(op.location)), _at(op):
            found = self._by_parts(rule, op) if self._is_of_parts(op) else rule(self, op)
        self.known.update(zip(op.results, found, strict=True))

    def _is_of_parts(self, op: ir.Operation) -> bool:
        if self.part or op.name in self.of_pairs or op.name.partition(".")[0] == "complex":
            return False
        return any(is_complex(v.type) for v in (*op.operands, *op.results))

    def _by_parts(self, rule: Rule, op: ir.Operation) -> list[Value]:
        found: list[Sequence[Value]] = []
        for self.part in ("real", "imag"):
            found.append(rule(self, op))
        self.part = None
        rows = zip(op.results, *found, strict=True)
        return [Complex(x, y) if is_complex(v.type) else x for v, x, y in rows]

    def value(self, value: ir.Value) -> Value:
        """What a value is."""
        return part_of(self.known[value], self.part)

    def tensor(self, value: ir.Value) -> Tensor:
        """The tensor that a value is."""
        found = self.value(value)
        assert isinstance(found, Tensor), f"{value.type} is a tensor"
        return found

    def scalar(self, value: ir.Value) -> Expr:
        """The scalar that a value is."""
        found = self.value(value)
        assert isinstance(found, Expr), f"{value.type} is a scalar"
        return found


@contextmanager
def _at(op: ir.Operation) -> Iterator[None]:
    """Errors of what a rule uses name the op."""
    try:
        yield
    except VerifyError:
        raise
    except TedError as error:
        raise unraisable(op, error.message) from None
