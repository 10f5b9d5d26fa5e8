"""Every operator of `ted.nn` gives what torch gives, by the reference interpreter."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ted
from ted import nn
from ted.testing.tracing import interpreted, traced

torch = pytest.importorskip("torch")
F = torch.nn.functional
TOLERANCE = 1e-12  # float64 sums of at most a few hundred terms of size 1


def evaluate(function: Callable[..., Any], *arrays: np.ndarray) -> np.ndarray:
    outputs, inputs = traced(function, arrays, what="test")
    return interpreted(inputs, outputs)(*arrays)[0]


def numbers(*shapes: tuple[int, ...]) -> list[np.ndarray]:
    generator = np.random.default_rng(7)
    return [generator.normal(size=shape) for shape in shapes]


def assert_same(function, reference, *arrays) -> None:
    want = reference(*(torch.tensor(a) for a in arrays)).numpy()
    got = evaluate(function, *arrays)
    assert got.shape == want.shape
    np.testing.assert_allclose(got, want, rtol=TOLERANCE, atol=TOLERANCE)


def first(t):
    return t.permute(0, 3, 1, 2)


def last(t):
    return t.permute(0, 2, 3, 1)


def as_torch(weight):
    return weight.permute(3, 2, 0, 1)


# stride, padding, dilation, groups
CONVOLUTIONS = [
    (1, 0, 1, 1), (2, 1, 1, 1), (1, 1, 2, 1), (3, 2, 2, 2), (2, 1, 1, 4), ((2, 1), (0, 2), 1, 1),
]  # fmt: skip


@pytest.mark.parametrize(("stride", "padding", "dilation", "groups"), CONVOLUTIONS)
def test_conv2d_channels_last(stride, padding, dilation, groups):
    options = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
    assert_same(
        lambda x, w: nn.conv2d(x, w, **options),
        lambda x, w: last(F.conv2d(first(x), as_torch(w), **options)),
        *numbers((1, 6, 7, 4), (3, 2, 4 // groups, 4)),
    )


@pytest.mark.parametrize(("stride", "padding", "dilation", "groups"), CONVOLUTIONS)
def test_conv2d_channels_first(stride, padding, dilation, groups):
    options = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
    assert_same(
        lambda x, w, b: nn.conv2d(x, w, b, layout="NCHW", **options),
        lambda x, w, b: F.conv2d(x, w, b, **options),
        *numbers((1, 4, 6, 7), (4, 4 // groups, 3, 2), (4,)),
    )


@pytest.mark.parametrize("padding", ["same", "valid"])
def test_conv2d_padding_by_name(padding):
    assert_same(
        lambda x, w: nn.conv2d(x, w, padding=padding, dilation=2),
        lambda x, w: last(F.conv2d(first(x), as_torch(w), padding=padding, dilation=2)),
        *numbers((1, 6, 6, 2), (3, 2, 2, 3)),
    )


def test_conv2d_same_with_a_stride_covers_every_input():
    x, w = ted.placeholder((1, 7, 8, 2)), ted.placeholder((3, 3, 2, 4))
    assert nn.conv2d(x, w, stride=2, padding="same").shape == (1, 4, 4, 4)


def test_conv2d_padding_before_and_after():
    assert_same(
        lambda x, w: nn.conv2d(x, w, padding=((1, 0), (0, 2))),
        lambda x, w: last(F.conv2d(F.pad(first(x), (0, 2, 1, 0)), as_torch(w))),
        *numbers((1, 4, 4, 2), (3, 3, 2, 2)),
    )


def test_conv1d_and_conv3d():
    assert_same(
        lambda x, w: nn.conv1d(x, w, stride=2, padding=1, layout="NCL"),
        lambda x, w: F.conv1d(x, w, stride=2, padding=1),
        *numbers((2, 3, 8), (4, 3, 3)),
    )
    assert_same(
        lambda x, w: nn.conv1d(x, w, padding=1),
        lambda x, w: F.conv1d(x.mT, w.permute(2, 1, 0), padding=1).mT,
        *numbers((2, 8, 3), (3, 3, 4)),
    )
    assert_same(
        lambda x, w: nn.conv3d(x, w, padding=1, layout="NCDHW"),
        lambda x, w: F.conv3d(x, w, padding=1),
        *numbers((1, 2, 3, 3, 2), (2, 2, 2, 2, 2)),
    )


@pytest.mark.parametrize("multiplier", [1, 2])
def test_depthwise_conv2d(multiplier):
    assert_same(
        lambda x, w: nn.depthwise_conv2d(x, w, padding=1, stride=2, layout="NCHW"),
        lambda x, w: F.conv2d(x, w, padding=1, stride=2, groups=3),
        *numbers((1, 3, 5, 5), (3 * multiplier, 1, 3, 3)),
    )
    assert_same(
        lambda x, w: nn.depthwise_conv2d(x, w, padding=1),
        lambda x, w: last(
            F.conv2d(
                first(x),
                w.permute(2, 3, 0, 1).reshape(3 * multiplier, 1, 3, 3),
                padding=1,
                groups=3,
            )
        ),
        *numbers((1, 5, 5, 3), (3, 3, 3, multiplier)),
    )


def test_conv_transpose2d():
    assert_same(
        lambda x, w, b: nn.conv_transpose2d(x, w, b, stride=2, padding=1, layout="NCHW"),
        lambda x, w, b: F.conv_transpose2d(x, w, b, stride=2, padding=1),
        *numbers((1, 2, 3, 4), (2, 3, 3, 3), (3,)),
    )
    assert_same(
        lambda x, w: nn.conv_transpose2d(x, w, stride=3),
        lambda x, w: last(F.conv_transpose2d(first(x), w.permute(3, 2, 0, 1), stride=3)),
        *numbers((1, 3, 4, 2), (2, 2, 3, 2)),
    )


@pytest.mark.parametrize(
    ("window", "stride", "padding"), [(2, None, 0), (3, 2, 1), ((2, 3), (1, 2), (1, 0)), (3, 1, 1)]
)
def test_pools(window, stride, padding):
    (x,) = numbers((1, 2, 7, 6))
    assert_same(
        lambda x: nn.max_pool2d(x, window, stride, padding, layout="NCHW"),
        lambda x: F.max_pool2d(x, window, stride, padding),
        x,
    )
    for counted in (True, False):
        assert_same(
            lambda x, counted=counted: nn.avg_pool2d(
                x, window, stride, padding, "NCHW", count_include_pad=counted
            ),
            lambda x, counted=counted: F.avg_pool2d(
                x, window, stride, padding, count_include_pad=counted
            ),
            x,
        )


def test_pools_channels_last_and_dilated():
    (x,) = numbers((1, 6, 6, 2))
    assert_same(lambda x: nn.max_pool2d(x, 2), lambda x: last(F.max_pool2d(first(x), 2)), x)
    assert_same(lambda x: nn.avg_pool2d(x, 2), lambda x: last(F.avg_pool2d(first(x), 2)), x)
    assert_same(
        lambda x: nn.max_pool2d(x, 2, 1, 1, dilation=2),
        lambda x: last(F.max_pool2d(first(x), 2, 1, 1, dilation=2)),
        x,
    )


def test_global_pools():
    (x,) = numbers((2, 3, 4, 5))
    assert_same(nn.global_avg_pool2d, lambda x: x.mean((1, 2)), x)
    assert_same(lambda x: nn.global_max_pool2d(x, "NCHW"), lambda x: x.amax((2, 3)), x)


def test_positions_of_maxima():
    (x,) = numbers((1, 2, 5, 6))
    for ours, theirs in (
        (
            lambda x: nn.max_pool2d(x, 3, 2, 1, 1, "NCHW", ceil_mode=True, return_indices=True)[1],
            lambda x: F.max_pool2d(x, 3, 2, 1, 1, True, True)[1],
        ),
        (
            lambda x: nn.adaptive_max_pool2d(x, (2, 4), "NCHW", return_indices=True)[1],
            lambda x: F.adaptive_max_pool2d(x, (2, 4), True)[1],
        ),
    ):
        assert_same(ours, theirs, x)


ACTIVATIONS = [
    ("relu", nn.relu, F.relu),
    ("leaky_relu", nn.leaky_relu, F.leaky_relu),
    ("elu", nn.elu, F.elu),
    ("sigmoid", nn.sigmoid, torch.sigmoid),
    ("silu", nn.silu, F.silu),
    ("gelu", nn.gelu, F.gelu),
    ("gelu_tanh", lambda x: nn.gelu(x, "tanh"), lambda x: F.gelu(x, approximate="tanh")),
    ("softplus", ted.softplus, F.softplus),
    ("softmax", nn.softmax, lambda x: x.softmax(-1)),
    ("softmax_first", lambda x: nn.softmax(x, 0), lambda x: x.softmax(0)),
    (
        "softmax_of_all",
        lambda x: nn.softmax(x, None),
        lambda x: x.flatten().softmax(0).view(x.shape),
    ),
    ("log_softmax", nn.log_softmax, lambda x: x.log_softmax(-1)),
    ("logsumexp", lambda x: nn.logsumexp(x, 1), lambda x: x.logsumexp(1)),
]


@pytest.mark.parametrize(
    ("name", "function", "reference"), ACTIVATIONS, ids=[n for n, _, _ in ACTIVATIONS]
)
def test_activations(name, function, reference):
    assert_same(function, reference, 3 * numbers((4, 5))[0])


def test_an_activation_works_inside_an_index_lambda():
    x = ted.placeholder((4,))
    inside = ted.compute((4,), lambda i: nn.silu(x[i]))
    assert inside.node.equations[0].body is nn.silu(x).node.equations[0].body


def test_softmax_of_large_numbers_is_finite():
    got = evaluate(nn.softmax, np.array([[1e4, 1e4], [-1e4, 0.0]]))
    np.testing.assert_array_equal(got, [[0.5, 0.5], [0.0, 1.0]])


def test_normalizations():
    x, w, b = numbers((2, 4, 3, 3), (4,), (4,))
    assert_same(
        lambda x, w, b: nn.batch_norm(x, w, b, axis=1),
        lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True),
        x, w, b,
    )  # fmt: skip
    assert_same(
        lambda x, w, b: nn.group_norm(x, 2, w, b, axis=1),
        lambda x, w, b: F.group_norm(x, 2, w, b),
        x, w, b,
    )  # fmt: skip
    assert_same(
        lambda x, w, b: nn.group_norm(x, 2, w, b),
        lambda x, w, b: last(F.group_norm(first(x), 2, w, b)),
        *numbers((2, 3, 3, 4), (4,), (4,)),
    )
    assert_same(
        lambda x, w, b: nn.layer_norm(x, w, b, axis=(1, 2)),
        lambda x, w, b: F.layer_norm(x, (3, 4), w, b),
        *numbers((2, 3, 4), (3, 4), (3, 4)),
    )
    assert_same(nn.rms_norm, lambda x, w: F.rms_norm(x, (5,), w, eps=1e-6), *numbers((3, 5), (5,)))


def test_batch_norm_gives_its_statistics():
    (x,) = numbers((4, 3))
    want = x.var(0)
    np.testing.assert_allclose(
        evaluate(lambda t: nn.batch_norm(t, statistics=True)[2], x), want, rtol=TOLERANCE
    )


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("batch", [(), (2,), (2, 1)])
def test_attention(causal, batch):
    assert_same(
        lambda q, k, v: nn.attention(q, k, v, causal=causal),
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=causal),
        *numbers((*batch, 5, 4), (*batch, 5, 4), (*batch, 5, 3)),
    )


def test_attention_to_more_keys_than_queries():
    assert_same(
        nn.attention,
        F.scaled_dot_product_attention,
        *numbers((2, 3, 4), (2, 5, 4), (2, 5, 4)),
    )


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_losses(reduction):
    logits, target = numbers((4, 5), (4, 5))
    labels = np.array([0, 4, 2, 2])
    assert_same(
        lambda x, y: nn.cross_entropy(x, y, reduction),
        lambda x, y: F.cross_entropy(x, y, reduction=reduction),
        logits, labels,
    )  # fmt: skip
    assert_same(
        lambda x, y: nn.cross_entropy(x, y, reduction),
        lambda x, y: F.cross_entropy(x, y, reduction=reduction),
        logits, abs(target),
    )  # fmt: skip
    assert_same(
        lambda x, y: nn.mse(x, y, reduction),
        lambda x, y: F.mse_loss(x, y, reduction=reduction),
        logits, target,
    )  # fmt: skip


@pytest.mark.parametrize("wrong", [-1, 4])
def test_a_label_outside_the_classes_is_an_error_of_the_program(wrong):
    (logits,) = numbers((3, 4))
    step = ted.value_and_grad(lambda logits, y: nn.cross_entropy(logits, y), argnums=0)
    with pytest.raises(
        ted.errors.ExecutionError, match=f"logits has .* in dim 1, got index {wrong}"
    ):
        step(logits, np.array([wrong, 0, 1]))
    gradient = ted.grad(lambda logits, y: nn.cross_entropy(logits, y, ignore_index=wrong))
    assert np.all(gradient(logits, np.array([wrong, 0, 1]))[0] == 0)


@pytest.mark.parametrize(
    "call",
    [
        lambda f, x, m, v, w, b: f.batch_norm(x, m, v, w, b),
        lambda f, x, m, v, w, b: f.batch_norm(x, m, v, w, b, False, 0.1, 1e-3),
        lambda f, x, m, v, w, b: f.batch_norm(x, m, v, weight=w, bias=b),
        lambda f, x, m, v, w, b: f.batch_norm(x, running_mean=m, running_var=v, eps=1e-3),
        lambda f, x, m, v, w, b: f.batch_norm(x, None, None, w, b, True),
        lambda f, x, m, v, w, b: f.group_norm(x, num_groups=2, weight=w, bias=b),
        lambda f, x, m, v, w, b: f.group_norm(x, 2, w, b, 1e-3),
    ],
)
def test_norms_take_the_arguments_of_torch(call):
    x, m, v, w, b = numbers((2, 4, 3), (4,), (4,), (4,), (4,))
    assert_same(functools.partial(call, nn), functools.partial(call, F), x, m, v * v + 1, w, b)


def test_batch_norm_moves_running_statistics():
    x, mean = numbers((4, 3, 2), (3,))
    variance = abs(mean) + 1
    want = [torch.tensor(mean), torch.tensor(variance)]
    y = F.batch_norm(torch.tensor(x), *want, training=True, momentum=0.3)
    for k, wanted in enumerate((y, *want)):
        got = evaluate(
            lambda x, m, v, k=k: nn.batch_norm(x, axis=1, running=(m, v), momentum=0.3)[k],
            x, mean, variance,
        )  # fmt: skip
        np.testing.assert_allclose(got, wanted.numpy(), rtol=TOLERANCE, atol=TOLERANCE)


def test_a_bag_of_padding_and_a_query_that_sees_nothing_give_zeros():
    (table,) = numbers((4, 2))
    ids = np.array([[1, 1], [1, 2]])
    for mode in ("mean", "sum", "max"):
        got = evaluate(lambda t, i, m=mode: nn.embedding_bag(t, i, m, padding_idx=1), table, ids)
        np.testing.assert_array_equal(got, [[0, 0], table[2]])
    mask = np.array([[False, False], [True, False], [True, True], [False, True]])
    got = evaluate(
        lambda q, m: nn.attention(q, q[:2], q[:2], mask=m), table, mask
    )  # fmt: skip
    np.testing.assert_allclose(got[[0, 1, 3]], [[0, 0], table[0], table[1]])


def test_linear_maps_and_look_up():
    assert_same(nn.linear, F.linear, *numbers((2, 4, 5), (3, 5), (3,)))
    assert_same(nn.dense, lambda x, w, b: x @ w + b, *numbers((4, 5), (5, 3), (3,)))
    assert_same(nn.flatten, lambda x: x.flatten(1), *numbers((2, 3, 4)))
    table, ids = numbers((4, 5))[0], np.array([[0, 3], [1, 1]])
    assert_same(nn.embedding, lambda t, i: F.embedding(i, t), table, ids)
