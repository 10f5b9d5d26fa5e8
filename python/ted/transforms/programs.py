"""The functions of a module as systems: calls expanded, derivatives of the user's kept.

Before: func.func @f(x) { call @g(x) }   func.func @g attributes {ted.custom_vjp = @g_bwd}
After:  the system of @f, in which the results of @g carry an override that gives @g_bwd

A call is replaced by the equations of its callee.  The results of a function that has
`ted.custom_vjp` or `ted.checkpoint` are marked like those of `ted.custom_vjp` and `ted.checkpoint`
of the API, and the same sweep looks at the marks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ted.autodiff.override import Override
from ted.autodiff.vjp import copy_of
from ted.errors import SourceLocation, VerifyError
from ted.ir.equations import System, Tensor
from ted.ir.from_ops import from_function
from ted.mlir import ir
from ted.mlir.attributes import symbol
from ted.mlir.locations import source_location
from ted.mlir.queries import symbol_name
from ted.transforms.overrides import mark, substituted
from ted.transforms.recomputation import mark_recomputed

CUSTOM_VJP, CHECKPOINT = "ted.custom_vjp", "ted.checkpoint"


class Program:
    """The functions of a module by name, and their systems.

    Raises: VerifyError when `ted.custom_vjp` names a function of another type than its user needs.
    """

    def __init__(self, module: ir.Module) -> None:
        tops = (op.operation for op in module.body.operations)
        self.functions = {symbol_name(op): op for op in tops if op.name == "func.func"}
        self.systems: dict[str, System] = {}
        self.open: list[str] = []  # functions whose systems are being read
        for name, op in self.functions.items():
            self._check_attributes(name, op)

    def place(self, name: str) -> SourceLocation | None:
        """Where a function stands."""
        return source_location(self.functions[name].location)

    def has_body(self, name: str) -> bool:
        """Whether there is such a function, with a body."""
        return name in self.functions and bool(list(self.functions[name].regions[0].blocks))

    def system(self, name: str) -> System:
        """The system of a function.

        Raises: VerifyError when it has no body, calls itself, or has no equation form.
        """
        if name not in self.systems:
            if name in self.open:
                cycle = [*self.open[self.open.index(name) :], name]
                raise VerifyError(f"{name}: calls must not form a cycle, got {cycle}")
            if not self.has_body(name):
                raise VerifyError(f"function: a function that is called has a body, got @{name}")
            self.open.append(name)
            self.systems[name] = from_function(self.functions[name], self.call)
            self.open.pop()
        return self.systems[name]

    def primal(self, name: str) -> System:
        """The system of a function as its callers see it, its own attributes included."""
        own = self.system(name)
        if not self.is_marked(name):
            return own
        inputs = [Tensor(t.name, t.shape, t.dtype, location=t.location) for t in own.inputs]
        return System(tuple(inputs), tuple(self.call(name, inputs)), name)

    def is_marked(self, name: str) -> bool:
        """Whether a function says how it is to be differentiated."""
        attributes = self.functions[name].attributes
        return CUSTOM_VJP in attributes or CHECKPOINT in attributes

    def call(self, name: str, arguments: Sequence[Tensor]) -> Sequence[Tensor]:
        """What a function gives for arguments.

        Raises: VerifyError as `system`, and where `ted.custom_vjp` names no function.
        """
        outputs = self._instance(name, arguments)
        if not self.is_marked(name):
            return outputs
        results = [replace(t, fill=0, equations=(replace(copy_of(t), combiner="set"),), time=None)
                   for t in outputs]  # fmt: skip
        if CHECKPOINT in self.functions[name].attributes:
            mark_recomputed(results, outputs, arguments)
            return results
        for k, result in enumerate(results):
            if result.dtype.is_float:
                mark(result, self._custom(name, arguments, outputs, k))
        return results

    def _instance(self, name: str, arguments: Sequence[Tensor]) -> tuple[Tensor, ...]:
        system = self.system(name)
        return substituted(system.outputs, dict(zip(system.inputs, arguments, strict=True)))

    def _custom(
        self, name: str, arguments: Sequence[Tensor], outputs: Sequence[Tensor], position: int
    ) -> Override:
        """The derivative of one result: the others have a cotangent of zero."""
        backward = symbol(self.functions[name], CUSTOM_VJP)
        place = self.place(name)

        def adjoints(tensor: Tensor, head: Tensor) -> Sequence[Tensor]:
            del tensor
            heads = [
                head if k == position else Tensor(f"d{t.name}", t.shape, t.dtype, 0, (), place)
                for k, t in enumerate(outputs)
                if t.dtype.is_float
            ]
            return self._instance(backward, [*arguments, *outputs, *heads])

        return Override(tuple(t for t in arguments if t.dtype.is_float), adjoints)

    # ---- attributes and references ---------------------------------------------------------------

    def references(self, name: str) -> Iterator[str]:
        """The functions that a function calls, and the one that differentiates it.

        Raises: VerifyError for an attribute that names no function.
        """
        op = self.functions[name]
        if CUSTOM_VJP in op.attributes:
            yield symbol(op, CUSTOM_VJP)
        for block in op.regions[0].blocks:
            for inner in block.operations:
                if inner.operation.name == "func.call":
                    yield symbol(inner.operation, "callee")

    def reachable(self, name: str) -> set[str]:
        """A function and all that it refers to."""
        found, stack = set[str](), [name]
        while stack:
            one = stack.pop()
            if one not in found and one in self.functions:
                found.add(one)
                stack += self.references(one)
        return found

    def _check_attributes(self, name: str, op: ir.Operation) -> None:
        if CUSTOM_VJP not in op.attributes:
            return
        if CHECKPOINT in op.attributes:
            raise VerifyError(
                f"{name}: a function has {CUSTOM_VJP} or {CHECKPOINT}, got both", self.place(name)
            )
        backward = symbol(op, CUSTOM_VJP)
        if backward not in self.functions:
            raise VerifyError(
                f"{name}: {CUSTOM_VJP} must name a function, got @{backward}", self.place(name)
            )
        own, given = _type(op), _type(self.functions[backward])
        heads = [t for t in own.results if _is_float(t)]
        wanted = ir.FunctionType.get(
            [*own.inputs, *own.results, *heads], [t for t in own.inputs if _is_float(t)]
        )
        if given != wanted:
            raise VerifyError(
                f"{name}: {CUSTOM_VJP} takes arguments, results and a cotangent for each float "
                f"result, and gives a gradient for each float argument, {wanted}, got @{backward} "
                f"of type {given}",
                self.place(name),
            )


def _type(function: ir.Operation) -> ir.FunctionType:
    return ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)


def _is_float(kind: ir.Type) -> bool:
    element = kind.element_type if isinstance(kind, ir.RankedTensorType) else kind
    return isinstance(element, ir.FloatType)
