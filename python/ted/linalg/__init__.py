"""Equations -> `linalg` and loops on tensors, and tensors -> memory, for every target."""
