"""Run a pipeline that mixes passes of MLIR and of ted on a module.

MLIR's pass manager cannot hold our passes below `func.func` (it ends the process), so a pipeline is
planned as a list of steps: MLIR's passes go to `PassManager` as text, ours are called on the whole
module. A pass of ours below `func.func` runs on the module too, since it visits every function.
The whole plan is made, and every option parsed, before anything runs. Passes of ours that rewrite
equations and follow each other are one step: the module becomes equations, and is verified, once.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby, zip_longest
from typing import Protocol

from ted.errors import PassFailed, TedError
from ted.ir.equations import System
from ted.ir.passes import (
    PASSES,
    PIPELINES,
    Pass,
    Row,
    is_ours,
    make_pass,
    named_pipeline,
)
from ted.ir.pipeline_text import Element, parse_options, parse_pipeline
from ted.ir.rewriting import SystemPass
from ted.mlir import PassManager, ir
from ted.mlir.locations import source_location
from ted.mlir.pass_managers import pass_manager
from ted.mlir.strategies import Asked, asked_of, check_is_kept
from ted.records import dataclass

_OUR_ANCHORS = ("builtin.module", "func.func", "any")
_NO_ROW = Row("", "")  # of what is not a single pass of ours


@dataclass(frozen=True)
class Step:
    """One thing to run: a piece of a pipeline for MLIR, or one of our passes with its row."""

    name: str
    work: PassManager | Pass
    row: Row = _NO_ROW


@dataclass(frozen=True)
class Rewrites(SystemPass):
    """Passes of equations, each with its name, on one system after the other."""

    passes: tuple[tuple[str, SystemPass], ...]

    def rewrite(self, system: System) -> System:
        """The system after all passes.

        Raises: PassFailed for an internal error of one; what it raised.
        """
        for name, work in self.passes:
            with _failures_of(name):
                system = work.rewrite(system)
        return system


class Observer(Protocol):
    """Sees every step; printing and timing are observers."""

    def before(self, name: str, module: ir.Module) -> None:
        """Run before a step."""

    def after(self, name: str, module: ir.Module) -> None:
        """Run after a step that succeeded."""

    def failed(self, name: str, module: ir.Module) -> None:
        """Run after a step that failed."""


def run_pipeline(
    module: ir.Module,
    pipeline: str,
    *,
    verify_each: bool = True,
    observers: Sequence[Observer] = (),
    doing: Callable[[str], object] | None = None,
    steps: Sequence[Step] | None = None,
) -> None:
    """Run the pipeline on the module, in place; `doing` hears the name of each step.

    `steps` are those of the pipeline, where it runs on many modules of a context.
    Raises: PassFailed for a broken pipeline or a failing pass of MLIR; what our pass raised.
    """
    if steps is None:
        tree = parse_pipeline(pipeline)
        steps = plan(tree, module.context, verify_each=verify_each, one_by_one=bool(observers))
    asked = asked_of(module)
    unverified: list[str] = []  # passes of ours
    for step, after in zip_longest(steps, steps[1:]):
        if doing is not None:
            doing(step.name)
        for observer in observers:
            observer.before(step.name, module)
        try:
            _run_step(step, module)
            if not isinstance(step.work, PassManager) and not step.row.checks:
                unverified.append(step.name)
            # Also without verify_each: a pass of MLIR that meets invalid IR may end the process.
            if unverified and (verify_each or after is None or isinstance(after.work, PassManager)):
                _verify(",".join(unverified), module)
                unverified.clear()
            asked = _still_asked(asked, step, module)
        except TedError:
            for observer in observers:
                observer.failed(step.name, module)
            raise
        for observer in observers:
            observer.after(step.name, module)
    if steps and isinstance(steps[-1].work, PassManager) and not verify_each:
        _verify(steps[-1].name, module)


# ---- planning ------------------------------------------------------------------------------------


def plan(
    tree: Element, context: ir.Context, *, verify_each: bool = True, one_by_one: bool = False
) -> list[Step]:
    """Turn a pipeline into steps; `one_by_one` gives each pass a step of its own.

    Raises: PassFailed for an unknown pass, anchor or option.
    """
    steps: list[Step] = []
    for element in _pieces(_expanded(tree), one_by_one):
        ours = [leaf for leaf in _leaves(element) if is_ours(leaf.name)]
        name = ",".join(element.passes())
        if ours:
            work = make_pass(ours[0].name, parse_options(ours[0].options))
            steps.append(Step(name, work, PASSES[ours[0].name]))
        else:
            steps.append(Step(name, _pass_manager(str(element), context, verify_each)))
    return steps if one_by_one else list(_merged(steps))


def _merged(steps: Sequence[Step]) -> Iterator[Step]:
    """The steps, where those that rewrite equations and follow each other are one."""
    for rewrites, group in groupby(steps, lambda step: isinstance(step.work, SystemPass)):
        if not rewrites:
            yield from group
            continue
        passes = [(s.name, s.work) for s in group if isinstance(s.work, SystemPass)]
        yield Step(",".join(name for name, _ in passes), Rewrites(tuple(passes)))


def _expanded(tree: Element) -> Element:
    """The tree with the passes of named pipelines in place of their names."""
    children: list[Element] = []
    for child in tree.children or ():
        if child.children is not None:
            children.append(_expanded(child))
        elif child.name in PIPELINES:
            text = named_pipeline(child.name, parse_options(child.options))
            children.extend(_expanded(parse_pipeline(text)).children or ())
        else:
            children.append(child)
    return Element(tree.name, children=tuple(children))


def _pieces(tree: Element, one_by_one: bool) -> Iterator[Element]:
    """Split a tree into trees with one pass of ours each, or with passes of MLIR only."""
    assert tree.children is not None, f"pipeline: an anchor is expected, got {tree}"
    waiting: list[Element] = []

    def flush() -> Iterator[Element]:
        if waiting:
            yield Element(tree.name, children=tuple(waiting))
            waiting.clear()

    for child in tree.children:
        has_ours = any(is_ours(name) for name in child.passes())
        if not has_ours and not one_by_one:
            waiting.append(child)
            continue
        yield from flush()
        if has_ours and tree.name not in _OUR_ANCHORS:
            anchors = ", ".join(_OUR_ANCHORS)
            raise PassFailed(f"pipeline: passes of ted run on {anchors}, got {tree.name} in {tree}")
        if has_ours and tree.name == "func.func" and child.children is not None:
            raise PassFailed(
                f"pipeline: functions hold no functions and modules, got {child.name} in {tree}"
            )
        inner = [child] if child.children is None else _pieces(child, one_by_one)
        for piece in inner:
            yield Element(tree.name, children=(piece,))
    yield from flush()


def _leaves(element: Element) -> Iterator[Element]:
    if element.children is None:
        yield element
    for child in element.children or ():
        yield from _leaves(child)


def _pass_manager(text: str, context: ir.Context, verify_each: bool) -> PassManager:
    try:
        return pass_manager(text, context, verify_each=verify_each)
    except ValueError as error:
        reason = str(error).strip().splitlines()[0].rpartition(" error: ")[2]
        raise PassFailed(f"pipeline: {reason}, got '{text}'") from None


# ---- running -------------------------------------------------------------------------------------


def _run_step(step: Step, module: ir.Module) -> None:
    if isinstance(step.work, PassManager):
        _run_upstream(step.work, step.name, module)
        return
    if step.row.on_memory:
        _check_is_on_memory(step.name, module)
    here = ir.Location.unknown(module.context)
    with module.context, here, _one_thread(module.context), _failures_of(step.name):
        step.work.run(module)


def _run_upstream(manager: PassManager, name: str, module: ir.Module) -> None:
    try:
        manager.run(module.operation)
    except ir.MLIRError as error:
        raise PassFailed(f"{name}: failed{_because(error)}") from None


@contextlib.contextmanager
def _failures_of(name: str) -> Iterator[None]:
    """Errors that are not ted's become one, with the name of the pass."""
    try:
        yield
    except TedError:
        raise
    except ir.MLIRError as error:
        raise PassFailed(f"{name}: made IR that MLIR refuses{_because(error)}") from error
    except Exception as error:  # a bug of ours must not end a user's process
        raise PassFailed(f"{name}: internal error, got {error!r}") from error


def _still_asked(asked: set[Asked], step: Step, module: ir.Module) -> set[Asked]:
    """What a module still asks for: a pass that decides about it may leave it to another one.

    Raises: ScheduleError for what a pass lost that decides nothing about it.
    """
    obeyed = step.row.obeys
    others = {a for a in asked if a.attribute not in obeyed}
    if others:
        check_is_kept(others, module, step.name)
    return others | {a for a in asked_of(module) if a.attribute in obeyed} if obeyed else others


def _check_is_on_memory(name: str, module: ir.Module) -> None:
    functions = (op.operation for op in module.body.operations if op.operation.name == "func.func")
    blocks = (block for function in functions for block in function.regions[0].blocks)
    for block in blocks:
        results = (r for op in block.operations for r in op.operation.results)
        for value in (*block.arguments, *results):
            if isinstance(value.type, ir.RankedTensorType | ir.UnrankedTensorType):
                raise PassFailed(
                    f"{name}: works on memory, after ted-emit-kernels, got {value.type}",
                    source_location(value.location),
                )


def _verify(name: str, module: ir.Module) -> None:
    try:
        module.operation.verify()
    except ir.MLIRError as error:
        raise PassFailed(f"{name}: left invalid IR{_because(error)}") from None


def _because(error: ir.MLIRError) -> str:
    """The first diagnostic of an error, unless a handler took it."""
    found = error.error_diagnostics
    return f": {found[0].message} ({found[0].location})" if found else ""


@contextlib.contextmanager
def _one_thread(context: ir.Context) -> Iterator[None]:
    threads = context.get_num_threads()
    context.enable_multithreading(False)
    try:
        yield
    finally:
        context.enable_multithreading(threads > 1)
