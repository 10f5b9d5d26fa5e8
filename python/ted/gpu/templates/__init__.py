"""Parametric GPU kernels for contractions: `plan(problem, chip)`, then `emit(plan, module, name)`.

Before: a contraction on memrefs, read as dims with strides (`Problem`). After: one `gpu.func`, or
two when k is split, in a `gpu.module`, and what the host needs to launch them.
"""
