"""Names of other libraries, each with ted's name for it, or the reason why there is none.

A name that ted has, alone or in one of its modules, is its own; others are rows here; what
is in no row is not there yet.
"""

from __future__ import annotations

import importlib
import inspect
import re
from collections import defaultdict

import ted
from array_api import cases

NOT_YET = "not yet"
RENAMED = {
    "torch.nn.functional": {
        "mse_loss": "nn.mse", "rms_norm": "nn.rms_norm", "upsample": "nn.interpolate",
        "scaled_dot_product_attention": "nn.attention", "upsample_bilinear": "nn.interpolate",
        "upsample_nearest": "nn.interpolate", "pairwise_distance": "linalg.vector_norm(x - y)",
        **{f"{kind}max_pool{k}d_with_indices": f"nn.{kind}max_pool{k}d"
           for kind in ("", "adaptive_") for k in (1, 2, 3)},
        "pdist": "linalg.vector_norm(x - y)", "feature_alpha_dropout": "random.alpha_dropout",
        "native_channel_shuffle": "nn.channel_shuffle", "conv_tbc": "nn.conv1d",
        "linear_cross_entropy": "nn.cross_entropy",
        **{f"dropout{k}d": "random.dropout" for k in (1, 2, 3)},
        **{f"fractional_max_pool{k}d_with_indices": f"nn.fractional_max_pool{k}d" for k in (2, 3)},
    },
    "jax.lax": {
        "max": "maximum", "min": "minimum", "neg": "negative", "rem": "fmod", "div": "divide",
        "sub": "subtract", "mul": "multiply", "eq": "equal", "ne": "not_equal", "gt": "greater",
        "ge": "greater_equal", "lt": "less", "le": "less_equal", "select": "where",
        "convert_element_type": "cast", "broadcast_in_dim": "broadcast_to", "rev": "flip",
        "broadcast": "broadcast_to", "slice": "x[a:b]", "slice_in_dim": "x[a:b]", "map": "vmap",
        "index_in_dim": "x[i]", "dynamic_index_in_dim": "take", "index_take": "take",
        "dynamic_slice_in_dim": "dynamic_slice", "dynamic_update_slice": "x.at[i].set",
        "dynamic_update_slice_in_dim": "x.at[i].set", "gather": "take", "dot_general": "einsum",
        "dynamic_update_index_in_dim": "x.at[i].set", "batch_matmul": "matmul",
        "scatter_add": "index_add", "scatter_max": "scatter", "scatter_min": "scatter",
        "scatter_mul": "scatter", "reduce": "reducer", "reduce_max": "max", "reduce_min": "min",
        "reduce_sum": "sum", "reduce_prod": "prod", "reduce_and": "all", "reduce_or": "any",
        "integer_pow": "power", "logistic": "sigmoid", "is_finite": "isfinite", "top_k": "topk",
        "not_": "bitwise_not", "shift_left": "left_shift",
        "shift_right_arithmetic": "right_shift", "cummax": "associative_scan",
        "cummin": "associative_scan", "cumlogsumexp": "associative_scan",
        "iota": "arange", "broadcasted_iota": "arange", "switch": "where",
        "conv": "nn.conv2d", "conv_general_dilated": "nn.conv2d", "sort_key_val": "argsort",
        "conv_with_general_padding": "nn.conv2d", "conv_transpose": "nn.conv_transpose2d",
        "reduce_window": "nn.max_pool2d", "select_n": "where", "clamp": "clip",
        "conv_general_dilated_patches": "nn.unfold", "fft": "fft.fft",
        "erf_inv": "special.erfinv", "approx_max_k": "topk", "approx_min_k": "topk",
        "collapse": "reshape", "broadcast_like": "broadcast_to", "broadcast_to_rank": "reshape",
        "reduce_xor": "reducer", "shape_as_value": "x.shape", "scatter_sub": "index_add",
        "shift_right_logical": "right_shift",
    },
    "jax.numpy": {
        "arccos": "acos", "arccosh": "acosh", "arcsin": "asin", "arcsinh": "asinh",
        "arctan": "atan", "arctan2": "atan2", "arctanh": "atanh", "amax": "max", "amin": "min",
        "fabs": "abs", "fix": "trunc", "invert": "bitwise_not", "true_divide": "divide",
        "mod": "remainder", "ravel": "flatten", "fliplr": "flip",
        "flipud": "flip", "rollaxis": "moveaxis",
        "array": "asarray", "around": "round", "rint": "round", "percentile": "quantile",
        "array_split": "split", "hsplit": "split", "vsplit": "split", "dsplit": "split",
        "dstack": "concatenate", "append": "concatenate", "identity": "eye", "tri": "tril",
        "select": "where", "extract": "compress",
        "size": "x.size", "shape": "x.shape", "ndim": "x.ndim",
        "promote_types": "result_type",
        "digitize": "searchsorted", "choose": "take", "atleast_1d": "expand_dims",
        "atleast_2d": "expand_dims",
        "atleast_3d": "expand_dims",
        "deg2rad": "x * pi / 180", "degrees": "x * 180 / pi",
        "rad2deg": "x * 180 / pi", "radians": "x * pi / 180", "ptp": "max(x) - min(x)",
        "fill_diagonal": "x.at[i].set", "put": "x.at[i].set", "put_along_axis": "x.at[i].set",
        "insert": "concatenate", "array_equal": "all(x == y)", "indices": "meshgrid",
        "logspace": "10 ** linspace", "geomspace": "exp(linspace)", "apply_along_axis": "vmap",
        "fromfunction": "compute", "piecewise": "where", "place": "where", "partition": "sort",
        "argpartition": "argsort", "copy": "x", "issubdtype": "isdtype",
        "array_equiv": "all(x == y)",
        "nanpercentile": "nanquantile", "histogram_bin_edges": "linspace",
        "vander": "power",
        "iscomplex": "imag(x) != 0", "conjugate": "conj",
        "iscomplexobj": "isdtype", "isrealobj": "isdtype", "isreal": "isdtype",
        "convolve": "nn.conv1d",
        "correlate": "nn.conv1d", "cross": "linalg.cross", "single": "float32", "double": "float64",
    },
    "jax.numpy.fft": {"fft": "fft.fft"},
    "the array API": {"fft": "fft.fft"},
}  # fmt: skip
INSIDE = re.compile(
    r"torch_function|^assert_|^boolean_dispatch|printoptions|_shape_tuple$|^Optional$"
)
REASONS = (
    ("complex numbers have no order", r"sort_complex"),
    ("its shape depends on values", r"nonzero|argwhere|unique|setdiff|setxor|union1d|intersect"
     r"|^delete$|trim_zeros|packbits|ragged|apply_over"),
    ("of plain numbers, for which NumPy's own arrays are taken", r"^(bartlett|blackman|hamming"
     r"|hanning|kaiser)$|(tril|triu|diag|mask)_indices|^isscalar$|^iterable$|^array_(repr|str)$"),
    ("of several devices, or of how code is made", r"^p(max|min|mean|sum|send|permute|shuffle|cast)"
     r"|^pswap|^pbroad|^precv|^all_(gather|to)|^axis_|sharding|barrier|platform|composite|^custom_"
     r"|after_all|token|dce_sink|^stage$|frompyfunc|einsum_path"),
    ("of bits, files or types that ted does not have", r"bitcast|frombuffer|^save|^load|fromfile"
     r"|fromstring|fromiter|ldexp|spacing|clz|population|bitwise_count|scaled_|rng_"
     r"|grouped_mm|reduce_precision"),
    ("an iteration that is not there yet", r"eig|svd|matrix_rank|pinv|^roots$"),
)  # fmt: skip


def names_of(library: str) -> list[str]:
    """The functions of a library."""
    if library == "the array API":
        found = {name for group in cases.GROUPS.values() for name in group}
        return sorted({*found, *cases.NOT})
    module = importlib.import_module(library)
    return sorted(
        name
        for name in dir(module)
        if not name.startswith("_") and not name.endswith("_") and callable(getattr(module, name))
        and not inspect.isclass(getattr(module, name)) and not INSIDE.search(name)
    )  # fmt: skip


def meaning(library: str, name: str) -> tuple[str, str]:
    """ted's name or "", and the reason where it is ""."""
    if library == "the array API" and name in cases.NOT:
        return "", cases.NOT[name]
    if RENAMED[library].get(name):
        return RENAMED[library][name], ""
    homes = (("nn.", ted.nn), ("", ted)) if "torch" in library else (("", ted), ("nn.", ted.nn))
    for prefix, home in (
        *homes,
        ("linalg.", ted.linalg),
        ("random.", ted.random),
        ("fft.", ted.fft),
        ("special.", ted.special),
    ):
        if name in home.__all__:
            return prefix + name, ""
    return "", next((why for why, pattern in REASONS if re.search(pattern, name)), NOT_YET)


def section(library: str) -> list[str]:
    """The lines of one library: names that are the same, that are others, that are missing."""
    same, other, missing = [], [], defaultdict(list)
    for name in names_of(library):
        ours, why = meaning(library, name)
        if not ours:
            missing[why].append(name)
        elif ours.rpartition(".")[2] == name:
            same.append(ours)
        else:
            other.append(f"{name} -> {ours}")
    total = len(same) + len(other) + sum(map(len, missing.values()))
    title = f"### {library[0].upper() + library[1:] if ' ' in library else library}"
    lines = [title, "", f"{len(same) + len(other)} of {total} names.", ""]
    lines += [f"* The same: {', '.join(same)}."]
    lines += [f"* By another name: {', '.join(other)}."] if other else []
    lines += [f"* Missing, {why}: {', '.join(found)}." for why, found in sorted(missing.items())]
    return [*lines, ""]
