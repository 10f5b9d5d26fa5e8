"""Functions that NumPy's users know, each composed of a few others of `ted.frontend`."""
