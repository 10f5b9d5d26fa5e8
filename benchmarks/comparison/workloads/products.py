"""Matrix products, einsums, and what is mostly such a product, with their derivatives."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..workload import Workload, both, gradient, in_types, normal


def product(k: Any, a: Any, b: Any) -> Any:
    """The product of two matrices."""
    return a @ b


def matmul(name: str, m: int, n: int, r: int, **more: Any) -> Workload:
    """An m x r matrix times an r x n one."""
    inputs = (normal(m, r), normal(r, n))
    return Workload(name, product, inputs, "products", "compute", flops=2.0 * m * n * r, **more)


def bias_gelu(k: Any, x: Any, w: Any, b: Any) -> Any:
    """A layer with gelu."""
    return k.gelu(x @ w + b)


def flatten_dense(k: Any, x: Any, w: Any, b: Any) -> Any:
    """Images as rows, and a layer."""
    return k.dense(k.reshape(x, (128, 3136)), w, b)


def covariance(k: Any, x: Any) -> Any:
    """NPBench's covariance: of the columns of x."""
    centred = x - k.mean(x, 0)
    return k.transpose(centred, (1, 0)) @ centred / (x.shape[0] - 1.0)


def correlation(k: Any, x: Any) -> Any:
    """NPBench's correlation, without its guard of columns that do not vary."""
    centred = x - k.mean(x, 0)
    scaled = centred / k.sqrt(k.mean(centred * centred, 0))
    return k.transpose(scaled, (1, 0)) @ scaled / (x.shape[0] - 1.0)


EINSUMS = (
    ("ij,jk,kl->il", [(256, 256)] * 3, 2 * 2.0 * 256**3),
    (
        "ij,jk,kl,lm->im", [(256, 256), (256, 128), (128, 256), (256, 256)],
        2.0 * 256 * 256 * (128 + 128 + 256),
    ),
    ("ia,ja,jb,kb->ik", [(512, 64)] * 4, 3 * 2.0 * 512 * 64 * 64),
    ("bij,bjk,bkl,bl->bi", [(16, 64, 64)] * 3 + [(16, 64)], 3 * 2.0 * 16 * 64 * 64),
)  # fmt: skip


def einsums() -> Iterator[Workload]:
    """Sums of products of several operands."""
    for formula, shapes, flops in EINSUMS:
        made = Workload(
            f"einsum {formula}", lambda k, *xs, f=formula: k.einsum(f, *xs),
            [normal(*s, scale=0.1) for s in shapes], "products", "compute", flops=flops,
        )  # fmt: skip
        for typed in in_types(made, "float64", "float32"):
            yield from both(typed)


def slices() -> Iterator[Workload]:
    """Two rows of a product, of which the rest need not be computed."""
    made = Workload(
        "(A @ B)[:2] 512", lambda k, a, b: (a @ b)[:2], (normal(512, 512), normal(512, 512)),
        "products", "memory",
    )  # fmt: skip
    yield from both(made)


def workloads() -> Iterator[Workload]:
    """The rows."""
    yield from both(matmul("mm512", 512, 512, 512, table=True))
    yield from both(matmul("mm1024", 1024, 1024, 1024, table=True))
    yield from both(matmul("mm512 f64", 512, 512, 512, dtype="float64", table=True))
    yield from both(matmul("mm1536", 1536, 1536, 1536))
    yield from both(matmul("mm2048", 2048, 2048, 2048))
    yield from both(
        Workload(
            "mm bias gelu", bias_gelu,
            (normal(512, 512), normal(512, 2048, scale=512**-0.5), normal(2048)),
            "products", "compute", flops=2.0 * 512 * 512 * 2048, table=True,
        ), factor=3.0,
    )  # fmt: skip
    yield from both(
        Workload(
            "flatten dense", flatten_dense,
            (normal(128, 64, 7, 7), normal(3136, 256), normal(256)), "products", "compute",
            flops=2.0 * 128 * 3136 * 256, table=True,
        )
    )  # fmt: skip
    yield from both(
        Workload("matvec 2048", product, (normal(2048, 2048), normal(2048)), "products")
    )
    yield from gradient(
        Workload(
            "sum(a @ b) 512", lambda k, a, b: k.sum(a @ b), (normal(512, 512), normal(512, 512)),
            "products", dtype="float64",
        ), "grad", 0.0,
    )  # fmt: skip
    yield from gradient(matmul("a @ b 512", 512, 512, 512), "jvp")
    yield from gradient(matmul("a @ b 512 f64", 512, 512, 512, dtype="float64"), "jvp")
    for name, program in (("covariance", covariance), ("correlation", correlation)):
        made = Workload(
            f"{name} 1400x260", program, (normal(1400, 260),), "products", "compute",
            dtype="float64", flops=2.0 * 1400 * 260 * 260,
        )  # fmt: skip
        yield from both(made, factor=2.0)
    yield from slices()
    yield from einsums()
