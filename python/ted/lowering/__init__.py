"""From `ted.compute` on tensors to the LLVM dialect, one pass per file; see `pipelines.py`."""
