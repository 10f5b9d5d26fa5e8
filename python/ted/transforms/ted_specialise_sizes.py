"""Put numbers where symbolic sizes are: the pass `ted-specialise-sizes`.

Before: `func.func @f(%x: tensor<?xf32, affine_map<()[s0] -> (s0)>>)`, a size n in `ted.sizes`
After, for values=5: `func.func @f(%x: tensor<5xf32>)`
"""

from __future__ import annotations

from ted.errors import VerifyError
from ted.ir.from_ops import from_function, functions
from ted.ir.rewriting import replace_function
from ted.ir.specialising import specialise
from ted.ir.symbols import ATTRIBUTE, Symbols, symbols_of_function
from ted.mlir import ir
from ted.mlir.locations import source_location
from ted.mlir.queries import symbol_name
from ted.records import dataclass


@dataclass(frozen=True)
class TedSpecialiseSizes:
    """Give the sizes of every function their values, in the order of its list.

    Before: `extents = affine_map<()[s0] -> (s0 - 1)>`, reads and sets over `(d0)[s0]`
    After: `extents = array<i64: 4>`, reads and sets over `(d0)`, and no `ted.size`

    Raises: VerifyError for a wrong number of values, one that a size may not have, or no size.
    """

    values: tuple[int, ...]

    def run(self, module: ir.Module) -> None:
        """Rewrite every function that has sizes."""
        with module.context:
            known = [(f, symbols_of_function(f)) for f in functions(module)]
            symbolic = [(function, symbols) for function, symbols in known if symbols.sizes]
            if not symbolic:
                names = [symbol_name(function) for function, _ in known]
                raise VerifyError(
                    f"ted-specialise-sizes: values are those of sizes ({ATTRIBUTE}), got "
                    f"values={list(self.values)} and functions without any, {names}"
                )
            for function, symbols in symbolic:
                self._rewrite(function, symbols)

    def _rewrite(self, function: ir.Operation, symbols: Symbols) -> None:
        place = source_location(function.location)
        names = [s.name for s in symbols.sizes]
        if len(names) != len(self.values):
            raise VerifyError(
                f"ted-specialise-sizes: one value for each of the sizes {names}, "
                f"got values={list(self.values)}",
                place,
            )
        for symbol, value in zip(symbols.sizes, self.values, strict=True):
            refusal = symbol.refusal(value)
            if refusal is not None:
                raise VerifyError(
                    f"ted-specialise-sizes: size {symbol.name} {refusal}, got {value}", place
                )
        system = from_function(function)
        del function.attributes[ATTRIBUTE]
        replace_function(function, specialise(system, dict(zip(names, self.values, strict=True))))
