"""A program for ted-translate: one compiled function, and what is none."""

import ted

x = ted.placeholder((4,), name="x")
f = ted.compile([x], x + x)
g = ted.function(lambda x: x)
