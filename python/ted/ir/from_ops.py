"""`func.func` of ted ops -> a `System` of equations.

Before: `%1 = "ted.compute"(%A, %B, %0) ({...}) {...}`   After: `C[i, j] += A[i, r] * B[r, j]`

A chain of computes through their inits becomes one tensor with several equations; a filled init is
the tensor's fill. The histories of a `ted.scan` become tensors with a time dim that read each
other. What has no equation form raises.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from ted.dialects.ted import ComputeOp, ScanOp
from ted.dialects.ted.verify_compute import has_known_sizes
from ted.domain import parameters
from ted.domain.sizes import Extent
from ted.errors import VerifyError
from ted.ir import scalar
from ted.ir.affine_attributes import set_from_mlir
from ted.ir.constants import frozen
from ted.ir.dtypes import BY_MLIR, DType
from ted.ir.equations import (
    TIES,
    Clock,
    Equation,
    System,
    Tensor,
    identity_dims,
    whole,
    with_loops,
)
from ted.ir.expressions import Number
from ted.ir.from_body import read_body
from ted.ir.recurrences import ONE_LOOP
from ted.ir.symbols import ATTRIBUTE as SIZES
from ted.ir.symbols import symbols_of_function
from ted.mlir import ir, scalar_value
from ted.mlir.attributes import choice, string
from ted.mlir.dense_elements import numbers_of
from ted.mlir.locations import source_location, user_name
from ted.mlir.queries import defining, symbol_name
from ted.mlir.strategies import wishes_of
from ted.records import dataclass

_ARG_VALUE = {"argmax": "max", "argmin": "min"}

# (name of a function, arguments of a call) -> what the call gives
Calls = Callable[[str, Sequence[Tensor]], Sequence[Tensor]]


def functions(module: ir.Module) -> Iterator[ir.Operation]:
    """The functions of a module that have a body."""
    for op in module.body.operations:
        if op.operation.name == "func.func" and len(list(op.operation.regions[0].blocks)):
            yield op.operation


def from_module(module: ir.Module, name: str | None = None) -> System:
    """The system of a function: the one called `name`, or the only one there is.

    Raises: VerifyError if there is no such function, or it has no equation form.
    """
    found = {symbol_name(op): op for op in functions(module)}
    if name is None and len(found) == 1:
        name = next(iter(found))
    if name not in found:
        raise VerifyError(f"module: must have a function '{name or 'main'}', got {list(found)}")
    return from_function(found[name])


def from_function(function: ir.Operation | ir.OpView, calls: Calls | None = None) -> System:
    """The system of one function; `calls` says what calls of others give.

    Raises: VerifyError if an op has no equation form, as calls have not without `calls`.
    """
    return _Reader(function.operation, calls).read()


@dataclass(frozen=True)
class _Start:
    """A tensor that no equation wrote yet: every element is `fill`, or None where undefined."""

    fill: Number | None
    location: ir.Location


class _Reader:
    """What each value of a function is: a tensor, or the start of one."""

    def __init__(self, function: ir.Operation, calls: Calls | None = None) -> None:
        self.function = function
        self.calls = calls
        blocks = list(function.regions[0].blocks)
        if len(blocks) != 1:
            place = source_location(function.location)
            raise VerifyError(f"function: must have one block, got {len(blocks)}", place)
        self.block = blocks[0]
        self.symbols = symbols_of_function(function)
        self.known: dict[ir.Value, Tensor | _Start] = {}
        self.names: set[str] = set()
        self.together: list[list[Tensor]] = []

    def read(self) -> System:
        inputs = [self._input(k, argument) for k, argument in enumerate(self.block.arguments)]
        operations = [op.operation for op in self.block.operations]
        for op in operations[:-1]:
            if op.name not in _READERS:
                raise _no_form(op)
            _READERS[op.name](self, op)
        outputs = tuple(self.tensor(v) for v in operations[-1].operands)
        system = System(tuple(inputs), outputs, symbol_name(self.function), self.symbols.sizes)
        return with_loops(system, self.together)

    # ---- values ----------------------------------------------------------------------------------

    def tensor(self, value: ir.Value) -> Tensor:
        """The tensor that a value is; a filled one becomes a tensor here."""
        found = self.known.get(value)
        if isinstance(found, Tensor):
            return found
        if found is None or found.fill is None:
            place = source_location(value.location)
            raise VerifyError("function: a tensor must be written before it is read", place)
        shape, dtype = self._type(value)
        name, place = self._name(found.location), source_location(found.location)
        made = Tensor(name, shape, dtype, found.fill, (), place)
        self.known[value] = made
        return made

    def _input(self, position: int, argument: ir.BlockArgument) -> Tensor:
        shape, dtype = self._type(argument)
        name = self._unique(user_name(argument.location) or f"arg{position}")
        tensor = Tensor(name, shape, dtype, None, (), source_location(argument.location))
        self.known[argument] = tensor
        return tensor

    def _name(self, location: ir.Location) -> str:
        return self._unique(user_name(location) or f"t{len(self.names)}")

    def _unique(self, name: str) -> str:
        """Names are for people: a second `C` becomes `C_1`."""
        fresh, count = name, 0
        while fresh in self.names:
            count += 1
            fresh = f"{name}_{count}"
        self.names.add(fresh)
        return fresh

    # ---- ops -------------------------------------------------------------------------------------

    def empty(self, op: ir.Operation) -> None:
        self.known[op.results[0]] = _Start(None, op.location)

    def constant(self, op: ir.Operation) -> None:
        if not isinstance(op.results[0].type, ir.RankedTensorType):
            return  # a scalar that canonicalisation moved out of a body
        value = op.attributes["value"]
        if not isinstance(value, ir.DenseElementsAttr):
            raise _no_form(op)
        if value.is_splat:
            self.known[op.results[0]] = _Start(scalar_value(value.get_splat_value()), op.location)
            return
        shape, dtype = self._type(op.results[0])
        name, place = self._name(op.location), source_location(op.location)
        held = frozen(numbers_of(value), dtype)
        made = Tensor(name, shape, dtype, None, (), place, values=held)
        self.known[op.results[0]] = made

    def fill(self, op: ir.Operation) -> None:
        constant = defining(op.operands[0], "arith.constant")
        if constant is None:
            raise _no_form(op)
        value = scalar_value(constant.attributes["value"])
        self.known[op.results[0]] = _Start(value, op.location)

    def bitcast(self, op: ir.Operation) -> None:
        """Integers with another sign: a start, a literal, or a copy."""
        (shape, dtype), place = self._type(op.results[0]), source_location(op.location)
        found = self.known[op.operands[0]]
        if dtype.kind != "int":
            raise _no_form(op)
        if isinstance(found, _Start):
            fill = None if found.fill is None else dtype.wrapped(int(found.fill))
            self.known[op.results[0]] = _Start(fill, op.location)
            return
        name = self._name(op.location)
        if found.constant is not None:
            self.names.discard(found.name)
            held = frozen(found.constant.array.view(dtype.dtype), dtype)
            made = Tensor(found.name, shape, dtype, None, (), place, values=held)
        else:
            value = scalar.cast(scalar.load(found, identity_dims(len(shape))), dtype)
            made = Tensor(name, shape, dtype, None, (whole(shape, value, place),), place)
        self.known[op.results[0]] = made

    def stop_gradient(self, op: ir.Operation) -> None:
        source = self.tensor(op.operands[0])
        value = scalar.load(source, identity_dims(len(source.shape)))
        if source.dtype.is_float:
            value = scalar.apply("stop_gradient", value)
        place = source_location(op.location)
        equation = whole(source.shape, value, place)
        name = self._name(op.location)
        self.known[op.results[0]] = Tensor(
            name, source.shape, source.dtype, None, (equation,), place
        )

    def call(self, op: ir.Operation) -> None:
        if self.calls is None:
            raise _no_form(op)
        callee = ir.FlatSymbolRefAttr(op.attributes["callee"]).value
        results = self.calls(callee, [self.tensor(v) for v in op.operands])
        self.known.update(zip(op.results, results, strict=True))

    def compute(self, op: ir.Operation) -> None:
        view: ComputeOp = op.opview
        equation = self._equation(view)
        if equation.combiner not in _ARG_VALUE:
            init = view.inits[0]
            self.known[op.results[0]] = self._written(init, op.results[0], equation)
            return
        value, position = op.results
        start = self.known[view.inits[1]]
        given = isinstance(start, Tensor) and not start.equations
        self._check_no_point_yet(view, None if given else start.fill)
        found = self._written(view.inits[1], position, equation)
        if next(iter(value.uses), None) is not None:
            best = replace(equation, combiner=_ARG_VALUE[equation.combiner], wishes=())
            name = found.name  # the user's, of the value
            found = replace(found, name=self._unique(f"arg_{name}"))
            self.names.discard(name)
            self.known[value] = self._written(view.inits[0], value, best)
        self.known[position] = found

    def _equation(self, op: ComputeOp) -> Equation:
        box = self._extents(op)
        domain = parameters.box(box).intersect(set_from_mlir(op.domain_set, self.symbols))
        if op.write_mode == "drop" and 0 in self._type(op.operation.results[0])[0]:
            domain = domain.subtract(domain)  # no element: every point is left out
        body = read_body(op, domain, self.tensor, self.symbols)
        return Equation(
            extents=box,
            parallel=op.iterator_kinds.count("parallel"),
            domain=domain,
            write=body.write,
            combiner=op.combiner_name,
            body=body.value,
            location=source_location(op.operation.location),
            ties=choice(op.operation, "ted.ties", TIES),
            scatter_reason=string(op.operation, "ted.scatter_reason", ""),
            recomputed=_recomputed(op.operation),
            wishes=tuple((name, str(given)) for name, given in wishes_of(op.operation)),
        )

    def _extents(self, op: ComputeOp) -> tuple[Extent, ...]:
        sizes = op.symbolic_box
        if sizes is None:
            return op.box
        if sizes.n_symbols != len(self.symbols):
            raise VerifyError(
                f"ted.compute: one symbol per size of the function in its attribute {SIZES}, got "
                f"{sizes.n_symbols} symbols and {len(self.symbols)} sizes",
                source_location(op.operation.location),
            )
        return self.symbols.evaluated(sizes)

    def _type(self, value: ir.Value) -> tuple[tuple[Extent, ...], DType]:
        kind = value.type
        if not isinstance(kind, ir.RankedTensorType) or not has_known_sizes(kind):
            place = source_location(value.location)
            rule = "values must be tensors of static or symbolic sizes"
            raise VerifyError(f"function: {rule}, got {kind}", place)
        return self.symbols.shape(kind), BY_MLIR[str(kind.element_type)]

    def size(self, op: ir.Operation) -> None:
        """An extent of a tensor that is made: its type says the same."""

    def _written(self, init: ir.Value, result: ir.Value, equation: Equation) -> Tensor:
        """The tensor after an equation: the init's own equations go first."""
        shape, dtype = self._type(result)
        location = result.location
        start = self.known[init]
        is_read_once = len(list(islice(init.uses, 2))) == 1  # a value may have very many uses
        if isinstance(start, _Start) or (not start.is_input and not start.equations):
            fill, first = start.fill, ()
        elif is_read_once and not start.is_input:
            fill, first = start.fill, start.equations
        else:
            copy = scalar.load(start, identity_dims(len(shape)))
            fill, first = None, (whole(shape, copy, source_location(location)),)
        if first and is_read_once and isinstance(start, Tensor):
            self.names.discard(start.name)  # the tensor goes on under its name
        return Tensor(
            self._name(location), shape, dtype, fill, (*first, equation), source_location(location)
        )

    # ---- recurrences -----------------------------------------------------------------------------

    def scan(self, op: ir.Operation) -> None:
        view: Any = op.opview
        histories = [self._history(view, k) for k in range(len(view.inits))]
        equations = {history: list(history.equations) for history in histories}
        for history in histories:
            history.equations = ()  # they are assigned together, when all are known
        self._body(view, histories, equations)
        for tensor, found in equations.items():
            tensor.equations = tuple(found)
        if ONE_LOOP in op.attributes:
            self.together.append(list(equations))

    def _body(
        self, op: ScanOp, histories: Sequence[Tensor], equations: dict[Tensor, list[Equation]]
    ) -> None:
        """Collect the equations of the histories of a scan, and of the scans in its steps."""
        self.known.update(zip(op.body_block.arguments, histories, strict=True))
        for part in op.parts:
            if isinstance(part, ComputeOp):
                for tensor, equation in self._step(part):
                    equations.setdefault(tensor, []).append(equation)
                continue
            inner = [self.tensor(v) for v in part.inits]
            for history, time in zip(inner, part.time_dims, strict=True):
                history.clocks = (*history.clocks, Clock(time, part.is_reverse))
            self._body(part, inner, equations)
        self.known.update(zip(op.operation.results, histories, strict=True))

    def _history(self, op: ScanOp, position: int) -> Tensor:
        """A history before the first step: filled, or a copy of its init."""
        argument = op.body_block.arguments[position]
        shape, dtype = self._type(argument)
        named = user_name(argument.location) is not None
        location = argument.location if named else op.yielded[position].location
        place = source_location(location)
        start = self.known[op.inits[position]]
        fill, first = start.fill, ()
        if isinstance(start, Tensor) and (start.is_input or start.equations):
            copy = scalar.load(start, identity_dims(len(shape)))
            fill, first = None, (whole(shape, copy, place),)
        return Tensor(
            self._name(location), shape, dtype, fill, first, place,
            op.time_dims[position], op.is_reverse,
        )  # fmt: skip

    def _step(self, op: ComputeOp) -> Iterator[tuple[Tensor, Equation]]:
        """The equation of an op in a scan, with the tensor that it defines."""
        history = self.known[op.inits[-1]]
        assert isinstance(history, Tensor), "the verifier knows the history of every equation"
        equation = self._equation(op)
        results = op.operation.results
        self.known[results[-1]] = history
        yield history, equation
        if equation.combiner in _ARG_VALUE:
            self._check_no_point_yet(op, history.fill)
            best = self.known[op.inits[0]]
            if isinstance(best, _Start) or best.time is None:
                dtype = equation.body.dtype
                name = self._unique(f"{history.name}_value")
                best = replace(history, name=name, dtype=dtype, fill=best.fill, equations=())
            self.known[results[0]] = best
            yield best, replace(equation, combiner=_ARG_VALUE[equation.combiner], wishes=())

    def _check_no_point_yet(self, op: ComputeOp, begun: Number | None) -> None:
        """argmax has an equation form when it starts from nothing, or goes on from such a one."""
        if begun is None or begun >= 0:
            raise VerifyError(
                f"ted.compute: {op.combiner_name} must start from index -1, got another init",
                source_location(op.operation.location),
            )


def _recomputed(op: ir.Operation) -> int:
    if "ted.recomputed" not in op.attributes:
        return 0
    order = op.attributes["ted.recomputed"]
    return order.value if isinstance(order, ir.IntegerAttr) else 1


_READERS: dict[str, Callable[[_Reader, ir.Operation], None]] = {
    "arith.constant": _Reader.constant,
    "func.call": _Reader.call,
    "tensor.bitcast": _Reader.bitcast,
    "tensor.empty": _Reader.empty,
    "linalg.fill": _Reader.fill,
    "ted.compute": _Reader.compute,
    "ted.scan": _Reader.scan,
    "ted.size": _Reader.size,
    "ted.stop_gradient": _Reader.stop_gradient,
}


# Dialects of other tools, whose functions `ted-raise-linalg` reads.
_RAISED = ("linalg", "tensor", "scf", "stablehlo", "chlo", "math", "arith", "complex")


def _no_form(op: ir.Operation) -> VerifyError:
    known = ", ".join(name for name in _READERS if name != "func.call")
    is_foreign = op.name.partition(".")[0] in _RAISED and op.name not in _READERS
    way = "; ted-raise-linalg, which comes before this pass, makes equations of it" * is_foreign
    return VerifyError(
        f"function: ops with an equation form are {known}, got {op.name}{way}",
        source_location(op.location),
    )
