"""Programs with symbolic sizes as functions: the arrays say the sizes.

Before: f = ted.compile([x], [y]) with x of shape (n, 4) or (n, 2*n)
After:  f(a) takes n from a.shape. Where n is a batch, programs of a few rows run on slices; else
        the program is compiled for that n, once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, NoReturn, TypeVar

from ted import dialects
from ted.api.row_functions import EACH, RowFunction, keep
from ted.domain.sizes import Size, Symbol
from ted.errors import CompileError, DomainError, ExecutionError
from ted.ir.constant_inputs import with_constant_inputs
from ted.ir.equations import System, Tensor
from ted.ir.specialising import checked_values, sizes_of, specialise
from ted.options import CompileOptions
from ted.runtime.calls import declined

Function = TypeVar("Function", bound=Callable[..., Any])


class SymbolicFunction(Generic[Function]):
    """A program for all sizes: call it with arrays, or `specialise` it.

    `build` compiles a system without symbolic sizes, with the options; calls run what `rows` makes
    for their sizes, where it is no reason to compile for each.
    """

    def __init__(
        self,
        system: System,
        build: Callable[[System], Function],
        options: CompileOptions,
        rows: RowFunction | str = EACH,
    ) -> None:
        self.system = system
        self.options = options
        self.sizes = sizes_of(system)
        self._build = build
        self._rows = rows
        self._built: dict[tuple[int, ...], Function] = {}
        self._known: dict[tuple[Any, ...], Any] = {}
        self._latest: Any = None

    def __call__(self, *arrays: Any, out: Any = None) -> Any:
        """Run on one array per input.

        Raises: ExecutionError naming the argument whose extents disagree, or the size that has a
        value which it must not have.
        """
        self._latest = function = self._function(arrays)
        results = function(*arrays, out=out)
        return results[0] if isinstance(self._rows, RowFunction) and self._rows.single else results

    @property
    def direct(self) -> Callable[..., Any]:
        """All results for arrays of NumPy of the sizes of the latest call, or None."""
        return getattr(self._latest, "direct", declined)

    def _function(self, arrays: Sequence[Any]) -> Any:
        """What runs for the shapes of some arrays."""
        key = tuple([tuple(getattr(array, "shape", ())) for array in arrays])
        found = self._known.get(key)
        if found is None:
            values = self._checked(self._solved(arrays))
            make = self._for if isinstance(self._rows, str) else self._rows.for_sizes
            found = make(values)
            keep(self._known, key, found)
        return found

    def explain(self) -> str:
        """Which size is a batch and what runs for it, or why every size is compiled.

        What becomes of the equations is said by the functions that `specialise` gives.
        """
        return self._rows if isinstance(self._rows, str) else self._rows.explain()

    def specialise(self, **sizes: int) -> Function:
        """The function for given sizes, all of them, by name.

        Raises: ExecutionError for a missing, an unknown or an impossible size.
        """
        return self._for(self._checked(sizes))

    def ir(self, stage: str = "ted") -> str:
        """The program for all sizes; later stages are those of a specialised function.

        Raises: CompileError for another stage than "ted".
        """
        if stage != "ted":
            raise CompileError(
                f"ir: a program with symbolic sizes has the stage 'ted', got {stage!r}; "
                f"take that of {self._specialised}"
            )
        from ted.ir.to_ops import to_module

        with dialects.session():
            return str(to_module(with_constant_inputs(self.system)))

    def __getattr__(self, name: str) -> NoReturn:
        raise AttributeError(
            f"a function of symbolic sizes has no {name!r}; look for it on what .specialise gives"
        )

    @property
    def _specialised(self) -> str:
        return f".specialise({', '.join(f'{s.name}=...' for s in self.sizes)})"

    @property
    def peak_bytes(self) -> int:
        """Bytes that the latest call held at most at once.

        Raises: CompileError before the first call, as sizes say what is held.
        """
        if self._latest is None:
            raise CompileError(
                f"peak_bytes: it depends on the sizes, got none before the first call; take that "
                f"of {self._specialised}"
            )
        return self._latest.peak_bytes

    def _checked(self, values: Mapping[str, int]) -> dict[str, int]:
        try:
            return checked_values(self.sizes, values)
        except DomainError as error:
            self._fail(error.message)

    def _for(self, values: Mapping[str, int]) -> Function:
        key = tuple(values.values())
        if key not in self._built:
            found = self._build(specialise(self.system, values))
            self._built.setdefault(key, found)  # another thread may have been first
        return self._built[key]

    # ---- the sizes from the arrays ---------------------------------------------------------------

    def _solved(self, arrays: Sequence[Any]) -> dict[str, int]:
        inputs = self.system.inputs
        if len(arrays) != len(inputs):
            self._fail(f"takes {len(inputs)} arrays, got {len(arrays)}")
        shapes = [self._shape(t, array) for t, array in zip(inputs, arrays, strict=True)]
        rows = [
            (tensor, k, extent, shape[k])
            for tensor, shape in zip(inputs, shapes, strict=True)
            for k, extent in enumerate(tensor.shape)
            if isinstance(extent, Size)
        ]
        values: dict[str, int] = {}
        for _ in self.sizes:
            for _, _, extent, length in rows:
                values.update(_one_unknown(extent, length, values))
        for tensor, k, extent, length in rows:
            unknown = [s for s in extent.symbols if s.name not in values]
            if len(unknown) == 1 and extent.is_linear and extent.terms[0][1] == (unknown[0],):
                self._fail(
                    f"argument {tensor.name}: dim {k} must have an extent {extent}, got {length}, "
                    f"which is that of no {unknown[0]}"
                )
        for symbol in self.sizes:
            if symbol.name not in values:
                self._fail(
                    f"size {symbol.name} does not follow from the shapes of the inputs "
                    f"{list(inputs)}; name all sizes by {self._specialised}"
                )
        for tensor, k, extent, length in rows:
            if extent.evaluate(values) != length:
                known = ", ".join(f"{n} = {values[n]}" for n in sorted(values))
                self._fail(
                    f"argument {tensor.name}: dim {k} must have extent {extent} = "
                    f"{extent.evaluate(values)} for {known}, got {length}"
                )
        return values

    def _shape(self, tensor: Tensor, array: Any) -> tuple[int, ...]:
        shape: Any = getattr(array, "shape", () if isinstance(array, (bool, int, float)) else None)
        if shape is None or len(shape) != len(tensor.shape):
            got = type(array).__name__ if shape is None else f"shape {tuple(shape)}"
            self._fail(f"argument {tensor.name}: must be an array of {tensor}, got {got}")
        return tuple(shape)

    def _fail(self, rule: str) -> NoReturn:
        raise ExecutionError(f"{self.system.name}: {rule}")


def _one_unknown(extent: Size, length: int, values: Mapping[str, int]) -> dict[str, int]:
    """The value of the only size in a linear extent that is not known yet."""
    unknown: Symbol | None = None
    slope, rest = 0, length - extent.const
    for coefficient, monomial in extent.terms:
        product = Size(((1, monomial),))
        free = [s for s in product.symbols if s.name not in values]
        if not free:
            rest -= int(coefficient * product.evaluate(values))
        elif unknown is None and monomial == (free[0],):
            unknown, slope = free[0], coefficient
        else:
            return {}
    if unknown is None or rest % slope:
        return {}
    return {unknown.name: int(rest // slope)}
