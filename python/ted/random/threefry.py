"""Threefry-2x32 with 20 rounds: two words of 32 bits to two others, by a key of two words.

Additions, rotations and exclusive-ors alone, so the same lines serve arrays of NumPy, elements in a
lambda and whole tensors, all of uint32.

Source: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
"""

from __future__ import annotations

from typing import Any

PARITY = 0x1BD11BDA  # of the key schedule, from Threefish with 32 bits
ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))


def threefry(key: tuple[Any, Any], counts: tuple[Any, Any]) -> tuple[Any, Any]:
    """The two words at a position, itself two words, of the stream of a key."""
    schedule = (*key, key[0] ^ key[1] ^ PARITY)
    a, b = (count + word for count, word in zip(counts, key, strict=True))
    for injection in range(1, 6):
        for turn in ROTATIONS[(injection - 1) % 2]:
            a = a + b
            b = ((b << turn) | (b >> (32 - turn))) ^ a
        a = a + schedule[injection % 3]
        b = b + schedule[(injection + 1) % 3] + injection
    return a, b
