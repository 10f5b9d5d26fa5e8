"""Integer sets and maps: index sets of equations, their fibres, bounds and sizes, with no MLIR.

Dimensions are positional everywhere: a set of an equation has one dim per iterator, parallel dims
first, and names never carry meaning. Consumers that must not see isl read `ted.domain.affine`.
"""
