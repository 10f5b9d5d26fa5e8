"""What every gradient promises: gathers, no tensor beyond the largest forward one, bounded work."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import ted
from ted import nn
from ted.frontend.tensors import Tensor
from ted.ir.equations import topological
from ted.ir.from_ops import from_module
from ted.ir.printing import format_tensor
from ted.mlir import ir
from ted.transforms.gradient import vjp_system


def p(name: str, *shape: int) -> Tensor:
    return ted.placeholder(shape, "float64", name=name)


def conv(stride: int, padding: int, dilation: int, groups: int, layout: str = "NHWC") -> Tensor:
    x = p("x", 2, 11, 12, 4) if layout == "NHWC" else p("x", 2, 4, 11, 12)
    w = p("w", 3, 3, 4 // groups, 6) if layout == "NHWC" else p("w", 6, 4 // groups, 3, 3)
    options = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
    return nn.conv2d(x, w, layout=layout, **options)


def triangle() -> Tensor:
    a, b = p("a", 6, 6), p("b", 6)
    r = ted.reduce_axis(6, name="r")
    return ted.compute((6,), lambda i: ted.sum(a[i, r] * b[r], axis=r, where=r <= i), name="t")


def diagonal() -> Tensor:
    a = p("a", 5, 5)
    return ted.compute((5,), lambda i: a[i, i] ** 2, name="d")


def quotients() -> Tensor:
    a = p("a", 12)
    return ted.compute((20,), lambda i: a[i // 4] * a[i % 5], name="q")


def clamped() -> Tensor:
    a = p("a", 10, 4)
    return ted.compute((6, 8, 4), lambda i, j, k: a[ted.minimum(i + j, 9), k] ** 2, name="c")


def skewed() -> Tensor:
    a = p("a", 24)
    return ted.compute((5, 5), lambda i, j: ted.where(j <= i, a[2 * i + 3 * j], 0.0), name="s")


def batch_norm() -> Tensor:
    x, scale, shift = p("x", 6, 5), p("scale", 5), p("shift", 5)
    result = nn.batch_norm(x, scale, shift)
    return result[0] if isinstance(result, tuple) else result


OPERATORS: dict[str, Callable[[], Tensor]] = {
    "matmul": lambda: p("a", 6, 5) @ p("b", 5, 7),
    "batched matmul": lambda: p("a", 3, 6, 5) @ p("b", 3, 5, 7),
    "broadcast": lambda: p("a", 6, 5) * p("b", 5),
    "transpose": lambda: p("a", 6, 5).T * 2.0,
    **{
        f"conv2d s{s} p{q} d{d} g{g}": (lambda s=s, q=q, d=d, g=g: conv(s, q, d, g))
        for s, q, d, g in [(1, 0, 1, 1), (1, 1, 1, 1), (2, 1, 1, 1), (3, 2, 2, 2), (2, 1, 3, 1)]
    },
    "conv2d NCHW": lambda: conv(2, 1, 1, 1, "NCHW"),
    "depthwise": lambda: nn.depthwise_conv2d(p("x", 2, 9, 9, 4), p("w", 3, 3, 4, 1), stride=2),
    "max pool": lambda: nn.max_pool2d(p("x", 2, 8, 8, 3), 2),
    "overlapping max pool": lambda: nn.max_pool2d(p("x", 2, 9, 9, 3), 3, stride=2),
    "average pool": lambda: nn.avg_pool2d(p("x", 2, 9, 9, 3), 3, stride=2),
    "flatten": lambda: p("x", 2, 3, 4, 5).reshape(2, -1) ** 2,
    "reshape": lambda: p("x", 2, 3, 4, 5).reshape(8, 15) ** 2,
    "concatenate": lambda: ted.concatenate([p("a", 3, 4), p("b", 2, 4)], axis=0) ** 2,
    "strided slice": lambda: p("x", 9, 5)[1::2, ::-1] ** 2,
    "pad": lambda: ted.pad(p("x", 5, 6), ((1, 2), (0, 3)), mode="reflect") ** 2,
    "diagonal": diagonal,
    "softmax": lambda: nn.softmax(p("x", 4, 9)),
    "log softmax": lambda: nn.log_softmax(p("x", 4, 9)),
    "layer norm": lambda: nn.layer_norm(p("x", 4, 9), p("scale", 9), p("shift", 9)),
    "batch norm": batch_norm,
    "triangle": triangle,
    "quotients": quotients,
    "clamped": clamped,
    "skewed": skewed,
}
# Window maxima recompute their arg, and rows of one operation have nothing to share with.
RATIO = 4.0


def gradients(y: Tensor) -> ted.api.DifferentiationResult:
    return ted.differentiate(y, head=p("head", *y.shape))


@pytest.mark.parametrize("name", OPERATORS)
def test_every_adjoint_is_a_gather_with_disjoint_writes(name: str) -> None:
    report = gradients(OPERATORS[name]()).report()
    assert not report.scatters
    assert all(e.disjoint for e in report.equations)


@pytest.mark.fast(3)
@pytest.mark.parametrize("name", OPERATORS)
def test_second_order_is_made_of_gathers_too(name: str) -> None:
    first = gradients(OPERATORS[name]())
    squares = [ted.sum(g * g) for g in first]
    total = squares[0]
    for square in squares[1:]:
        total = total + square
    assert not ted.differentiate(total).report().scatters


@pytest.mark.parametrize("name", OPERATORS)
def test_no_tensor_is_larger_than_the_largest_forward_one(name: str) -> None:
    y = OPERATORS[name]()
    forward = max(t.size for t in topological([y.node]))
    result = gradients(y)
    assert max(t.size for t in topological([g.node for g in result])) <= forward


@pytest.mark.parametrize("name", OPERATORS)
def test_work_is_bounded(name: str) -> None:
    y = OPERATORS[name]()
    report = gradients(y).report()
    if report.primal:
        assert report.ratio is not None
        assert report.ratio <= RATIO


@pytest.mark.parametrize("n", range(1, 9))
def test_symmetrised_sum_costs_a_constant_factor_at_every_size(n: int) -> None:
    a = p("a", n, n)
    report = gradients(ted.compute((n, n), lambda i, j: a[i, j] + a[j, i])).report()
    assert report.ratio is not None
    assert report.ratio <= RATIO


ROAD = "ted-inline-pointwise,ted-split-dims,ted-differentiate,ted-scatter-to-gather,ted-simplify"


@pytest.mark.parametrize("name", ["matmul", "conv2d s2 p1 d1 g1", "max pool", "triangle", "skewed"])
def test_passes_and_api_find_the_same_equations(name: str) -> None:
    y = OPERATORS[name]()
    inputs = [n for n in topological([y.node]) if n.is_input]
    head = p(f"d{y.name}", *y.shape)
    by_api = ted.differentiate(y, [ted.frontend.tensors.wrap(n) for n in inputs], head=head)
    by_passes = _through_passes(y, len(inputs))
    assert [_equations(g.node) for g in by_api] == [_equations(t) for t in by_passes]


def _equations(tensor: object) -> list[str]:
    return format_tensor(tensor).splitlines()[1:]  # type: ignore[arg-type]


def _through_passes(y: Tensor, count: int) -> list[object]:
    from ted.ir.pass_driver import run_pipeline

    module = ted.module(y)
    system = from_module(module)
    asked = vjp_system(system, range(count), "main_vjp")
    with module.context, ir.Location.unknown():
        types = [_type(t) for t in asked.inputs], [_type(t) for t in asked.outputs]
        text = f"({', '.join(types[0])}) -> ({', '.join(types[1])})"
        request = f"func.func private @main_vjp{text} attributes {{ted.vjp_of = @main}}"
        module.body.append(ir.Operation.parse(request))
        run_pipeline(module, f"builtin.module({ROAD})")
        return list(from_module(module, "main_vjp").outputs)[len(system.outputs) :]


def _type(tensor: object) -> str:
    shape = "x".join(map(str, tensor.shape))  # type: ignore[attr-defined]
    return f"tensor<{shape}x{tensor.dtype.mlir}>"  # type: ignore[attr-defined]
