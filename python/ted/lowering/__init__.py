"""From `ted.compute` on tensors to the LLVM dialect: one pass per file, listed in `pipelines.py`."""
