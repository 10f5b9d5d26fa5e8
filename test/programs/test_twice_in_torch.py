"""Grid sample and attention as operators of torch: two orders, against torch and differences.

The fused attention of torch has a backward that has none itself; ted's is an operator with
gradients of any order, here beside attention of matrix products and softmax.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
import twice

from ted import nn

torch = pytest.importorskip("torch")
from torch.nn import functional  # noqa: E402
from torch.nn.attention import SDPBackend, sdpa_kernel  # noqa: E402

import ted.torch  # noqa: E402

sampled = ted.torch.op(twice.grid_sample)
attended = ted.torch.op(lambda q, k, v: nn.attention(q, k, v, causal=True), name="attended")


def torch_sampled(image: Any, grid: Any) -> Any:
    """The fused operator, channels last as in ted."""
    return functional.grid_sample(image.movedim(-1, 1), grid, align_corners=False).movedim(1, -1)


def torch_attended(q: Any, k: Any, v: Any) -> Any:
    """The fused operator."""
    with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
        return functional.scaled_dot_product_attention(q, k, v, is_causal=True)


def elementary_attended(q: Any, k: Any, v: Any) -> Any:
    """The same of matrix products and softmax."""
    with sdpa_kernel(SDPBackend.MATH):
        return functional.scaled_dot_product_attention(q, k, v, is_causal=True)


def places() -> list[torch.Tensor]:
    """An image and places that lie between pixels, some of them outside."""
    generator = torch.Generator().manual_seed(0)
    image = torch.randn(1, 4, 5, 2, generator=generator, dtype=torch.float64)
    pixels = torch.tensor([[-0.7, 0.4], [1.3, 2.6], [3.2, 3.4], [4.3, 1.7]], dtype=torch.float64)
    return [image, ((2 * pixels + 1) / torch.tensor([5.0, 4.0]) - 1).reshape(1, 2, 2, 2)]


def heads() -> list[torch.Tensor]:
    """Queries, keys and values."""
    generator = torch.Generator().manual_seed(0)
    return list(torch.randn(3, 1, 2, 3, 8, generator=generator, dtype=torch.float64))


# In ted, in torch, and in torch with two orders.
CASES: dict[str, tuple[Any, Any, Any, Callable[[], list[torch.Tensor]]]] = {
    "grid_sample": (sampled, torch_sampled, torch_sampled, places),
    "attention": (attended, torch_attended, elementary_attended, heads),
}
each = pytest.mark.parametrize("name", CASES)


def twice_differentiated(f: Any, given: Sequence[torch.Tensor]) -> tuple[Any, Any]:
    """Gradients, and those of their squares."""
    tensors = [t.clone().requires_grad_() for t in given]
    slopes = torch.autograd.grad(f(*tensors).sin().sum(), tensors, create_graph=True)
    return slopes, torch.autograd.grad(sum((s * s).sum() for s in slopes), tensors)


def test_torch_has_no_second_order_of_what_it_fused() -> None:
    with pytest.raises(RuntimeError, match="flash_attention_for_cpu_backward is not implemented"):
        twice_differentiated(torch_attended, heads())


@each
def test_values_are_those_of_torch(name: str) -> None:
    operator, fused, _, given = CASES[name]
    torch.testing.assert_close(operator(*given()), fused(*given()), rtol=0, atol=1e-14)


@each
def test_two_orders_are_those_of_torch(name: str) -> None:
    operator, _, elementary, given = CASES[name]
    found, expected = (twice_differentiated(f, given()) for f in (operator, elementary))
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-12)


@pytest.mark.slow
@each
def test_two_orders_equal_differences(name: str) -> None:
    operator, _, _, given = CASES[name]
    tensors = [t.requires_grad_() for t in given()]
    assert torch.autograd.gradcheck(operator, tensors, fast_mode=True)
    assert torch.autograd.gradgradcheck(operator, tensors, fast_mode=True)
