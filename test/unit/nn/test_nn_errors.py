"""Every operator refuses arguments that do not fit, naming the argument and the user's line."""

from __future__ import annotations

import re

import numpy as np
import pytest

import ted
from ted import nn
from ted.errors import FrontendError

X = ted.placeholder((2, 8, 8, 3), name="x")
W = ted.placeholder((3, 3, 3, 4), name="w")
M = ted.placeholder((4, 5), name="m")
V = ted.placeholder((5,), name="v")
IDS = ted.placeholder((4,), "int32", name="ids")

CASES = {
    "conv2d_rank": (lambda: nn.conv2d(M, W), "conv2d: x: must have 4 dims, got shape (4, 5) (m)"),
    "conv2d_weight_rank": (lambda: nn.conv2d(X, M), "conv2d: weight: must have 4 dims"),
    "conv2d_channels": (
        lambda: nn.conv2d(X, ted.placeholder((3, 3, 2, 4))),
        "weight needs 3 / groups input channels",
    ),
    "conv2d_channels_first": (
        lambda: nn.conv2d(ted.placeholder((1, 3, 5, 6)), ted.placeholder((2, 2, 3, 4))),
        "got 3 and 4 with groups=1; layout='NHWC' takes channels in dim 3 of x, of shape (1, 3, 5",
    ),
    "conv2d_groups": (lambda: nn.conv2d(X, W, groups=2), "with groups=2"),
    "conv2d_layout": (lambda: nn.conv2d(X, W, layout="HWCN"), "'NHWC' or 'NCHW', got 'HWCN'"),
    "conv2d_stride": (lambda: nn.conv2d(X, W, stride=0), "conv2d: stride: must be at least 1"),
    "conv2d_stride_count": (lambda: nn.conv2d(X, W, stride=(1, 1, 1)), "one for each of 2 dims"),
    "conv2d_stride_kind": (lambda: nn.conv2d(X, W, stride=1.5), "must be an integer, got 1.5"),
    "conv2d_padding_name": (lambda: nn.conv2d(X, W, padding="full"), '"same" or "valid"'),
    "conv2d_padding_negative": (lambda: nn.conv2d(X, W, padding=-1), "must be at least 0"),
    "conv2d_window": (lambda: nn.conv2d(X, W, dilation=4), "must fit into the padded input"),
    "conv2d_bias": (lambda: nn.conv2d(X, W, V), "bias: must have shape (4,), got (5,) (v)"),
    "conv2d_array": (lambda: nn.conv2d([1], W), "conv2d: x: must have 4 dims, got shape (1,)"),
    "depthwise_channels": (
        lambda: nn.depthwise_conv2d(X, ted.placeholder((3, 3, 2, 1))),
        "match 3",
    ),
    "conv_transpose_channels": (lambda: nn.conv_transpose2d(X, W), "must have 3 input channels"),
    "conv_transpose_padding": (
        lambda: nn.conv_transpose2d(X, ted.placeholder((1, 1, 4, 3)), padding=4),
        "must leave an element",
    ),
    "pool_window": (lambda: nn.max_pool2d(X, 9), "a window over 9 positions and 8 + 0 + 0"),
    "pool_padding": (
        lambda: nn.max_pool2d(X, 2, padding=(0, 2)),
        "max_pool2d: padding must be below the extent of a window, got 2 and 2 with 2 in spatial "
        "dim 1",
    ),
    "pool_rank": (lambda: nn.avg_pool2d(M, 2), "avg_pool2d: x: must have 4 dims"),
    "conv3d_padding_mode": (
        lambda: nn.conv2d(X, W, padding_mode="same"),
        "padding_mode: must be 'zeros', 'reflect', 'replicate' or 'circular', got 'same'",
    ),
    "conv_transpose_groups": (
        lambda: nn.conv_transpose2d(X, ted.placeholder((1, 1, 4, 3)), groups=2),
        "groups divide them, got (1, 1, 4, 3) with groups=2",
    ),
    "conv_transpose_output_padding": (
        lambda: nn.conv_transpose2d(X, ted.placeholder((1, 1, 4, 3)), stride=2, output_padding=2),
        "output_padding must be below the stride or the dilation, got (2, 2) with stride (2, 2)",
    ),
    "pool_layout": (lambda: nn.max_pool1d(M[None], 2, layout="NHWC"), "'NLC' or 'NCL', got 'NHWC'"),
    "pool_divisor": (
        lambda: nn.avg_pool2d(X, 2, divisor_override=0),
        "avg_pool2d: divisor_override: must be at least 1, got 0",
    ),
    "lp_pool_type": (lambda: nn.lp_pool2d(X, 0, 2), "norm_type must be a positive number, got 0"),
    "adaptive_pool_parts": (
        lambda: nn.adaptive_avg_pool2d(X, (2, 0)),
        "adaptive_avg_pool2d: output_size: must be at least 1, got (2, 0)",
    ),
    "gelu_form": (lambda: nn.gelu(M, "erf"), "must be 'none' or 'tanh', got 'erf'"),
    "softmax_axis": (lambda: nn.softmax(M, 2), "softmax: axis must be in [-2, 2), got 2"),
    "softmax_integers": (lambda: nn.softmax(IDS), "must be of a float type, got int32 (ids)"),
    "layer_norm_weight": (lambda: nn.layer_norm(M, IDS), "weight: must have shape (5,), got (4,)"),
    "group_norm_groups": (lambda: nn.group_norm(X, 2), "groups must divide the channels"),
    "group_norm_both": (
        lambda: nn.group_norm(X, 2, num_groups=3),
        "groups or num_groups, got both: 2 and 3",
    ),
    "batch_norm_axis": (lambda: nn.batch_norm(M, axis=5), "axis must be in [-2, 2), got 5"),
    "cross_entropy_labels": (lambda: nn.cross_entropy(M, M.T), "labels: must have shape (4, 5)"),
    "cross_entropy_shape": (
        lambda: nn.cross_entropy(M, ted.placeholder((5,), "int32")),
        "labels: must have shape (4,), got (5,)",
    ),
    "cross_entropy_floats": (
        lambda: nn.cross_entropy(M, ted.placeholder((4,), name="y")),
        'shape (4, 5), got (4,) (y); write labels.astype("int64") for numbers of classes',
    ),
    "cross_entropy_bool": (
        lambda: nn.cross_entropy(M, ted.placeholder((4,), "bool")),
        "labels must be integers or floats, got bool",
    ),
    "cross_entropy_reduction": (lambda: nn.cross_entropy(M, IDS, "max"), "got 'max'"),
    "cross_entropy_scalar": (
        lambda: nn.cross_entropy(ted.placeholder(()), IDS),
        "logits need a dim of classes",
    ),
    "mse_shape": (lambda: nn.mse(M, V), "target: must have shape (4, 5), got (5,) (v)"),
    "linear_inner": (lambda: nn.linear(M, M.T), "x must end with extent 4 as weight does"),
    "dense_inner": (lambda: nn.dense(M, M), "inner extents must agree"),
    "dense_bias": (lambda: nn.dense(M, M.T, V), "bias: must have shape (4,), got (5,) (v)"),
    "embedding_floats": (lambda: nn.embedding(M, V), "ids must be integers, got float32 (v)"),
    "attention_shapes": (lambda: nn.attention(M, M, V), "attention: takes query (..., n, d)"),
    "attention_heads": (
        lambda: nn.attention(X[0], X[0, :3], X[0, :3]),
        "heads of keys and values must divide those of queries, got 3 and 8",
    ),
    "attention_mask": (
        lambda: nn.attention(M, M, M, mask=V),
        "attention: mask: extents must be equal or 1",
    ),
    "batch_norm_training": (
        lambda: nn.batch_norm(M, training=False),
        "without training it takes running=(mean, variance)",
    ),
    "batch_norm_in_place": (
        lambda: nn.batch_norm(M, V, V, V, V, True),
        "write axis=1 and running=(mean, variance), which gives (y, mean, variance)",
    ),
    "batch_norm_too_many": (
        lambda: nn.batch_norm(M, V, V, V, V, False, 0.1, 1e-5, 1),
        "batch_norm: torch's arguments are running_mean, running_var, weight, bias, training",
    ),
    "batch_norm_twice": (
        lambda: nn.batch_norm(M, V, V, V, V, weight=V),
        "got multiple values for argument 'weight'",
    ),
    "layer_norm_both": (
        lambda: nn.layer_norm(M, (5,), axis=0),
        "layer_norm: axis or normalized_shape may be given, got axis=0 and (5,)",
    ),
    "batch_norm_running": (
        lambda: nn.batch_norm(M, running=(V, IDS)),
        "running variance: must have shape (5,), got (4,)",
    ),
    "instance_norm_dims": (lambda: nn.instance_norm(M), "got shape (4, 5) with channels in dim 1"),
    "response_size": (lambda: nn.local_response_norm(M, 0), "size: must be at least 1, got 0"),
    "nll_weight": (
        lambda: nn.nll_loss(M, IDS, weight=M),
        "nll_loss: weight: must have shape (5,), got (4, 5)",
    ),
    "cross_entropy_smoothing": (
        lambda: nn.cross_entropy(M, IDS, label_smoothing=2),
        "label_smoothing must be in [0, 1], got 2",
    ),
    "kl_reduction": (lambda: nn.kl_div(M, M, "max"), "kl_div: reduction: must be 'mean', 'sum'"),
    "huber_delta": (lambda: nn.huber_loss(M, M, delta=0), "delta must be a positive number"),
    "smooth_beta": (lambda: nn.smooth_l1_loss(M, M, beta=V), "beta must be a number, got"),
    "normalize_order": (lambda: nn.normalize(M, 0), "normalize: order must be a positive"),
    "reduction_array": (lambda: nn.mse(M, M, np.ones(2)), "mse: reduction: must be 'mean'"),
    "bce_weight": (
        lambda: nn.binary_cross_entropy_with_logits(M, M, weight=IDS),
        "weight: extents must be equal or 1 to broadcast, got shapes (4,) and (4, 5)",
    ),
    "triplet_shapes": (
        lambda: nn.triplet_margin_loss(M, M, V),
        "triplet_margin_loss: negative: must have shape (4, 5), got (5,) (v)",
    ),
    "triplet_distances": (
        lambda: nn.triplet_margin_with_distance_loss(M, M, V),
        "triplet_margin_with_distance_loss: negative: must have shape (4, 5), got (5,) (v)",
    ),
    "triplet_power": (lambda: nn.triplet_margin_loss(M, M, M, p=0), "p must be a positive number"),
    "ranking": (lambda: nn.margin_ranking_loss(M, V, M), "second: must have shape (4, 5)"),
    "multilabels": (lambda: nn.multilabel_margin_loss(M, M), "labels must be integers, got float"),
    "multilabel_shape": (lambda: nn.multilabel_margin_loss(M, IDS), "labels: must have shape (4"),
    "multilabel_rank": (lambda: nn.multilabel_soft_margin_loss(V[0], V[0]), "a dim of classes"),
    "bilinear": (lambda: nn.bilinear(M, M, M), "bilinear: weight: must have 3 dims, got shape"),
    "bilinear_shapes": (
        lambda: nn.bilinear(M, M, X[0]),
        "takes x (..., n), y (..., m) and weight (outputs, n, m), got (4, 5) (m), (4, 5) (m)",
    ),
    "channel_shuffle": (lambda: nn.channel_shuffle(X, 2), "a multiple of 2 channels, got shape"),
    "affine_grid": (
        lambda: nn.affine_grid(M, (3, 4)),
        "takes (n, rank, rank + 1) and two or three extents, got (4, 5) (m) and (3, 4)",
    ),
    "interpolate_sizes": (
        lambda: nn.interpolate(X),
        "takes a size or a scale_factor, and an x with elements, got size=None, scale_factor=None",
    ),
    "interpolate_mode": (lambda: nn.interpolate(X, 3, mode="cubic"), "mode: must be 'nearest'"),
    "interpolate_rank": (
        lambda: nn.interpolate(X[0], 3, mode="bicubic"),
        "mode 'bicubic' has another rank than x, got 1 spatial dims",
    ),
    "interpolate_factor": (
        lambda: nn.interpolate(X, scale_factor=0.1),
        "and leave an element, got 0.1 for extents (8, 8)",
    ),
    "grid_shape": (lambda: nn.grid_sample(X, X), "got (2, 8, 8, 3) (x) and (2, 8, 8, 3) (x)"),
    "fold_windows": (
        lambda: nn.fold(X[0], 4, 1),
        "fold: x: must have shape (8, 16, 3), got (8, 8, 3)",
    ),
    "pixel_shuffle": (lambda: nn.pixel_shuffle(X, 2), "a multiple of 2 * 2 channels, got shape"),
    "pixel_unshuffle": (lambda: nn.pixel_unshuffle(X, 3), "extents that 3 divides, got shape"),
    "bag_weights": (
        lambda: nn.embedding_bag(M, IDS, "max", V[:4]),
        """weights are those of mode "sum", got mode 'max'""",
    ),
    "padding_idx": (lambda: nn.embedding(M, IDS, 4), "padding_idx must be a row of 4, got 4"),
    "stacked": (lambda: nn.stacked(nn.rnn, X[0], []), "got 0 and 0"),
    "stacked_list": (lambda: nn.stacked(nn.rnn, X[0], 2), "parameters: must be a list, got 2"),
    "stacked_starts": (lambda: nn.stacked(nn.rnn, X[0], [M], 2), "initial: must be a list, got 2"),
    "schedule_bounds": (lambda: nn.piecewise_schedule([1.0], None), "bounds: must be a list, got"),
    "schedule_rates": (lambda: nn.piecewise_schedule([[]], []), "rates must be numbers, got []"),
    "cosine_eps": (lambda: nn.cosine_similarity(M, M, eps=[]), "eps must be a number, got []"),
    "response_alpha": (
        lambda: nn.local_response_norm(X, 2, alpha=None),
        "alpha must be a number, got None",
    ),
    "distance_function": (
        lambda: nn.triplet_margin_with_distance_loss(M, M, M, distance_function="q"),
        "distance_function",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_refused_with_argument_and_line(case):
    program, message = CASES[case]
    with pytest.raises(FrontendError, match=re.escape(message)) as caught:
        program()
    assert caught.value.location is not None
    assert caught.value.location.file == __file__
