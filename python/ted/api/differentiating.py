"""`ted.differentiate`: gradients of tensors as ordinary tensors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any, NoReturn, overload

from ted import dialects
from ted.api.derived import derived
from ted.api.head_prefixes import split_heads, with_prefix
from ted.api.user_derivatives import AdjointProduct, OverrideTable, user_derivatives
from ted.errors import DerivativeError, DomainError
from ted.forking import cached_property
from ted.frontend import checks
from ted.frontend.complex_pairs import Complex, parts_instead
from ted.frontend.systems import unique_names
from ted.frontend.tensors import Tensor, wrap
from ted.ir.constant_inputs import arguments_of, with_constant_inputs
from ted.ir.equations import System, topological
from ted.ir.equations import Tensor as Node
from ted.ir.saved_values import with_saved_values
from ted.ir.specialising import checked_values, sizes_of, specialise
from ted.records import dataclass
from ted.transforms.overrides import carry

if TYPE_CHECKING:
    from ted.transforms.gradient import Gradient
    from ted.transforms.gradient_report import GradientReport


@dataclass(frozen=True)
class DifferentiationResult(Sequence[Tensor]):
    """The gradients in the order of the inputs; `adjoints` has those of intermediate tensors."""

    outputs: tuple[Tensor, ...]
    inputs: tuple[Tensor, ...]
    gradients: tuple[Node, ...]
    derive: Callable[[], Gradient]

    @cached_property
    def found(self) -> Gradient:
        """The gradients and all else that was derived with them."""
        found = self.derive()
        own = dict(zip(found.gradients, self.gradients, strict=True))
        adjoints = {t: own.get(d, d) for t, d in found.adjoints.items()}
        return replace(found, gradients=self.gradients, adjoints=adjoints)

    @overload
    def __getitem__(self, position: int) -> Tensor: ...
    @overload
    def __getitem__(self, position: slice) -> Sequence[Tensor]: ...
    def __getitem__(self, position: int | slice) -> Tensor | Sequence[Tensor]:
        if isinstance(position, slice):
            return [wrap(n) for n in self.gradients[position]]
        return wrap(self.gradients[position])

    def __len__(self) -> int:
        return len(self.gradients)

    def __iter__(self) -> Iterator[Tensor]:
        return (wrap(n) for n in self.gradients)

    @property
    def unused(self) -> tuple[Tensor, ...]:
        """The inputs on which no output depends: their gradients are zeros."""
        reached = set(topological([o.node for o in self.outputs]))
        pairs = zip(self.inputs, self.gradients, strict=True)
        return tuple(x for x, g in pairs if x.node not in reached or g.is_zero)

    def __repr__(self) -> str:
        pairs = zip(self.inputs, self.gradients, strict=True)
        listed = ", ".join(f"d{x.name}: {x.dtype}{list(g.shape)}" for x, g in pairs)
        unused = ", ".join(x.name for x in self.unused)
        return f"DifferentiationResult({listed}{f'; zeros: {unused}' if unused else ''})"

    @property
    def adjoints(self) -> Mapping[Tensor, Tensor]:
        """The adjoint of every tensor between the inputs and the outputs."""
        return {wrap(t): wrap(d) for t, d in self.found.adjoints.items()}

    @cached_property
    def adjoint_summands(self) -> Mapping[Tensor, Mapping[Tensor, Tensor]]:
        """What each adjoint is the sum of: {tensor: {tensor that reads it: its part}}, each part
        a tensor like any other.  To the adjoint of an output its head is added.
        """
        parts = self.found.summands()
        unique_names(System((), tuple(p for readers in parts.values() for p in readers.values())))
        return {
            wrap(t): {wrap(reader): wrap(part) for reader, part in readers.items()}
            for t, readers in parts.items()
        }

    def report(self, **sizes: int) -> GradientReport:
        """Which gradients are gathers and what they cost, recomputed from the IR of the program
        that computes the outputs and the gradients; what was said when they were derived.

        Symbolic sizes need values, by name: the counts are those of the program of these sizes.
        Raises: DerivativeError for a missing or an unknown size.
        """
        from ted.ir.to_ops import to_module
        from ted.transforms.ted_report_gradient import report_function

        nodes = [o.node for o in self.outputs] + list(self.gradients)
        system = with_constant_inputs(System(placeholders(nodes), tuple(nodes), "gradient"))
        try:
            values = checked_values(sizes_of(system), sizes)
        except DomainError as error:
            raise DerivativeError(f"report: {error}") from None
        with dialects.session():
            known = specialise(system, values) if values else system
            module = to_module(with_saved_values(known))
            report = report_function(module, "gradient", results=len(self.outputs))
            results = replace(known, outputs=known.outputs[: len(self.outputs)])
            alone = report_function(to_module(results), "gradient")
        said = tuple(dict.fromkeys(map(str, self.found.remarks)))
        return replace(report, remarks=said, alone=alone)

    def __str__(self) -> str:
        from ted.ir.printing import format_tensor

        primals = set(self.found.adjoints)
        shown = [n for n in topological(self.gradients) if not n.is_input and n not in primals]
        return "\n".join(format_tensor(n) for n in shown)


def differentiate(
    output: Tensor | Sequence[Tensor],
    inputs: Tensor | Sequence[Tensor] | None = None,
    head: Tensor | Sequence[Tensor] | None = None,
    override: OverrideTable | None = None,
    fdiff: AdjointProduct | None = None,
) -> DifferentiationResult:
    """Vector-Jacobian products: the gradients of <head, output> with respect to `inputs`.

    Shapes: `head` has the shape and type of `output`, a list of heads belongs to a list of
    outputs; gradients have the shapes and types of `inputs` (default: all float placeholders).
    Heads may have the same dims in front, which all gradients and adjoints then have in front too:
    a gradient for each index.
    A scalar output needs no head; an input that no output depends on has zeros (`.unused`).
    `override={t: ([deps], fn)}` replaces what lies between `deps` and t: `fn(t, deps, head)` gives
    one adjoint per dependency, which need not be an operand of t.  `fdiff(out, inp, head)` replaces
    `adjoint_product` as the derivative of every single step.
    Raises: DerivativeError for a missing or ill-shaped head, an integer input or output, an
    operation without a derivative rule, or an override that does not fit its dependencies or of
    what no output depends on.
    """
    outputs = _listed(output, "output")
    heads = _heads(outputs, head)
    nodes = [o.node for o in outputs]
    wanted = _default_inputs(nodes) if inputs is None else _listed(inputs, "inputs")
    for tensor in (*outputs, *wanted):
        if not tensor.dtype.is_float:
            _fail(f"only float tensors have gradients, got {tensor.name} of {tensor.dtype}", tensor)
    for tensor in wanted:
        if tensor.node.constant is not None:
            rule = "a constant has no gradient; make it a ted.placeholder, or an argument"
            _fail(f"{rule}, got {tensor.name}", tensor)
    chosen = user_derivatives(nodes, override, fdiff)
    cotangents = split_heads(outputs, heads)
    points = [t.node for t in wanted]

    @cache
    def derive() -> Gradient:
        from ted.transforms import gradient  # not where the disk knows what is derived

        found = gradient.differentiate(nodes, points, cotangents.single, chosen)
        carry(found.moved)
        found = with_prefix(found, cotangents)
        unique_names(System(placeholders(nodes), tuple(found.gradients)))
        return found

    given = nodes, cotangents.given, points
    gradients = derived("vjp", given, points, lambda: derive().gradients, chosen)
    return DifferentiationResult(tuple(outputs), tuple(wanted), tuple(gradients), derive)


def _listed(value: Any, what: str) -> list[Tensor]:
    if not (isinstance(value, Tensor) or checks.is_several(value)) or isinstance(value, Complex):
        raise DerivativeError(
            f"differentiate: {what} must be ted tensors, got {type(value).__name__} {value!r}"
            f"{parts_instead(value)}"
        )
    values = [value] if isinstance(value, Tensor) else list(value)
    for item in values:
        if not isinstance(item, Tensor):
            raise DerivativeError(
                f"differentiate: {what} must be ted tensors, got {type(item).__name__} {item!r}"
                f"{parts_instead(item)}"
            )
    return values


def _default_inputs(outputs: Sequence[Node]) -> list[Tensor]:
    return [wrap(n) for n in placeholders(outputs) if n.dtype.is_float]


def placeholders(roots: Sequence[Node]) -> tuple[Node, ...]:
    """The placeholders that the roots need, in order of first use."""
    return arguments_of(n for n in topological(roots) if n.is_input)


def _heads(outputs: Sequence[Tensor], head: Any) -> list[Tensor]:
    """One cotangent per output; ones for scalar outputs when none is given."""
    if head is None:
        return [_one(o) for o in outputs]
    heads = _listed(head, "head")
    if len(heads) != len(outputs):
        raise DerivativeError(
            f"differentiate: one head per output, got {len(heads)} for {len(outputs)} outputs"
        )
    return heads


def _one(output: Tensor) -> Tensor:
    if output.shape != ():
        _fail(
            f"output {output.name} has shape {output.shape} and no head; give head= for a "
            "vector-Jacobian product, or ask for ted.jacobian",
            output,
        )
    return wrap(Node(f"d{output.name}", (), output.dtype, 1, (), output.node.location))


def _fail(rule: str, tensor: Tensor) -> NoReturn:
    raise DerivativeError(f"differentiate: {rule}", tensor.node.location)
