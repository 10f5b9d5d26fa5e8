"""Reverse-mode differentiation: systems of equations -> systems of adjoint equations."""
