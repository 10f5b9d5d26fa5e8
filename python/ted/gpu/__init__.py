"""Bufferized programs -> GPU kernels: mapping to blocks and threads, and what the kernels need."""
