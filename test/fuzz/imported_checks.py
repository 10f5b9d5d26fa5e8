"""Random imported programs: StableHLO against JAX, linalg against MLIR's own lowering.

make fuzz ORACLE=imported
"""

from __future__ import annotations

from typing import Any

import numpy as np

import ted
from fuzz import linalg_programs, stablehlo_programs
from fuzz.imported_texts import Text, Value
from fuzz.outcomes import Outcome
from ted.errors import VerifyError
from ted.testing.tracing import interpreted
from unit.raising import upstream

ROUGH = {"f32": 2e-4, "f64": 1e-9}


def check_imported(seed: int) -> Outcome:
    """Compare one program, of StableHLO or of linalg; every fourth one is compiled.

    Raises: AssertionError where a result differs.
    """
    is_stable = seed % 2 == 0
    text = (stablehlo_programs if is_stable else linalg_programs).program(seed)
    source, results = text.function()
    is_compiled = seed % 8 < 2
    try:
        found = computed(source, text.arrays, is_compiled)
    except VerifyError as error:
        return Outcome("declined", error.message.split(",")[0][:60], source)
    if is_stable:
        wanted = by_jax(source, text.arrays)
    else:
        wanted = [np.empty_like(f) for f in found]
        upstream.run(source, [a.copy() for a in text.arrays], wanted)  # it writes in place
    compare(source, results, found, wanted, text)
    return Outcome("ok", counts={"compiled": int(is_compiled)})


def computed(source: str, arrays: list[Any], compiled: bool) -> list[Any]:
    """The results by ted."""
    raised = ted.from_mlir(source)
    if compiled:
        found = ted.function(raised)(*arrays)
        return list(found) if isinstance(found, tuple) else [found]
    inputs = [ted.placeholder(a.shape, str(a.dtype)) for a in arrays]
    outputs = raised(*inputs)
    listed = list(outputs) if isinstance(outputs, tuple) else [outputs]
    return list(interpreted(inputs, listed)(*arrays))


def by_jax(source: str, arrays: list[Any]) -> list[Any]:
    """The results of a text by XLA, as JAX runs it on the CPU."""
    import jax
    from jax._src import xla_bridge
    from jaxlib import xla_client

    with jax.enable_x64(True):
        client = xla_bridge.get_backend("cpu")
        devices = xla_client.DeviceList(tuple(client.local_devices()[:1]))
        module = f"module {{\n{source}\n}}"
        program = client.compile_and_load(module, devices, xla_client.CompileOptions())
        given = [jax.device_put(a, client.local_devices()[0]) for a in arrays]
        parts = program.execute_sharded(given).disassemble_into_single_device_arrays()
        return [np.asarray(part[0]) for part in parts]


def compare(
    source: str, results: list[Value], found: list[Any], wanted: list[Any], text: Text
) -> None:
    """Results against the oracle's.

    Raises: AssertionError naming the first that differs.
    """
    for value, got, want in zip(results, found, wanted, strict=True):
        note = f"{value.name} of {text.taken}\n{source}\n{[a.tolist() for a in text.arrays]}"
        assert (got.shape, got.dtype) == (want.shape, want.dtype), note
        if value.exact or not value.is_float:
            np.testing.assert_array_equal(got, want, err_msg=note)
        else:
            room = ROUGH[value.kind]
            np.testing.assert_allclose(got, want, rtol=room, atol=room, err_msg=note)
