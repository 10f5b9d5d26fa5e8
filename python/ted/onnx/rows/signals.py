"""Fourier transforms, and windows that are known numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

import ted
from ted.errors import FrontendError
from ted.frontend.tensors import Tensor
from ted.onnx.nodes import Node


def _complex(x: Tensor) -> Any:
    """The last dim as real and imaginary part, or as real numbers alone."""
    return ted.complex(x[..., 0], x[..., 1]) if x.shape[-1] == 2 else x[..., 0]


def dft(node: Node, x: Tensor, length: Any = None, axis: Any = None) -> Tensor:
    """The discrete Fourier transform of a dim, both ways, real or complex."""
    count = node.known(1, None)
    n = None if count is None else int(np.ravel(count)[0])
    along = int(np.ravel(node.known(2))[0]) if node.has(2) else (
        node.attr("axis", 1) if node.version < 20 else -2
    )  # fmt: skip
    along = along % x.ndim
    one_sided, inverse = bool(node.attr("onesided", 0)), bool(node.attr("inverse", 0))
    value = _complex(x)
    if one_sided and inverse:
        found = ted.fft.irfft(value, n, axis=along)
        return ted.expand_dims(found, -1)
    if one_sided:
        value = ted.fft.rfft(value, n, axis=along)
    else:
        if x.shape[-1] == 1:
            value = ted.complex(value, ted.zeros_like(value))
        value = (ted.fft.ifft if inverse else ted.fft.fft)(value, n, axis=along)
    return ted.stack([ted.real(value), ted.imag(value)], -1)


def stft(node: Node, x: Tensor, step: Any, window: Any = None, length: Any = None) -> Tensor:
    """Transforms of frames, each under a window."""
    hop = int(node.known(1))
    n = int(node.known(3)) if node.has(3) else window.shape[0]
    x = x if x.ndim == 3 else ted.expand_dims(x, -1)
    count = 1 + (x.shape[1] - n) // hop
    frames = ted.compute(
        (x.shape[0], count, n, x.shape[2]), lambda b, f, t, c: x[b, f * hop + t, c], name="frames"
    )
    if window is not None:
        frames = frames * ted.reshape(window, (-1, 1))
    value = _complex(frames)
    if bool(node.attr("onesided", 1)) and frames.shape[-1] == 1:
        value = ted.fft.rfft(value)
    else:
        if frames.shape[-1] == 1:
            value = ted.complex(value, ted.zeros_like(value))
        value = ted.fft.fft(value)
    return ted.stack([ted.real(value), ted.imag(value)], -1)


def of_known(node: Node, *inputs: Any) -> Any:
    """Numbers that depend on numbers which are known: the reference makes them then.

    Raises: FrontendError where it does not.
    """
    for position in range(len(inputs)):
        node.known(position)
    raise FrontendError("the reference of ONNX must have the operator")


RULES = {"DFT": dft, "STFT": stft, "MelWeightMatrix": of_known}
