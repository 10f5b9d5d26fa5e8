"""Programs on an emulated device: launches, arguments, results, memory, errors."""

from __future__ import annotations

import gc
import threading
from dataclasses import replace

import numpy as np
import pytest

from ted.codegen.manifest import ArraySpec, Constant, Launch, Pointer
from ted.errors import ExecutionError
from ted.runtime.cuda.arguments import device_array
from ted.runtime.cuda.arrays import DeviceArray, empty
from ted.runtime.cuda.driver import DriverError
from ted.runtime.cuda.programs import Program
from ted.runtime.cuda.streams import Event, Stream
from ted.testing.emulated_streams import NOT_READY
from unit.runtime.python_machine import (
    PythonMachine,
    device,
    kernel,
    picking,
    powers,
    program,
    scale,
)

X = np.arange(8, dtype=np.float32).reshape(2, 4)


@pytest.fixture
def gpu():
    with device() as found:
        yield found


def test_a_call_computes_and_returns_a_device_array(gpu) -> None:
    f = Program(program())
    (y,) = f(device_array(X, context=gpu[1]))
    assert isinstance(y, DeviceArray)
    assert (y.shape, y.dtype, y.ndim, y.size, y.nbytes) == ((2, 4), np.float32, 2, 8, 32)
    assert repr(y) == "DeviceArray(float32[2, 4] on cuda:0)"
    np.testing.assert_array_equal(y.numpy(), 6 * X)


def test_kernels_are_launched_in_order_with_shape_and_arguments(gpu) -> None:
    library, context = gpu
    f, x = Program(program()), device_array(X, context=context)
    library.log.clear()
    (y,) = f(x)
    first, second = (entry for entry in library.log if entry[0] == "launch")
    assert first[:5] == ("launch", "scale", (2, 1, 1), (32, 1, 1), 0)
    arena = int.from_bytes(first[5][1], "little")
    assert first[5][0] == x.pointer.to_bytes(8, "little")
    assert second[5][:2] == [arena.to_bytes(8, "little"), y.pointer.to_bytes(8, "little")]
    assert arena % 256 == 0
    assert [int.from_bytes(e[5][2], "little") for e in (first, second)] == [8, 8]


def test_nothing_runs_before_somebody_waits(gpu) -> None:
    library, context = gpu
    f = Program(program())
    (y,) = f(device_array(X, context=context))
    assert not np.array_equal(library.machine.array(y.pointer, 8), 6 * X.ravel())
    context.synchronize()
    np.testing.assert_array_equal(library.machine.array(y.pointer, 8), 6 * X.ravel())


def test_an_event_happens_when_its_stream_gets_there(gpu) -> None:
    stream = Stream()
    Program(program())(device_array(X, context=gpu[1]), stream=stream)
    event = Event(gpu[1]).record(stream.handle)
    assert gpu[0].cuEventQuery(event.handle) == NOT_READY
    gpu[0].cuStreamSynchronize(stream.handle)
    assert gpu[0].cuEventQuery(event.handle) == 0


def test_loops_move_pointers_and_numbers(gpu) -> None:
    f = Program(powers())
    x = np.array([1, 2, 3, 4], np.float32)
    y, z = f(device_array(x, context=gpu[1]))
    expected = np.stack([x, x, 2 * x, 6 * x])
    np.testing.assert_array_equal(y.numpy(), expected)
    np.testing.assert_array_equal(z.numpy(), expected[::-1])


def test_a_call_with_other_arrays_gets_other_addresses(gpu) -> None:
    f = Program(program())
    arrays = [device_array(X * k, context=gpu[1]) for k in range(3)]
    results = [f(a)[0] for a in arrays]
    for k, y in enumerate(results):
        np.testing.assert_array_equal(y.numpy(), 6 * k * X)


def test_results_go_into_the_arrays_of_out(gpu) -> None:
    f, x = Program(program()), device_array(X, context=gpu[1])
    target = device_array(np.zeros_like(X), context=gpu[1])
    (y,) = f(x, out=target)
    assert y is target
    np.testing.assert_array_equal(target.numpy(), 6 * X)
    (z,) = f(x, out=[None])
    assert z is not target
    np.testing.assert_array_equal(z.numpy(), 6 * X)


def test_an_out_that_is_read_is_written_last(gpu) -> None:
    step = scale(Pointer(("input", 0)), Pointer(("output", 0)), 8, 2.0)
    again = scale(Pointer(("input", 0)), Pointer(("output", 0)), 8, 5.0)
    f = Program(program(buffers=(), steps=(step, again)))
    x = device_array(X, context=gpu[1])
    (y,) = f(x, out=x)
    assert y is x
    np.testing.assert_array_equal(x.numpy(), 5 * X)


def test_a_result_in_out_belongs_to_the_stream_that_computed_it(gpu) -> None:
    f, x = Program(program()), device_array(X, context=gpu[1])
    target, stream = device_array(0 * X, context=gpu[1]), Stream()
    f(x, out=target, stream=stream)
    np.testing.assert_array_equal(target.numpy(), 6 * X)


def test_a_donated_input_becomes_the_result(gpu) -> None:
    f = Program(program(inputs=(ArraySpec("x", (2, 4), "float32", donated_to=0),)))
    x = device_array(X, context=gpu[1])
    (y,) = f(x)
    assert y is x
    np.testing.assert_array_equal(y.numpy(), 6 * X)
    assert not [e for e in gpu[0].log if e[0] == "DtoD"], "no copy is needed"


@pytest.mark.parametrize("bad", [7, -1])
def test_an_index_out_of_range_is_reported_at_the_next_synchronisation(gpu, bad: int) -> None:
    f = Program(picking())
    (y,) = f(bad)
    message = f"main: index out of range: tensor table has extent 4 in dim 0, got index {bad} "
    with pytest.raises(ExecutionError, match=message):
        y.numpy()
    (y,) = f(2)
    assert y.numpy() == 3.0


def test_the_call_after_a_bad_one_reports_it_when_the_device_is_done(gpu) -> None:
    f = Program(picking())
    f(9)
    f(1)  # the device has not got there yet
    gpu[0].cuCtxSynchronize()
    with pytest.raises(ExecutionError, match="got index 9"):
        f(1)
    assert f(1)[0].numpy() == 2.0


def test_synchronising_the_context_reports_and_forgets(gpu) -> None:
    f = Program(picking())
    f(4)
    with pytest.raises(ExecutionError, match="got index 4"):
        gpu[1].synchronize()
    gpu[1].synchronize()


def test_a_failing_kernel_is_an_error_of_the_driver(gpu) -> None:
    launch = Launch("fault", (Pointer(("input", 0)),))
    f = Program(program(kernels=(kernel("fault"),), steps=(launch,), buffers=()))
    (y,) = f(device_array(X, context=gpu[1]))
    with pytest.raises(DriverError, match=r"LAUNCH_FAILED.*divides by zero"):
        y.numpy()
    with pytest.raises(ExecutionError, match="kernel fault did not start"):
        f(y)


def test_python_numbers_are_arguments_of_rank_0(gpu) -> None:
    f = Program(picking())
    assert [f(k)[0].numpy() for k in (0, 3)] == [1.0, 4.0]
    with pytest.raises(ExecutionError, match="argument 'n': expected dtype int64, got float 2"):
        f(2.0)
    with pytest.raises(ExecutionError, match=r"int64 does not hold 9223372036854775808"):
        f(2**63)
    with pytest.raises(ExecutionError, match=r"expected rank 2 \(shape \(2, 4\)\), got the scalar"):
        Program(program())(1.0)


def test_the_number_of_arguments_and_targets_is_checked(gpu) -> None:
    f, x = Program(program()), device_array(X, context=gpu[1])
    with pytest.raises(ExecutionError, match=r"main: expected 1 arguments \(x\), got 2"):
        f(x, x)
    with pytest.raises(ExecutionError, match=r"main: out= expected 1 arrays \(y\), got 2"):
        f(x, out=[x, x])


def test_targets_that_overlap_are_refused(gpu) -> None:
    f = Program(powers())
    x, out = device_array(X[0], context=gpu[1]), empty((4, 4), "float32", context=gpu[1])
    with pytest.raises(ExecutionError, match="out='y' and out='z' overlap in memory"):
        f(x, out=[out, out])


def test_a_call_runs_on_the_stream_that_is_named(gpu) -> None:
    library, context = gpu
    f, x, stream = Program(program()), device_array(X, context=context), Stream()
    library.log.clear()
    (y,) = f(x, stream=stream)
    assert [e[-1] for e in library.log if e[0] == "launch"] == [stream.handle] * 2
    np.testing.assert_array_equal(y.numpy(), 6 * X)
    library.log.clear()
    with stream:
        f(x)
    f(x)
    assert [e[-1] for e in library.log if e[0] == "launch"] == [stream.handle] * 2 + [0] * 2


def test_a_stream_waits_for_the_stream_that_made_an_argument(gpu) -> None:
    f, one, other = Program(program()), Stream(), Stream()
    with one:
        (y,) = f(device_array(X, context=gpu[1]))
    (z,) = f(y, stream=other)
    other.synchronize()
    np.testing.assert_array_equal(gpu[0].machine.array(z.pointer, 8), 36 * X.ravel())


def test_a_call_is_timed_kernel_by_kernel(gpu, monkeypatch) -> None:
    monkeypatch.setattr(Event, "milliseconds_until", lambda *_: 2.0)
    times, total = Program(program()).timed(device_array(X, context=gpu[1]))
    assert times == {"scale": 0.004}  # seconds, of two launches
    assert total == 0.004


def test_memory_of_dropped_results_is_used_again_and_counted(gpu) -> None:
    library, context = gpu
    f, x = Program(program()), device_array(X, context=context)
    y = f(x)[0]
    asked, usage = len(library.allocated), context.memory.usage
    for _ in range(10):
        y = f(x)[0]
    assert len(library.allocated) <= asked + 1
    assert usage.used == 2 * 512
    assert usage.peak == 4 * 512  # x, the arena, two results
    del x, y
    gc.collect()
    assert usage.used == 0
    assert f.manifest.peak_bytes == 32 + 288


def test_constants_lie_apart_at_aligned_places(gpu) -> None:
    _, table = picking().constants
    gpu[0].log.clear()
    given = replace(picking(), constants=(Constant("unused", bytes(300)), table))
    f = Program(given)
    (_, first, size, *_), (_, second, *_) = (entry for entry in gpu[0].log if entry[0] == "HtoD")
    assert (first % 256, second - first, size) == (0, 512, 300)
    assert f(2)[0].numpy() == 3.0


def test_constants_and_modules_go_with_the_program(gpu) -> None:
    library, context = gpu
    f = Program(picking())
    assert f(0)[0].numpy() == 1.0
    del f
    gc.collect()
    assert context.memory.usage.used == 0
    assert not [m for m in library._objects.values() if isinstance(m, str)], "a module is loaded"


def test_a_program_without_work_is_loaded_and_called(gpu) -> None:
    empty_array = ArraySpec("x", (0, 3), "float32")
    nothing = program(
        inputs=(empty_array,), outputs=(empty_array,), kernels=(), steps=(), buffers=(), ptx=""
    )
    (y,) = Program(nothing)(device_array(np.zeros((0, 3), np.float32), context=gpu[1]))
    assert y.numpy().shape == (0, 3)


def test_ptx_that_does_not_load_gives_the_log(gpu) -> None:
    with pytest.raises(ExecutionError, match=r"loading the kernels: .*syntax error near 'bad'"):
        Program(program(ptx=".version 8.3\nbad"))


def test_a_machine_function_is_what_the_protocol_asks_for() -> None:
    from ted.testing.emulated_driver import Machine

    wanted = {n for n in vars(Machine) if not n.startswith("_")}
    assert wanted <= set(dir(PythonMachine))


def test_threads_call_one_program_on_streams_of_their_own(gpu) -> None:
    f, results = Program(program()), {}

    def work(number: int) -> None:
        with Stream():
            x = device_array(number * X, context=gpu[1])
            for _ in range(20):
                (results[number],) = f(x)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number, y in results.items():
        np.testing.assert_array_equal(y.numpy(), 6 * number * X)


def test_foreign_arrays_that_are_not_done_do_not_pile_up(gpu) -> None:
    f, x = Program(program()), device_array(X, context=gpu[1])
    for _ in range(5):
        f(Foreign(x))
    assert len(gpu[1]._retiring) == 5
    gpu[0].cuCtxSynchronize()
    f(Foreign(x))
    assert len(gpu[1]._retiring) <= 1


class Foreign:
    """An array of a library that ted does not know."""

    def __init__(self, array: DeviceArray) -> None:
        self.__cuda_array_interface__ = array.__cuda_array_interface__
