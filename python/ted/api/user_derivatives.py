"""Derivatives of the user's for one call of `differentiate`: `override` and `fdiff`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from ted.autodiff.override import Override
from ted.errors import DerivativeError
from ted.frontend.checks import called
from ted.frontend.tensors import Tensor, wrap
from ted.ir.equations import Tensor as Node
from ted.ir.equations import operands, topological
from ted.transforms.overrides import Overrides, carry, override_of

AdjointProduct: TypeAlias = Callable[[Tensor, Tensor, Tensor], Tensor]
OverrideTable: TypeAlias = (
    "Mapping[Tensor, tuple[Sequence[Tensor], Callable[[Tensor, Sequence[Tensor], Tensor], Any]]]"
)


_OVERRIDE_FORM = "has the form {tensor: ([dependencies], function)}"


def user_derivatives(
    outputs: Sequence[Node], override: OverrideTable | None, fdiff: AdjointProduct | None
) -> Overrides:
    """The override of a tensor: that of this call, else its own, else `fdiff` for each operand.

    Raises: DerivativeError when a dependency is no float tensor below the tensor that names it, no
    output depends on that, or `fdiff` is no function; FrontendError for a function of other
    parameters.
    """
    if fdiff is not None and not callable(fdiff):
        raise DerivativeError(
            f"differentiate: fdiff is a function of (out, inp, head), got {fdiff!r}"
        )
    entries = [] if override is None else _entries(override)
    table = {t.node: _override(t, *entry) for t, entry in entries}

    reached = set(topological(outputs) if table else ())
    for node in table:
        if node not in reached:
            raise DerivativeError(
                f"override of {node.name}: an output depends on the tensor, got none of "
                f"{[o.name for o in outputs]}; leave it out, or name the tensor that they read",
                node.location,
            )

    def find(node: Node) -> Override | None:
        found = table.get(node) or override_of(node)
        if found is None and fdiff is not None and node.dtype.is_float:
            return _stepwise(node, fdiff)
        return found

    return find


def _entries(override: OverrideTable) -> list[tuple[Tensor, Any]]:
    if not isinstance(override, Mapping):
        raise DerivativeError(f"differentiate: override {_OVERRIDE_FORM}, got {override!r}")
    for tensor, entry in override.items():
        fits = isinstance(tensor, Tensor) and isinstance(entry, tuple) and len(entry) == 2
        if not fits or not callable(entry[1]):
            raise DerivativeError(
                f"differentiate: override {_OVERRIDE_FORM}, got {tensor!r}: {entry!r}"
            )
    return list(override.items())


def _override(tensor: Tensor, dependencies: Any, fn: Callable[..., Any]) -> Override:
    several = isinstance(dependencies, (tuple, list))
    deps: list[Tensor] = list(dependencies) if several else [dependencies]
    below = topological([tensor.node])
    for d in deps:
        if not isinstance(d, Tensor) or d.node not in below or d is tensor or not d.dtype.is_float:
            raise DerivativeError(
                f"override of {tensor.name}: dependencies are float tensors that it is computed "
                f"from, got {d!r}",
                tensor.node.location,
            )

    def adjoints(node: Node, head: Node) -> Sequence[Node]:
        del node
        what = f"override of {tensor.name}"
        found = called(what, "fn(tensor, dependencies, head)", fn, tensor, deps, wrap(head))
        return adjoint_nodes(found, deps, what)

    return Override(tuple(d.node for d in deps), adjoints)


def adjoint_nodes(result: Any, dependencies: Sequence[Tensor], what: str) -> list[Node]:
    """What a user's derivative returned, as one node per dependency; None is zeros.

    Raises: DerivativeError when numbers, shapes or types do not fit.
    """
    results = list(result) if isinstance(result, (tuple, list)) else [result]
    if len(results) != len(dependencies):
        raise DerivativeError(
            f"{what}: one adjoint per dependency, got {len(results)} for {len(dependencies)}"
        )
    nodes = []
    for found, d in zip(results, dependencies, strict=True):
        if found is None:
            nodes.append(Node(f"d{d.name}", d.shape, d.dtype, 0))
            continue
        if not isinstance(found, Tensor) or (found.shape, found.dtype) != (d.shape, d.dtype):
            raise DerivativeError(
                f"{what}: an adjoint has the shape and type of its dependency, got {found!r} "
                f"for {d!r}"
            )
        nodes.append(found.node)
    return nodes


def _stepwise(node: Node, fdiff: AdjointProduct) -> Override:
    """One call of `fdiff` for each operand of a tensor."""
    own = wrap(node)
    steps = [wrap(o) for o in operands(node) if o.dtype.is_float and o is not node]

    def adjoints(cut: Node, head: Node) -> Sequence[Node]:
        del cut
        form = "fdiff(out, inp, head)"
        found = [called("differentiate", form, fdiff, own, step, wrap(head)) for step in steps]
        return adjoint_nodes(found, steps, f"fdiff of {own.name}")

    return Override(tuple(s.node for s in steps), adjoints)


def adjoint_product(out: Tensor, inp: Tensor, head: Tensor) -> Tensor:
    """One step of reverse mode: `head` times the derivative of `out` in its operand `inp` alone.

    Other tensors that `out` reads are constants here, also where they depend on `inp`; what it
    reads of itself, at earlier times, is not.
    Shapes: `head` like `out`, the result like `inp`.
    Raises: DerivativeError for a tensor of no float type, or a head of another shape or type than
    `out`.
    """
    for tensor in (out, inp, head):
        if not isinstance(tensor, Tensor) or not tensor.dtype.is_float:
            raise DerivativeError(f"adjoint_product: takes float tensors, got {tensor!r}")
    if (head.shape, head.dtype) != (out.shape, out.dtype):
        raise DerivativeError(
            f"adjoint_product: a head has the shape and type of its output {out!r}, got {head!r}"
        )
    from ted.transforms.gradient import differentiate  # for who asks for steps of a derivative

    # Not even `inp` is looked through: in a recurrence it is computed from `out` at earlier times.
    others = [o for o in operands(out.node) if o is not out.node]
    constants = {o: Override((), lambda node, head: ()) for o in others}
    found = differentiate(
        [out.node], [inp.node], [head.node], lambda n: constants.get(n) or override_of(n)
    )
    carry(found.moved)
    return wrap(found.gradients[0])
