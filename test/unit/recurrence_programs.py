"""Recurrences that several tests compile, each for its own target."""

import ted


def by_data(x):
    """An element that data chooses among those of the time before."""
    chosen = ted.cast(ted.where(x > 0, 2.0, 0.0), "int64")
    return ted.recurrence(
        (5, 3),
        lambda h, t, j: ted.where(t > 0, h[t - 1, chosen[t, j]] * x[t, j], x[t, j]),
        x.dtype.name,
    )
