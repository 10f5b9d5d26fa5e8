"""Comparisons by the total order of floats -> comparisons by value, before a pass drops the order.

Before: %0 = stablehlo.compare LT, %a, %b, TOTALORDER
After:  a < b, or both are 0 and a alone has a sign, or b alone is NaN

The order is -infinity, ..., -0, 0, ..., infinity, NaN. Equations know no sign of NaN: one with a
sign is NaN like any other, and not below -infinity.
"""

from __future__ import annotations

from ted.mlir import ir
from ted.mlir.queries import operations

COMPARISON, ORDERED = "stablehlo.compare", "TOTALORDER"


def compares_totally(op: ir.Operation) -> bool:
    """Whether an op is a comparison by the total order."""
    return op.name == COMPARISON and ORDERED in str(op.attributes.get("compare_type", ""))


def spell_total_orders(module: ir.Module) -> None:
    """Write each comparison by the total order as those by value that it is."""
    for op in filter(compares_totally, operations(module.operation, COMPARISON)):
        word = str(op.attributes["comparison_direction"]).rpartition(" ")[2].rstrip(">")
        op.results[0].replace_all_uses_with(_Spelling(op).of(word))
        op.erase()


class _Spelling:
    """The ops that one comparison is."""

    def __init__(self, op: ir.Operation) -> None:
        self.op = op
        self.a, self.b = op.operands

    def of(self, word: str) -> ir.Value:
        """The comparison by its name."""
        is_less, is_greater = self._below(self.a, self.b), self._below(self.b, self.a)
        if word in ("LT", "GT"):
            return is_less if word == "LT" else is_greater
        if word in ("LE", "GE"):
            return self._not(is_greater if word == "LE" else is_less)
        differs = self._made("or", is_less, is_greater)
        return differs if word == "NE" else self._not(differs)

    def _below(self, a: ir.Value, b: ir.Value) -> ir.Value:
        of_zeros = self._made("and", self._is("EQ", a, b), self._is_negative_zero(a))
        of_zeros = self._made("and", of_zeros, self._not(self._is_negative_zero(b)))
        of_nan = self._made("and", self._is("EQ", a, a), self._is("NE", b, b))
        return self._made("or", self._made("or", self._is("LT", a, b), of_zeros), of_nan)

    def _is_negative_zero(self, value: ir.Value) -> ir.Value:
        zero, one = (self._constant(k, value.type) for k in ("0.0", "1.0"))
        inverse = self._made("divide", one, value, kind=value.type)
        return self._made("and", self._is("EQ", value, zero), self._is("LT", inverse, zero))

    def _constant(self, number: str, kind: ir.Type) -> ir.Value:
        value = {"value": f"dense<{number}> : {kind}"}
        return self._made("constant", kind=kind, attributes=value)

    def _not(self, value: ir.Value) -> ir.Value:
        return self._made("not", value)

    def _is(self, word: str, a: ir.Value, b: ir.Value) -> ir.Value:
        text = f"#stablehlo<comparison_direction {word}>"
        return self._made("compare", a, b, attributes={"comparison_direction": text})

    def _made(
        self, name: str, *operands: ir.Value, kind: ir.Type | None = None,
        attributes: dict[str, str] | None = None,
    ) -> ir.Value:  # fmt: skip
        op = self.op
        given = {k: ir.Attribute.parse(v, op.context) for k, v in (attributes or {}).items()}
        made = ir.Operation.create(
            f"stablehlo.{name}", [kind or op.results[0].type], list(operands), given,
            loc=op.location, ip=ir.InsertionPoint(op),
        )  # fmt: skip
        return made.results[0]
