"""What ted keeps on disk: machine code and PTX of programs, for the next process that asks.

`TED_CACHE_DIR` says where, else it is `$XDG_CACHE_HOME/ted` or `~/.cache/ted`; an empty
`TED_CACHE_DIR` turns the cache off.
"""

from ted.codegen.disk_cache import Info, clear, info

__all__ = ["Info", "clear", "info"]
