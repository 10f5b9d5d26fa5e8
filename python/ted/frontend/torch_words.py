"""torch's words for what ted has by another, or needs none for: of functions, and of methods."""

from __future__ import annotations

_VALUE = "the tensor itself, which is a value"
_NONE = "nothing: what runs a program, and where, is said when it is compiled"
_TYPE = "ted.cast(x, dtype), with ted.float32 and others"
_AT = "x.at[i].set(values)"
_IN_ORDER = "ted.associative_scan(ted.maximum, x, axis)"

TORCH = {
    # Shapes and parts.
    "cat": "ted.concatenate", "view": "ted.reshape", "view_as": "ted.reshape(x, y.shape)",
    "reshape_as": "ted.reshape(x, y.shape)", "unsqueeze": "ted.expand_dims, or x[:, None]",
    "permute": "ted.transpose(x, axes)", "t": "x.T", "adjoint": "ted.conj(ted.matrix_transpose(x))",
    "swapdims": "ted.swapaxes", "movedim": "ted.moveaxis", "expand": "ted.broadcast_to",
    "expand_as": "ted.broadcast_to(x, y.shape)", "flipud": "ted.flip(x, 0)",
    "fliplr": "ted.flip(x, 1)", "unbind": "ted.unstack", "unflatten": "ted.reshape",
    "chunk": "ted.split", "tensor_split": "ted.split", "split_with_sizes": "ted.split",
    "hsplit": "ted.split(x, n, 1)", "vsplit": "ted.split(x, n, 0)", "dsplit": "ted.split(x, n, 2)",
    "narrow": "x[start:start + length]", "narrow_copy": "x[start:start + length]",
    "repeat_interleave": "ted.repeat", "take_along_dim": "ted.take_along_axis",
    "as_strided": "ted.compute, which reads by index", "diag_embed": "ted.diag of a vector",
    "resize": "ted.reshape, or ted.pad", "sum_to_size": "ted.sum", "ravel": "ted.flatten",
    "dim": "x.ndim", "ndimension": "x.ndim", "numel": "x.size", "nelement": "x.size",
    "atleast_1d": "ted.expand_dims", "indices": "ted.meshgrid",
    # Reads and writes at indices.
    "gather": "ted.take_along_axis", "index_select": "ted.take", "index_put": _AT,
    "index_copy": _AT, "index_fill": "x.at[i].set(value)", "index_reduce": "x.at[i].max(values)",
    "select_scatter": _AT, "slice_scatter": "x.at[a:b].set(values)", "diagonal_scatter": _AT,
    "as_strided_scatter": _AT, "scatter_add": "ted.index_add, or ted.scatter",
    "scatter_reduce": "ted.scatter", "masked_fill": "ted.where(mask, value, x)",
    "masked_select": "ted.compress(mask, x, size=n)", "nonzero_static": "ted.where(x, size=n)",
    "masked_scatter": "ted.where", "unique_consecutive": "ted.unique(x, size)",
    # Arithmetic.
    "mul": "ted.multiply", "div": "ted.divide", "sub": "ted.subtract", "neg": "ted.negative",
    "true_divide": "ted.divide", "eq": "ted.equal", "ne": "ted.not_equal", "lt": "ted.less",
    "le": "ted.less_equal", "gt": "ted.greater", "ge": "ted.greater_equal", "clamp": "ted.clip",
    "clamp_min": "ted.maximum(x, least)", "clamp_max": "ted.minimum(x, most)",
    "lerp": "a + weight * (b - a)", "addcmul": "x + value * a * b", "addcdiv": "x + value * a / b",
    "frac": "ted.modf(x)[0]", "sgn": "ted.sign", "deg2rad": "x * (ted.pi / 180)",
    "rad2deg": "x * (180 / ted.pi)", "ldexp": "x * ted.exp2(n)", "conj_physical": "ted.conj",
    "isreal": "ted.imag(x) == 0", "mvlgamma": "ted.special.multigammaln",
    # Products.
    "mm": "ted.matmul, or a @ b", "bmm": "ted.matmul, or a @ b", "mv": "ted.matvec, or a @ v",
    "ger": "ted.outer", "addmm": "x + a @ b", "addmv": "x + a @ v", "baddbmm": "x + a @ b",
    "addbmm": "x + ted.sum(a @ b, 0)", "addr": "x + ted.outer(a, b)",
    "dist": "ted.linalg.vector_norm(x - y)", "inverse": "ted.linalg.inv",
    "pinverse": "ted.linalg.pinv", "matrix_exp": "ted.linalg.expm", "logdet": "ted.linalg.slogdet",
    "cholesky_inverse": "ted.linalg.inv(l @ l.T)", "triangular_solve": "ted.solve_triangular",
    "cholesky_solve": "ted.solve_triangular(l, ted.solve_triangular(l, b), transpose=True)",
    "lu_solve": "ted.linalg.solve", "lstsq": "ted.linalg.lstsq",
    "renorm": "x * ted.minimum(1, most / norm) with ted.linalg.vector_norm",
    # Reductions and orders.
    "aminmax": "ted.min and ted.max", "kthvalue": "ted.sort(x)[..., k - 1]",
    "msort": "ted.sort(x, 0)",
    "mode": "ted.bincount and ted.argmax", "histc": "ted.histogram(x, bins, lower, upper)",
    "cummax": _IN_ORDER, "cummin": "ted.associative_scan(ted.minimum, x, axis)",
    "logcumsumexp": "ted.associative_scan(ted.logaddexp, x, axis)",
    "multinomial": "ted.random.categorical", "stft": "ted.fft.rfft of ted.nn.unfold",
    # Types, values, and where programs run.
    "float": _TYPE, "double": _TYPE, "half": _TYPE, "int": _TYPE, "long": _TYPE, "short": _TYPE,
    "byte": _TYPE, "char": _TYPE, "type": _TYPE, "type_as": "ted.cast(x, y.dtype)",
    "to": "ted.cast(x, dtype); " + _NONE, "cpu": _NONE, "contiguous": _VALUE, "clone": _VALUE,
    "detach": "ted.stop_gradient", "no_grad": "ted.stop_gradient", "requires_grad_": "ted.grad",
    "backward": "ted.grad, or ted.differentiate", "register_hook": "ted.custom_vjp",
    "is_floating_point": "x.dtype", "is_complex": "x.dtype", "is_signed": "x.dtype",
    "new_zeros": "ted.zeros", "new_ones": "ted.ones", "new_full": "ted.full",
    "new_empty": "ted.empty", "new_tensor": "ted.constant", "tensor": "ted.asarray",
    "as_tensor": "ted.asarray", "randn": "ted.random.normal(key, shape)",
    "rand": "ted.random.uniform(key, shape)", "manual_seed": "ted.random.key(seed)",
    "mse_loss": "ted.nn.mse", "scaled_dot_product_attention": "ted.nn.attention",
    "BatchNorm2d": "ted.nn.batch_norm, which takes the parameters",
    "functional": "ted.nn itself, whose functions take the parameters",
    "optim": "ted.nn.adam and others of ted.nn",
}  # fmt: skip
