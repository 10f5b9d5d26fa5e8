"""The command line tools of ted."""
