"""Operators of neural networks, each an ordinary expression in the public frontend.

Nothing here has a gradient of its own: every operator is differentiated like what a user writes.
"""

from typing import Any

from ted.frontend.keywords import accepting
from ted.frontend.missing_names import missing
from ted.nn import init
from ted.nn.activations import elu, gelu, leaky_relu, log_softmax, relu, sigmoid, silu, softmax
from ted.nn.attention import attention
from ted.nn.clipping import clip_by_global_norm, global_norm
from ted.nn.convolution import (
    conv1d,
    conv2d,
    conv3d,
    conv_transpose1d,
    conv_transpose2d,
    conv_transpose3d,
    depthwise_conv2d,
)
from ted.nn.ctc import ctc_loss
from ted.nn.distances import cosine_embedding_loss, triplet_margin_loss
from ted.nn.layers import dense, embedding, embedding_bag, flatten, linear
from ted.nn.losses import cross_entropy, logsumexp, mse, multi_margin_loss, nll_loss
from ted.nn.normalization import (
    batch_norm,
    group_norm,
    instance_norm,
    layer_norm,
    local_response_norm,
    rms_norm,
)
from ted.nn.optimizers import Optimizer, adagrad, adam, adamw, lamb, lion, rmsprop, sgd
from ted.nn.patches import fold, pixel_shuffle, pixel_unshuffle, unfold
from ted.nn.piecewise import (
    celu,
    cosine_similarity,
    glu,
    hardshrink,
    hardsigmoid,
    hardswish,
    hardtanh,
    logsigmoid,
    mish,
    normalize,
    prelu,
    relu6,
    selu,
    softmin,
    softshrink,
    softsign,
    squareplus,
    tanhshrink,
    threshold,
)
from ted.nn.pointwise_losses import (
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    gaussian_nll_loss,
    hinge_embedding_loss,
    huber_loss,
    kl_div,
    l1_loss,
    poisson_nll_loss,
    smooth_l1_loss,
    soft_margin_loss,
)
from ted.nn.pooling import (
    adaptive_avg_pool1d,
    adaptive_avg_pool2d,
    adaptive_avg_pool3d,
    adaptive_max_pool1d,
    adaptive_max_pool2d,
    adaptive_max_pool3d,
    avg_pool1d,
    avg_pool2d,
    avg_pool3d,
    fractional_max_pool2d,
    fractional_max_pool3d,
    global_avg_pool2d,
    global_max_pool2d,
    lp_pool1d,
    lp_pool2d,
    lp_pool3d,
    max_pool1d,
    max_pool2d,
    max_pool3d,
)
from ted.nn.recurrent import gru, lstm, rnn, stacked
from ted.nn.resizing import interpolate
from ted.nn.sampling import grid_sample
from ted.nn.schedules import (
    cosine_schedule,
    exponential_schedule,
    linear_schedule,
    piecewise_schedule,
    step_schedule,
)
from ted.nn.unpooling import max_unpool1d, max_unpool2d, max_unpool3d

__all__ = [
    "Optimizer",
    "adagrad",
    "adam",
    "adamw",
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "adaptive_max_pool1d",
    "adaptive_max_pool2d",
    "adaptive_max_pool3d",
    "attention",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "batch_norm",
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "celu",
    "clip_by_global_norm",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "cosine_embedding_loss",
    "cosine_schedule",
    "cosine_similarity",
    "cross_entropy",
    "ctc_loss",
    "dense",
    "depthwise_conv2d",
    "elu",
    "embedding",
    "embedding_bag",
    "exponential_schedule",
    "flatten",
    "fold",
    "fractional_max_pool2d",
    "fractional_max_pool3d",
    "gaussian_nll_loss",
    "gelu",
    "global_avg_pool2d",
    "global_max_pool2d",
    "global_norm",
    "glu",
    "grid_sample",
    "group_norm",
    "gru",
    "hardshrink",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "hinge_embedding_loss",
    "huber_loss",
    "init",
    "instance_norm",
    "interpolate",
    "kl_div",
    "l1_loss",
    "lamb",
    "layer_norm",
    "leaky_relu",
    "linear",
    "linear_schedule",
    "lion",
    "local_response_norm",
    "log_softmax",
    "logsigmoid",
    "logsumexp",
    "lp_pool1d",
    "lp_pool2d",
    "lp_pool3d",
    "lstm",
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
    "max_unpool1d",
    "max_unpool2d",
    "max_unpool3d",
    "mish",
    "mse",
    "multi_margin_loss",
    "nll_loss",
    "normalize",
    "piecewise_schedule",
    "pixel_shuffle",
    "pixel_unshuffle",
    "poisson_nll_loss",
    "prelu",
    "relu",
    "relu6",
    "rms_norm",
    "rmsprop",
    "rnn",
    "selu",
    "sgd",
    "sigmoid",
    "silu",
    "smooth_l1_loss",
    "soft_margin_loss",
    "softmax",
    "softmin",
    "softshrink",
    "softsign",
    "squareplus",
    "stacked",
    "step_schedule",
    "tanhshrink",
    "threshold",
    "triplet_margin_loss",
    "unfold",
]

for _name in __all__:  # other libraries' keywords are accepted, as in `ted`
    globals()[_name] = accepting(globals()[_name], __name__, _name)


def __getattr__(name: str) -> Any:
    raise missing(__name__, name, __all__)
