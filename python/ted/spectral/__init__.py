"""Eigenvalues and singular values by rotations, and what is made of them, for `ted.linalg`."""
