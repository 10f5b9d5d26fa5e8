"""Arrays of complex numbers as arguments and results of everything that takes functions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import ted
from ted.errors import DerivativeError
from unit.frontend.complex_runs import interpreted

RANDOM = np.random.default_rng(1)
Z, W = (RANDOM.normal(size=4) + 1j * RANDOM.normal(size=4) for _ in range(2))


def near(found: Any, expected: Any) -> None:
    """Equal in type and shape, and in values up to roundings."""
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def test_functions_take_and_return_arrays_of_complex_numbers() -> None:
    twice = ted.function(lambda nest: {"w": nest["z"] * 2, "x": nest["z"].real})
    for given in (Z, torch.tensor(Z), Z[::-1], np.asfortranarray(Z), torch.tensor(Z).conj()):
        z = np.asarray(given.resolve_conj() if isinstance(given, torch.Tensor) else given)
        for _ in range(2):  # the second call finds the program of the first
            found = twice({"z": given})
            near(found["w"], z * 2)
            near(found["x"], z.real)
    near(twice({"z": Z.astype("c8")})["w"], (Z * 2).astype("c8"))
    near(twice({"z": np.complex64(1j)})["w"], np.array(2j, "c8"))
    near(ted.function(lambda c, x: c * x)(2j, Z.real), 2j * Z.real)


def test_gradients_point_uphill() -> None:
    def loss(z: Any, x: Any) -> Any:
        return ted.sum(x * abs(z * z - 1j) ** 2), z * 1j

    (value, aux), gradients = ted.value_and_grad(loss, ("z", "x"), has_aux=True)(Z, W.real)
    near(value, np.sum(W.real * abs(Z * Z - 1j) ** 2))
    near(aux, Z * 1j)
    near(gradients[0], 4 * W.real * (Z * Z - 1j) * Z.conj())  # as torch; jax gives the conjugate
    near(gradients[1], abs(Z * Z - 1j) ** 2)


def test_cotangents_and_tangents_are_complex() -> None:
    value, pullback = ted.vjp(lambda z, w: z * w, Z, W)
    near(value, Z * W)
    for found, expected in zip(pullback(Z), (Z * W.conj(), Z * Z.conj()), strict=True):
        near(found, expected)
    tangent, product = interpreted(
        lambda z, w: [
            ted.jvp(lambda z: z * z, (z,), (w,))[1],
            ted.hvp(lambda z: ted.sum(abs(z) ** 2), (z,), (w,))[0],
        ],
        Z,
        W,
    )
    near(tangent, 2 * Z * W)
    near(product, 2 * W)
    with pytest.raises(DerivativeError, match=r"nested as .* for Complex\{real"):
        pullback(Z.real)


def test_jacobians_of_both_parts() -> None:
    size, found = interpreted(lambda z: [ted.jacobian(abs)(z), ted.jacobian(lambda z: z * z)(z)], Z)
    near(size, np.diag(Z / abs(Z)))
    assert isinstance(found, ted.Complex)
    near(found.real, np.diag(2 * Z.conj()))
    near(found.imag, np.diag(2j * Z.conj()))


def test_batches_loops_and_branches_have_complex_values() -> None:
    def program(z: Any, w: Any) -> list[Any]:
        last, steps = ted.scan(lambda c, v: (c * v, c), z[0], w)
        turned = ted.cond(z[0].real > 9, lambda z: z, lambda z: z * 1j, z)
        grown = ted.while_loop(lambda z: ted.sum(abs(z)) < 99, lambda z: z * (1 + 1j), z)
        running = ted.associative_scan(ted.multiply, w)
        return [last, steps, turned, grown, running, ted.vmap(lambda a: a.sum(), 1)(z[:, None] * w)]

    grown = Z
    while abs(grown).sum() < 99:
        grown = grown * (1 + 1j)
    steps = Z[0] * np.concatenate([[1], np.cumprod(W)])
    expected = [steps[-1], steps[:-1], Z * 1j, grown, np.cumprod(W), Z.sum() * W]
    for found, other in zip(ted.function(program)(Z, W), expected, strict=True):
        near(found, np.asarray(other))


def test_optimisers_and_donation_see_two_real_tensors() -> None:
    optimiser = ted.nn.sgd(0.1, 0.9)

    def step(params: Any, state: Any) -> Any:
        gradient = ted.grad(lambda p: ted.sum(abs(p["z"] - 1j) ** 2))(params)
        return optimiser.update(params, gradient, state)

    train = ted.function(step, donate=(0, 1))
    params: Any = {"z": Z}
    state = optimiser.init(params)
    other = torch.tensor(Z, requires_grad=True)
    sgd = torch.optim.SGD([other], 0.1, 0.9)
    for _ in range(3):
        params, state = train(params, state)
        sgd.zero_grad()
        ((other - 1j).abs() ** 2).sum().backward()
        sgd.step()
    near(params["z"], other.detach().numpy())


def test_derivatives_of_the_users_and_checkpoints_keep_pairs() -> None:
    @ted.custom_vjp
    def squared(z: Any) -> Any:
        return z * z

    @squared.defvjp
    def backward(inputs: Any, outputs: Any, heads: Any) -> Any:
        return (3 * heads[0] * ted.conj(inputs[0]),)

    near(interpreted(ted.grad(lambda z: ted.sum(squared(z).real)), Z), 3 * Z.conj())
    kept = ted.checkpoint(ted.exp)
    near(interpreted(ted.grad(lambda z: ted.sum(kept(z).imag)), Z), (np.exp(Z) / 1j).conj())


def test_files_hold_both_parts(tmp_path: Path) -> None:
    ted.save(tmp_path / "p", {"z": Z})
    near(ted.load(tmp_path / "p", {"z": Z})["z"], Z)
    near(ted.load(tmp_path / "p")["z"]["imag"], Z.imag)


def test_what_is_printed_beside_tensors_may_be_complex(capsys: pytest.CaptureFixture[str]) -> None:
    def program(x: Any) -> Any:
        ted.print("{} {}", x, np.array([1j]))
        return x

    ted.function(program)(np.ones(1))
    assert capsys.readouterr().out == "[1.] [0.+1.j]\n"


def test_trees_open_arrays_of_complex_numbers() -> None:
    leaves, structure = ted.tree.flatten({"z": Z})
    assert str(structure) == "{z: Complex{real: *, imag: *}}"
    near(ted.tree.unflatten(structure, leaves)["z"], Z)
    near(ted.tree.map(lambda x: x * 2, Z), Z * 2)
    pair = ted.tree.map(lambda x: x > 0, Z)
    assert isinstance(pair, ted.Complex)  # of no floats
