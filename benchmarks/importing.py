"""ResNet-50 of `torch.export` as a function of ted: time to import, to differentiate; scatters.

    python benchmarks/importing.py [--classes 1000] [--size 224]

The network is written out, as in torchvision, in evaluation. Export is torch's own time; what
follows is ted's: torch-mlir's lowering to linalg, equations, and the gradient of all parameters.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import torch
from timing import environment
from torch import nn

import ted
import ted.torch
from ted.frontend.trees import flatten, unflatten
from ted.ir.equations import topological


class Bottleneck(nn.Module):
    """Three convolutions beside a shortcut."""

    def __init__(self, inputs: int, width: int, stride: int) -> None:
        super().__init__()
        outputs = 4 * width
        self.conv1 = nn.Conv2d(inputs, width, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, stride, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3 = nn.Conv2d(width, outputs, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(outputs)
        self.shortcut = None
        if stride != 1 or inputs != outputs:
            convolution = nn.Conv2d(inputs, outputs, 1, stride, bias=False)
            self.shortcut = nn.Sequential(convolution, nn.BatchNorm2d(outputs))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The block of a batch of images."""
        y = torch.relu(self.bn1(self.conv1(x)))
        y = torch.relu(self.bn2(self.conv2(y)))
        y = self.bn3(self.conv3(y))
        return torch.relu(y + (x if self.shortcut is None else self.shortcut(x)))


class ResNet50(nn.Module):
    """The network of 50 layers."""

    def __init__(self, classes: int) -> None:
        super().__init__()
        stem = nn.Conv2d(3, 64, 7, 2, 3, bias=False)
        self.stem = nn.Sequential(stem, nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1))
        blocks: list[nn.Module] = []
        inputs = 64
        for width, count, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
            for k in range(count):
                blocks.append(Bottleneck(inputs, width, 1 if k else stride))
                inputs = 4 * width
        self.blocks = nn.Sequential(*blocks)
        self.head = nn.Linear(inputs, classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The logits of a batch of images."""
        return self.head(self.blocks(self.stem(x)).mean((2, 3)))


def timed(what: str, call: Callable[[], Any]) -> Any:
    """Call, and print how long it took."""
    begin = time.perf_counter()
    result = call()
    print(f"{what:32} {time.perf_counter() - begin:6.1f} s")
    return result


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--classes", type=int, default=1000)
    parser.add_argument("--size", type=int, default=224)
    options = parser.parse_args()
    print(environment())
    model = ResNet50(options.classes).eval()
    image = torch.zeros(1, 3, options.size, options.size)
    program = timed("torch.export", lambda: torch.export.export(model, (image,)))
    imported = timed("from_exported", lambda: ted.torch.from_exported(program))
    leaves, tree = flatten(imported.params)
    names = [ted.placeholder(a.shape, "float32", name) for name, a in leaves]
    x = ted.placeholder(tuple(image.shape), "float32", "x")
    loss = ted.grad(lambda p: ted.sum(imported(p, x) ** 2))
    gradients = timed("gradient of all parameters", lambda: loss(unflatten(tree, iter(names))))
    tensors = topological([tensor.node for _, tensor in flatten(gradients)[0]])
    scatters = sum(e.is_scatter for t in tensors for e in t.equations)
    print(f"{len(names)} parameters, {len(tensors)} tensors, {scatters} equations that scatter")


if __name__ == "__main__":
    main()
