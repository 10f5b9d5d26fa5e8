"""The languages that ted defines, one package per MLIR dialect."""
