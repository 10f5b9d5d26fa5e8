"""The C types of the driver's functions, on a library of C: what was meant arrives there."""

from __future__ import annotations

import ctypes
import shutil
import struct
import subprocess
from pathlib import Path

import numpy as np
import pytest

from ted.codegen.manifest import ArraySpec, Kernel, Launch, Linear, Pointer, Scalar, TensorMap
from ted.runtime.cuda.arrays import empty
from ted.runtime.cuda.contexts import context_of
from ted.runtime.cuda.driver import using
from ted.runtime.cuda.graphs import capture
from ted.runtime.cuda.programs import Program
from ted.runtime.cuda.prototypes import PROTOTYPES
from ted.runtime.cuda.streams import Event, Stream
from unit.runtime.python_machine import program

SOURCE = Path(__file__).resolve().parents[3] / "benchmarks" / "cuda" / "stub_driver.c"


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler")
    path = tmp_path_factory.mktemp("stub") / "libstub.so"
    flags = ["-O1", "-shared", "-fPIC"]
    subprocess.run([compiler, *flags, "-o", path, SOURCE], check=True)
    return ctypes.CDLL(str(path))


def launched(library: ctypes.CDLL) -> list[int]:
    return list((ctypes.c_uint64 * 12).in_dll(library, "stub_launch"))


def test_a_launch_arrives_as_it_was_meant(library) -> None:
    with using(library):
        stream, context = Stream(), context_of()
        x = empty((2, 4), "float32", context=context)
        number = Scalar("f64", 2.5)
        kernel = Kernel("k", (70000, 2, 3), (32, 4, 1), ("f64", "pointer"), 1024)
        launch = Launch("k", (number, Pointer(("input", 0), Linear(16))))
        Program(program(kernels=(kernel,), steps=(launch,), buffers=()))(x, stream=stream)
        _, *seen = launched(library)
        bits = struct.unpack("<Q", struct.pack("<d", 2.5))[0]
        shape = [70000, 2, 3, 32, 4, 1, 1024, stream.handle]
        assert seen == [*shape, bits, x.pointer + 16, 0]
        assert x.pointer >= 1 << 32, "addresses have 64 bits"


def test_a_tensor_map_arrives_as_it_was_meant(library) -> None:
    with using(library):
        context = context_of()
        x = empty((4, 16), "bfloat16", context=context)
        tile = TensorMap(Pointer(("input", 0)), "bfloat16", (16, 4), (32,), (8, 2), (1, 1), "128B")
        kernel = Kernel("k", (1, 1, 1), (1, 1, 1), ("tensormap", "pointer"))
        f = Program(
            program(
                inputs=(ArraySpec("x", (4, 16), "bfloat16"),),
                kernels=(kernel,),
                steps=(Launch("k", (tile, Pointer(("output", 0)))),),
                buffers=(),
            )
        )
        (y,) = f(x)
        (encoded,) = f._plan._maps
        seen = np.ctypeslib.as_array((ctypes.c_uint64 * 13).from_address(encoded.address))
        assert seen.tolist() == [9, 2, x.pointer, 16, 4, 32, 8, 2, 1, 0, 3, 3, 0]
        assert launched(library)[10] == y.pointer


def test_graphs_events_and_streams_are_called_with_what_they_take(library) -> None:
    with using(library):
        context = context_of()
        f, x = Program(program()), empty((2, 4), "float32", context=context)
        with capture() as graph:
            (y,) = f(x, out=x)
        start = Event().record()
        graph.replay(Stream())
        assert start.milliseconds_until(Event().record()) == 0.5
        assert y is x


def test_every_function_has_types(library) -> None:
    with using(library) as driver:
        for name, types in PROTOTYPES.items():
            if hasattr(library, name):
                assert getattr(library, name).argtypes == types
                assert callable(getattr(driver, name))
