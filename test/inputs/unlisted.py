"""A file without a list of what to check."""
