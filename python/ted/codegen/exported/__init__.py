"""Programs as functions of C: what an object file, its header and its library hold."""
