"""Rows of recurrences that are written out: waves, triangular systems, recurrent layers."""

from __future__ import annotations

from fuzz.pool import Pool, type_name
from fuzz.programs import INTEGERS
from fuzz.rows.row import Drawn, Row, row


def history(pool: Pool) -> Drawn:
    """A matrix whose rows are times, few of them, and how far a step looks back."""
    x = pool.pick(lambda v: v.is_floating_point() and v.ndim == 2 and 0 < v.shape[0] <= 9)
    back, reverse = pool.integer(1, 3), pool.chance(0.4)
    steps, width = pool.shape(x)
    first = f"t < {steps - back}" if reverse else f"t >= {back}"
    return Drawn(
        (x, pool.like(x, pool.shape(x))),
        {
            "shape": (steps, width), "back": back if reverse else -back, "first": first,
            "reverse": reverse, "shift": pool.integer(0, max(width - 1, 0)), "n": max(width, 1),
        },
    )  # fmt: skip


def looking_back(pool: Pool) -> Drawn:
    """A matrix whose rows are times, and for each the time that a step looks back at."""
    x = pool.pick(lambda v: v.is_floating_point() and v.ndim == 2 and 0 < v.shape[0] <= 9)
    steps, width = pool.shape(x)
    times = pool.pick(lambda v: type_name(v) in INTEGERS and tuple(v.shape) == (steps,))
    reverse, shift = pool.chance(0.4), pool.integer(0, max(width - 1, 0))
    fields = {"reverse": reverse, "before": ">" if reverse else "<", "shift": shift}
    return Drawn((x, times), {"steps": steps, "width": width, "n": max(width, 1), **fields})


def systems(pool: Pool) -> Drawn:
    """A square matrix, and a right side of one or more columns."""
    suits = lambda v: v.is_floating_point() and v.ndim == 2 and v.shape[0] == v.shape[1]  # noqa: E731
    a = pool.pick(lambda v: suits(v) and 0 < v.shape[0] <= 9)
    n, kind = pool.shape(a)[0], pool.values[a].dtype
    b = pool.pick(lambda v: v.dtype == kind and v.ndim in (1, 2) and v.shape[0] == n)
    column = "[:, None]" if len(pool.shape(b)) == 1 else ""
    fields = {
        "n": n, "transpose": pool.chance(0.5), "T": "", "column": column,
        "back": "[:, 0]" if column else "", "lower": pool.chance(0.5),
    }  # fmt: skip
    fields["T"] = ".T" if fields["transpose"] else ""
    fields["upper"] = fields["lower"] == fields["transpose"]
    fields["side"] = "tril" if fields["lower"] else "triu"
    return Drawn((a, b), fields)


def layer(pool: Pool) -> Drawn:
    """Rows in time of a batch, and two weights: cut out of what there is."""
    x = pool.pick(lambda v: v.is_floating_point() and v.ndim == 3 and 0 < v.numel() <= 150)
    inputs, kind = pool.shape(x)[2], pool.values[x].dtype
    w = pool.pick(lambda v: v.dtype == kind and v.ndim == 2 and v.shape[0] == inputs)
    units = pool.shape(w)[1]
    h = pool.pick(lambda v: v.dtype == kind and tuple(v.shape) == (units, units))
    return Drawn((x, w, h), {"reverse": pool.chance(0.4)})


ROWS: tuple[Row, ...] = (
    row("recurrence", history,
        "ted.recurrence({shape}, lambda h, t, i: ted.where({first}, h[t + {back}, (i + {shift}) "
        "% {n}] * {x}[t, i] + {y}[t, i], {y}[t, i]), {x}.dtype, reverse={reverse})",
        "recurrent({x}, {y}, {back}, {shift})", True, weight=2),
    row("recurrence_at_data", looking_back,
        "ted.recurrence(({steps}, {width}), lambda h, t, i: ted.where(({y}[t] % {steps} {before} t)"
        " & ({x}[t, i] > 0), h[{y}[t] % {steps}, (i + {shift}) % {n}], 2) + {x}[t, i], "
        "{x}.dtype, reverse={reverse})",
        "recurrent_at_data({x}, {y} % {steps}, {shift}, {reverse})", True, "{x}", weight=2),
    row("solve_triangular", systems,
        "ted.solve_triangular(0.2 * {x} + 2 * ted.eye({n}, {x}.dtype), {y}, {lower}, {transpose})",
        "torch.linalg.solve_triangular(torch.{side}(0.2 * {x} + 2 * torch.eye({n}, "
        "dtype={x}.dtype)){T}, {y}{column}, upper={upper}){back}"),
    row("cholesky", systems,
        "ted.cholesky({x} @ {x}.T + 2 * ted.eye({n}, {x}.dtype))",
        "lower_factor({x} @ {x}.T + 2 * torch.eye({n}, dtype={x}.dtype))", weight=0.7),
    row("rnn", layer, "ted.nn.rnn({x}, {y}, {z}, reverse={reverse})",
        "rnn({x}, {y}, {z}, {reverse})"),
)  # fmt: skip
