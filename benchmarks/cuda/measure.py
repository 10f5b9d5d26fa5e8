"""Check and time the files that `prepare.py` saved, on a machine with a GPU.

    python FOLDER/measure.py [--only softmax] [--repeat 20]

Needs Python, numpy and the driver. Where torch with CUDA is installed, its eager operators (cuBLAS,
cuDNN, its own kernels), captured as CUDA graphs like ours, are the baselines; programs that move
memory are compared with a copy of a gibibyte too. Times are of the device: events around replays.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
COPY_BYTES = 1 << 30
CALLS = 20


def find_loader(folder: Path) -> Any:
    """The loader of the first file: all have the same."""
    sys.path.insert(0, str(next(folder.glob("*.ted"))))
    import ted_bundle.runtime.cuda.loading as loading  # pyright: ignore[reportMissingImports]

    return loading


def copy_rate(loading: Any, repeat: int, size: int = COPY_BYTES) -> float:
    """GB/s of a copy on the device, read and written bytes."""
    context, times = loading.context_of(0), []
    with context:
        memory = [context.memory.allocate(size, 0) for _ in range(2)]
        places = [block.pointer for block in memory]
        for _ in range(repeat + 1):
            start = loading.Event(context).record()
            for _ in range(CALLS):
                context.driver.cuMemcpyDtoDAsync_v2(*places, size, 0)
            times.append(start.milliseconds_until(loading.Event(context).record()) / CALLS)
        for block in memory:
            block.free()
    return 2 * size / median(times[1:]) / 1e6


def torch_with_cuda() -> Any:
    """The module torch when it can use the GPU, else None."""
    try:
        import torch
    except ImportError:
        return None
    return torch if torch.cuda.is_available() else None


Baseline = tuple[Callable[[], Any], Callable[[Any], list[Any]]]
SECOND = ("_and_vjp", "_vjp")  # how names of gradients end


def operators(torch: Any) -> dict[str, Callable[..., Any]]:
    """Torch's operator for the cases of a stem."""
    functional = torch.nn.functional

    def stencil(x: Any) -> Any:
        around = x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:]
        return around - 4 * x[1:-1, 1:-1]

    return {
        "chain": lambda a, b, c: torch.tanh(a) * b + torch.sigmoid(c) * a,
        "softmax": lambda x: torch.softmax(x, -1),
        "layer_norm": lambda x, w, b: functional.layer_norm(x, x.shape[-1:], w, b),
        "column_sum": lambda x: x.sum(0),
        "transposed": lambda x, y: x.T + y,
        "running_sum": lambda x: x.cumsum(1),
        "stencil": stencil,
        "pool": lambda x: functional.max_pool2d(x.permute(0, 3, 1, 2), 2).permute(0, 2, 3, 1),
        "lookup": lambda table, index: functional.embedding(index, table),
        "loss": functional.cross_entropy,
        "attention": functional.scaled_dot_product_attention,
        "batched": torch.matmul,
        "matmul": torch.matmul,
    }


def baseline(torch: Any, name: str, inputs: list[Any], compiled: bool = False) -> Baseline:
    """Torch's way to compute a case: the call, and its result as the list of ours."""
    end = next((end for end in SECOND if name.endswith(end)), "")
    stem = name.removesuffix(end)
    for short in ("f64", "f32", "tf32", "f16", "bf16", "8192"):
        stem = stem.removesuffix(f"_{short}")
    stem = "matmul" if stem.startswith("matmul") else stem
    operator = operators(torch).get(stem)
    if operator is None:
        return convolution(torch, name, inputs)
    if compiled:
        operator = torch.compile(operator)
    if not end:
        return lambda: operator(*inputs), lambda found: [found]
    *primals, head = inputs
    leaves = [x.detach().requires_grad_(x.is_floating_point()) for x in primals]

    def call() -> list[Any]:
        result = operator(*leaves)
        gradients = torch.autograd.grad(result, [x for x in leaves if x.requires_grad], head)
        return [result.detach(), *gradients] if "_and_" in name else list(gradients)

    return call, list


def convolution(torch: Any, name: str, inputs: list[Any]) -> Baseline:
    """Torch's convolution, or one of its gradients, channels last."""
    convolve, derive = torch.ops.aten.convolution, torch.ops.aten.convolution_backward
    shared = ([1, 1], [1, 1], [1, 1], False, [0, 0], 1)

    def picture(x: Any) -> Any:
        return x.permute(0, 3, 1, 2)  # no copy: channels last

    def filters(w: Any) -> Any:
        return w.permute(3, 2, 0, 1).contiguous(memory_format=torch.channels_last)

    if name.startswith("conv_dx"):
        w, head = filters(inputs[0]), picture(inputs[1])
        image = torch.empty_like(head)
        call = lambda: derive(head, image, w, None, *shared, [True, False, False])  # noqa: E731
        return call, lambda found: [found[0].permute(0, 2, 3, 1)]
    x = picture(inputs[0])
    if name.startswith("conv_dw"):
        head = picture(inputs[1])
        channels = x.shape[1]
        w = filters(torch.empty((3, 3, channels, channels), dtype=x.dtype, device=x.device))
        call = lambda: derive(head, x, w, None, *shared, [False, True, False])  # noqa: E731
        return call, lambda found: [found[1].permute(2, 3, 1, 0)]
    w = filters(inputs[1])
    return lambda: convolve(x, w, None, *shared), lambda found: [found.permute(0, 2, 3, 1)]


def differences(torch: Any, ours: list[Any], theirs: list[Any], element_type: str) -> list[str]:
    """What differs between two lists of tensors, by more than the type's rounding explains."""
    allowed = {"float64": 1e-9, "float32": 1e-4, "float16": 2e-2, "bfloat16": 4e-2}[element_type]
    wrong = []
    for k, (a, b) in enumerate(zip(ours, theirs, strict=True)):
        if a.shape != b.shape:
            wrong.append(f"result {k}: shape {tuple(a.shape)}, torch has {tuple(b.shape)}")
            continue
        largest = b.abs().max().item()
        error = (a.double() - b.double()).abs().max().item()
        if not error <= allowed * largest:
            wrong.append(f"result {k}: error {error:.3g}, largest number {largest:.3g}")
    return wrong


def torch_microseconds(torch: Any, call: Callable[[], Any], repeat: int) -> float:
    """Device time of a call, replayed as a graph."""
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for _ in range(3):
            call()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        kept = call()
    times = []
    for _ in range(repeat + 1):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        for _ in range(CALLS):
            graph.replay()
        end.record()
        end.synchronize()
        times.append(1e3 * start.elapsed_time(end) / CALLS)
    del kept
    return median(times[1:])


def line(case: dict[str, Any], bundle: Any, found: dict[str, Any]) -> str:
    """A line of the table."""
    rate = bundle.least_bytes / found["us"] / 1e3
    text = f"{case['name']:18} {found['us']:10.1f} us  launched {found['launched_us']:10.1f} us"
    if case["operations"]:
        text += f"  {case['operations'] / found['us'] / 1e6:8.1f} TFLOP/s"
    else:
        text += f"  {rate:8.0f} GB/s  {rate / found['copy_gb_per_s']:5.2f} of copy"
    if found.get("torch_us"):
        text += (
            f"  torch {found['torch_us']:10.1f} us, speed {found['torch_us'] / found['us']:5.2f}"
        )
    if found.get("inductor_us"):
        speed = found["inductor_us"] / found["us"]
        text += f"  compiled {found['inductor_us']:10.1f} us, speed {speed:5.2f}"
    return text


def drawn(torch: Any, case: dict[str, Any], bundle: Any) -> list[Any]:
    """Inputs on the device, of normal distribution; indices are below the second size."""
    if torch is None:
        return bundle.inputs()
    generator = torch.Generator("cuda").manual_seed(0)
    made = []
    for spec in bundle.manifest.inputs:
        kind = getattr(torch, spec.dtype)
        if kind.is_floating_point:
            made.append(torch.randn(spec.shape, device="cuda", generator=generator).to(kind))
        else:
            below = case["sizes"][1]
            made.append(torch.randint(below, spec.shape, device="cuda", generator=generator))
    return [bundle.asarray(x) for x in made]


def against_torch(
    torch: Any, case: dict[str, Any], bundle: Any, arrays: list[Any], repeat: int, compiled: bool
) -> dict[str, Any]:
    """Torch's time on the bundle's own inputs, and what differs at the large size."""
    torch.backends.cuda.matmul.allow_tf32 = case["tf32"]
    inputs = [torch.from_dlpack(a) for a in arrays]
    call, as_ours = baseline(torch, case["name"], inputs)
    results = bundle.program(*arrays)
    bundle.program.context.synchronize()
    ours = [torch.from_dlpack(result) for result in results]
    allowed = "float16" if case["tf32"] else case["dtype"]
    wrong = differences(torch, ours, as_ours(call()), allowed)
    found = {"torch_us": torch_microseconds(torch, call, repeat), "differs": wrong}
    if compiled:
        call, _ = baseline(torch, case["name"], inputs, compiled=True)
        found["inductor_us"] = torch_microseconds(torch, call, repeat)
    return found


def measure(
    folder: Path, loading: Any, names: list[str], repeat: int, copy_bytes: int,
    compiled: tuple[str, ...] = (),
) -> int:  # fmt: skip
    """Print the table; the number of cases that are wrong."""
    cases = [
        case for case in json.loads((folder / "cases.json").read_text())
        if not names or case["name"] in names
    ]  # fmt: skip
    torch = torch_with_cuda()
    if torch:
        torch.backends.cudnn.allow_tf32 = False  # as for its matrix products: f32 means f32
    copied = copy_rate(loading, repeat, copy_bytes)
    versions = f"numpy {np.__version__}, torch {torch.__version__ if torch else 'not there'}"
    print(f"{loading.context_of(0).name}; {versions}")
    print(f"copy {copied:.0f} GB/s, read and written")
    results = []
    for case in cases:
        bundle = loading.load(folder / f"{case['name']}.ted")
        differs = loading.load(folder / f"{case['name']}-small.ted").check()
        arrays = drawn(torch, case, bundle)
        times = bundle.time(repeat, arrays)
        found = {
            "us": times.replayed, "launched_us": times.launched, "copy_gb_per_s": copied,
            "differs": [], **case,
        }  # fmt: skip
        if torch:
            also = case["name"] in compiled
            found.update(against_torch(torch, case, bundle, arrays, repeat, also))
        found["differs"] = differs + found["differs"]
        for text in found["differs"]:
            print(f"{case['name']}: WRONG: {text}")
        print(line(case, bundle, found), flush=True)
        results.append(found)
    (folder / "results.json").write_text(json.dumps(results, indent=1))
    return sum(bool(found["differs"]) for found in results)


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", default="", help="names of cases, with commas")
    parser.add_argument("--repeat", type=int, default=20)
    parser.add_argument("--compile", default="", help="cases to compare with torch.compile too")
    given = parser.parse_args()
    names = [name for name in given.only.split(",") if name]
    compiled = tuple(given.compile.split(","))
    loader = find_loader(HERE)
    return 1 if measure(HERE, loader, names, given.repeat, COPY_BYTES, compiled) else 0


if __name__ == "__main__":
    raise SystemExit(main())
