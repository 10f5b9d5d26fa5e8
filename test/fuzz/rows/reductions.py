"""Rows of reductions, contractions, running totals and operators over rows."""

from __future__ import annotations

from fuzz.pool import Pool, Unsuitable, type_name
from fuzz.rows.row import Drawn, Row, row


def along(pool: Pool) -> Drawn:
    """A float, one dim, and whether it stays."""
    x = pool.floating(1)
    return Drawn((x,), {"axis": pool.axis(x), "keep": pool.chance(0.3)})


def along_several(pool: Pool) -> Drawn:
    """A float and some of its dims."""
    x = pool.floating(1)
    dims = range(len(pool.shape(x)))
    axes = tuple(k for k in dims if pool.chance(0.6)) or (0,)
    return Drawn((x,), {"axis": axes, "keep": pool.chance(0.3)})


def masked(pool: Pool) -> Drawn:
    """A float, a mask of its shape, a dim."""
    c = pool.pick(lambda v: type_name(v) == "bool" and v.ndim >= 1)
    x = pool.pick(lambda v: v.is_floating_point() and v.shape == pool.values[c].shape)
    return Drawn((x, c), {"axis": pool.axis(x), "start": pool.choose((0, 2))})


def short(pool: Pool) -> Drawn:
    """A dim of few elements: products stay small."""
    x = pool.pick(lambda v: v.is_floating_point() and v.ndim >= 1 and min(v.shape) <= 5)
    axis = pool.choose([k for k, n in enumerate(pool.shape(x)) if n <= 5])
    return Drawn((x,), {"axis": axis, "reverse": pool.chance(0.5), "keep": False})


def running(pool: Pool) -> Drawn:
    """A dim and a direction."""
    x = pool.floating(1)
    return Drawn((x,), {"axis": pool.axis(x), "reverse": pool.chance(0.5)})


def bools(pool: Pool) -> Drawn:
    """A condition with a dim."""
    x = pool.pick(lambda v: type_name(v) == "bool" and v.ndim >= 1)
    return Drawn((x,), {"axis": pool.axis(x)})


def whole(pool: Pool) -> Drawn:
    """An integer with a dim."""
    x = pool.integral(1)
    return Drawn((x,), {"axis": pool.axis(x), "t": type_name(pool.values[x])})


def product(pool: Pool) -> Drawn:
    """Two operands of a matrix product; the second one maybe transposed into fitting."""
    x = pool.floating(1, 3)
    n, kind = pool.shape(x)[-1], pool.values[x].dtype
    y = pool.pick(lambda v: v.dtype == kind and v.ndim == 2 and n in v.shape)
    return Drawn((x, y), {"T": "" if pool.shape(y)[0] == n else ".T"})


def outer(pool: Pool) -> Drawn:
    """Two vectors, or batches of them, and a formula."""
    x = pool.floating(1, 2)
    kind, shape = pool.values[x].dtype, pool.shape(x)
    y = pool.pick(lambda v: v.dtype == kind and v.ndim in (1, 2))
    left, right = "ab"[: len(shape)], "cd"[: len(pool.shape(y))]
    size = dict(zip(left, shape, strict=True))
    for k, (letter, extent) in enumerate(zip(right, pool.shape(y), strict=True)):
        equal = [m for m, n in size.items() if n == extent and m not in right]
        if equal and pool.chance(0.7):
            right = right[:k] + pool.choose(equal) + right[k + 1 :]
        else:
            size[letter] = extent
    letters = sorted(set(left + right))
    kept = [c for c in letters if pool.chance(0.5)]
    pool.random.shuffle(kept)
    return Drawn((x, y), {"formula": f"{left},{right}->{''.join(kept)}"})


def affine(pool: Pool) -> Drawn:
    """Two operands of one shape for a reducer of pairs, with a short dim."""
    x = pool.pick(lambda v: v.is_floating_point() and v.ndim >= 1 and min(v.shape) <= 5)
    axis = pool.choose([k for k, n in enumerate(pool.shape(x)) if n <= 5])
    return Drawn((x, pool.like(x, pool.shape(x))), {"axis": axis, "k": pool.integer(0, 1)})


def image(pool: Pool) -> Drawn:
    """A window over the last but one dim of (batch, place, channel)."""
    x = pool.pick(lambda v: v.is_floating_point() and v.ndim == 3 and 0 not in v.shape)
    n, c = pool.shape(x)[1:]
    kind = pool.values[x].dtype
    y = pool.pick(lambda v: v.dtype == kind and v.ndim == 3 and v.shape[1] == c)
    window = pool.shape(y)[0]
    padding, stride = pool.integer(0, 2), pool.integer(1, 3)
    dilation = pool.integer(1, 2)
    if not window or n + 2 * padding < (window - 1) * dilation + 1 or not pool.shape(y)[2]:
        raise Unsuitable
    fields = {"padding": padding, "stride": stride, "dilation": dilation}
    return Drawn((x, y), fields)


_ARG = "torch.{which}({{x}}, {{axis}}, {{keep}})"
# Twice the largest minus the largest two: the distance between the best and the next.
_GAP = "torch.diff({x}.sort({axis}).values, dim={axis})"

ROWS: tuple[Row, ...] = (
    row("sum", along_several, "ted.sum({x}, {axis}, keepdims={keep})",
        "{x}.sum({axis}, {keep})", True, weight=5, jax="jnp.sum({x}, {axis}, keepdims={keep})"),
    row("mean", along_several, "ted.mean({x}, {axis}, keepdims={keep})",
        "{x}.mean({axis}, {keep})", jax="jnp.mean({x}, {axis}, keepdims={keep})"),
    row("max", along, "ted.max({x}, {axis}, keepdims={keep})",
        "first(torch.argmax, {x}, {axis}, {keep})", True, _GAP, weight=2,
        jax="jnp.max({x}, {axis}, keepdims={keep})"),
    row("min", along, "ted.min({x}, {axis}, keepdims={keep})",
        "first(torch.argmin, {x}, {axis}, {keep})", True, _GAP,
        jax="jnp.min({x}, {axis}, keepdims={keep})"),
    row("max_even", along, "ted.max({x}, {axis}, keepdims={keep}, ties='even')",
        "torch.amax({x}, {axis}, {keep})", False, _GAP),
    row("argmax", along, "ted.argmax({x}, {axis}, keepdims={keep})",
        _ARG.format(which="argmax"), True, _GAP, jax="jnp.argmax({x}, {axis}, keepdims={keep})"),
    row("argmin", along, "ted.argmin({x}, {axis}, keepdims={keep})",
        _ARG.format(which="argmin"), True, _GAP, weight=0.5),
    row("masked_sum", masked, "ted.sum({x}, {axis}, where={y}, init={start})",
        "torch.where({y}, {x}, 0).sum({axis}) + {start}", True, weight=2),
    row("masked_max", masked, "ted.max({x}, {axis}, where={y}, init=-9.0)",
        "torch.amax(torch.where({y}, {x}, -9.0), {axis})", False,
        "torch.diff(torch.where({y}, {x}, -9.0).sort({axis}).values, dim={axis})"),
    row("prod", short, "ted.prod({x}, {axis})", "product({x}, {axis})", True,
        jax="jnp.prod({x}, {axis})"),
    row("any", bools, "ted.any({x}, {axis})", "{x}.any({axis})", True, weight=0.5),
    row("all", bools, "ted.all({x}, {axis})", "{x}.all({axis})", True, weight=0.5),
    row("integer_sum", whole, "ted.sum({x}, {axis}, dtype='int64')", "{x}.sum({axis})", True),
    row("integer_peak", whole, "ted.max({x}, {axis})", "{x}.amax({axis})", True),
    row("logsumexp", along, "ted.logsumexp({x}, {axis}, keepdims={keep})",
        "torch.logsumexp({x}, {axis}, {keep})",
        jax="jax.scipy.special.logsumexp({x}, {axis}, keepdims={keep})"),
    row("matmul", product, "{x} @ {y}{T}", "{x} @ {y}{T}", True, weight=4, jax="{x} @ {y}{T}"),
    row("einsum", outer, "ted.einsum('{formula}', {x}, {y})",
        "torch.einsum('{formula}', {x}, {y})", True, weight=3,
        jax="jnp.einsum('{formula}', {x}, {y})"),
    row("cumsum", running, "ted.cumsum({x}, {axis}, reverse={reverse})",
        "cumulative(torch.cumsum, {x}, {axis}, {reverse})", True, weight=2),
    row("cumprod", short, "ted.cumprod({x}, {axis}, reverse={reverse})",
        "cumulative(running_products, {x}, {axis}, {reverse})", True),
    row("softmax", along, "ted.nn.softmax({x}, {axis})", "F.softmax({x}, {axis})", weight=2,
        jax="jax.nn.softmax({x}, {axis})"),
    row("log_softmax", along, "ted.nn.log_softmax({x}, {axis})", "F.log_softmax({x}, {axis})",
        jax="jax.nn.log_softmax({x}, {axis})"),
    row("standardised", along,
        "({x} - ted.mean({x}, {axis}, keepdims=True)) "
        "* ted.rsqrt(ted.mean(ted.square({x}), {axis}, keepdims=True) + 0.1)",
        "({x} - {x}.mean({axis}, True)) * torch.rsqrt({x}.square().mean({axis}, True) + 0.1)"),
    row("affine_reducer", affine,
        "ted.reducer(lambda a, b: (a[0] * b[0], a[1] * b[0] + b[1]), (1.0, 0.0))"
        "(({x}, {y}), axis={axis})[{k}]",
        "affine({x}, {y}, {axis})[{k}]", True),
    row("product_reducer", short, "ted.reducer(lambda a, b: a * b, 1.0)({x}, axis={axis})",
        "product({x}, {axis})", True),
    row("conv1d", image,
        "ted.nn.conv1d({x}, {y}, stride={stride}, padding={padding}, dilation={dilation})",
        "F.conv1d({x}.permute(0, 2, 1), {y}.permute(2, 1, 0), None, {stride}, {padding}, "
        "{dilation}).permute(0, 2, 1)", True, weight=2),
)  # fmt: skip
