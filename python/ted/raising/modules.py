"""Text of MLIR -> functions of tensors of ted.

Before: module { func.func @main(%x: tensor<4xf32>) -> ... { stablehlo.tanh, linalg.generic, ... } }
After:  f(x), which is traced, differentiated and compiled like any function of ted

StableHLO goes through the binding's own pass to linalg; what that leaves has rules of ours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from ted import dialects
from ted.api.index_lambdas import of_elements
from ted.errors import FrontendError
from ted.frontend.captures import captured
from ted.frontend.complex_creation import pair
from ted.frontend.tensors import Tensor, wrap
from ted.ir.equations import System
from ted.ir.from_ops import from_function, functions
from ted.ir.rewriting import has_equations
from ted.mlir import ir, load_foreign_dialects
from ted.mlir.locations import NAMELESS, rename_files
from ted.mlir.queries import symbol_name
from ted.raising import (
    control,
    generics,
    layouts,
    orders,
    scatters,
    shapes,
    stablehlo,
    stablehlo_functions,
    windows,
)
from ted.raising.attributes import check_attributes
from ted.raising.comparators import mark_orders
from ted.raising.complexes import closed, is_complex, opened
from ted.raising.empty_tensors import drop_empty
from ted.raising.integer_spelling import spell_integers
from ted.raising.loop_spellings import spell_loops
from ted.raising.preparing import expand_indices, needed, of_foreign, prepare, respell, run
from ted.raising.reading import Reader, Rule
from ted.raising.scalar_spellings import spelled
from ted.raising.shapes import on_elements
from ted.raising.total_order import spell_total_orders
from ted.records import dataclass
from ted.transforms.overrides import substituted

Calls = Mapping[str, Callable[..., Any]]

# The ops that can be raised, and what raises each.
RULES: dict[str, Rule] = {
    "builtin.unrealized_conversion_cast": shapes.reinterpreted,
    "arith.constant": shapes.constant,
    "linalg.generic": generics.generic,
    "linalg.softmax": shapes.softmax,
    "tensor.empty": shapes.empty,
    "tensor.splat": shapes.splat,
    "tensor.from_elements": shapes.from_elements,
    "tensor.generate": shapes.generate,
    "tensor.extract": shapes.extract,
    "tensor.insert": shapes.insert,
    "tensor.extract_slice": shapes.extract_slice,
    "tensor.insert_slice": shapes.insert_slice,
    "tensor.pad": shapes.pad,
    "tensor.concat": shapes.concat,
    "tensor.expand_shape": shapes.reshaped,
    "tensor.collapse_shape": shapes.reshaped,
    "tensor.reshape": shapes.reshaped,
    "tensor.cast": shapes.same,
    "tensor.dim": shapes.dim,
    "tensor.rank": shapes.rank,
    "scf.for": control.for_loop,
    "scf.if": control.branch,
    "scf.while": control.while_,
    "func.call": control.call,
    "cf.assert": lambda *_: [],
    **control.RULES,
    **layouts.RULES,
    **orders.RULES,
    **scatters.RULES,
    **stablehlo.RULES,
    **stablehlo_functions.RULES,
    **windows.RULES,
}

# The ops whose rules take complex values as they are.
OF_PAIRS = {
    "linalg.generic", "func.call", "scf.for", "scf.if", "scf.while", *control.RULES,
    *stablehlo.RULES, *stablehlo_functions.RULES,
}  # fmt: skip

LEGALIZE = "builtin.module(stablehlo-legalize-to-linalg)"
GENERALIZE = "builtin.module(canonicalize,cse,linalg-generalize-named-ops)"


def systems(module: ir.Module) -> dict[str, System]:
    """The systems of the functions of a module by name; it is changed on the way.

    Raises: VerifyError for an op, a type or a size that has no equations, or where a pass of MLIR
    fails.
    """
    with module.context:
        own, reader = _equations(module), _lowered(module)
        names = list(map(symbol_name, functions(module)))
        return {name: own[name] if name in own else reader.system(name) for name in names}


def _equations(module: ir.Module) -> dict[str, System]:
    """The functions that are of equations, before passes make loops of their named operations."""
    return {symbol_name(f): from_function(f) for f in functions(module) if has_equations(f)}


def _lowered(module: ir.Module, calls: Calls = MappingProxyType({})) -> Reader:
    """A reader of the functions of a module, which has no op of StableHLO and named one of linalg.

    Raises: VerifyError for an attribute that nobody reads, or where a pass of MLIR fails.
    """
    check_attributes(module)
    mark_orders(module)
    if of_foreign(module):
        prepare(module, RULES)
        drop_empty(module)
        spell_total_orders(module)
        spell_integers(module)
        run(LEGALIZE, module)
    expand_indices(module)
    respell(module, spelled)
    spell_loops(module)
    run(GENERALIZE, module)
    tops = (op.operation for op in module.body.operations)
    found = {symbol_name(op): op for op in tops if op.name == "func.func"}
    return Reader(found, RULES, on_elements, calls, OF_PAIRS)


def _pairs(types: Iterable[ir.Type]) -> tuple[bool, ...]:
    return tuple(map(is_complex, types))


def parsed(text: str | bytes) -> ir.Module:
    """A module of a text or of bytecode.

    Raises: FrontendError for what is no module.
    """
    context = dialects.make_context()
    load_foreign_dialects(context)
    context.allow_unregistered_dialects = True
    with context:
        try:
            module = ir.Module.parse(text)
        except ir.MLIRError as error:
            said = str(error).replace(f'"{NAMELESS}":', "line ")
            raise FrontendError(f"from_mlir: the text must be a module of MLIR, {said}") from None
        name = module.operation.attributes.get("sym_name")
        rename_files(
            module, NAMELESS, "module" if name is None else f"module @{ir.StringAttr(name).value}"
        )
        return module


@dataclass(frozen=True)
class Raised:
    """A function of tensors that was read from MLIR.

    Call it on tensors, where functions of ted are traced: it gives one tensor, or a tuple.
    `takes` and `gives` say which arguments and results are complex; none unless said.
    """

    system: System
    takes: tuple[bool, ...] = ()
    gives: tuple[bool, ...] = ()

    @property
    def __name__(self) -> str:
        return self.system.name

    def __call__(self, *arguments: Any) -> Any:
        """The results for one tensor per argument.

        Raises: FrontendError for another number of tensors, or one of another shape or type.
        """
        return of_elements(self.__name__)(self._of_tensors)(*arguments)

    def _of_tensors(self, *arguments: Any) -> Any:
        found = tuple(map(wrap, self.results(self.opened(arguments))))
        found = tuple(closed(found, self.gives)) if any(self.gives) else found
        return found[0] if len(found) == 1 else found

    def opened(self, arguments: Sequence[Any]) -> list[Any]:
        """The parts of complex arguments, and the others."""
        if not any(self.takes) or len(arguments) != len(self.takes):
            return list(arguments)
        rows = zip(arguments, self.takes, strict=True)
        return opened(pair(a) if is_pair else a for a, is_pair in rows)

    def results(self, arguments: Sequence[Any]) -> tuple[Any, ...]:
        """The nodes of the results.

        Raises: FrontendError as a call.
        """
        inputs, name = self.system.inputs, self.system.name
        if len(arguments) != len(inputs):
            raise FrontendError(f"{name}: takes {len(inputs)} tensors, got {len(arguments)}")
        given = [
            a if isinstance(a, Tensor) else wrap(captured(a, f"{name}: argument {k}"))
            for k, a in enumerate(arguments)
        ]
        for k, (tensor, wanted) in enumerate(zip(given, inputs, strict=True)):
            if (tensor.shape, tensor.dtype) != (wanted.shape, wanted.dtype):
                raise FrontendError(
                    f"{name}: argument {k} ({wanted.name}) must be {wanted.dtype}"
                    f"{list(wanted.shape)}, got {tensor.dtype}{list(tensor.shape)}"
                )
        mapping = {w: g.node for w, g in zip(inputs, given, strict=True)}
        return substituted(self.system.outputs, mapping)


def from_mlir(source: Any, name: str | None = None, calls: Calls = MappingProxyType({})) -> Raised:
    """The function of a module of MLIR in linalg, StableHLO, tensor, scf, affine and arith, or ted.

    `source` is the text, the bytecode or a module of ted's binding; `name` is the function, the
    only one or `main` if it is not said. `calls` has functions of ted by the targets of
    `stablehlo.custom_call` and the names of composites, which take their tensors and give their
    results.
    Raises: FrontendError for what is no module or has no such function; VerifyError for an op, a
    type or a size that has no equations.
    """
    module = parsed(source) if isinstance(source, (str, bytes)) else source
    if not isinstance(module, ir.Module):
        kind = type(source).__name__
        raise FrontendError(f"from_mlir: takes text, bytecode or a module of MLIR, got {kind}")
    with module.context:
        found = list(map(symbol_name, functions(module)))
        if name is not None and not isinstance(name, str):
            raise FrontendError(f"from_mlir: name is the name of a function, got {name!r}")
        wanted = name or (found[0] if len(found) == 1 else "main")
        if wanted not in found:
            raise FrontendError(
                f"from_mlir: the module must have a function '{wanted}', got {found}"
            )
        module = needed(module, wanted)  # which the reader does not keep
        own, reader = _equations(module), _lowered(module, calls)
        held = reader.functions[wanted].attributes["function_type"]
        kind = ir.FunctionType(ir.TypeAttr(held).value)
        system = own[wanted] if wanted in own else reader.system(wanted)
        return Raised(system, _pairs(kind.inputs), _pairs(kind.results))
