"""Programs on buffers -> the LLVM dialect for CPUs: contractions, rows, annotations, pipeline."""
