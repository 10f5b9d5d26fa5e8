"""The working form of programs (scalar DAGs, equations, systems) and its bridge to MLIR ops."""
