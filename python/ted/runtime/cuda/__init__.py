"""Running manifests on NVIDIA GPUs: driver by ctypes, memory, arrays, programs, graphs, bundles.

Needs Python, numpy and the driver, nothing else: a saved bundle carries these modules along. They
import each other, `ted.errors`, `ted.records` and `ted.codegen.manifest*` only, each by
`from ted... import`.
"""
