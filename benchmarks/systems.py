"""What systems that differentiate make of five programs: the table of docs/comparison.md.

    python benchmarks/systems.py

A cell is what the system says: how many scatters stand in the program of a gradient, whether its
numbers are right, or the error. A system that is not installed (`pip install halide==21.0.0`) has
no cell. Nothing is timed: `peers.py` does that.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import Any

import numpy as np

import ted

X9, W3 = np.arange(9, dtype="f4"), np.array([1, 2, 3], "f4")
SQUARE = np.arange(16, dtype="f4").reshape(4, 4)
AT = 2 * np.arange(4)[:, None] + np.arange(3)
NEAR = np.clip(np.arange(9)[:, None] + np.arange(-1, 2), 0, 8)
# For each program its argument and the gradient of the sum of its results.
EXPECTED = {
    "window": (X9, np.array([1, 2, 4, 2, 4, 2, 4, 2, 3], "f4")),
    "diagonal": (SQUARE, np.eye(4, dtype="f4")),
    "stencil": (X9, np.full(9, 6, "f4") + np.array([-2, *[0] * 7, 2], "f4")),
}
INDEXED = {
    "window": lambda x: (x[AT] * W3).sum(),
    "diagonal": lambda x: x[np.arange(4), np.arange(4)].sum(),
    "stencil": lambda x: (x[NEAR] * W3).sum(),
}


def ted_program(name: str, x: Any) -> Any:
    """The programs as index lambdas."""
    r = ted.reduce_axis(3, name="r")
    w = ted.constant(W3)
    if name == "diagonal":
        return ted.compute((4,), lambda i: x[i, i])
    if name == "window":
        return ted.compute((4,), lambda i: ted.sum(x[2 * i + r] * w[r], axis=r))
    return ted.compute((9,), lambda i: ted.sum(x[ted.clip(i + r - 1, 0, 8)] * w[r], axis=r))


def answer(name: str, found: Any, scatters: int | None) -> str:
    """A cell."""
    told = "" if scatters is None else f", {scatters} scatter{'s' if scatters != 1 else ''}"
    return ("right" if np.allclose(found, EXPECTED[name][1]) else "wrong, no error") + told


def of_ted(name: str) -> str:
    """The gradient in ted."""
    given = EXPECTED[name][0]
    x = ted.placeholder(given.shape, "float32", name="x")
    gradients = ted.differentiate(ted.sum(ted_program(name, x)), [x])
    return answer(name, ted.compile([x], gradients)(given), len(gradients.report().scatters))


def of_jax(name: str) -> str:
    """The gradient in JAX, of an indexed array."""
    import jax

    given, slope = EXPECTED[name][0], jax.grad(INDEXED[name])
    return answer(name, slope(given), str(jax.make_jaxpr(slope)(given)).count("scatter-add"))


def of_torch(name: str) -> str:
    """The gradient in torch, of an indexed tensor."""
    import torch
    from torch.fx.experimental.proxy_tensor import make_fx

    def slope(x: torch.Tensor) -> Any:
        x = x.detach().requires_grad_()
        i = {"window": (AT,), "diagonal": (np.arange(4),) * 2, "stencil": (NEAR,)}[name]
        read = x[tuple(map(torch.from_numpy, i))]
        y = read if name == "diagonal" else read * torch.from_numpy(W3)
        return torch.autograd.grad(y.sum(), x)[0]

    given = torch.from_numpy(EXPECTED[name][0])
    return answer(name, slope(given), make_fx(slope)(given).code.count("ops.aten.index_put"))


def of_halide(name: str) -> str:
    """The gradient in Halide."""
    import halide as hl

    i, r, (a, b) = hl.Var("i"), hl.RDom([(0, 3)]), (hl.Var("a"), hl.Var("b"))

    def function(array: np.ndarray) -> Any:
        made, at = hl.Func(), (a, b)[: array.ndim]
        inside = hl.BoundaryConditions.constant_exterior(hl.Buffer(array), 0.0)
        made[tuple(at)] = inside[tuple(at)]
        return made

    given = EXPECTED[name][0]
    x, w, y = function(given), function(W3), hl.Func()
    count = 9 if name == "stencil" else 4
    if name == "diagonal":
        y[i] = x[i, i]
    else:
        y[i] = 0.0
        y[i] += x[2 * i + r.x if name == "window" else hl.clamp(i + r.x - 1, 0, 8)] * w[r.x]
    slopes = hl.propagate_adjoints(y, function(np.ones(count, "f4")), [hl.Range(0, count)])
    return answer(name, np.asarray(slopes[x].realize(list(given.shape))), None)


def guarded(system: str) -> str:
    """The slope of where(x > 0, sqrt(x), 0) at 0."""
    zero = np.zeros(1, "f4")
    if system == "ted":
        slope = ted.grad(lambda x: ted.sum(ted.where(x > 0, ted.sqrt(x), 0.0)))(zero)
    elif system == "JAX":
        import jax

        slope = jax.grad(lambda x: jax.numpy.where(x > 0, jax.numpy.sqrt(x), 0.0).sum())(zero)
    else:
        import torch

        x = torch.zeros(1, requires_grad=True)
        (slope,) = torch.autograd.grad(torch.where(x > 0, torch.sqrt(x), 0.0).sum(), x)
    return f"{float(slope[0])}"


def second(system: str) -> str:
    """A compiled function of x, differentiated twice by who calls it, at 1."""
    one = np.ones(1, "f4")
    if system == "ted":
        slope = ted.grad(lambda x: ted.sum(ted.grad(lambda x: ted.sum(ted.function(_cube)(x)))(x)))
        return f"{float(slope(one)[0])}"
    if system == "JAX":
        import jax

        cube = jax.jit(_cube)
        return f"{float(jax.grad(jax.grad(lambda x: cube(x)))(1.0))}"
    import torch

    x = torch.ones(1, requires_grad=True)
    y = torch.compile(_cube, fullgraph=True, backend="aot_eager")(x)
    (slope,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    try:
        return f"{torch.autograd.grad(slope.sum(), x)[0].item()}"
    except RuntimeError as error:
        return f"refused: {str(error).splitlines()[0]}"


def _cube(x: Any) -> Any:
    return x * x * x


SYSTEMS: dict[str, Callable[[str], str]] = {
    "ted": of_ted, "JAX": of_jax, "torch": of_torch, "Halide": of_halide,
}  # fmt: skip
MODULES = {"ted": "ted", "JAX": "jax", "torch": "torch", "Halide": "halide"}
TITLES = {
    "window": "y[i] = sum x[2 i + r] w[r]", "diagonal": "y[i] = x[i, i]",
    "stencil": "y[i] = sum x[clip(i + r - 1)] w[r]",
}  # fmt: skip


def cells(system: str) -> list[str]:
    """The column of a system; nothing where the script asks it nothing."""
    asked = [SYSTEMS[system](name) for name in TITLES]
    return [*asked, *(("", "") if system == "Halide" else (guarded(system), second(system)))]


def main() -> None:
    """Print the table."""
    found = [s for s in SYSTEMS if importlib.util.find_spec(MODULES[s])]
    columns = [cells(system) for system in found]
    titles = [
        *TITLES.values(),
        "slope of where(x > 0, sqrt(x), 0) at 0",
        "compiled x³, twice, at 1",
    ]
    print("| program |", " | ".join(found), "|")
    print("|---" * (len(found) + 1) + "|")
    for title, *row in zip(titles, *columns, strict=True):
        print(f"| {title} |", " | ".join(row), "|")


if __name__ == "__main__":
    main()
