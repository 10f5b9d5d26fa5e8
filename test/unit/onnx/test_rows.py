"""Rows of operators whose versions, modes and inputs ONNX has no cases of: by its reference."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional

import ted.onnx
from ted.errors import FrontendError
from ted.onnx import backend
from unit.onnx.models import interpreting, model, values

RNG = np.random.default_rng(5)
BYTES = np.array([[200, 7, 255], [9, 0, 4]], np.uint8)
ROWS, PICTURE = RNG.standard_normal((3, 4)), RNG.standard_normal((1, 8, 3, 2))
SIGNAL = RNG.standard_normal((2, 9, 1)).astype("f4")
WIDE = np.array([[1.0, np.inf, -2.0], [0.5, np.nan, 3.0]])


@pytest.fixture(autouse=True)
def _interpreted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backend, "function", interpreting)


# name: text, version, inputs
BY_REFERENCE: dict[str, tuple[str, int, tuple[Any, ...]]] = {
    "quotients of bytes": (
        "(uint8[2, 3] x, uint8[3] d) => (uint8[2, 3] y) { y = Div(x, d) }", 21,
        (BYTES, np.array([3, 2, 7], np.uint8)),
    ),
    "quotients of integers": (
        "(int32[4] x, int32[4] d) => (int32[4] y) { y = Div(x, d) }", 21,
        (np.array([7, -7, 7, -8], "i4"), np.array([2, 2, -2, -2], "i4")),
    ),
    "a slice by attributes": (
        "(double[3, 4] x) => (double[2, 2] y) { y = Slice<starts = [1, 0], ends = [3, 2]>(x) }", 9,
        (ROWS,),
    ),
    "a slice of chosen dims": (
        "(double[3, 4] x) => (double[3, 2] y) { y = Slice<axes = [1], starts = [1], ends = [-1]>(x)"
        "}", 9, (ROWS,),
    ),
    "depth to space": (
        "(double[1, 8, 3, 2] x) => (double[1, 2, 6, 4] y) { y = DepthToSpace<blocksize = 2>(x) }",
        13, (PICTURE,),
    ),
    "depth to space, columns first": (
        "(double[1, 8, 3, 2] x) => (double[1, 2, 6, 4] y) {"
        ' y = DepthToSpace<blocksize = 2, mode = "CRD">(x) }', 13, (PICTURE,),
    ),
    "integers of a vector": (
        "(uint8[3] a, uint8[3, 2] b, uint8[1] p) => (int32[2] y) { y = MatMulInteger(a, b, p) }",
        10, (BYTES[0], BYTES.reshape(3, 2), np.array([3], "u1")),
    ),
    "integers without zeros": (
        "(uint8[2, 3] a, uint8[3, 2] b) => (int32[2, 2] y) { y = MatMulInteger(a, b) }", 10,
        (BYTES, BYTES.reshape(3, 2)),
    ),
    "quantised along a dim": (
        "(float[2, 3] x, float[3] s, uint8[3] z) => (uint8[2, 3] y) {"
        " y = QuantizeLinear<axis = -1>(x, s, z) }", 13,
        (ROWS[:2, :3].astype("f4"), np.array([0.1, 0.5, 2], "f4"), np.array([100, 5, 9], "u1")),
    ),
    "numbers along a dim": (
        "(uint8[2, 3] x, float[2] s, uint8[2] z) => (float[2, 3] y) {"
        " y = DequantizeLinear<axis = 0>(x, s, z) }", 21,
        (BYTES, np.array([0.1, 0.5], "f4"), np.array([100, 5], "u1")),
    ),
    "a sequence less one": (
        "(double[3, 4] x, int64 at) => (double[n, 4] y) {"
        " all = SplitToSequence<axis = 0>(x) rest = SequenceErase(all, at)"
        " y = ConcatFromSequence<axis = 0>(rest) }", 11, (ROWS, np.array(-2)),
    ),
    "a sequence less its last": (
        "(double[3, 4] x) => (double[n, 1, 4] y) { all = SplitToSequence<axis = 0>(x)"
        " rest = SequenceErase(all) y = ConcatFromSequence<axis = 0, new_axis = 1>(rest) }",
        11, (ROWS,),
    ),
    "whole spectra of frames": (
        "(float[2, 9, 1] x, int64 hop, float[4] w) => (float[2, n, 4, 2] y) {"
        " y = STFT<onesided = 0>(x, hop, w) }", 17,
        (SIGNAL, np.array(2), np.array([0.5, 1, 1, 0.25], "f4")),
    ),
    "half spectra of frames": (
        "(float[2, 9, 1] x, int64 hop, float[4] w) => (float[2, n, 3, 2] y) {"
        " y = STFT(x, hop, w) }", 17, (SIGNAL, np.array(3), np.array([0.5, 1, 1, 0.25], "f4")),
    ),
    "a layer with its own activations": (
        "(float[3, 2, 2] x, float[1, 3, 2] w, float[1, 3, 3] r) => (float[3, 1, 2, 3] y) {"
        ' y = RNN<hidden_size = 3, activations = ["Affine"], activation_alpha = [0.5],'
        " activation_beta = [0.25]>(x, w, r) }", 14,
        (SIGNAL[0, :3].reshape(3, 1, 1) + np.ones((3, 2, 2), "f4"),
         RNG.standard_normal((1, 3, 2)).astype("f4"), RNG.standard_normal((1, 3, 3)).astype("f4")),
    ),
    "a transposed convolution that leaves out nothing": (
        '(double[1, 1, 3] x, double[1, 1, 2] w) => (double[1, 1, n] y) {'
        ' y = ConvTranspose<auto_pad = "VALID">(x, w) }', 11,
        (RNG.standard_normal((1, 1, 3)), RNG.standard_normal((1, 1, 2))),
    ),
    "a part of the same size": (
        "(float[1, 1, 1, 4] x, float[8] roi, float[0] s, int64[4] n) => (float[1, 1, 1, 4] y) {"
        ' y = Resize<mode = "linear", coordinate_transformation_mode = "tf_crop_and_resize">'
        "(x, roi, s, n) }", 13,
        (ROWS[:1].astype("f4").reshape(1, 1, 1, 4),
         np.array([0, 0, 0, 0.2, 1, 1, 1, 0.7], "f4"), np.zeros(0, "f4"), np.array([1, 1, 1, 4])),
    ),
    "true where numbers are": (
        "(float[3] x) => (bool[3] y) { y = Cast<to = 9>(x) }", 13, (np.array([0, 2, -1], "f4"),),
    ),
    "numbers of attributes": (
        "(float[2] x) => (float[2] y) { a = Constant<value_float = 2.5>()"
        " b = Constant<value_floats = [1.0, 2.0]>() c = Mul(x, a) y = Add(c, b) }", 13,
        (np.array([1, 2], "f4"),),
    ),
    **{f"the nearest by {rule} of {places}, {n} to {m}": (
        f"(float[{n}] x, float[0] r, float[0] s, int64[1] n) => (float[{m}] y) {{"
        f' y = Resize<mode = "nearest", nearest_mode = "{rule}",'
        f' coordinate_transformation_mode = "{places}">(x, r, s, n) }}', 13,
        (SIGNAL[0, :n, 0], np.zeros(0, "f4"), np.zeros(0, "f4"), np.array([m])),
    ) for rule in ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
      for places in ("asymmetric", "half_pixel", "align_corners", "pytorch_half_pixel")
      for n, m in ((4, 8), (4, 6), (8, 4), (5, 3))},
    **{f"{mode} resizing of {places}, {n} to {m}, {more}": (
        f"(float[{n}] x, float[0] r, float[0] s, int64[1] n) => (float[{m}] y) {{"
        f' y = Resize<mode = "{mode}", {more} coordinate_transformation_mode = "{places}">'
        "(x, r, s, n) }", 19,
        (SIGNAL[0, :n, 0], np.zeros(0, "f4"), np.zeros(0, "f4"), np.array([m])),
    ) for places in ("asymmetric", "half_pixel_symmetric", "align_corners", "pytorch_half_pixel")
      for mode, more in (("linear", ""), ("cubic", ""), ("cubic", "exclude_outside = 1,"),
                         ("cubic", "cubic_coeff_a = -0.5,"), ("linear", "antialias = 1,"))
      for n, m in ((4, 7), (8, 3), (5, 1))},
    "a range of floats": (
        "(float a, float b, float c) => (float[n] y) { y = Range(a, b, c) }", 11,
        tuple(np.array(v, "f4") for v in (1, 4, 0.75)),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BY_REFERENCE)
def test_a_row_gives_what_the_reference_gives(name: str) -> None:
    text, version, inputs = BY_REFERENCE[name]
    source = model(f"main {text}", version)
    found = ted.onnx.run_model(source, list(inputs))
    for one, other in zip(found, values(source, *inputs), strict=True):
        assert (one.shape, one.dtype) == (other.shape, other.dtype)
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


X = np.array([1, -2, 3, 0.5], "f4")
CUBE = RNG.standard_normal((2, 3, 2)).astype("f4")
NARROW = torch.from_numpy(RNG.standard_normal((1, 4, 3)))
WEIGHT, BIAS = torch.from_numpy(RNG.standard_normal((4, 3, 2))), torch.arange(6.0).double()
SQUARES = torch.from_numpy(PICTURE).float()
CHANNELS = np.stack([X, 2 * X])[None]


def _scanned(start: Any, x: Any, back: bool, axis: int, turned: bool) -> list[Any]:
    """The sum of columns, and the running sums times them."""
    rows, total = [], start
    for column in x.T[::-1] if back else x.T:
        total = total + column
        rows.append(total * column)
    return [total, np.stack(rows[::-1] if turned else rows, axis)]


SCAN_8 = """(int64[2] n, float[2, 2] s, float[2, 3, 2] x) => (float[2, 2] z, float[2, 3, 2] y) {
    z, y = Scan<num_scan_inputs = 1, directions = [1],
        body = step (float[2] t, float[2] e) => (float[2] u, float[2] v) {
            u = Add(t, e) v = Mul(u, e) }>(n, s, x) }"""


# text, version, inputs, and what its text in ONNX says, where the reference has another opinion
BY_ITS_TEXT: dict[str, tuple[str, int, tuple[Any, ...], Any]] = {
    "an old dropout": (
        "(float[4] x) => (float[4] y) { y = Dropout<ratio = 0.75>(x) }", 10, (X,), X,
    ),
    "a dropout in training that drops nothing": (
        "(float[4] x, float r, bool t) => (float[4] y) { y = Dropout(x, r, t) }", 13,
        (X, np.array(0, "f4"), np.array(True)), X,
    ),
    "an old upsampling by lines": (
        "(float[1, 2, 4] x, float[3] s) => (float[1, 2, 8] y) {"
        ' y = Upsample<mode = "linear">(x, s) }', 9, (CHANNELS, np.array([1, 1, 2], "f4")),
        np.stack([np.interp(np.arange(8) / 2, np.arange(4), row) for row in CHANNELS[0]])[None],
    ),
    "an old upsampling of neighbours": (
        "(float[1, 2, 4] x) => (float[1, 4, 12] y) { y = Upsample<scales = [1.0, 2.0, 3.0]>(x) }",
        7, (CHANNELS,), CHANNELS.repeat(2, 1).repeat(3, 2),
    ),
    **{f"an old softmax from dim {axis} on": (
        f"(float[2, 3, 2] x) => (float[2, 3, 2] y) {{ y = Softmax{text}(x) }}", 11, (CUBE,),
        functional.softmax(torch.from_numpy(CUBE).flatten(axis), axis).reshape(2, 3, 2),
    ) for axis, text in ((1, ""), (2, "<axis = -1>"), (0, "<axis = 0>"))},
    "a softmax of one dim": (
        "(float[2, 3, 2] x) => (float[2, 3, 2] y) { y = Softmax<axis = 1>(x) }", 13, (CUBE,),
        functional.softmax(torch.from_numpy(CUBE), 1),
    ),
    "an old softmax of a number": (
        "(float x) => (float y) { y = Softmax<axis = 0>(x) }", 11, (X[0],), 1,
    ),
    "an old softmax in logarithms": (
        "(float[2, 3, 2] x) => (float[2, 3, 2] y) { y = LogSoftmax(x) }", 11, (CUBE,),
        functional.log_softmax(torch.from_numpy(CUBE).flatten(1), 1).reshape(2, 3, 2),
    ),
    "an old mark of the greatest": (
        "(float[2, 3] x) => (float[2, 3] y) { y = Hardmax(x) }", 11, (CUBE[..., 0],),
        CUBE[..., 0] == CUBE[..., 0].max(1, keepdims=True),
    ),
    "old slopes of channels": (
        "(float[1, 2, 4] x, float[2] s) => (float[1, 2, 4] y) { y = PRelu(x, s) }", 6,
        (CHANNELS, np.array([0.5, 2], "f4")),
        np.where(CHANNELS < 0, CHANNELS * np.array([[0.5], [2]]), CHANNELS),
    ),
    "slopes that broadcast": (
        "(float[1, 2, 4] x, float[4] s) => (float[1, 2, 4] y) { y = PRelu(x, s) }", 7,
        (CHANNELS, 2 * X), np.where(CHANNELS < 0, CHANNELS * 2 * X, CHANNELS),
    ),
    "an old resize": (
        "(float[1, 2, 4] x, float[3] s) => (float[1, 2, 8] y) {"
        ' y = Resize<mode = "linear">(x, s) }', 10, (CHANNELS, np.array([1, 1, 2], "f4")),
        np.stack([np.interp(np.arange(8) / 2, np.arange(4), row) for row in CHANNELS[0]])[None],
    ),
    "an old resize to less": (
        "(float[1, 2, 4] x, float[3] s) => (float[1, 2, 2] y) { y = Resize(x, s) }", 10,
        (CHANNELS, np.array([1, 1, 0.6], "f4")), CHANNELS[..., [0, 2]],
    ),
    "a resize of version 11": (
        "(float[1, 2, 4] x, float[0] r, float[3] s) => (float[1, 2, 8] y) {"
        ' y = Resize<mode = "linear", coordinate_transformation_mode = "asymmetric">(x, r, s) }',
        11, (CHANNELS, np.zeros(0, "f4"), np.array([1, 1, 2], "f4")),
        np.stack([np.interp(np.arange(8) / 2, np.arange(4), row) for row in CHANNELS[0]])[None],
    ),
    **{f"pads of version {version}": (
        f"(float[4] x) => (float[7] y) {{ y = Pad<{name} = [1, 2], value = 7.0>(x) }}", version,
        (X,), np.pad(X, (1, 2), constant_values=7),
    ) for name, version in (("paddings", 1), ("pads", 2), ("pads", 10))},
    "pads of inputs": (
        "(float[4] x, int64[2] p, float v) => (float[7] y) { y = Pad(x, p, v) }", 13,
        (X, np.array([1, 2]), np.array(7, "f4")), np.pad(X, (1, 2), constant_values=7),
    ),
    "limits of attributes": (
        "(float[4] x) => (float[4] y) { y = Clip<min = -1.0, max = 2.0>(x) }", 6, (X,),
        np.clip(X, -1, 2),
    ),
    "a spectrum along a dim of version 17": (
        "(float[2, 3, 2, 1] x) => (float[2, 3, 2, 2] y) { y = DFT<axis = 2>(x) }", 17,
        (CUBE[..., None],), np.stack([np.fft.fft(CUBE).real, np.fft.fft(CUBE).imag], -1),
    ),
    "a spectrum along the first dim of version 17": (
        "(float[2, 3, 2, 1] x) => (float[2, 3, 2, 2] y) { y = DFT(x) }", 17, (CUBE[..., None],),
        np.stack([np.fft.fft(CUBE, axis=1).real, np.fft.fft(CUBE, axis=1).imag], -1),
    ),
    "a spectrum along the last dim but one": (
        "(float[3, 2, 1] x) => (float[3, 2, 2] y) { y = DFT(x) }", 20, (CUBE[0, :, :, None],),
        np.stack([np.fft.fft(CUBE[0]).real, np.fft.fft(CUBE[0]).imag], -1),
    ),
    "an old scan of examples from behind": (
        SCAN_8, 8, (None, CUBE[..., 0, 0][:, None].repeat(2, 1), CUBE),
        [np.stack(part) for part in zip(*(
            _scanned(x[0, :1].repeat(2), x.T, True, 0, False) for x in CUBE), strict=True)],
    ),
    **{f"a scan of {name}": (
        f"""(float[2] s, float[2, 3] x) => (float[2] z, float[a, b] y) {{
            z, y = Scan<num_scan_inputs = 1, scan_input_axes = [1] {more},
                body = step (float[2] t, float[2] e) => (float[2] u, float[2] v) {{
                    u = Add(t, e) v = Mul(u, e) }}>(s, x) }}""", 11,
        (CUBE[0, 0], CUBE[..., 0]), _scanned(CUBE[0, 0], CUBE[..., 0], back, out, turned),
    ) for name, more, back, out, turned in (
        ("columns", "", False, 0, False),
        ("columns from behind", ", scan_input_directions = [1]", True, 0, False),
        ("columns to columns", ", scan_output_axes = [1]", False, 1, False),
        ("columns to columns from behind",
         ", scan_output_axes = [-1], scan_output_directions = [1]", False, 1, True))},
    "a transposed convolution of groups": (
        "(double[1, 4, 3] x, double[4, 3, 2] w, double[6] b) => (double[1, 6, 6] y) {"
        " y = ConvTranspose<group = 2, strides = [2]>(x, w, b) }", 11,
        (NARROW.numpy(), WEIGHT.numpy(), BIAS.numpy()),
        functional.conv_transpose1d(NARROW, WEIGHT, BIAS, 2, groups=2),
    ),
    "integers with a zero for each row and column": (
        "(uint8[2, 3] a, uint8[3, 2] b, uint8[2] p, uint8[2] q) => (int32[2, 2] y) {"
        " y = MatMulInteger(a, b, p, q) }", 10,
        (BYTES, BYTES.reshape(3, 2), np.array([3, 9], "u1"), np.array([1, 8], "u1")),
        (BYTES - np.array([[3], [9]])) @ (BYTES.reshape(3, 2) - np.array([1, 8])),
    ),
    "a response of neighbours": (
        "(float[1, 8, 3, 2] x) => (float[1, 8, 3, 2] y) {"
        " y = LRN<size = 3, alpha = 0.3, beta = 0.6, bias = 1.5>(x) }", 13, (SQUARES.numpy(),),
        functional.local_response_norm(SQUARES, 3, 0.3, 0.6, 1.5),
    ),
    "a response of two neighbours": (
        "(float[1, 2, 4] x) => (float[1, 2, 4] y) {"
        " y = LRN<size = 2, alpha = 0.5, beta = 1.0, bias = 1.0>(x) }", 13, (CHANNELS,),
        CHANNELS / (1 + 0.25 * (CHANNELS**2 + np.stack([CHANNELS[:, 1] ** 2, 0 * X[None]], 1))),
    ),
    "a global norm": (
        "(float[1, 2, 4] x) => (float[1, 2, 1] y) { y = GlobalLpPool<p = 3>(x) }", 2, (CHANNELS,),
        (np.abs(CHANNELS) ** 3).sum(2, keepdims=True) ** (1 / 3),
    ),
    "a global length": (
        "(float[1, 2, 4] x) => (float[1, 2, 1] y) { y = GlobalLpPool(x) }", 2, (CHANNELS,),
        np.linalg.norm(CHANNELS, axis=2, keepdims=True),
    ),
    "neighbours of infinities": (
        "(double[2, 3] x, float[0] roi, float[2] s) => (double[4, 3] y) {"
        ' y = Resize<mode = "nearest">(x, roi, s) }', 13,
        (WIDE, np.zeros(0, "f4"), np.array([2, 1], "f4")), WIDE.repeat(2, 0),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BY_ITS_TEXT)
def test_a_row_gives_what_its_text_says(name: str) -> None:
    text, version, inputs, wanted = BY_ITS_TEXT[name]
    found = ted.onnx.run_model(model(f"main {text}", version), list(inputs))
    results = wanted if isinstance(wanted, list) else [wanted]
    for one, other in zip(found, results, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(("version", "mode"), [(10, None), (16, "output_half_pixel")])
def test_boxes_had_no_half_pixel(version: int, mode: str | None) -> None:
    """Boxes of one element, and of two by two."""
    given = f', coordinate_transformation_mode = "{mode}"' if mode else ""
    text = f"""main (float[1, 1, 4, 4] x, float[2, 4] b, int64[2] k) => (float[2, 1, 1, 1] y) {{
        y = RoiAlign<sampling_ratio = 1{given}>(x, b, k) }}"""
    x = np.arange(16, dtype="f4").reshape(1, 1, 4, 4)
    boxes = np.array([[1, 1, 1, 1], [0, 1, 2, 3]], "f4")
    (found,) = ted.onnx.run_model(model(text, version), [x, boxes, np.array([0, 0])])
    np.testing.assert_allclose(found.ravel(), [1.5 * 4 + 1.5, 2 * 4 + 1])


def test_a_gate_that_forgets_what_comes_in() -> None:
    x, w, r = (RNG.standard_normal(s) for s in ((3, 2, 2), (1, 12, 2), (1, 12, 3)))
    text = """main (double[3, 2, 2] x, double[1, 12, 2] w, double[1, 12, 3] r) =>
        (double[3, 1, 2, 3] y) { y = LSTM<hidden_size = 3, input_forget = 1>(x, w, r) }"""
    (found,) = ted.onnx.run_model(model(text, 14), [x, w, r])
    state, cell = np.zeros((2, 3)), np.zeros((2, 3))
    for step in range(3):
        i, o, _, new = np.split(x[step] @ w[0].T + state @ r[0].T, 4, 1)
        i, o = 1 / (1 + np.exp(-i)), 1 / (1 + np.exp(-o))
        cell = (1 - i) * cell + i * np.tanh(new)
        state = o * np.tanh(cell)
        np.testing.assert_allclose(found[step, 0], state)


def test_an_initialiser_among_the_inputs_is_a_parameter() -> None:
    source = model("main (double[2] x, double[2] w) => (double[2] y) { y = Mul(x, w) }",
                   w=np.array([2.0, 3]))  # fmt: skip
    imported = ted.onnx.from_model(source)
    assert (imported.inputs, list(imported.params)) == (("x",), ["w"])
    (found,) = ted.onnx.run_model(source, [np.array([1.0, 2])])
    np.testing.assert_array_equal(found, [2, 6])


def test_parameters_and_inputs_that_are_left_out() -> None:
    source = model("""main (double[2] x, double low) => (double[2] y) {
        a = Mul(x, w) y = Clip(a, low) }""", w=np.array([2.0, 3]))  # fmt: skip
    f, x = ted.onnx.from_model(source), np.array([-1.0, 2])
    given = {"w": np.array([1.0, -1])}
    np.testing.assert_array_equal(interpreting(lambda x: f(given, x, None))(x), [-1, -2])
    low = np.array(-1.5)
    np.testing.assert_array_equal(interpreting(lambda x: f(given, x, low))(x), [-1, -1.5])
    np.testing.assert_array_equal(interpreting(lambda x: f(f.params, x, low))(x), [-1.5, 6])


def _loop(body: str, head: str = "y = Loop (n, go, x)", results: str = "double[3] y") -> Any:
    return model(f"""main (double[3] x, int64 n, bool go) => ({results}) {{
        {head} < body = step (int64 i, bool g, double[3] v) => (bool h, double[3] w) {{ {body} }} >
    }}""")


STEPS, GO = np.array(2), np.array(True)
BAD: dict[str, tuple[Any, tuple[Any, ...], str]] = {
    "parts that do not make up a dim": (
        model("main (double[3] x, int64[2] n) => (double[a] y, double[b] z) { y, z = Split(x, n) }",
              13), (np.ones(3), np.array([1, 1])), r"parts must make up dim 0, got \[1, 1\] of 3",
    ),
    "a convolution of 4 dims": (
        model("main (float[1, 1, 2, 2, 2, 2] x, float[1, 1, 1, 1, 1, 1] w) => "
              "(float[1, 1, 2, 2, 2, 2] y) { y = Conv(x, w) }"),
        (np.ones((1, 1, 2, 2, 2, 2), "f4"), np.ones((1,) * 6, "f4")),
        "convolutions must have 1 to 3 spatial dims, got 4",
    ),
    "unknown places of a resize": (
        model("main (float[2] x, float[0] roi, float[1] s) => (float[4] y) {"
              ' y = Resize<coordinate_transformation_mode = "middle">(x, roi, s) }'),
        (np.ones(2, "f4"), np.zeros(0, "f4"), np.array([2], "f4")),
        "places must be of .*, got middle",
    ),
    "samples that boxes decide": (
        model("main (float[1, 1, 4, 4] x, float[1, 4] b, int64[1] k) => (float[1, 1, 1, 1] y) {"
              " y = RoiAlign(x, b, k) }"),
        (np.ones((1, 1, 4, 4), "f4"), np.ones((1, 4), "f4"), np.array([0])),
        "the sampling ratio must be known, got 0",
    ),
    "activations of another name": (
        model("main (float[1, 1, 1] x, float[1, 1, 1] w, float[1, 1, 1] r) => "
              '(float[1, 1, 1, 1] y) { y = RNN<hidden_size = 1, activations = ["Odd"]>(x, w, r) }'),
        (np.ones((1, 1, 1), "f4"),) * 3, "activations must be .*, got odd",
    ),
    "a deformed convolution of volumes": (
        model("main (float[1, 1, 2, 2, 2] x, float[1, 1, 1, 1, 1] w, float[1, 3, 2, 2, 2] o) => "
              "(float[1, 1, 2, 2, 2] y) { y = DeformConv(x, w, o) }"),
        (np.ones((1, 1, 2, 2, 2), "f4"), np.ones((1,) * 5, "f4"), np.ones((1, 3, 2, 2, 2), "f4")),
        "deformed convolutions must have 2 spatial dims, got 3",
    ),
    "a condition of a loop that is data": (
        _loop("s = ReduceSum<keepdims = 0>(v) h = Greater(s, s) w = Neg(v)"),
        (np.ones(3), STEPS, GO),
        "the condition of a loop must be known",
    ),
    "a branch of a list or nothing by data": (
        model("""main (bool c, double[3] x) => (double[3] y) {
            y = If (c) < then_branch = yes () => (a) { a = Identity(x) },
                else_branch = no () => (b) { b = SequenceEmpty() } > }"""), (GO, np.ones(3)),
        "must be known",
    ),
    "an old scan of several lengths": (
        model(f"main {SCAN_8}", 8),
        (np.array([2, 3]), np.ones((2, 2), "f4"), np.ones((2, 3, 2), "f4")),
        "a scan of version 8 must have examples of one length",
    ),
    "a branch with a list among its results": (
        model("""main (bool c, double[3] x) => (double[3] y, double[3] z) {
            y, z = If (c) < then_branch = yes () => (a, b) { a = Neg(x) b = SequenceEmpty() },
                else_branch = no () => (d, e) { d = Abs(x) e = SequenceEmpty() } > }"""),
        (GO, np.ones(3)), "must be known",
    ),
    "a branch of nothing or a list by data": (
        model("""main (bool c, double[3] x) => (double[3] y) {
            y = If (c) < then_branch = yes () => (b) { b = SequenceEmpty() },
                else_branch = no () => (a) { a = Identity(x) } > }"""), (GO, np.ones(3)),
        "must be known",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_what_a_row_cannot_do_is_named(name: str) -> None:
    source, inputs, message = BAD[name]
    imported = ted.onnx.from_model(source)
    with pytest.raises(FrontendError, match=message):
        imported.results({}, [ted.constant(inputs[0]), *inputs[1:]])


@pytest.mark.parametrize("op", ["MaxPool", "ConvTranspose"])
def test_windows_have_any_number_of_dims(op: str) -> None:
    x = np.arange(16.0, dtype="f4").reshape(1, 1, 2, 2, 2, 2)
    w = np.ones((1, 1, 1, 1, 1, 1), "f4")
    call = f"y, i = {op}<kernel_shape = [2, 2, 2, 2]>(x)" if op == "MaxPool" else f"y = {op}(x, w)"
    extra = ", int64[a, b, c, d, e, f] i" if op == "MaxPool" else ""
    text = "main (float[1, 1, 2, 2, 2, 2] x) => (float[g, h, j, k, l, m] y%s) { %s }"
    found = ted.onnx.run_model(model(text % (extra, call), 18, w=w), [x])
    wanted = [np.max(x), np.argmax(x)] if op == "MaxPool" else [x]
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(one, np.reshape(other, one.shape))
