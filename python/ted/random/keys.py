"""Keys, and the bits that they give: two words of 32 bits at every position of a shape.

The bits at a position depend on the key and the position alone, which is the row-major number of an
element: JAX has the same with `jax_threefry_partitionable=True`.  A key is a uint32 of shape (2,);
one of NumPy stays one of NumPy when it is split.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import ted
from ted.domain.sizes import Extent, numbers
from ted.frontend import checks
from ted.frontend.captures import is_array
from ted.frontend.elementwise import to_tensor
from ted.frontend.locations import fail
from ted.frontend.tensors import Tensor
from ted.ir.dtypes import INT64, UINT8, UINT16, UINT32, UINT64

PARITY = 0x1BD11BDA  # of the key schedule, from Threefish with 32 bits
ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))

WORD = 1 << 32


def key(seed: Any) -> Any:
    """The key of a seed: an array of NumPy for a number, a tensor for a tensor of rank 0.

    Raises: FrontendError for what is no integer of 64 bits.
    """
    if isinstance(seed, Tensor):
        seed = ted.cast(_integer(seed, "random.key: seed"), INT64)
        return ted.stack([ted.cast(seed >> 32, UINT32), ted.cast(seed, UINT32)])
    number = checks.integer(seed, "random.key: seed")
    if not INT64.range[0] <= number <= UINT64.range[1]:
        fail(f"random.key: seed must be an integer of 64 bits, got {number}")
    return np.array([number // WORD % WORD, number % WORD], np.uint32)


_NOW = 2**24  # so many keys of a key that is known are numbers at once


def split(key: Any, num: Any = 2) -> Any:
    """New keys, independent of each other and of what else the key gives: shape (*num, 2).

    `num` is a number or a shape. The key itself should not be used again.

    Raises: FrontendError for what is no key, or no shape.
    """
    key = checked(key, "random.split")
    shape = checks.shape_of(num, UINT64, "random.split: num")
    known = numbers(shape) if all(isinstance(n, int) for n in shape) else None
    if isinstance(key, np.ndarray) and known is not None and math.prod(known) <= _NOW:
        return _of_numpy(key, np.arange(math.prod(known)).reshape(known))

    def element(*index: Any) -> Any:
        first, second = words(key, index[:-1], shape)
        return ted.where(index[-1] == 0, first, second)

    return ted.compute((*shape, 2), element, name="keys")


def fold_in(key: Any, data: Any) -> Any:
    """A new key made of a key and an integer, of which the low 32 bits count.

    Raises: FrontendError for what is no key, or no integer.
    """
    key = checked(key, "random.fold_in")
    if not isinstance(data, Tensor):
        number = checks.integer(data, "random.fold_in: data") % WORD
        if isinstance(key, np.ndarray):
            return _of_numpy(key, np.array(number))
        data = ted.full((), number, UINT32)
    count = ted.cast(_integer(data, "random.fold_in: data"), UINT32)
    none = ted.zeros((), UINT32)
    return ted.stack(threefry((to_tensor(key, "key")[0], to_tensor(key, "key")[1]), (none, count)))


def bits(key: Any, shape: checks.Shape = (), dtype: Any = "uint32") -> Tensor:
    """Random integers, every one of the type as likely as another.

    Raises: FrontendError for what is no key or shape, or a type that is not unsigned.
    """
    row = checks.dtype_of(dtype, "random.bits")
    if not row.is_unsigned:
        fail(f"random.bits: dtype must be one of {', '.join(map(str, _SIZES))}, got {row}")
    return drawn(key, shape, lambda a, b: of_words(a, b, row), "random.bits")


_SIZES = (UINT64, UINT32, UINT16, UINT8)


def of_words(first: Any, second: Any, dtype: Any) -> Any:
    """The integer that two words are: 64 bits, or the low ones of what they are together."""
    if dtype == UINT64:
        return (ted.cast(first, UINT64) << 32) | ted.cast(second, UINT64)
    return ted.cast(first ^ second, dtype)


def drawn(key: Any, shape: checks.Shape, number: Callable[[Any, Any], Any], what: str) -> Tensor:
    """The tensor whose element is `number` of the two words at its position.

    Raises: FrontendError for what is no key or shape.
    """
    key = to_tensor(checked(key, what), f"{what}: key")
    extents = checks.shape_of(shape, UINT64, f"{what}: shape")
    name = what.rpartition(".")[2]
    return ted.compute(extents, lambda *i: number(*words(key, i, extents)), name=name)


def words(key: Any, index: Sequence[Any], shape: Sequence[Extent]) -> tuple[Any, Any]:
    """The two words at an index of a shape, inside a lambda."""
    key = to_tensor(key, "key")
    place: Any = 0
    for i, extent in zip(index, shape, strict=True):
        place = place * extent + i
    size = 1
    for extent in shape:
        size = size * extent if isinstance(extent, int) else WORD + 1
    if size <= WORD:
        counts = ted.cast(0, UINT32), ted.cast(place, UINT32)
    else:
        wide = ted.cast(place, INT64)
        counts = ted.cast(wide >> 32, UINT32), ted.cast(wide, UINT32)
    return threefry((key[0], key[1]), counts)


def _of_numpy(key: Any, counts: Any) -> Any:
    """The keys at positions below 2 ** 32, computed here."""
    flat = np.atleast_1d(counts).reshape(-1).astype(np.uint32)
    found = threefry((key[:1], key[1:]), (np.zeros_like(flat), flat))
    return np.stack(found, axis=-1).reshape(*np.shape(counts), 2)


def checked(key: Any, what: str) -> Any:
    """A key: an array of NumPy, or a tensor.

    Raises: FrontendError for what is no uint32 of shape (2,).
    """
    if not (isinstance(key, Tensor) or is_array(key)):
        fail(f"{what}: {_RULE}, got {key!r}")
    found = key if isinstance(key, np.ndarray) else to_tensor(key, f"{what}: key")
    if tuple(found.shape) != (2,) or str(found.dtype) != "uint32":
        several = found.shape and found.shape[-1] == 2 and str(found.dtype) == "uint32"
        way = "; ted.vmap runs a function for each of several" if several else ""
        fail(f"{what}: {_RULE}, got {found.dtype} of shape {tuple(found.shape)}{way}")
    return found


_RULE = "a key must be a uint32 of shape (2,), as ted.random.key(seed) and split give"


def _integer(x: Tensor, what: str) -> Tensor:
    if x.ndim or x.dtype.kind != "int":
        fail(f"{what} must be an integer of rank 0, got {x.dtype} of shape {x.shape} ({x.name})")
    return x


def threefry(key: tuple[Any, Any], counts: tuple[Any, Any]) -> tuple[Any, Any]:
    """The two words at a position, itself two words, of the stream of a key, by Threefry-2x32.

    20 rounds of additions, rotations and exclusive-ors alone, so the same lines serve arrays of
    NumPy, elements in a lambda and whole tensors, all of uint32.
    Source: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
    """
    schedule = (*key, key[0] ^ key[1] ^ PARITY)
    a, b = (count + word for count, word in zip(counts, key, strict=True))
    for injection in range(1, 6):
        for turn in ROTATIONS[(injection - 1) % 2]:
            a = a + b
            b = ((b << turn) | (b >> (32 - turn))) ^ a
        a = a + schedule[injection % 3]
        b = b + schedule[(injection + 1) % 3] + injection
    return a, b
