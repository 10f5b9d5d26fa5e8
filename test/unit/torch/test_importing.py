"""Programs of `torch.export` read as functions of ted: values, gradients, state, refusals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

import ted
import ted.torch
from ted.errors import FrontendError, TedError, VerifyError
from ted.frontend.trees import flatten
from ted.torch.graphs import _MOVES
from ted.torch.lowering import lowered
from unit.frontend.complex_runs import interpreted
from unit.torch.programs import Call, arguments, operator, torch_layer

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::UserWarning")


class _Classifier(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.convolution = nn.Conv2d(2, 4, 3, padding=1, stride=2)
        self.norm = nn.BatchNorm2d(4)
        self.pool = nn.MaxPool2d(2)
        self.head = nn.Linear(4, 3)

    def forward(self, x: torch.Tensor) -> dict[str, Any]:
        x = self.pool(torch.relu(self.norm(self.convolution(x))))
        return {"logits": functional.log_softmax(self.head(x.mean((2, 3))), -1)}


class _First(nn.Module):
    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.inner(x)[0]


def draw(*shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(3))


AT = torch.tensor([0, 2, 2])
MODELS: dict[str, tuple[Callable[[], nn.Module], tuple[Any, ...]]] = {
    "a convolutional classifier": (_Classifier, (draw(2, 2, 8, 8),)),
    "a transformer layer": (
        lambda: nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, batch_first=True),
        (draw(1, 3, 4),),
    ),
    "a recurrent network": (lambda: _First(nn.LSTM(3, 2)), (draw(3, 2, 3),)),
    "messages on a graph": (
        lambda: Call(lambda x, to: torch.zeros(4, 2).index_add(0, to, torch.tanh(x[to]))),
        (draw(3, 2), AT),
    ),
    "embeddings": (
        lambda: nn.Sequential(nn.Embedding(4, 3, padding_idx=2), nn.LayerNorm(3)),
        (AT,),
    ),
    "attention": (
        lambda: Call(lambda q: functional.scaled_dot_product_attention(q, q, q, is_causal=True)),
        (draw(1, 1, 3, 2),),
    ),
    "a bilinear resize": (
        lambda: Call(lambda x: functional.interpolate(x, scale_factor=2, mode="bilinear")),
        (draw(1, 1, 3, 3),),
    ),
    "sorts and totals": (
        lambda: Call(lambda x: (x.sort(1)[0], x.topk(2, 1)[0], x.cumsum(1), x.logcumsumexp(0))),
        (draw(3, 4),),
    ),
    "rows put": (lambda: Call(lambda x: x.index_put((AT[:2],), x[:2] * 2)), (draw(3, 4),)),
    "a unit by tanh": (lambda: nn.GELU(approximate="tanh"), (draw(3, 4) * 3,)),
    "rolled and flipped": (lambda: Call(lambda x: x.roll(1, 1).flip(0).t()), (draw(3, 4),)),
    "activations with bends": (
        lambda: nn.Sequential(
            nn.Softshrink(0.3), nn.ReLU6(), nn.LogSigmoid(), nn.Hardtanh(-0.6, -0.2)
        ),
        (draw(3, 4),),
    ),
    "an image at places": (
        lambda: Call(lambda x, at: functional.grid_sample(x, at, align_corners=False)),
        (draw(1, 2, 3, 3), draw(1, 2, 2, 2)),
    ),
    "means and pads": (
        lambda: Call(
            lambda x: (
                functional.adaptive_avg_pool3d(x, (3, 2, 2)),
                functional.pad(x, (-1, 2, 1, -2)),
            )
        ),
        (draw(1, 2, 4, 3, 3),),
    ),
    "transposed convolution": (
        lambda: nn.ConvTranspose2d(2, 3, 3, stride=2, padding=1, groups=1),
        (draw(1, 2, 3, 3),),
    ),
}


@pytest.mark.fast(2)
@pytest.mark.parametrize("name", MODELS)
def test_imported_models_agree_with_torch_in_value_and_gradient(name: str) -> None:
    make, args = MODELS[name]
    torch.manual_seed(0)
    model = make().eval()
    imported = ted.torch.from_exported(torch.export.export(model, args))
    wanted = _leaves(model(*args))
    arrays = [a.numpy() for a in args]
    results = ted.function(lambda p, *a: imported(p, *a))(imported.params, *arrays)
    for one, other in zip(_leaves(results), wanted, strict=True):
        np.testing.assert_allclose(one, other.detach(), rtol=1e-5, atol=1e-6)

    variables = [a.clone().requires_grad_(a.is_floating_point()) for a in args]
    loss = sum((leaf * leaf.cos()).sum() for leaf in _leaves(model(*variables)))
    inputs = [*model.parameters(), *(v for v in variables if v.requires_grad)]
    given = torch.autograd.grad(loss, inputs)
    floats = tuple(k + 1 for k, a in enumerate(args) if a.is_floating_point())

    def total(params: Any, *arguments: Any) -> Any:
        leaves = _leaves(imported(params, *arguments))
        return sum(ted.sum(leaf * ted.cos(leaf)) for leaf in leaves)

    first = (0,) if imported.params else ()
    own = ted.function(ted.grad(total, (*first, *floats)))(imported.params, *arrays)
    found = [leaf for _, leaf in flatten(own)[0]]
    for one, other in zip(found, given, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


def _leaves(nest: Any) -> list[Any]:
    if isinstance(nest, dict):
        nest = list(nest.values())
    if isinstance(nest, (tuple, list)):
        return [leaf for part in nest for leaf in _leaves(part)]
    return [nest]


def test_training_gives_the_buffers_after_a_step() -> None:
    torch.manual_seed(0)
    model, x = nn.BatchNorm1d(3), draw(4, 3)
    imported = ted.torch.from_exported(torch.export.export(model, (x,)))
    step = ted.function(lambda p, b, x: imported.stateful(p, b, x))
    result, buffers = step(imported.params, imported.buffers, x.numpy())
    wanted = model(x)  # which changes what the arrays share with it
    np.testing.assert_allclose(result, wanted.detach(), atol=1e-6)
    np.testing.assert_allclose(buffers["running_var"], model.running_var, rtol=1e-6)
    assert buffers["num_batches_tracked"] == 1


@pytest.mark.parametrize("writes", [False, True])
def test_operators_of_ted_in_a_model_become_their_functions(writes: bool) -> None:
    def model(f: Any) -> nn.Module:
        return Call(lambda x, w: torch.sin(f(x.clone().mul_(2) if writes else x, w)))

    args = arguments()
    imported = ted.torch.from_exported(torch.export.export(model(operator), args))
    x, w = arguments(requires_grad=True)
    total = model(torch_layer)(x, w).sum()
    (slope,) = torch.autograd.grad(total, x, create_graph=True)
    wanted = (total, slope, *torch.autograd.grad((slope**2).sum(), (x, w)))

    def loss(x: Any, w: Any) -> Any:
        return ted.sum(imported({}, x, w))

    def squares(x: Any, w: Any) -> Any:
        return ted.sum(ted.grad(loss)(x, w) ** 2)

    found = ted.function(
        lambda x, w: (loss(x, w), ted.grad(loss)(x, w), *ted.grad(squares, (0, 1))(x, w))
    )(*[a.numpy() for a in args])
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other.detach(), rtol=1e-11, atol=1e-12)


def test_bytes_are_without_sign() -> None:
    x = torch.tensor([200, 7, 255], dtype=torch.uint8)
    model = Call(lambda x: (x.float() * 2, x > 100, x / 2, x.sum(), torch.maximum(x, x.float())))
    imported = ted.torch.from_exported(torch.export.export(model, (x,)))
    double, above, half, total, same = ted.function(lambda x: imported({}, x))(x.numpy())
    assert double.tolist() == [400, 14, 510]
    assert above.tolist() == [True, False, True]
    assert half.tolist() == [100, 3.5, 127.5]
    assert total == 462
    assert same.tolist() == x.tolist()


def _moves(x: torch.Tensor, at: torch.Tensor) -> tuple[Any, ...]:
    """Each operator that only moves or chooses."""
    aten, mask, wide = torch.ops.aten, x > 5, at.expand(2, 2)
    return (
        x, torch.t_copy(x)[1:], x.T.float() / 255, aten.alias(x), x.amax(0), x.amin(1),
        torch.cat([x, x]), *x.chunk(2, 1), x.clone(), aten.constant_pad_nd(x, (1, 0), 7),
        x.T.contiguous(), x.cummax(1)[0], x.cummin(1)[0], x.detach() + 0.5, x.diagonal(),
        x[:1].expand(2, 3), x[:1].expand_as(x), x.flatten(), x.flip(1), x.gather(1, wide),
        x[:, at], x.index_select(1, at), x.kthvalue(2, 1)[0], x.mT, x.masked_fill(mask, 3),
        aten.matrix_H(x), x.max(), x.max(1)[0], torch.maximum(x, x.flip(0)), x.median(),
        x.median(1)[0], x.min(), x.min(0)[0], torch.minimum(x, x.flip(0)), x.mode(1)[0],
        x.movedim(0, 1), x.nanmedian(1)[0], x.narrow(1, 1, 2), aten.numpy_T(x),
        functional.pad(x, (0, 1), value=9), x.permute(1, 0), x.repeat(2, 1),
        x.repeat_interleave(2, 1), x.reshape(3, 2), x.roll(1, 1), x.select(1, 2), x.sort(1)[0],
        *x.split(2, 1), *x.split([1, 2], 1), x[:1].squeeze(0), torch.stack([x, x]),
        x.swapaxes(0, 1), x.swapdims(0, 1), x.t(), x.tile(1, 2), x.topk(2, 1)[0],
        x.transpose(0, 1), *x.unbind(1), x.unflatten(1, (3, 1)), x.unsqueeze(0), x.view(3, 2),
        torch.where(mask, x, x.flip(1)),
    )  # fmt: skip


@pytest.mark.parametrize("kind", [torch.uint8, torch.int8])
def test_bytes_are_moved_and_stay_bytes(kind: torch.dtype) -> None:
    x = torch.tensor([[200, 7, 255], [0, 128, 3]], dtype=torch.uint8).to(kind)
    given = x, torch.tensor([2, 0])
    program = torch.export.export(Call(_moves), given)
    assert {*_MOVES} <= {str(getattr(n.target, "_opname", "")) for n in program.graph.nodes}
    imported = ted.torch.from_exported(program)
    found = interpreted(lambda *given: imported({}, *given), *(t.numpy() for t in given))
    for k, (one, other) in enumerate(zip(found, _moves(*given), strict=True)):
        np.testing.assert_array_equal(one, other, strict=True, err_msg=str(k))


def _limited(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return (
        torch.maximum(x.flip(0), x), torch.minimum(x.flip(0), x), x.clamp(-1, 1), x.clamp_min(0),
        x.clamp_max(0), torch.clamp(x, x.flip(0), x), functional.relu6(x), functional.hardtanh(x),
        functional.threshold(x, 0.1, 2.0), functional.softshrink(x), functional.hardshrink(x),
        functional.logsigmoid(x),
    )  # fmt: skip


@pytest.mark.parametrize("writes", [False, True])
def test_nan_passes_through_limits(writes: bool) -> None:
    x = torch.tensor([np.nan, -200.0, 200.0, -1.5, 0.25, 0.5])
    model = Call(lambda x: _limited(x.clone().mul_(1) if writes else x))
    imported = ted.torch.from_exported(torch.export.export(model, (x,)))
    found = ted.function(lambda x: imported({}, x))(x.numpy())
    for one, other in zip(found, _limited(x), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)


def test_totals_of_integers_and_of_nothing() -> None:
    x, none = torch.tensor([2**30, 2**30, 5], dtype=torch.int32), torch.zeros(0, 4)
    model = Call(lambda x, a: (x.cumsum(0, dtype=torch.int32), a.reshape(2, 0), a.cumsum(0)))
    imported = ted.torch.from_exported(torch.export.export(model, (x, none)))
    total, other, running = ted.function(lambda *a: imported({}, *a))(x.numpy(), none.numpy())
    assert total.dtype == np.int32
    assert total.tolist() == x.cumsum(0, dtype=torch.int32).tolist()
    assert (other.shape, running.shape) == ((2, 0), (0, 4))


def test_results_keep_the_nest_of_the_model() -> None:
    model = Call(lambda x: {"a": x * 2, "b": (x + 1, x.sum())})
    imported = ted.torch.from_exported(torch.export.export(model, (draw(2),)))
    found = ted.function(lambda x: imported({}, x))(np.ones(2, np.float32))
    assert found["a"].tolist() == [2, 2]
    assert found["b"][1] == 2


REFUSED: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "no lowering": (
        lambda: (Call(lambda x: torch.geqrf(x)[0]), {}), TedError, "torch.aten.geqrf"
    ),
    "halves of complex numbers": (
        lambda: (Call(lambda x: x.chalf().real), {}), FrontendError, "got complex32 from aten"
    ),
    "no lowering, of what draws": (
        lambda: (Call(lambda x: x.abs().multinomial(2)), {}), TedError, "torch.aten.multinomial"
    ),
    "integers of 8 bits": (
        lambda: (Call(lambda x: x.to(torch.int8) * 3), {}), FrontendError, r"by \.to\(torch.int32"
    ),
    "random": (lambda: (nn.Dropout(0.5), {}), VerifyError, r"export the model after \.eval\(\)"),
    "written": (
        lambda: (Call(lambda x: x.add_(1)), {}),
        FrontendError,
        "a model must not write into its arguments, got args_0",
    ),
    "as many as a mask says": (
        lambda: (Call(lambda x: x[x > 0]), {}),
        FrontendError,
        r"sizes must not depend on data, got \(u0,\) from aten.index",
    ),
    "no rewriting": (
        lambda: (Call(lambda x: torch.as_strided(x.T, (2, 3), (1, 2), 1)), {}),
        FrontendError,
        r"as_strided must be of a tensor whose rows lie .*strides \(1, 4\) in '.*x.contiguous\(\)",
    ),
    "dynamic": (
        lambda: (nn.Linear(4, 2), {"dynamic_shapes": ({0: torch.export.Dim("n")},)}),
        VerifyError,
        r"tensors must have static sizes, got tensor<\?x4xf32>",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_imported_is_named(name: str) -> None:
    make, error, message = REFUSED[name]
    model, options = make()
    program = torch.export.export(model, (draw(3, 4),), **options)
    with pytest.raises(error, match=message):
        ted.torch.from_exported(program)


def test_an_operator_that_ends_the_process_of_the_binding_is_taken_apart_by_torch() -> None:
    x = draw(3, 7)
    program = torch.export.export(Call(lambda x: functional.adaptive_avg_pool1d(x, 3)), (x,))
    with pytest.raises(TedError, match=r"by signal .* in a graph of .*adaptive_avg_pool1d"):
        lowered(program.graph)
    imported = ted.torch.from_exported(program)
    found = ted.function(lambda x: imported({}, x))(x.numpy())
    np.testing.assert_allclose(found, functional.adaptive_avg_pool1d(x, 3), rtol=1e-6)


def test_arguments_that_do_not_fit_are_named() -> None:
    imported = ted.torch.from_exported(torch.export.export(nn.Linear(4, 2), (draw(3, 4),)))
    x = np.ones((3, 4), np.float32)
    with pytest.raises(FrontendError, match=r"\(input\) must be float32\[3, 4\], got float32"):
        ted.function(lambda p, x: imported(p, x))(imported.params, np.ones((3, 5), np.float32))
    with pytest.raises(FrontendError, match="params must have bias"):
        ted.function(lambda p, x: imported(p, x))({"weight": imported.params["weight"]}, x)
    with pytest.raises(FrontendError, match="arguments must have the nest of the example"):
        ted.function(lambda p, x: imported(p, x, x))(imported.params, x)
    with pytest.raises(
        FrontendError, match=r"torch.export.export\(model, args\) gives, got Linear"
    ):
        ted.torch.from_exported(nn.Linear(4, 2))  # pyright: ignore[reportArgumentType]
