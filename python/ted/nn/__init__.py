"""Operators of neural networks, each an ordinary expression in the public frontend.

Nothing here has a gradient of its own: every operator is differentiated like what a user writes.
"""

import typing

from ted.frontend import keywords, missing_names
from ted.nn import init as init
from ted.nn.activations import elu as elu
from ted.nn.activations import gelu as gelu
from ted.nn.activations import leaky_relu as leaky_relu
from ted.nn.activations import log_softmax as log_softmax
from ted.nn.activations import relu as relu
from ted.nn.activations import sigmoid as sigmoid
from ted.nn.activations import silu as silu
from ted.nn.activations import softmax as softmax
from ted.nn.attention import attention as attention
from ted.nn.convolution import conv1d as conv1d
from ted.nn.convolution import conv2d as conv2d
from ted.nn.convolution import conv3d as conv3d
from ted.nn.convolution import conv_transpose1d as conv_transpose1d
from ted.nn.convolution import conv_transpose2d as conv_transpose2d
from ted.nn.convolution import conv_transpose3d as conv_transpose3d
from ted.nn.convolution import depthwise_conv2d as depthwise_conv2d
from ted.nn.ctc import ctc_loss as ctc_loss
from ted.nn.distances import cosine_embedding_loss as cosine_embedding_loss
from ted.nn.distances import margin_ranking_loss as margin_ranking_loss
from ted.nn.distances import triplet_margin_loss as triplet_margin_loss
from ted.nn.distances import triplet_margin_with_distance_loss as triplet_margin_with_distance_loss
from ted.nn.layers import bilinear as bilinear
from ted.nn.layers import dense as dense
from ted.nn.layers import embedding as embedding
from ted.nn.layers import embedding_bag as embedding_bag
from ted.nn.layers import flatten as flatten
from ted.nn.layers import linear as linear
from ted.nn.losses import cross_entropy as cross_entropy
from ted.nn.losses import logsumexp as logsumexp
from ted.nn.losses import mse as mse
from ted.nn.losses import multi_margin_loss as multi_margin_loss
from ted.nn.losses import multilabel_margin_loss as multilabel_margin_loss
from ted.nn.losses import nll_loss as nll_loss
from ted.nn.multi_head import multi_head_attention_forward as multi_head_attention_forward
from ted.nn.normalization import batch_norm as batch_norm
from ted.nn.normalization import group_norm as group_norm
from ted.nn.normalization import instance_norm as instance_norm
from ted.nn.normalization import layer_norm as layer_norm
from ted.nn.normalization import local_response_norm as local_response_norm
from ted.nn.normalization import rms_norm as rms_norm
from ted.nn.optimizers import Optimizer as Optimizer
from ted.nn.optimizers import adagrad as adagrad
from ted.nn.optimizers import adam as adam
from ted.nn.optimizers import adamw as adamw
from ted.nn.optimizers import clip_by_global_norm as clip_by_global_norm
from ted.nn.optimizers import global_norm as global_norm
from ted.nn.optimizers import lamb as lamb
from ted.nn.optimizers import lion as lion
from ted.nn.optimizers import rmsprop as rmsprop
from ted.nn.optimizers import sgd as sgd
from ted.nn.patches import channel_shuffle as channel_shuffle
from ted.nn.patches import fold as fold
from ted.nn.patches import pixel_shuffle as pixel_shuffle
from ted.nn.patches import pixel_unshuffle as pixel_unshuffle
from ted.nn.patches import unfold as unfold
from ted.nn.piecewise import celu as celu
from ted.nn.piecewise import cosine_similarity as cosine_similarity
from ted.nn.piecewise import glu as glu
from ted.nn.piecewise import hardshrink as hardshrink
from ted.nn.piecewise import hardsigmoid as hardsigmoid
from ted.nn.piecewise import hardswish as hardswish
from ted.nn.piecewise import hardtanh as hardtanh
from ted.nn.piecewise import logsigmoid as logsigmoid
from ted.nn.piecewise import mish as mish
from ted.nn.piecewise import normalize as normalize
from ted.nn.piecewise import prelu as prelu
from ted.nn.piecewise import relu6 as relu6
from ted.nn.piecewise import selu as selu
from ted.nn.piecewise import softmin as softmin
from ted.nn.piecewise import softshrink as softshrink
from ted.nn.piecewise import softsign as softsign
from ted.nn.piecewise import squareplus as squareplus
from ted.nn.piecewise import tanhshrink as tanhshrink
from ted.nn.piecewise import threshold as threshold
from ted.nn.pointwise_losses import binary_cross_entropy as binary_cross_entropy
from ted.nn.pointwise_losses import (
    binary_cross_entropy_with_logits as binary_cross_entropy_with_logits,
)
from ted.nn.pointwise_losses import gaussian_nll_loss as gaussian_nll_loss
from ted.nn.pointwise_losses import hinge_embedding_loss as hinge_embedding_loss
from ted.nn.pointwise_losses import huber_loss as huber_loss
from ted.nn.pointwise_losses import kl_div as kl_div
from ted.nn.pointwise_losses import l1_loss as l1_loss
from ted.nn.pointwise_losses import multilabel_soft_margin_loss as multilabel_soft_margin_loss
from ted.nn.pointwise_losses import poisson_nll_loss as poisson_nll_loss
from ted.nn.pointwise_losses import smooth_l1_loss as smooth_l1_loss
from ted.nn.pointwise_losses import soft_margin_loss as soft_margin_loss
from ted.nn.pooling import adaptive_avg_pool1d as adaptive_avg_pool1d
from ted.nn.pooling import adaptive_avg_pool2d as adaptive_avg_pool2d
from ted.nn.pooling import adaptive_avg_pool3d as adaptive_avg_pool3d
from ted.nn.pooling import adaptive_max_pool1d as adaptive_max_pool1d
from ted.nn.pooling import adaptive_max_pool2d as adaptive_max_pool2d
from ted.nn.pooling import adaptive_max_pool3d as adaptive_max_pool3d
from ted.nn.pooling import avg_pool1d as avg_pool1d
from ted.nn.pooling import avg_pool2d as avg_pool2d
from ted.nn.pooling import avg_pool3d as avg_pool3d
from ted.nn.pooling import fractional_max_pool2d as fractional_max_pool2d
from ted.nn.pooling import fractional_max_pool3d as fractional_max_pool3d
from ted.nn.pooling import global_avg_pool2d as global_avg_pool2d
from ted.nn.pooling import global_max_pool2d as global_max_pool2d
from ted.nn.pooling import lp_pool1d as lp_pool1d
from ted.nn.pooling import lp_pool2d as lp_pool2d
from ted.nn.pooling import lp_pool3d as lp_pool3d
from ted.nn.pooling import max_pool1d as max_pool1d
from ted.nn.pooling import max_pool2d as max_pool2d
from ted.nn.pooling import max_pool3d as max_pool3d
from ted.nn.pooling import max_unpool1d as max_unpool1d
from ted.nn.pooling import max_unpool2d as max_unpool2d
from ted.nn.pooling import max_unpool3d as max_unpool3d
from ted.nn.recurrent import gru as gru
from ted.nn.recurrent import lstm as lstm
from ted.nn.recurrent import rnn as rnn
from ted.nn.recurrent import stacked as stacked
from ted.nn.resizing import interpolate as interpolate
from ted.nn.sampling import affine_grid as affine_grid
from ted.nn.sampling import grid_sample as grid_sample
from ted.nn.schedules import cosine_schedule as cosine_schedule
from ted.nn.schedules import exponential_schedule as exponential_schedule
from ted.nn.schedules import linear_schedule as linear_schedule
from ted.nn.schedules import piecewise_schedule as piecewise_schedule
from ted.nn.schedules import step_schedule as step_schedule

__all__ = sorted([*keywords.published(globals(), __name__), "init"])


def __getattr__(name: str) -> typing.Any:
    raise missing_names.missing(__name__, name, __all__)
