"""Operators of neural networks, each an ordinary expression in the public frontend.

Nothing here has a gradient of its own: every operator is differentiated like what a user writes.
"""

from ted.nn.activations import elu, gelu, leaky_relu, log_softmax, relu, sigmoid, silu, softmax
from ted.nn.attention import attention
from ted.nn.convolution import (
    conv1d,
    conv2d,
    conv3d,
    conv_transpose1d,
    conv_transpose2d,
    conv_transpose3d,
    depthwise_conv2d,
)
from ted.nn.layers import dense, embedding, flatten, linear
from ted.nn.losses import cross_entropy, logsumexp, mse
from ted.nn.normalization import batch_norm, group_norm, layer_norm, rms_norm
from ted.nn.optimizers import adam, sgd
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
    global_avg_pool2d,
    global_max_pool2d,
    lp_pool1d,
    lp_pool2d,
    lp_pool3d,
    max_pool1d,
    max_pool2d,
    max_pool3d,
)
from ted.nn.recurrent import gru, lstm, rnn

__all__ = [
    "adam",
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
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "cross_entropy",
    "dense",
    "depthwise_conv2d",
    "elu",
    "embedding",
    "flatten",
    "gelu",
    "global_avg_pool2d",
    "global_max_pool2d",
    "group_norm",
    "gru",
    "layer_norm",
    "leaky_relu",
    "linear",
    "log_softmax",
    "logsumexp",
    "lp_pool1d",
    "lp_pool2d",
    "lp_pool3d",
    "lstm",
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
    "mse",
    "relu",
    "rms_norm",
    "rnn",
    "sgd",
    "sigmoid",
    "silu",
    "softmax",
]
