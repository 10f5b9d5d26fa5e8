"""Lesson 2: the gradient of a strided convolution is a handful of gathers.

The forward expression reads A[i * 2 + r]. Its transpose would scatter: every output adds to three
inputs. ted inverts the index map over the integers instead, so that each element of dA collects
its own summands: even and odd elements have equations of their own, with exact bounds.
"""

from __future__ import annotations

import numpy as np

import ted


def main() -> None:
    """Print the gradients of a convolution with stride 2, run them, check them."""
    n, k, stride = 11, 3, 2
    A = ted.placeholder((n,), "float64", name="A")
    W = ted.placeholder((k,), "float64", name="W")
    r = ted.reduce_axis(k, name="r")
    size = (n - k) // stride + 1
    C = ted.compute((size,), lambda i: ted.sum(A[i * stride + r] * W[r], axis=r), name="C")

    dC = ted.placeholder(C.shape, "float64", name="dC")
    gradients = ted.differentiate(C, [A, W], head=dC)
    print(f"C[i] = sum over r of A[{stride}*i + r] * W[r] on {n} elements; its gradients:\n")
    print(gradients)

    dA, dW = gradients
    f = ted.compile([A, W, dC], [dA, dW])
    rng = np.random.default_rng(0)
    a, w, dc = (rng.standard_normal(t.shape) for t in (A, W, dC))
    da, dw = f(a, w, dc)

    # The scatter that was avoided, in numpy.
    expected_da, expected_dw = np.zeros(n), np.zeros(k)
    for i in range(size):
        expected_da[i * stride : i * stride + k] += dc[i] * w
        expected_dw += dc[i] * a[i * stride : i * stride + k]
    print("\ncompiled, against a scatter in numpy:")
    print(f"  dA largest difference {np.abs(da - expected_da).max():.1e}")
    print(f"  dW largest difference {np.abs(dw - expected_dw).max():.1e}")


if __name__ == "__main__":
    main()
