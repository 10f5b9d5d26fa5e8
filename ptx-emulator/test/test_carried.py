"""Bytes without a value may pass through registers; a use of them is an error where it is."""

import numpy as np
import pytest

from ptx_emulator import Device, errors, launch

_COPY = """
.version 8.0
.target sm_80
.address_size 64
.visible .entry copy(.param .u64 from, .param .u64 to)
{{
    .reg .b32 %r<8>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [from];
    ld.param.u64 %rd2, [to];
    ld.global.v4.b32 {{%r1, %r2, %r3, %r4}}, [%rd1];
    {use}
    st.global.v4.b32 [%rd2], {{%r1, %r2, %r3, {last}}};
    ret;
}}
"""


def _run(device: Device, source: object, target: object, use: str = "", last: str = "%r4") -> None:
    text = _COPY.format(use=use, last=last)
    launch(text, (1, 1, 1), (1, 1, 1), [source.address, target.address], device=device)


def _buffers(device: Device) -> tuple[object, object, object]:
    source, middle, target = (device.allocate(16, name) for name in ("source", "middle", "target"))
    three = np.array([1, 2, 3], np.uint32)
    device.memory[device.starts[0] : device.starts[0] + 12] = three.view(np.uint8)
    device.written[device.starts[0] : device.starts[0] + 12] = 1
    return source, middle, target


def test_copies_hand_on_what_has_no_value() -> None:
    device = Device()
    source, middle, target = _buffers(device)
    _run(device, source, middle)
    _run(device, middle, target)
    start = device.starts[2]
    assert device.written[start : start + 16].tolist() == [1] * 12 + [0] * 4
    assert device.memory[start : start + 12].view(np.uint32).tolist() == [1, 2, 3]


@pytest.mark.parametrize("hops", [0, 1])
def test_a_use_is_found_however_often_it_was_copied(hops: int) -> None:
    device = Device()
    source, middle, target = _buffers(device)
    for _ in range(hops):
        _run(device, source, middle)
        source = middle
    with pytest.raises(errors.UninitialisedRead, match="bytes that have been written"):
        _run(device, source, target, use="add.u32 %r5, %r4, 1;")


def test_a_part_that_nobody_uses_may_have_no_value() -> None:
    device = Device()
    source, _, target = _buffers(device)
    _run(device, source, target, use="add.u32 %r5, %r3, 1;", last="%r5")
    start = device.starts[2]
    assert device.memory[start : start + 16].view(np.uint32).tolist() == [1, 2, 3, 4]
