"""Models of ONNX in ted: `from_model` as functions with gradients; `prepare`, a backend of ONNX.

    f = ted.onnx.from_model("model.onnx")
    ted.grad(lambda p, x, y: loss(f(p, x), y))(f.params, x, y)

Before: a runtime for inference
After:  a program of tensors, which is differentiated, fused and compiled like any other
"""

from ted.onnx.backend import Backend, Prepared
from ted.onnx.importing import Imported, from_model

__all__ = [
    "Backend", "Imported", "Prepared", "from_model", "is_compatible", "prepare", "run_model",
    "run_node", "supports_device",
]  # fmt: skip

is_compatible = Backend.is_compatible
prepare = Backend.prepare
run_model = Backend.run_model
run_node = Backend.run_node
supports_device = Backend.supports_device
