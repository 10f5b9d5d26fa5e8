"""Lesson 1: a matrix product and its gradient, as equations you can read.

A tensor expression says what each element of its result is. `ted.differentiate` answers in the same
language: each gradient is again a tensor given by an equation, here two matrix products.
"""

from __future__ import annotations

import numpy as np

import ted


def main() -> None:
    """Print the gradient, compile it with the product, compare it with numpy."""
    n, k, m = 4, 5, 6
    A = ted.placeholder((n, k), "float64", name="A")
    B = ted.placeholder((k, m), "float64", name="B")

    # C[i, j] is a sum over r; the index lambda gets one index per dim of the result.
    r = ted.reduce_axis(k, name="r")
    C = ted.compute((n, m), lambda i, j: ted.sum(A[i, r] * B[r, j], axis=r), name="C")

    # Given dC, how does <dC, C> change with A and with B?
    dC = ted.placeholder(C.shape, "float64", name="dC")
    gradients = ted.differentiate(C, [A, B], head=dC)
    print("C[i, j] = sum over r of A[i, r] * B[r, j], so its gradients are\n")
    print(gradients)

    # Gradients are ordinary tensors: compile them together with C, or differentiate them again.
    dA, dB = gradients
    f = ted.compile([A, B, dC], [C, dA, dB])
    rng = np.random.default_rng(0)
    a, b, dc = (rng.standard_normal(t.shape) for t in (A, B, dC))
    c, da, db = f(a, b, dc)
    print("\ncompiled, against numpy in float64:")
    for name, ours, numpys in (("C", c, a @ b), ("dA", da, dc @ b.T), ("dB", db, a.T @ dc)):
        print(f"  {name:2} largest difference {np.abs(ours - numpys).max():.1e}")


if __name__ == "__main__":
    main()
