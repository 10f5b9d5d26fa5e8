"""LLVM IR text -> code of another machine, in a child process that may die."""
