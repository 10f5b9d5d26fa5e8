"""ted: differentiable tensor expressions on MLIR."""
