"""One of two processes that train a module on halves of the data; prints its numbers.

    python two_ranks.py FILE RANK

First the sum of the parameters after steps on all data in this process alone, then those of
`DistributedDataParallel` and of `fully_shard`, whose gradients are means over the processes. Each
process holds half of every parameter of a sharded module.
"""

from __future__ import annotations

import sys
import warnings
from typing import Any

import numpy as np
import torch
from torch import distributed
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor
from torch.nn.parallel import DistributedDataParallel

import ted
import ted.torch

DATA = torch.arange(24, dtype=torch.float64).reshape(6, 4) / 24


def network(params: Any, x: Any) -> Any:
    """A layer."""
    return ted.tanh(x @ params["w"] + params["b"])


def train(module: torch.nn.Module, data: torch.Tensor) -> list[str]:
    """Some steps; the sum of all parameters after each."""
    optimiser = torch.optim.SGD(module.parameters(), 0.1)
    sums: list[str] = []
    for _ in range(4):
        optimiser.zero_grad()
        (module(data) ** 2).mean().backward()
        optimiser.step()
        sums.append(f"{sum(whole(p).sum().item() for p in module.parameters()):.10f}")
    return sums


def whole(parameter: Any) -> torch.Tensor:
    """A parameter with the parts of all processes."""
    return parameter.full_tensor() if isinstance(parameter, DTensor) else parameter


def made() -> ted.torch.Module:
    """A module, always the same."""
    rng = np.random.default_rng(1)
    return ted.torch.Module(network, {"w": rng.normal(size=(4, 2)), "b": np.zeros(2)})


def main() -> None:
    """Train alone and with the other process."""
    warnings.simplefilter("ignore")
    store, rank = sys.argv[1], int(sys.argv[2])
    alone = train(made(), DATA)
    address = f"file://{store}"
    distributed.init_process_group("gloo", init_method=address, rank=rank, world_size=2)
    own = DATA[3 * rank : 3 * rank + 3]
    sharded = fully_shard(made(), mesh=init_device_mesh("cpu", (2,)))
    assert all(p.to_local().numel() * 2 == p.numel() for p in sharded.parameters())
    print(alone[-1], train(DistributedDataParallel(made()), own)[-1], train(sharded, own)[-1])
    distributed.destroy_process_group()


if __name__ == "__main__":
    main()
