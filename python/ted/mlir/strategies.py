"""Tables of lowering strategies: the row that an operation gets, its plan, and why not another.

Before: `linalg.generic {...}`
After: `linalg.generic {ted.strategy = {name = "reduction_by_teams", team = 32}}`

A row either has a plan for a site, which is an operation with what it needs to know of its
surroundings, or declines with a reason. The first row with a plan is taken. An operation that
carries the attribute gets the row of that name, with the parameters that are given, or an error.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, Protocol, TypeAlias

from ted.errors import ScheduleError
from ted.mlir import ir
from ted.mlir.locations import source_location, user_name
from ted.records import dataclass

ATTRIBUTE = "ted.strategy"
GROUP = "ted.group"  # the same for rows that put several operations into one loop
FORM = "ted.form"  # the same for what an equation becomes in linalg
Wishes: TypeAlias = "tuple[tuple[str, ir.Attribute], ...]"
_NAME = "name"
_PARAMETERS = (int, bool, str)  # the types of fields of a plan that are parameters


@dataclass(frozen=True)
class Asked:
    """An attribute, its text, and the tensor of its operation, empty if it has no name."""

    attribute: str
    text: str
    name: str


class _Refused(Exception):
    """The rule that an attribute breaks, and what it says."""


class Site(Protocol):
    """An operation and its surroundings, as the rows of one table see them."""

    @property
    def op(self) -> ir.Operation:
        """The operation that carries the attribute."""
        ...


@dataclass(frozen=True)
class Declined:
    """Why a row is not taken; `plan` is what it would do all the same, where that is right."""

    reason: str
    plan: Any = None


@dataclass(frozen=True)
class Plain:
    """The plan of a row that has nothing to choose."""


@dataclass(frozen=True)
class Strategy:
    """A row: `match` plans or declines, `emit` builds what a plan says, and nothing else.

    `removes` says which operations the result stands for. `check` gives the rule that parameters
    break which somebody has written.
    """

    name: str
    match: Callable[[Any], Any]
    emit: Callable[[Any, Any], None]
    removes: Callable[[Any, Any], Sequence[ir.Operation]] = lambda site, _: (site.op,)
    check: Callable[[Any, Any], str | None] = lambda *_: None


@dataclass(frozen=True)
class Choice:
    """What a site gets, and the rows before it in the table with their reasons."""

    row: Strategy
    plan: Any
    declined: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Decision:
    """What becomes of a site."""

    site: Any
    choice: Choice


def choose(table: Sequence[Strategy], site: Site, attribute: str = ATTRIBUTE) -> Choice:
    """The row that the operation of a site asks for, or else the first that has a plan.

    Raises: ScheduleError for an attribute that names no row, or one that does not fit.
    """
    asked = asked_for(site.op, attribute)
    if asked is None:
        return first_match(table, site)
    try:
        return _obeyed(table, site, asked)
    except _Refused as error:
        raise refused(site.op, str(error), attribute) from None


def first_match(table: Sequence[Strategy], site: Site) -> Choice:
    """The first row that has a plan.

    Raises: ScheduleError when all decline.
    """
    declined: list[tuple[str, str]] = []
    for row in table:
        found = row.match(site)
        if not isinstance(found, Declined):
            return Choice(row, found, tuple(declined))
        declined.append((row.name, found.reason))
    reasons = "; ".join(f"{name}: {reason}" for name, reason in declined)
    raise refused(site.op, f"a row of the table fits {site.op.name}, got {reasons}")


def asked_for(op: ir.Operation, attribute: str = ATTRIBUTE) -> dict[str, Any] | None:
    """The name and the parameters in the attribute of an operation; None without one.

    Raises: ScheduleError for an attribute of another form.
    """
    if attribute not in op.attributes:
        return None
    written = op.attributes[attribute]
    found = _values(written) if isinstance(written, ir.DictAttr) else {}
    if not isinstance(found.get(_NAME), str):
        raise ScheduleError(
            f'{attribute}: is {{name = "..."}} with numbers, flags or words, got {written}',
            source_location(op.location),
        )
    return found


def annotate(op: ir.Operation, choice: Choice, attribute: str = ATTRIBUTE) -> None:
    """Write the row and the parameters of its plan at the operation."""
    known = {_NAME: choice.row.name, **parameters(choice.plan)}
    with op.context:
        op.attributes[attribute] = ir.DictAttr.get({k: _attribute(v) for k, v in known.items()})


def described(op: ir.Operation, choice: Choice) -> Iterator[str]:
    """The user's tensor and line, the row with its parameters, and why none of the rows before."""
    place, name = source_location(op.location), user_name(op.location)
    where = "" if place is None else f" ({place})"
    name = op.name if name is None else f"{name}, {op.name}"
    values = [f"{k} = {v}" for k, v in parameters(choice.plan).items()]
    yield f"{name}{where}: {', '.join([choice.row.name, *values])}"
    for row, reason in choice.declined:
        yield f"  not {row}: {reason}"


def forget(op: ir.Operation, attribute: str = ATTRIBUTE) -> None:
    """Take the attribute away, so that copies of the operation ask for nothing."""
    if attribute in op.attributes:
        del op.attributes[attribute]


def asked_of(module: ir.Module) -> set[Asked]:
    """All that a module asks for: attributes with their texts and the tensors where they stand."""
    found: set[Asked] = set()

    def visit(op: ir.Operation) -> ir.WalkResult:
        for name, given in wishes_of(op):
            found.add(Asked(name, str(given), user_name(op.location) or ""))
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    return found


def check_is_kept(asked: set[Asked], module: ir.Module, name: str) -> None:
    """Refuse what a pass would lose: it made the operation part of another, or dropped it.

    Raises: ScheduleError naming the pass.
    """
    now = asked_of(module)
    unnamed = {replace(one, name="") for one in now}  # what had no name gets one on the way
    lost = sorted(asked - now - unnamed, key=str)
    if lost:
        raise ScheduleError(
            f"{lost[0].name or name}: an operation that asks for something stays what it is, got "
            f"{lost[0].attribute} = {lost[0].text}, which {name} would lose; take the attribute "
            f"away, or write it behind that pass"
        )


def check_is_seen(root: ir.Operation, seen: Collection[ir.Operation], attribute: str) -> None:
    """Refuse an attribute at an operation inside of `root` about which nothing is decided.

    Raises: ScheduleError naming the operation.
    """
    found: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if attribute in op.attributes and op not in seen:
            found.append(op)
        return ir.WalkResult.ADVANCE

    root.walk(visit)
    for op in found:
        raise refused(op, f"nothing is decided about {op.name} here", attribute)


def wishes_of(op: ir.Operation) -> Wishes:
    """What an operation asks for: its attributes that tables of strategies read."""
    found = op.attributes
    return tuple((name, found[name]) for name in (FORM, ATTRIBUTE, GROUP) if name in found)


def attach(op: ir.Operation, wishes: Wishes) -> None:
    """Let an operation ask for what another one asked for, of which it is a part."""
    for name, given in wishes:
        op.attributes[name] = given


def refused(op: ir.Operation, rule: str, attribute: str = ATTRIBUTE) -> ScheduleError:
    """The error for an attribute that an operation cannot have."""
    name = user_name(op.location) or op.name
    way_out = f"take the attribute {attribute} away, or write another"
    return ScheduleError(f"{name}: {rule}; {way_out}", source_location(op.location))


def parameters(plan: Any) -> dict[str, int | bool | str]:
    """The fields of a plan that are numbers, flags or words."""
    values = {f.name: getattr(plan, f.name) for f in fields(plan)}
    return {name: value for name, value in values.items() if isinstance(value, _PARAMETERS)}


def _obeyed(table: Sequence[Strategy], site: Site, asked: Mapping[str, Any]) -> Choice:
    rows = {row.name: row for row in table}
    row = rows.get(asked[_NAME])
    if row is None:
        raise _Refused(f"name is one of {', '.join(rows)}, got {asked[_NAME]}")
    plan = row.match(site)
    if isinstance(plan, Declined):
        if plan.plan is None:
            raise _Refused(f"{row.name} fits its operation, got: {plan.reason}")
        plan = plan.plan
    return Choice(row, _with(row, site, plan, asked))


def _with(row: Strategy, site: Site, plan: Any, asked: Mapping[str, Any]) -> Any:
    """A plan with the parameters that are asked for."""
    known, given = parameters(plan), {k: v for k, v in asked.items() if k != _NAME}
    for name, value in given.items():
        if type(value) is not type(known.get(name)):
            rule = ", ".join(f"{k}: {type(v).__name__}" for k, v in known.items()) or "nothing"
            raise _Refused(f"{row.name} takes {rule}, got {name} = {value!r}")
    changed = {k: v for k, v in given.items() if v != known[k]}
    if not changed:
        return plan
    plan = replace(plan, **changed)
    broken = row.check(site, plan)
    if broken is not None:
        values = ", ".join(f"{k} = {v!r}" for k, v in changed.items())
        raise _Refused(f"{row.name}: {broken}, got {values}")
    return plan


def _attribute(value: int | bool | str) -> ir.Attribute:
    if isinstance(value, bool):
        return ir.BoolAttr.get(value)
    if isinstance(value, str):
        return ir.StringAttr.get(value)
    return ir.IntegerAttr.get(ir.IntegerType.get_signless(64), value)


def _values(attribute: ir.DictAttr) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for k in range(len(attribute)):
        named = attribute[k]
        value = named.attr
        known = isinstance(value, (ir.BoolAttr, ir.StringAttr, ir.IntegerAttr))
        found[named.name] = value.value if known else str(value)
    return found
