"""Functions of tensors by tracing: `function`.

A `Function` called on arrays traces its Python function once per signature, compiles it and runs;
called inside another one (or on tensors) it is the Python function, so transformations nest.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ted import tree
from ted.api.compiling import Compilation, compile_program, compile_sizes, taken_over
from ted.api.cpu_functions import CompiledFunction
from ted.api.decorators import Decorator
from ted.api.foreign_arrays import read_as_arrays
from ted.api.latest_calls import short_way
from ted.api.numbers import Constants, traced_on_numbers, with_stored_types
from ted.api.options import options_for
from ted.api.programs import traced_program
from ted.api.symbolic import SymbolicFunction
from ted.errors import CompileError, ExecutionError
from ted.frontend.array_orders import (
    Order,
    all_in_order,
    may_have_order,
    orders_of,
    with_orders,
)
from ted.frontend.batches import arrays_at, positions_for, positions_of_batch, with_batch
from ted.frontend.checks import check_callable
from ted.frontend.functions import (
    Input,
    Signature,
    Trace,
    arrays_of,
    call_key,
    has_tensors,
    is_tracing,
    signature_of,
    trace_signature,
    with_constants,
)  # fmt: skip
from ted.frontend.tensors import wrap
from ted.frontend.trees import flatten as flatten_tree
from ted.machine import Cpu
from ted.options import CompileOptions
from ted.runtime.calls import declined
from ted.runtime.sharing import giver

if TYPE_CHECKING:
    from ted.api.memory_timelines import MemoryTimeline
    from ted.api.profiles import Profile

Compiled = tuple[Trace, "Compilation | SymbolicFunction[Compilation]"]
# Of the latest call with arrays alone: what runs its program if arrays fit, and nests the results.
Latest = tuple[Callable[..., Any], Callable[[Any], Any]]


class Function(Decorator):
    """A Python function of tensors that compiles itself for the arrays it is called on.

    The arguments at the positions `batch` may have any number of rows: they are traced once; the
    arrays in those at the positions `donate` are taken over by results. Results are arrays of the
    library `like`.
    Raises: FrontendError when `fn` is no function, or `like` no library; CompileError when
    `options` are no CompileOptions.
    """

    def __init__(
        self,
        fn: Callable[..., Any],
        options: CompileOptions | None = None,
        batch: int | Sequence[int] = (),
        donate: int | Sequence[int] = (),
        like: Any = None,
    ) -> None:
        check_callable(fn, "function")
        if options is not None and not isinstance(options, CompileOptions):
            raise CompileError(
                f"function: options are CompileOptions, got {options!r}; write "
                "ted.function(fn, target)"
            )
        functools.update_wrapper(self, fn)
        self._fn = fn
        self.options = options or options_for(fn)
        self.batch = positions_of_batch(batch)
        self.donate = positions_for(donate, "donate is the position of an argument to take over")
        self.like = like
        self._given = None if like is None else giver(like)
        is_on_cpu = isinstance(self.options.machine, Cpu)
        is_plain = not (self.batch or self.donate or self.options.debug_nans)
        self._takes_orders = is_on_cpu and is_plain
        self._traces: dict[Signature, Trace] = {}
        self._compiled: dict[Signature, Compiled] = {}
        self._known: dict[Any, Compiled | Constants] = {}
        self._constants: dict[Signature, frozenset[int]] = {}  # leaves whose value is asked for
        self._latest: Latest = (declined, declined)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run on arrays, or build the expression: on tensors, and while a function is traced.

        Raises: FrontendError for what cannot be traced; ExecutionError for what cannot be run.
        """
        if is_tracing():
            return self._built(args, kwargs)
        direct, nest = self._latest
        if not kwargs and (values := direct(*args)) is not None:
            return nest(values)
        return self._looked_up(args, kwargs)

    def _looked_up(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run the program of equal calls, which is made for the first one."""
        arrays: Any = []
        try:
            key = None if kwargs else call_key(args, arrays)
        except RecursionError:
            flatten_tree(args)  # which refuses a nest that holds itself
            raise
        found = None if key is None else self._find(key)
        if isinstance(found, Constants):
            key, arrays = found.key(key, arrays), found.left(arrays)
            found = self._find(key)
        if found is not None:  # of arrays that are small: their order is not asked for
            traced, compiled = found
            values = compiled(*arrays)
            direct = short_way(getattr(compiled, "direct", declined), args, arrays)
            if direct is not declined:
                self._latest = direct, self._nester(traced)
            return self._nester(traced)(values)
        orders = self._orders(arrays)
        found = None if key is None else self._find((key, orders))
        if found is None:
            if has_tensors(args, kwargs):
                return self._built(args, kwargs)
            given = read_as_arrays(self._fn, args, kwargs)
            if given is not None:
                return self._looked_up(*given)
            found, arrays, orders = self._made(args, kwargs, key is not None)
        traced, compiled = found
        try:
            values = compiled(*all_in_order(arrays, orders))
        except ExecutionError:
            if not orders:
                raise
            traced, compiled = self._specialised(args, kwargs)[0]  # its errors count dims as users
            values = compiled(*arrays)
        return self._nester(traced)(values)

    def _made(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], has_key: bool
    ) -> tuple[Compiled, Sequence[Any], Sequence[Order]]:
        """The program for a call, which equal calls will find, and its arrays with their orders."""
        every = arrays_of(self._fn, args, kwargs)
        orders = self._orders(every)
        found, constants = self._specialised(args, kwargs, orders)
        arrays, orders = constants.left(every), tuple(constants.left(orders))
        if has_key:
            key = call_key(args, [])
            if constants.positions:
                self._known[key] = constants
                key = constants.key(key, every)
            is_large = any(map(may_have_order, arrays))
            self._known[(key, orders) if is_large else key] = found
        return found, arrays, orders

    def _built(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The expression, in which arrays are constants: it may be of the tensors around it."""
        given = read_as_arrays(self._fn, args, kwargs) or (args, kwargs)
        args, kwargs = with_constants(self._fn, *given)
        return self._fn(*args, **kwargs)

    def _nester(self, traced: Trace) -> Callable[[Sequence[Any]], Any]:
        """What makes the nest of results that the caller gets."""
        given, nest = self._given, traced.results
        return nest if given is None else lambda values: tree.map(given, nest(values))

    def _orders(self, arrays: Sequence[Any]) -> tuple[Order, ...]:
        """In which orders the arrays of a call are passed as they are."""
        return orders_of(arrays) if self._takes_orders else ()

    def _find(self, key: Any) -> Any:
        """What an equal call found; signatures name the argument that cannot be looked up."""
        try:
            return self._known.get(key)
        except (TypeError, ValueError):  # the latter of a memoryview
            return None

    @property
    def target(self) -> str:
        """What `target=` was, with the GPU that it means."""
        return self.options.target

    @property
    def deterministic(self) -> bool:
        """Whether sums are in one order on every target."""
        return self.options.deterministic

    def trace(self, *args: Any, **kwargs: Any) -> Trace:
        """The program for arguments like these; nothing is compiled."""
        return self._traced(args, kwargs)[1]

    def compiled(self, *args: Any, **kwargs: Any) -> Compilation | SymbolicFunction[Compilation]:
        """The compiled function for arguments like these, for its IR and memory."""
        return self._specialised(args, kwargs)[0][1]

    def profile(self, *args: Any, repeats: int = 20, **kwargs: Any) -> Profile:
        """How long each kernel takes for arguments like these; print it.

        Raises: CompileError for a program of symbolic sizes; ExecutionError as a call does.
        """
        found, arrays = self._with_arrays(args, kwargs)
        if isinstance(found, SymbolicFunction):
            raise CompileError("profile: kernels of programs of fixed sizes are timed")
        return found.profile(*arrays, repeats=repeats)

    def memory(self, *args: Any, **kwargs: Any) -> MemoryTimeline:
        """What the program for arguments like these holds while it runs; print it.

        Raises: CompileError for what is no program of fixed sizes for CPUs.
        """
        found = self._with_arrays(args, kwargs)[0]
        if not isinstance(found, CompiledFunction):
            raise CompileError(
                "memory: it is known of programs of fixed sizes for CPUs, "
                f"got one for '{self.target}'"
            )
        return found.memory()

    def _with_arrays(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Compilation | SymbolicFunction[Compilation], Sequence[Any]]:
        """The function that runs for these arguments, and its arrays."""
        arrays = arrays_of(self._fn, args, kwargs)
        orders = self._orders(arrays)
        (_, found), constants = self._specialised(args, kwargs, orders)
        return found, all_in_order(constants.left(arrays), constants.left(orders))

    def _specialised(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], orders: Sequence[Order] = ()
    ) -> tuple[Compiled, Constants]:
        """The program for a call, and which of its inputs are constants in it."""
        signature, traced, constants = self._traced(args, kwargs, orders)
        if signature not in self._compiled:
            found = self._compile(traced, signature)
            self._compiled.setdefault(signature, found)  # another thread may have been first
        return self._compiled[signature], constants

    def _traced(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], orders: Sequence[Order] = ()
    ) -> tuple[Signature, Trace, Constants]:
        """What a call is, its program, and which inputs of that are constants in it."""
        signature = signature_of(self._fn, args, kwargs, numbers=True)
        signature = with_orders(signature, orders)
        debugged = self.options.debug_nans  # of numbers of rows, which positions are made of
        signature = with_batch(self._fn, signature, () if debugged else self.batch)
        traced = None
        if signature not in self._constants:
            traced, self._constants[signature] = traced_on_numbers(self._fn, signature)
        elif (known := signature.with_constants(self._constants[signature])) not in self._traces:
            # Other values may ask for more of the numbers.
            traced, more = traced_on_numbers(self._fn, known)
            self._constants[signature] |= more
        leaves = self._constants[signature]
        constants = Constants.of(signature, leaves)
        signature = signature.with_constants(leaves)
        if signature not in self._traces:
            traced = with_stored_types(traced or trace_signature(self._fn, signature))
            traced = _with_finite_checks(traced) if self.options.debug_nans else traced
            self._traces.setdefault(signature, traced)  # another thread may have been first
        return signature, self._traces[signature], constants

    def _compile(self, traced: Trace, signature: Signature) -> Compiled:
        donated = self._taken_over(traced, signature)
        program = traced_program(traced, self.options, donated)
        if program.key is not None:
            return traced, compile_program(program, False, self.options)
        system, notes = traced.system(), traced.has_notes
        return traced, compile_sizes(system, donated, options=self.options, has_notes=notes)

    def _taken_over(self, traced: Trace, signature: Signature) -> dict[int, int]:
        """For each result that goes into a donated array: the positions of both."""
        if not self.donate:
            return {}
        chosen = arrays_at(self._fn, signature, self.donate, "donate")
        rows = zip(signature.leaves, chosen, strict=True)
        arrays = [is_chosen for leaf, is_chosen in rows if isinstance(leaf, Input)]
        given = zip(traced.inputs, arrays, strict=True)
        system = traced.system()
        seen = replace(system, outputs=system.outputs[: traced.output_tree.size])
        return taken_over(seen, [one for one, is_chosen in given if is_chosen])


def _with_finite_checks(traced: Trace) -> Trace:
    """The traced function, every call of which tests all tensors; names are those of the system."""
    from ted.transforms.finite_checks import finite_checks

    checks = finite_checks(traced.system().outputs)
    outputs = (*traced.outputs, *map(wrap, checks.results))
    return replace(traced, outputs=outputs, last=checks.check)


def function(
    fn: Callable[..., Any],
    target: str | None = None,
    *,
    deterministic: bool | None = None,
    batch: int | Sequence[int] | None = None,
    donate: int | Sequence[int] | None = None,
    memory_limit: int | None = None,
    debug_nans: bool | None = None,
    subnormals: str | None = None,
    like: Any = None,
) -> Function:
    """A Python function of tensors as a function of arrays, compiled once per signature.

    A signature is the shapes and types of arrays and the values of all else, but for floats, which
    are inputs unless the function asks for their values.
    `target`, `deterministic`, `memory_limit` and `subnormals` are those of `ted.compile`; a
    function that has them keeps them when none is given, and so `batch`: the positions of arguments
    whose first dim is the batch, a symbolic size for which nothing is traced or compiled again.
    `donate`: positions of arguments, each array of which becomes the first result of its shape and
    type that no other has become, as in `ted.compile`. With `debug_nans` every call tests all
    tensors, and the first number that is not finite is an ExecutionError with tensor, index and
    line; what is made of the function is tested too. `like` is the library that results are arrays
    of, without a copy: one that has `from_dlpack`, such as torch, jax.numpy or cupy; without it
    they are NumPy's, on a GPU ted's own.
    Raises: FrontendError when `fn` is no function, `like` no library, or `batch` or `donate` no
    position; CompileError
    for an unknown target, and from a call for a donated array that fits no result.
    """
    check_callable(fn, "function")
    options = options_for(fn, target, deterministic, memory_limit, debug_nans, subnormals)
    rows = batch_of(fn, batch)
    mine = fn.donate if isinstance(fn, Function) else ()
    taken = mine if donate is None else donate
    theirs = fn.like if isinstance(fn, Function) and like is None else like
    made = Function(fn, options, rows, taken, theirs)
    wanted = (options, rows, made.donate)
    if isinstance(fn, Function) and (fn.options, fn.batch, mine) == wanted and fn.like is theirs:
        return fn
    return made


def batch_of(fn: Any, batch: int | Sequence[int] | None) -> tuple[int, ...]:
    """The positions that are asked for, else those of a function of the same arguments."""
    if batch is None:
        return fn.batch if isinstance(fn, Function) else ()
    return positions_of_batch(batch)
