"""From the LLVM dialect to machine code in this process."""
