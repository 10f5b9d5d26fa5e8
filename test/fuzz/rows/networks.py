"""Rows of `ted.nn`: layers, norms, pools, attention, losses."""

from __future__ import annotations

from fuzz.pool import Pool, Unsuitable, type_name
from fuzz.rows.pointwise import one
from fuzz.rows.reductions import along
from fuzz.rows.row import Drawn, Row, row

LARGEST = 300


def picture(pool: Pool) -> Drawn:
    """An image (n, h, w, c), made of what has so many elements, a window, a stride, a padding."""
    x = pool.pick(lambda v: v.is_floating_point() and v.ndim >= 2 and 0 < v.numel() <= LARGEST)
    shape = pool.shape(x)
    image = {2: (1, *shape, 1), 3: (*shape, 1), 4: shape}[len(shape)]
    window, stride = pool.integer(1, 3), pool.integer(1, 3)
    padding = pool.integer(0, window // 2)
    if min(image[1:3]) + 2 * padding < window:
        raise Unsuitable
    return Drawn((x,), {"image": image, "window": window, "stride": stride, "padding": padding})


def filtered(pool: Pool) -> Drawn:
    """An image, and a matrix as weights (kh, kw, 1, 1)."""
    drawn = picture(pool)
    image = drawn.fields["image"]
    kind = pool.values[drawn.args[0]].dtype
    w = pool.pick(lambda v: v.dtype == kind and v.ndim == 2 and 0 < v.numel() <= 12)
    kh, kw = pool.shape(w)
    padding, dilation = pool.integer(0, 2), pool.integer(1, 2)
    reach = ((kh - 1) * dilation, (kw - 1) * dilation)
    if any(n + 2 * padding <= r for n, r in zip(image[1:3], reach, strict=True)):
        raise Unsuitable
    fields = {**drawn.fields, "padding": padding, "dilation": dilation, "c": image[3]}
    return Drawn((drawn.args[0], w), fields)


def attended(pool: Pool) -> Drawn:
    """Queries, keys and values of one width."""
    q = pool.floating(2, 2)
    d, kind = pool.shape(q)[1], pool.values[q].dtype
    k = pool.pick(lambda v: v.dtype == kind and v.ndim == 2 and v.shape[1] == d and v.shape[0])
    v = pool.like(k, pool.shape(k))
    causal = pool.chance(0.5)
    if not d or (causal and pool.shape(k)[0] < pool.shape(q)[0]):
        raise Unsuitable
    return Drawn((q, k, v), {"causal": causal})


def scores(pool: Pool) -> Drawn:
    """Scores of classes, and integers as labels."""
    x = pool.pick(lambda v: v.is_floating_point() and v.ndim == 2 and 0 not in v.shape)
    rows, classes = pool.shape(x)
    labels = pool.pick(lambda v: type_name(v).startswith("int") and tuple(v.shape) == (rows,))
    return Drawn((x, labels), {"n": classes, "reduction": pool.choose(("mean", "sum", "none"))})


def grouped(pool: Pool) -> Drawn:
    """An axis that a number of groups divides, of what has another dim before it."""
    x = pool.pick(lambda v: v.is_floating_point() and v.ndim >= 2 and 0 not in v.shape)
    channels = pool.shape(x)[1]
    groups = pool.choose([g for g in (1, 2, 3, 4) if channels % g == 0])
    return Drawn((x,), {"groups": groups})


def along_one_of_many(pool: Pool) -> Drawn:
    """One of two or more dims."""
    x = pool.floating(2)
    return Drawn((x,), {"axis": pool.axis(x)})


def turned(pool: Pool) -> Drawn:
    """A width behind the last dim, and what is there."""
    x = pool.pick(lambda v: v.is_floating_point() and v.ndim >= 1 and v.shape[-1] > 2)
    return Drawn(
        (x,), {"width": pool.integer(1, 2), "mode": pool.choose(("edge", "reflect", "wrap"))}
    )


_IMAGE = "{x}.reshape({image}).permute(0, 3, 1, 2)"
_BACK = ".permute(0, 2, 3, 1)"

ROWS: tuple[Row, ...] = (
    row("gelu", one, "ted.nn.gelu({x})", "F.gelu({x})", jax="jax.nn.gelu({x}, approximate=False)"),
    row("silu", one, "ted.nn.silu({x})", "F.silu({x})", jax="jax.nn.silu({x})"),
    row("elu", one, "ted.nn.elu({x})", "F.elu({x})", False, "{x}", jax="jax.nn.elu({x})"),
    row("leaky_relu", one, "ted.nn.leaky_relu({x}, 0.5)", "F.leaky_relu({x}, 0.5)", False, "{x}"),
    row("layer_norm", along, "ted.nn.layer_norm({x}, axis={axis}, eps=0.1)",
        "(({x} - {x}.mean({axis}, True)) * torch.rsqrt({x}.var({axis}, correction=0, keepdim=True) "
        "+ 0.1))", weight=2),
    row("rms_norm", along, "ted.nn.rms_norm({x}, axis={axis}, eps=0.1)",
        "{x} * torch.rsqrt({x}.square().mean({axis}, True) + 0.1)"),
    row("batch_norm", along_one_of_many, "ted.nn.batch_norm({x}, axis={axis}, eps=0.1)",
        "batch_norm({x}, {axis})"),
    row("group_norm", grouped, "ted.nn.group_norm({x}, {groups}, axis=1, eps=0.1)",
        "F.group_norm({x}, {groups}, eps=0.1)"),
    row("max_pool", picture,
        "ted.nn.max_pool2d(ted.reshape({x}, {image}), {window}, {stride}, {padding})",
        f"F.max_pool2d({_IMAGE}, {{window}}, {{stride}}, {{padding}}){_BACK}", True),
    row("avg_pool", picture,
        "ted.nn.avg_pool2d(ted.reshape({x}, {image}), {window}, {stride}, {padding})",
        f"F.avg_pool2d({_IMAGE}, {{window}}, {{stride}}, {{padding}}){_BACK}"),
    row("depthwise", filtered,
        "ted.nn.depthwise_conv2d(ted.reshape({x}, {image}), "
        "ted.broadcast_to({y}[:, :, None, None], (*{y}.shape, {c}, 1)), stride={stride}, "
        "padding={padding}, dilation={dilation})",
        f"F.conv2d({_IMAGE}, {{y}}[None, None].expand({{c}}, 1, *{{y}}.shape), None, {{stride}}, "
        f"{{padding}}, {{dilation}}, {{c}}){_BACK}", True, weight=2),
    row("attention", attended, "ted.nn.attention({x}, {y}, {z}, causal={causal})",
        "attention({x}, {y}, {z}, {causal})", weight=2),
    row("cross_entropy", scores, "ted.nn.cross_entropy({x}, {y} % {n}, '{reduction}')",
        "F.cross_entropy({x}, ({y} % {n}).long(), reduction='{reduction}')", weight=2),
    row("pad_mode", turned, "ted.pad({x}, [(0, 0)] * ({x}.ndim - 1) + [({width}, 1)], '{mode}')",
        "pad_mode({x}, {width}, '{mode}')", True),
    row("conv2d", filtered,
        "ted.nn.conv2d(ted.reshape({x}, {image}), ted.broadcast_to({y}[:, :, None, None], "
        "(*{y}.shape, {c}, 2)), stride={stride}, padding={padding}, dilation={dilation})",
        f"F.conv2d({_IMAGE}, {{y}}[None, None].expand(2, {{c}}, *{{y}}.shape), None, {{stride}}, "
        f"{{padding}}, {{dilation}}){_BACK}", True, weight=2),
)  # fmt: skip
