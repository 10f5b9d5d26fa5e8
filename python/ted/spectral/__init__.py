"""Eigenvalues and singular values by rotations, solutions by factors, and what is made of them."""
