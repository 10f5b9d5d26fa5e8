"""Check and time the bundles that `prepare.py` saved, on a machine with a GPU.

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
    """The loader of the first bundle: all have the same."""
    bundle = next(folder.glob("*/ted_bundle")).parent
    sys.path.insert(0, str(bundle))
    import ted_bundle.runtime.cuda.loading as loading  # pyright: ignore[reportMissingImports]

    return loading


def copy_rate(loading: Any, repeat: int, size: int = COPY_BYTES) -> float:
    """GB/s of a copy on the device, read and written bytes."""
    context = loading.context_of(0)
    memory = [context.memory.allocate(size, 0) for _ in range(2)]
    places = [block.pointer for block in memory]
    times = []
    with context:
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


def baseline(torch: Any, case: dict[str, Any]) -> Callable[[], Any] | None:
    """Torch's way to compute a case, on numbers of its own."""
    name, sizes = case["name"], case["sizes"]
    functional = torch.nn.functional
    dtype = getattr(torch, case["dtype"])

    def made(*shape: int, gradient: bool = False) -> Any:
        found = torch.randn(*shape, device="cuda", dtype=dtype)
        return found.requires_grad_() if gradient else found

    operators = {
        "chain": (lambda a, b, c: torch.tanh(a) * b + torch.sigmoid(c) * a, [sizes] * 3),
        "softmax": (lambda x: torch.softmax(x, -1), [sizes]),
        "layer_norm": (
            lambda x, w, b: functional.layer_norm(x, x.shape[-1:], w, b),
            [sizes, sizes[1:], sizes[1:]],
        ),
    }
    stem = name.removesuffix("_vjp")
    if stem in operators:
        operator, shapes = operators[stem]
        inputs = [made(*shape, gradient=name != stem) for shape in shapes]
        if name == stem:
            return lambda: operator(*inputs)
        head = made(*sizes)
        return lambda: torch.autograd.grad(operator(*inputs), inputs, head)
    if name.startswith("matmul"):
        n, m, k = sizes
        a, b = made(n, k), made(k, m)
        return lambda: a @ b
    return convolution(torch, name, sizes, made)


def convolution(torch: Any, name: str, sizes: list[int], made: Callable[..., Any]) -> Any:
    """Torch's convolution, or one of its gradients, channels last."""
    n, size, channels = sizes
    last = {"memory_format": torch.channels_last}
    x, head = (made(n, channels, size, size).contiguous(**last) for _ in range(2))
    w = made(channels, channels, 3, 3).contiguous(**last)
    shared = ([1, 1], [1, 1], [1, 1], False, [0, 0], 1)
    if name.startswith("conv_d"):
        wanted = [name.startswith("conv_dx"), name.startswith("conv_dw"), False]
        return lambda: torch.ops.aten.convolution_backward(head, x, w, None, *shared, wanted)
    return lambda: torch.ops.aten.convolution(x, w, None, *shared)


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
    return text


def measure(folder: Path, loading: Any, names: list[str], repeat: int, copy_bytes: int) -> int:
    """Print the table; the number of cases that are wrong."""
    cases = [
        case for case in json.loads((folder / "cases.json").read_text())
        if not names or case["name"] in names
    ]  # fmt: skip
    torch = torch_with_cuda()
    copied = copy_rate(loading, repeat, copy_bytes)
    print(
        f"{loading.context_of(0).name}; numpy {np.__version__}; torch {torch and torch.__version__}"
    )
    print(f"copy {copied:.0f} GB/s, read and written")
    wrong, results = 0, []
    for case in cases:
        differs = loading.load(folder / f"{case['name']}-small").check()
        for text in differs:
            print(f"{case['name']}: WRONG: {text}")
        wrong += bool(differs)
        bundle = loading.load(folder / case["name"])
        times = bundle.time(repeat)
        found = {
            "us": times.replayed, "launched_us": times.launched, "copy_gb_per_s": copied,
            "wrong": differs, **case,
        }  # fmt: skip
        call = baseline(torch, case) if torch else None
        if call is not None:
            found["torch_us"] = torch_microseconds(torch, call, repeat)
        print(line(case, bundle, found), flush=True)
        results.append(found)
    (folder / "results.json").write_text(json.dumps(results, indent=1))
    return wrong


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", default="", help="names of cases, with commas")
    parser.add_argument("--repeat", type=int, default=20)
    given = parser.parse_args()
    names = [name for name in given.only.split(",") if name]
    return 1 if measure(HERE, find_loader(HERE), names, given.repeat, COPY_BYTES) else 0


if __name__ == "__main__":
    raise SystemExit(main())
