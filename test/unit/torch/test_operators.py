"""ted functions as operators of torch, outside of compilation: numbers, derivatives, checks."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch._vmap_internals import _vmap
from torch.autograd import forward_ad, gradcheck, gradgradcheck
from torch.func import grad, hessian, jacfwd, jacrev, jvp, vmap

import ted
import ted.torch
from ted._runtime import memory_current
from ted.errors import CompileError, ExecutionError, FrontendError
from ted.runtime.calls import declined
from ted.torch.arrays import from_array, to_array
from unit.torch.programs import (
    arguments,
    assert_equal,
    energy,
    force_loss,
    layer,
    operator,
    torch_layer,
)


def test_importing_ted_torch_loads_no_compiler() -> None:
    program = "import sys, ted.torch; print(*sys.modules)"
    run = [sys.executable, "-c", program]
    loaded = subprocess.run(run, check=True, capture_output=True, text=True).stdout.split()
    assert "torch" not in loaded
    assert not {"torch_mlir", "islpy", "numpy"} & set(loaded)


@pytest.mark.parametrize(("count", "joins"), [(1, 0), (2, 1)])
def test_threads_are_those_of_torch_if_it_has_any(count: int, joins: int) -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    with mock.patch("ted.torch.operators.join_openmp") as join:
        ted.torch.op(lambda x: 2 * x)
    torch.set_num_threads(before)
    assert join.call_count == joins


FORK = """
import os, warnings
warnings.simplefilter("ignore")
import torch, ted.torch
torch.set_num_threads(2)
torch.randn(1000, 1000).tanh()
child = os.fork()
if not child:
    import numpy, ted
    ted.set_num_threads(2)
    x = numpy.arange(1e6)
    y = ted.torch.op(lambda x: 2 * x)(torch.from_numpy(x)).numpy()
    os._exit(not numpy.array_equal(y, 2 * x))  # loops of torch's own wait for ever here
assert os.waitpid(child, 0)[1] == 0
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_the_first_operator_of_a_forked_child_runs() -> None:
    subprocess.run([sys.executable, "-c", FORK], check=True, timeout=100)


def test_results_are_those_of_torch() -> None:
    x, w = arguments()
    y = operator(x, w)
    assert type(y) is torch.Tensor
    assert not y.requires_grad
    assert_equal(y, torch_layer(x, w))


def test_derivatives_of_two_orders_are_right() -> None:
    x, w = arguments(requires_grad=True)
    assert gradcheck(operator, (x, w))
    assert gradgradcheck(operator, (x, w))
    assert_equal(
        torch.autograd.grad(force_loss(operator)(x, w), (x, w)),
        torch.autograd.grad(force_loss(torch_layer)(x, w), (x, w)),
    )


def test_derivatives_of_the_third_order_are_right() -> None:
    cube = ted.torch.op(lambda x: ted.sin(x) * x)
    x = torch.tensor([0.3, -1.2], dtype=torch.float64, requires_grad=True)
    found = []
    for f in (cube, lambda x: torch.sin(x) * x):
        y = f(x)
        for _ in range(3):
            (y,) = torch.autograd.grad(y.sum(), x, create_graph=True)
        found.append(y)
    assert_equal(*found)


def test_only_wanted_gradients_are_computed() -> None:
    x, w = arguments(requires_grad=True)
    with torch.no_grad():
        fixed = x.clone()
    single = ted.torch.op(layer, name="single")
    assert_equal(
        torch.autograd.grad(single(fixed, w).sum(), w),
        torch.autograd.grad(torch_layer(fixed, w).sum(), w),
    )
    torch.autograd.grad(single(fixed, w).sum(), w, create_graph=True)
    (made,) = single._nested.values()
    assert list(made.flat._splits) == [(False, True)]
    assert list(made.flat._derived) == [("vjp", (False, True), (True,))]


TRANSFORMS = {
    "grad": lambda f: grad(energy(f), (0, 1)),
    "grad of grad": lambda f: grad(
        lambda x, w: (grad(energy(f))(x, w) ** 2).sum(), (0, 1)
    ),
    "jvp": lambda f: lambda x, w: jvp(f, (x, w), (2 * x, w)),
    "vmap": lambda f: vmap(f, (0, None)),
    "jacrev": lambda f: jacrev(f),
    "jacfwd": lambda f: jacfwd(f),
    "hessian": lambda f: hessian(energy(f)),
    "vmap of grad": lambda f: vmap(grad(energy(f)), (0, None)),
    "grad of vmap": lambda f: grad(lambda x, w: vmap(f, (0, None))(x, w).sum()),
    "vmap of vmap": lambda f: vmap(vmap(f, (None, 1)), (0, None)),
}  # fmt: skip


# torch scripts what it computes tangents with, and warns of that itself.
scripting = pytest.mark.filterwarnings("ignore:.torch.jit.script:DeprecationWarning")


@scripting
@pytest.mark.parametrize("transform", TRANSFORMS.values(), ids=TRANSFORMS)
def test_transformations_of_torch_func_nest(transform: Any) -> None:
    assert_equal(transform(operator)(*arguments()), transform(torch_layer)(*arguments()))


@scripting
def test_forward_mode_works_outside_of_torch_func() -> None:
    x, w = arguments()
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x, 2 * x)
        found, expected = (forward_ad.unpack_dual(f(dual, w)) for f in (operator, torch_layer))
        assert_equal(found.tangent, expected.tangent)


def test_opcheck_accepts_an_operator_and_its_derivative() -> None:
    x, w = arguments(requires_grad=True)
    overload, given = operator.registered(x, w)
    assert set(torch.library.opcheck(overload, given).values()) == {"SUCCESS"}
    assert str(overload).startswith("ted.layer")
    (nested,) = operator._nested.values()
    pullback = nested.flat.vjp((True, True), (True,), ())
    heads = torch.ones(3, 2, dtype=torch.float64, requires_grad=True)
    assert set(torch.library.opcheck(pullback.overload, (x, w, heads)).values()) == {"SUCCESS"}


class Pair(NamedTuple):
    """A result of two parts."""

    total: Any
    parts: dict[str, Any]


@ted.torch.op(name="of_nests")
def nested(params: dict[str, Any], scale: float, *, power: int = 1) -> Pair:
    value = params["w"] @ params["layers"][0] * scale
    return Pair(ted.sum(value**power), {"value": value, "signs": value > 0})


def test_arguments_and_results_are_nests_with_constants() -> None:
    x, w = arguments(requires_grad=True)
    for scale, power in ((2.0, 1), (0.5, 3)):
        found = nested({"w": x, "layers": [w]}, scale, power=power)
        value = x @ w * scale
        assert_equal(found, Pair((value**power).sum(), {"value": value, "signs": value > 0}))
        assert not found.parts["signs"].requires_grad
        assert_equal(
            torch.autograd.grad(found.total, (x, w)),
            torch.autograd.grad((value**power).sum(), (x, w)),
        )


def test_a_result_that_nothing_is_asked_of_costs_no_gradient() -> None:
    both = ted.torch.op(lambda x: (ted.sqrt(x), x * x))
    x = torch.tensor([0.0, 2.0], dtype=torch.float64, requires_grad=True)
    (dx,) = torch.autograd.grad(both(x)[1].sum(), x)  # a zero times the slope of sqrt(0) is NaN
    assert dx.tolist() == [0.0, 4.0]


@pytest.mark.parametrize(
    "view",
    [lambda x: x.T, lambda x: x[:, ::2], lambda x: x[:1].expand(4, 4), lambda x: x[1:, 1:]],
    ids=["transposed", "strided", "expanded", "part"],
)
def test_tensors_of_any_strides_are_taken(view: Any) -> None:
    base = torch.arange(16.0, dtype=torch.float64).reshape(4, 4).requires_grad_()
    double = ted.torch.op(lambda x: 2 * ted.cumsum(x, 0))
    assert_equal(double(view(base)), 2 * torch.cumsum(view(base), 0))
    assert_equal(
        torch.autograd.grad(double(view(base)).square().sum(), base),
        torch.autograd.grad((2 * torch.cumsum(view(base), 0)).square().sum(), base),
    )


@pytest.mark.parametrize(
    "dtype",
    ["float64", "float32", "float16", "bfloat16", "int64", "int32", "int8", "uint8", "bool"],
)
def test_every_element_type_goes_in_and_out(dtype: str) -> None:
    x = torch.tensor([[1, 0], [3, 1]]).to(getattr(torch, dtype))
    turned = ted.torch.op(lambda x: ted.flip(x, axis=0))(x)
    assert turned.dtype == x.dtype
    assert torch.equal(turned, x.flip(0))


def test_memory_is_shared_both_ways() -> None:
    same = ted.torch.op(lambda x: x + 1, name="same")
    x = torch.zeros(4, 2, dtype=torch.float32)
    same(x)
    (made,) = same._nested.values()
    flat = made.flat
    with mock.patch.object(flat, "_run_on_arrays", side_effect=AssertionError):
        y = same(x)
    flat._exchanged = declined
    assert torch.equal(same(x.T), y.T)
    for tensor in (x, x.T, x[1:]):
        array = to_array(tensor)
        assert array.ctypes.data == tensor.data_ptr() == from_array(array).data_ptr()


def test_memory_of_arguments_can_still_be_resized() -> None:
    x, w = arguments(requires_grad=True)
    operator(x, w).sum().backward()
    operator(x.detach().T.contiguous().T, w)
    assert all(t.untyped_storage().resizable() for t in (x, w))  # which torch's shards rely on


def test_a_view_that_is_negative_is_no_memory_as_it_is() -> None:
    negative = torch.tensor([[1 + 2j]]).conj().imag
    assert negative.is_neg()
    double = ted.torch.op(lambda x: 2 * x)
    for _ in range(2):
        assert double(negative).item() == -4
        assert double(torch.ones(1, 1)).item() == 2


def test_a_cotangent_that_is_negative_is_no_memory_as_it_is() -> None:
    double = ted.torch.op(lambda x: 2 * x)
    x = torch.ones(1, requires_grad=True)
    y = double(x)
    negative = torch._neg_view(torch.ones(1))
    for cotangent, expected in ((torch.ones(1), 2), (negative, -2)):
        assert torch.autograd.grad(y, x, cotangent, retain_graph=True)[0].item() == expected
    conjugate = torch.complex(torch.zeros(1), y).conj() * torch.tensor([2j])
    assert torch.autograd.grad(conjugate.real.sum(), x)[0].item() == 4


@scripting
def test_a_batch_of_cotangents_is_one_backward() -> None:
    x, w = arguments(requires_grad=True)
    check = {"check_batched_grad": True, "check_forward_ad": True}
    assert gradcheck(operator, (x, w), **check, check_batched_forward_grad=True)
    y = operator(x, w)
    heads = torch.stack([torch.ones_like(y), torch.randn_like(y)])
    found = torch.autograd.grad(y, (x, w), heads, is_grads_batched=True)
    expected = [torch.autograd.grad(torch_layer(x, w), (x, w), head) for head in heads]
    assert_equal(found, tuple(map(torch.stack, zip(*expected, strict=True))))


def test_a_batch_in_a_batch_of_cotangents_is_refused() -> None:
    double = ted.torch.op(lambda x: 2 * x)
    inner = _vmap(lambda a: _vmap(lambda b: double(a * b))(torch.eye(3)))
    with pytest.raises(ExecutionError, match=r"one inside of another; write torch\.func\.vmap"):
        inner(torch.ones(2))


def test_memory_of_results_is_given_back() -> None:
    double = ted.torch.op(lambda x: 2 * x)
    x = torch.ones(1000)
    double(x)
    before = memory_current()
    results = [double(x) for _ in range(10)]
    assert memory_current() - before >= 10 * 4000
    del results
    assert memory_current() == before


def test_what_gradients_read_is_kept_and_nothing_else() -> None:
    chain = ted.torch.op(lambda x, b: ted.exp(ted.sin(x)) + b)
    x, b = (torch.tensor([v], dtype=torch.float64, requires_grad=True) for v in (0.5, 2.0))
    given = b * 1
    y = chain(x, given)
    kept = y.grad_fn.saved_tensors
    assert [t.item() for t in kept[:1]] == [0.5]
    assert all(not torch.equal(t, given) for t in kept)
    with torch.no_grad():
        given.zero_()  # which no gradient reads
    dx, db = torch.autograd.grad(y, (x, b), create_graph=True)
    slope = torch.exp(torch.sin(x)) * torch.cos(x)
    assert_equal((dx, db), (slope, torch.ones_like(b)))
    assert_equal(torch.autograd.grad(dx, x), torch.autograd.grad(slope, x))
    assert torch.autograd.grad(dx, b, allow_unused=True, materialize_grads=True)[0].item() == 0


def test_part_of_the_gradients_is_asked_for_later() -> None:
    x, w = arguments(requires_grad=True)
    y = operator(x, w)
    expected = torch_layer(x, w)
    for one in (x, w):
        assert_equal(
            torch.autograd.grad(y.sum(), one, retain_graph=True),
            torch.autograd.grad(expected.sum(), one, retain_graph=True),
        )


def test_a_batch_has_any_number_of_rows() -> None:
    traced: list[Any] = []

    def step(w: Any, x: Any) -> Any:
        traced.append(x.shape)
        return ted.tanh(x @ w), ted.sum(x @ w)

    in_rows = ted.torch.op(step, batch=1)
    x, w = arguments(requires_grad=True)
    for rows in (3, 2, 7, 5):
        part = x.detach().repeat(3, 1)[:rows].requires_grad_()
        y, total = in_rows(w, part)
        z = part @ w
        assert_equal((y, total), (torch.tanh(z), z.sum()))
        found = torch.autograd.grad(force := y.square().sum() + total, (w, part), create_graph=True)
        expected = torch.autograd.grad(
            torch.tanh(z).square().sum() + z.sum(), (w, part), create_graph=True
        )
        assert force.requires_grad
        assert_equal(found, expected)
        again = (sum(g.square().sum() for g in gradients) for gradients in (found, expected))
        assert_equal(*(torch.autograd.grad(g, (w, part)) for g in again))
    assert len({str(shape) for shape in traced}) == 1


@pytest.mark.parametrize("is_in_func", [False, True])
def test_a_batch_without_rows_may_come_first(is_in_func: bool) -> None:
    scaled = ted.torch.op(lambda x, w: (ted.sum(x), x * x * w), batch=0)
    w = torch.tensor([1.0, 3.0])
    for rows in (0, 4):
        x = torch.ones(rows, 2)
        if is_in_func:
            dx = grad(lambda x: scaled(x, w)[1].sum())(x)
        else:
            y = scaled(x.requires_grad_(), w)[1]
            (dx,) = torch.autograd.grad(y.sum(), x, create_graph=True)
        assert torch.equal(dx, 2 * w.expand(rows, 2))


def test_the_gradient_of_a_sum_over_a_batch_has_its_rows() -> None:
    total = ted.torch.op(lambda x: ted.sum(x, axis=0), batch=0)
    for rows in (3, 5):
        x = torch.ones(rows, 2, requires_grad=True)
        (dx,) = torch.autograd.grad(total(x).sum(), x)
        assert torch.equal(dx, torch.ones(rows, 2))


def test_a_mutated_argument_is_found_by_torch() -> None:
    x, w = arguments(requires_grad=True)
    y = operator(x * 1, w)
    with torch.no_grad():
        w.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_autocast_casts_what_the_operator_says() -> None:
    seen: list[str] = []

    def product(x: Any, w: Any) -> Any:
        seen.append(f"{x.dtype} {w.dtype}")
        return x @ w

    low = ted.torch.op(product, cast_inputs=torch.bfloat16)
    x = torch.ones(2, 3, requires_grad=True)
    w = torch.ones(3, 2, dtype=torch.float16)
    assert low(x, x.T).dtype == torch.float32
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = low(x, w)
        assert y.dtype == torch.bfloat16
        assert ted.torch.op(product)(x, w).dtype == torch.float32
    y.float().sum().backward()
    assert x.grad is not None
    assert x.grad.dtype == torch.float32
    assert "bfloat16 bfloat16" in seen


def test_what_a_program_prints_is_said_once(capsys: Any) -> None:
    def told(x: Any) -> Any:
        ted.print("x = {}", x)
        return x * x

    x = torch.tensor(3.0, requires_grad=True)
    ted.torch.op(told)(x).backward()
    assert capsys.readouterr().out == "x = 3.0\n"
    assert x.grad is not None
    assert x.grad.item() == 6.0


def on_another_device() -> None:
    with FakeTensorMode():
        operator(torch.ones(3, 4, device="cuda"), torch.ones(4, 2))


WRONG = {
    "an array": (
        lambda: operator(np.ones((3, 4)), np.ones((4, 2))),
        FrontendError, "layer: argument x: an operator of torch takes tensors of torch and "
        "constants, got numpy.ndarray; torch.from_numpy",
    ),
    "a set": (
        lambda: operator(set(), torch.ones(1)), FrontendError,
        "argument x: must be a tensor or a hashable value, got set",
    ),
    "shapes": (
        lambda: operator(torch.ones(3, 4), torch.ones(3, 4)), FrontendError, "matmul: ",
    ),
    "arguments": (lambda: operator(torch.ones(3)), FrontendError, "layer: missing a required"),
    "a name": (
        lambda: ted.torch.op(layer, name="a b"), FrontendError,
        "op: name is an identifier, got 'a b'",
    ),
    "no function": (lambda: ted.torch.op(3), FrontendError, "op: "),
    "donate": (
        lambda: ted.torch.op(layer, donate=0), FrontendError, "does not take over arguments",
    ),
    "a target": (lambda: ted.torch.op(layer, target="tpu"), CompileError, "got 'tpu'"),
    "a type": (
        lambda: operator(torch.ones(3, 4).to(torch.float8_e4m3fn), torch.ones(4, 2)),
        ExecutionError,
        "layer: argument 'x': a program takes no torch.float8_e4m3fn; cast it with x.to()",
    ),
    "sparse": (
        lambda: operator(torch.eye(4).to_sparse(), torch.ones(4, 2)), ExecutionError,
        "layer: argument 'x': a program takes dense tensors, got torch.sparse_coo",
    ),
    "another device": (
        lambda: on_another_device(), ExecutionError,
        "layer: an operator for target 'cpu' takes tensors that lie there, got argument 'x' on "
        "cuda:0; move it",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("call", "kind", "message"), WRONG.values(), ids=WRONG)
def test_a_wrong_call_is_refused(call: Any, kind: Any, message: str) -> None:
    with pytest.raises(kind, match=re.escape(message)):
        call()


def test_an_integer_has_no_gradient() -> None:
    rounded = ted.torch.op(lambda x: ted.cast(x, "int32"))(torch.ones(2, requires_grad=True))
    assert not rounded.requires_grad


class _Scaled:
    @ted.torch.op
    def times(self, x: Any) -> Any:
        return 3 * ted.sum(x**2)


def test_methods_are_decorated_as_functions_are() -> None:
    x, one = torch.ones(3, requires_grad=True), _Scaled()
    one.times(x).backward()
    assert x.grad is not None
    assert x.grad.tolist() == [6.0] * 3
    assert one.times.function(one, np.ones(3)) == 9


@pytest.mark.parametrize("wants_gradient", [False, True])
def test_what_a_program_does_not_take_is_refused_after_what_it_takes(wants_gradient: bool) -> None:
    product = ted.torch.op(lambda x, y: x * y)
    x = torch.ones(3, requires_grad=wants_gradient)
    for given, text in ((torch.ones(3).to_sparse(), "'y': a program takes dense tensors"),
                        (torch.ones(3, device="meta"), "argument 'y' on meta")):  # fmt: skip
        product(x, x)
        with pytest.raises(ExecutionError, match=text):
            product(x, given)


def bits(x: torch.Tensor) -> set[int]:
    return set(x.detach().view(torch.int32).flatten().tolist())


@pytest.mark.parametrize("threads", [1, 2])
def test_subnormal_numbers_are_flushed_where_torch_does_unless_told(threads: int) -> None:
    small = torch.full((1 << 17,), 2.0**-140)

    def slopes(make: Any) -> set[int]:
        x = small.clone().requires_grad_()
        make(x).backward()
        assert x.grad is not None
        return bits(x.grad)

    target = f"cpu,threads={threads}"
    asks, keeps, flushes = (
        ted.torch.op(lambda x: ted.sum(x * x * 0.5), target=target, subnormals=word)
        for word in (None, "keep", "flush")
    )
    kept = {1 << 9}
    assert (slopes(asks), slopes(keeps), slopes(flushes)) == (kept, kept, {0})
    if not torch.set_flush_denormal(True):
        pytest.skip("this processor keeps subnormal numbers")
    try:
        assert (slopes(asks), slopes(keeps), slopes(flushes)) == ({0}, kept, {0})
    finally:
        torch.set_flush_denormal(False)
    assert slopes(asks) == kept
    assert asks.function.options.subnormals is None
    assert ted.torch.op(asks.function).function is asks.function
