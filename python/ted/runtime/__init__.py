"""Running compiled programs: the native library, buffers, and calls with checked arguments."""
