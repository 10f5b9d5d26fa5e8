"""ONNX's own cases of single operators on `ted.onnx`: values, and gradients by dot products.

    PYTHONPATH=test python -m unit.onnx.node_cases [--gradients] [--share 0/2] [--out rows.jsonl]
    [part of a name ...]

prints how many pass, are refused by name, are wrong, and end with another error; `--out` keeps a
row for each case and goes on from what is there.  Values are compared by ONNX's runner, with its
tolerances.  A gradient is that of a random sum of the results, in the model made float64; along a
random direction it is a central difference.
"""

from __future__ import annotations

import argparse
import collections
import functools
import importlib
import json
import pkgutil
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, numpy_helper
from onnx.backend.test.case import node as folder
from onnx.backend.test.runner import Runner

import ted
import ted.onnx
from ted.onnx.backend import Prepared

FLOATS = (TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.BFLOAT16)
# Steps, each with the room for an error: near to a corner of a function, with a part in float32.
STEPS = ((1e-6, 1e-5), (1e-8, 1e-4), (1e-3, 2e-3), (1e-2, 2e-2))


def modules() -> list[str]:
    """The modules of cases, each of an operator or a few."""
    found = pkgutil.walk_packages(folder.__path__, f"{folder.__name__}.")
    return [
        name.removeprefix(f"{folder.__name__}.") for _, name, is_folder in found if not is_folder
    ]


@functools.cache
def of_module(name: str) -> list[Any]:
    """The cases of a module, which makes them when it is imported."""
    path, first = f"{folder.__name__}.{name}", len(folder._NodeTestCases)
    folder._existing_names.clear()  # of an import by ONNX's runner
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of NumPy, in what the cases compute
        if path in sys.modules:
            importlib.reload(sys.modules[path])
        else:
            importlib.import_module(path)
    return folder._NodeTestCases[first:]


def cases() -> list[Any]:
    """All cases of nodes."""
    return [case for name in modules() for case in of_module(name)]


def _array(value: Any) -> Any:
    if isinstance(value, TensorProto):
        return numpy_helper.to_array(value)
    return [_array(each) for each in value] if isinstance(value, list) else value


def sets(case: Any) -> Iterator[tuple[list[Any], list[Any]]]:
    """Inputs and results as arrays."""
    for inputs, outputs in case.data_sets:
        yield list(map(_array, inputs)), list(map(_array, outputs))


def forward(case: Any) -> Prepared:
    """Compare values.

    Raises: AssertionError where they differ.
    """
    prepared = ted.onnx.prepare(case.model)
    for inputs, wanted in sets(case):
        room = max([case.atol, *map(_rounding, wanted)])
        Runner.assert_similar_outputs(wanted, list(prepared.run(inputs)), case.rtol, room)
    return prepared


def _rounding(value: Any) -> float:
    """That of the largest element, which transforms of Fourier share with all others."""
    if not isinstance(value, np.ndarray) or value.dtype not in ("f2", "f4", "f8"):
        return 0.0
    sizes = np.abs(value[np.isfinite(value)])
    return float(np.finfo(value.dtype).eps * np.max(sizes, initial=0))


# ------------------------------------------------------------------ gradients


def _double(message: Any) -> None:
    """Change a model's float types to float64, in place."""
    for name, tensor in ((a.name, a) for node in message.node for a in node.attribute):
        if name in ("to", "dtype", "output_dtype") and tensor.i in FLOATS:
            tensor.i = TensorProto.DOUBLE
        if tensor.type == onnx.AttributeProto.TENSOR and tensor.t.data_type in FLOATS:
            tensor.t.CopyFrom(_wide(tensor.t))
        if tensor.type == onnx.AttributeProto.GRAPH:
            _double(tensor.g)
    for tensor in getattr(message, "initializer", ()):
        if tensor.data_type in FLOATS:
            tensor.CopyFrom(_wide(tensor))


def _wide(tensor: TensorProto) -> TensorProto:
    return numpy_helper.from_array(
        numpy_helper.to_array(tensor).astype(np.float64), tensor.name or None
    )


def _is_float(value: Any) -> bool:
    if isinstance(value, list):
        return bool(value) and all(map(_is_float, value))
    dtype = getattr(value, "dtype", None)
    return dtype is not None and (dtype.kind == "f" or dtype.name == "bfloat16")


def _mapped(fn: Callable[..., Any], *nests: Any) -> Any:
    if isinstance(nests[0], list):
        return [_mapped(fn, *each) for each in zip(*nests, strict=True)]
    return fn(*nests)


def _total(nest: Any) -> float:
    return sum(map(_total, nest)) if isinstance(nest, list) else float(np.sum(nest))


def gradient(case: Any, known: set[str]) -> bool:
    """Compare a gradient with a central difference; False where nothing has one.

    Raises: AssertionError where they differ.
    """
    model = onnx.ModelProto()
    model.CopyFrom(case.model)
    _double(model.graph)
    for function in model.functions:
        _double(function)
    try:
        return _gradient(case, known, model, lambda x: x.astype(np.float64))
    except ted.errors.FrontendError:  # of types that are no longer the same
        return _gradient(case, known, case.model, lambda x: x)


def _gradient(
    case: Any, known: set[str], model: onnx.ModelProto, typed: Callable[[Any], Any]
) -> bool:
    imported = ted.onnx.from_model(model)
    inputs, wanted = next(sets(case))
    rng = np.random.default_rng(0)
    inputs += [None] * (len(imported.inputs) - len(inputs))
    is_data = [
        _is_float(v) and name not in known for name, v in zip(imported.inputs, inputs, strict=True)
    ]
    if not any(is_data) or not any(map(_is_float, wanted)):
        return False
    near: Callable[[Any], Any] = lambda x: (  # noqa: E731 - at no corner of a function
        typed(x) * (1 + 1e-3 * rng.random(x.shape)) + 1e-2 * rng.random(x.shape)
    ).astype(typed(x).dtype)
    with np.errstate(invalid="ignore"):  # of NaN and infinities
        x = [_mapped(near, v) for v, data in zip(inputs, is_data, strict=True) if data]
    others = [v for v, data in zip(inputs, is_data, strict=True) if not data]
    heads = [_mapped(lambda w: rng.standard_normal(w.shape), w) for w in wanted if _is_float(w)]

    def loss(x: Any) -> Any:
        data, rest = iter(x), iter(others)
        values = [next(data) if each else _known(next(rest)) for each in is_data]
        found = imported.results({k: ted.constant(v) for k, v in imported.params.items()}, values)
        results = [y for y, w in zip(found, wanted, strict=True) if _is_float(w)]
        products: list[Any] = []
        for result, head in zip(results, heads, strict=True):
            _mapped(
                lambda y, h: products.append(ted.sum(ted.constant(h) * y.astype("float64"))),
                result,
                head,
            )
        return sum(products[1:], products[0])

    with np.errstate(invalid="ignore"):
        return _compare(loss, x, rng)


def _known(value: Any) -> Any:
    return value if value is None or isinstance(value, list) else np.asarray(value)


def _compare(loss: Callable[[Any], Any], x: Any, rng: Any) -> bool:
    slope = ted.value_and_grad(loss)
    value, gradients = slope(x)
    direction = _mapped(lambda v: rng.standard_normal(v.shape) * (1 + np.abs(v)), x)
    found = _total(_mapped(lambda g, d: np.sum(g * d), list(gradients), direction))
    size = _total(_mapped(lambda g, d: np.sum(np.abs(g * d)), list(gradients), direction))
    for step, relative in STEPS:
        low, high = (
            float(slope(_mapped(lambda v, d, s=s: (v + s * d).astype(v.dtype), x, direction))[0])
            for s in (-step, step)
        )
        wanted = (high - low) / (2 * step)
        if not np.isfinite(wanted):
            return False
        room = relative * max(size, abs(wanted)) + 1e-8 * (1 + abs(float(value)))
        if abs(found - wanted) <= room:
            return True
    raise AssertionError(f"gradient {found}, difference {wanted}")


# ------------------------------------------------------------------ all of them


def outcome(case: Any, gradients: bool) -> tuple[str, str]:
    """What a case comes to, in a word, and why."""
    try:
        prepared = forward(case)
        if not gradients:
            return "pass", " ".join(sorted(prepared.known))
        return ("pass" if gradient(case, prepared.known) else "no floats"), ""
    except ted.errors.FrontendError as error:
        return "refused", error.message
    except AssertionError as error:
        return "wrong", str(error)
    except Exception as error:  # which is a defect
        return "error", f"{type(error).__name__}: {error}"


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--gradients", action="store_true")
    parser.add_argument("--share", default="0/1")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    first, step = map(int, options.share.split("/"))
    chosen = [c for c in cases()[first::step] if _is_named(c.name, options.names)]
    rows = {}
    if options.out and options.out.exists():
        rows = {row["name"]: row for row in map(json.loads, options.out.open())}
    for case in chosen:
        if case.name in rows:
            continue
        start = time.perf_counter()
        kind, why = outcome(case, options.gradients)
        row = {"name": case.name, "kind": kind, "why": why, "s": time.perf_counter() - start}
        rows[case.name] = row
        if options.out:
            with options.out.open("a") as file:
                file.write(json.dumps(row) + "\n")
        elif kind not in ("pass", "no floats"):
            print(case.name, kind, why[:200])
    print(dict(collections.Counter(row["kind"] for row in rows.values())))


def _is_named(name: str, parts: list[str]) -> bool:
    return not parts or any(part in name for part in parts)


if __name__ == "__main__":
    main()
