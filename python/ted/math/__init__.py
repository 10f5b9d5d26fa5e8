"""Scalar functions as polynomials, and floats of 16 bits as what processors have."""
