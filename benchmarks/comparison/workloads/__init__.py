"""The workloads, a file for each kind; each has `workloads()`, the rows in the order of a table."""

from . import (
    algebra,
    convolutions,
    elements,
    gathers,
    half,
    models,
    odd,
    products,
    reported,
    rows,
    stencils,
    types,
)

FILES = (
    products, algebra, convolutions, rows, stencils, gathers, models, elements, half, reported,
    types, odd,
)  # fmt: skip
__all__ = ["FILES", "odd"]
