"""How operators are written: padding as guards, windows as one sum, labels by comparison."""

from __future__ import annotations

import pytest

import ted
from ted import nn
from ted.ir.equations import topological
from ted.ir.printing import format_equation

X = ted.placeholder((2, 8, 8, 3), name="x")
W = ted.placeholder((3, 3, 3, 4), name="w")


def texts(tensor: ted.Tensor) -> list[str]:
    return [format_equation(t, e) for t in topological([tensor.node]) for e in t.equations]


def test_a_convolution_without_padding_has_no_condition():
    (text,) = texts(nn.conv2d(X, W, stride=2))
    assert "where" not in text
    assert "x[i, j*2 + kh, k*2 + kw, c]*w[kh, kw, c, l]" in text


def test_padding_is_a_condition_on_the_read_where_it_can_fail():
    (text,) = texts(nn.conv2d(X, W, stride=2, padding=1))
    assert "where(0 <= j*2 + kh - 1 and 0 <= k*2 + kw - 1, x[" in text
    assert "< 8" not in text.split("for")[0]


def test_a_convolution_is_one_equation_in_both_layouts():
    x, w = ted.placeholder((2, 3, 8, 8)), ted.placeholder((4, 3, 3, 3))
    assert len(texts(nn.conv2d(x, w, layout="NCHW", padding=1))) == 1


def test_max_pool_leaves_padding_out_of_the_domain():
    (text,) = texts(nn.max_pool2d(X, 3, 2, 1))
    assert text.startswith("max_pool2d[i, j, k, l] = max(x[")
    assert "where 2*j + kh - 1 >= 0 and 2*k + kw - 1 >= 0" in text


def test_integer_labels_are_compared_and_an_index_only_where_they_are_none():
    logits = ted.placeholder((4, 5), name="x")
    labels = ted.placeholder((4,), "int64", name="labels")
    loss = nn.cross_entropy(logits, labels)
    known = "where(0 <= labels[i] and labels[i] < 5, 1, stop_gradient(x[i, index(labels[i])]))"
    assert sum("index(labels" in line.replace(known, "") for line in texts(loss)) == 0
    gradient = str(ted.differentiate(loss, [logits]))
    assert known in gradient  # a wrong label is an error of the gradient, too
    assert "index(labels" not in gradient.replace(known, "")


@pytest.mark.parametrize("heads", [pytest.param(1, marks=pytest.mark.slow), 2])
def test_a_gradient_of_attention_holds_three_tensors_of_scores_at_most(heads):
    n = 128
    q = ted.placeholder((2, n, 8), name="q")
    k, v = (ted.placeholder((heads, n, 8), name=name) for name in "kv")
    mask = ted.placeholder((n, n), "bool", name="mask")
    result = nn.attention(q, k, v, causal=heads == 1, mask=mask if heads == 2 else None)
    gradients = ted.differentiate(result, [q, k, v], head=q)
    f = ted.compile([q, k, v, mask], [result, *gradients])
    scores, results = 4 * 2 * n * n, 4 * 4 * 2 * n * 8
    timeline = f.memory()
    kernels = range(len(timeline.steps))
    own = max(step.nbytes for step in timeline.steps)
    assert max(timeline.held(k) - timeline.steps[k].nbytes for k in kernels) < results + 3 * scores
    assert own <= scores // 2  # which a kernel holds of one head; up to 64 KiB were on the stack
    assert f.peak_bytes <= results + 3 * scores + own


def test_causal_attention_computes_the_triangle_only():
    q = ted.placeholder((4, 8), name="q")
    lines = texts(nn.attention(q, q, q, causal=True))
    sums = [line for line in lines if "+=" in line or "max(" in line]
    assert len(sums) == 4
    assert all("where i - " in line for line in sums)


def test_batch_norm_is_no_larger_than_its_input():
    y = nn.batch_norm(X)
    assert max(t.size for t in topological([y.node])) == X.size


@pytest.mark.parametrize("name", nn.__all__)
def test_every_operator_says_what_it_does(name):
    assert getattr(nn, name).__doc__
