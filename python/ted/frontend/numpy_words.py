"""NumPy's names for what ted has by another: the same function, or what does its work."""

from __future__ import annotations

# NumPy's name -> ted's, where they differ.
RENAMED = {
    "arccos": "acos", "arccosh": "acosh", "arcsin": "asin", "arcsinh": "asinh", "arctan": "atan",
    "arctan2": "atan2", "arctanh": "atanh", "astype": "cast", "fabs": "absolute", "fix": "trunc",
    "invert": "bitwise_not", "linalg.cholesky": "cholesky", "ravel": "flatten", "rint": "round",
    "amax": "max", "amin": "min", "concat": "concatenate", "permute_dims": "transpose",
    "linalg.matmul": "matmul", "linalg.diagonal": "diagonal", "linalg.trace": "trace",
    "linalg.outer": "outer", "linalg.tensordot": "tensordot", "linalg.vecdot": "vecdot",
    "linalg.matrix_transpose": "matrix_transpose", "conjugate": "conj",
}  # fmt: skip

# What ted does by another word, or by one that takes other arguments.
INSTEAD = {
    "percentile": "ted.quantile", "unique": "ted.unique(x, size)", "argpartition": "ted.argsort",
    "partition": "ted.sort", "bincount": "ted.bincount(x, length)",
    "histogram": "ted.histogram(x, bins, lower, upper)",
    "histogram2d": "ted.histogram2d(x, y, bins, lower, upper)",
    "histogramdd": "ted.histogramdd(sample, bins, lower, upper)",
    "polydiv": "ted.polydiv, which trims nothing",
    "trace": "ted.trace, of the last two dims",
    "diagonal": "ted.diagonal, of the last two dims", "dstack": "ted.concatenate",
    "copy": "the tensor itself, which is a value", "linspace": "ted.linspace, of Python numbers",
    "linalg.solve": "ted.linalg.solve", "linalg.inv": "ted.linalg.inv",
    "linalg.det": "ted.linalg.det", "linalg.slogdet": "ted.linalg.slogdet",
    "linalg.eigh": "ted.linalg.eigh", "linalg.eigvalsh": "ted.linalg.eigvalsh",
    "linalg.svd": "ted.linalg.svd", "linalg.svdvals": "ted.linalg.svdvals",
    "linalg.pinv": "ted.linalg.pinv", "linalg.matrix_rank": "ted.linalg.matrix_rank",
    "linalg.cond": "ted.linalg.cond", "linalg.lstsq": "ted.linalg.lstsq",
    "linalg.multi_dot": "ted.linalg.multi_dot", "linalg.tensorinv": "ted.linalg.tensorinv",
    "linalg.tensorsolve": "ted.linalg.tensorsolve",
    **{f"fft.{name}": f"ted.fft.{name}" for name in (
        "fft", "ifft", "rfft", "irfft", "hfft", "ihfft", "fft2", "ifft2", "rfft2", "irfft2", "fftn",
        "ifftn", "rfftn", "irfftn", "fftshift", "ifftshift")},
    "linalg.qr": "ted.linalg.qr", "linalg.norm": "ted.linalg.norm",
    "linalg.vector_norm": "ted.linalg.vector_norm", "linalg.matrix_norm": "ted.linalg.matrix_norm",
    "linalg.matrix_power": "ted.linalg.matrix_power", "linalg.cross": "ted.linalg.cross",
    "cross": "ted.linalg.cross", "select": "ted.where", "convolve": "ted.compute",
    "flatnonzero": "ted.where(x != 0, size=n)", "nonzero": "ted.where(x != 0, size=n)",
    "argwhere": "ted.where(x != 0, size=n)", "put_along_axis": "x.at[i].set(values)",
    "put": "x.at[i].set(values)", "place": "ted.where", "add.at": "x.at[i].add(values)",
    "multiply.at": "x.at[i].mul(values)", "maximum.at": "x.at[i].max(values)",
    "minimum.at": "x.at[i].min(values)", "extract": "ted.compress",
    "compress": "ted.compress(condition, x, axis, size=n)",
    "add.reduce": "ted.sum", "multiply.reduce": "ted.prod", "maximum.reduce": "ted.max",
    "minimum.reduce": "ted.min", "add.accumulate": "ted.cumsum",
    "multiply.accumulate": "ted.cumprod", "multiply.outer": "ted.einsum",
}  # fmt: skip
