"""Keywords of other libraries, accepted where they can mean one thing alone.

Before: ted.sum(x, dim=0, keepdim=True)      After: ted.sum(x, axis=0, keepdims=True)

One table for functions, methods and what numpy hands over.  What a function does not take is
refused with the words that it takes, and what goes wrong inside of it names the function.
"""

from __future__ import annotations

import functools
import inspect
import itertools
import re
import sys
import traceback
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ted.errors import PassFailed, ScheduleError, TedError
from ted.frontend.complex_pairs import applied, is_complex, names_complex, refuse
from ted.frontend.locations import fail

# Another library's keyword -> ted's words for it, of which a function takes the first that it has.
NEAR: dict[str, tuple[str, ...]] = {
    "dim": ("axis", "axes"), "dims": ("axis", "axes", "shift"), "axes": ("axis",),
    "keepdim": ("keepdims",), "initial": ("init",), "a_min": ("min",), "a_max": ("max",),
    "lower": ("min",), "upper": ("max",), "min_val": ("min", "least"), "max_val": ("max", "most"),
    "min": ("lower",), "max": ("upper",), "value": ("fill_value",),
    "ddof": ("correction",), "fill_value": ("value", "fill"), "constant_values": ("value",),
    "pad_width": ("width",), "repeats": ("count",), "reps": ("repeats",),
    "repetitions": ("repeats",), "newshape": ("shape",), "size": ("shape",),
    "axis1": ("first",), "axis2": ("second",), "dim0": ("first",), "dim1": ("second",),
    "indices_or_sections": ("sections",), "split_size_or_sections": ("sections",),
    "shifts": ("shift",), "perm": ("axes",), "permutation": ("axes",), "equation": ("formula",),
    "subscripts": ("formula",), "index": ("indices",), "num_classes": ("depth",),
    "steps": ("num",), "start_dim": ("start",),
    "a": ("x",), "m": ("x",), "array": ("x",), "ary": ("x",),
    "input": ("x", "a", "logits", "log_probabilities", "log_probability", "log_rate",
              "probability", "prediction", "ids"),
    "input1": ("a", "first", "x"), "input2": ("b", "second", "y"), "target": ("labels",),
    "arr": ("x",), "arrays": ("xs",), "tensors": ("xs",), "other": ("b",), "x1": ("a",),
    "x2": ("b",), "negative_slope": ("slope",), "N": ("rows",), "M": ("columns",),
    "n_rows": ("rows",), "n_cols": ("columns",), "num_segments": ("count",),
    "segment_ids": ("segments",), "minlength": ("length",), "start_indices": ("starts",),
    "slice_sizes": ("sizes",), "std": ("stddev",), "low": ("minval",), "high": ("maxval",),
    "rcond": ("rtol",), "kernel_size": ("window",), "_random_samples": ("samples",),
    "per_sample_weights": ("weights",), "attn_mask": ("mask",),
    "weight": ("table", "slope"), "p": ("order",), "var": ("variance",), "threshold": ("bound",),
    "lambd": ("bound",), "upscale_factor": ("factor",), "downscale_factor": ("factor",),
    "lr_decay": ("rate_decay",), "max_norm": ("most",),
}  # fmt: skip

DEVICE = "cpu"  # what the standard is told: an expression has none, a function has one target
# Keywords of the standard that change nothing: a tensor is a value, a function has one target.
IDLE: dict[str, tuple[str, ...]] = {
    "copy": ("cast", "reshape", "from_dlpack"),
    "device": (
        "arange", "asarray", "zeros", "zeros_like", "eye", "from_dlpack", "full", "full_like",
        "linspace", "ones", "ones_like", "fftfreq", "rfftfreq", "cast",
    ),
}  # fmt: skip
# Keywords of other libraries that ask for nothing where they are None or False.
UNASKED = (
    "inplace", "size_average", "reduce", "_stacklevel", "out", "sparse", "scale_grad_by_freq",
    "recompute_scale_factor", "antialias",
)  # fmt: skip

# Functions of nests, which complex tensors are, too.
OF_NESTS = ("associative_scan", "clip_by_global_norm", "global_norm")
# Functions that take a type for what is not called dtype.
OF_TYPES = ("can_cast", "eye", "isdtype", "result_type")


def near_word(name: str, known: Mapping[str, Any]) -> str | None:
    """The word of a function that takes `known` for a keyword; None where it has none."""
    words = (name,) if name in known else NEAR.get(name, ())
    return next((word for word in words if word in known), None)


def _is_idle(name: str, value: Any) -> bool:
    return value is None or (isinstance(value, bool) if name == "copy" else str(value) == DEVICE)


def _signature(form: inspect.Signature, idle: Iterable[str]) -> inspect.Signature:
    """What tools are told that a function takes: its idle keywords, too."""
    words = [word for word in idle if word not in form.parameters]
    more = [inspect.Parameter(word, inspect.Parameter.KEYWORD_ONLY, default=None) for word in words]
    return form.replace(parameters=[*form.parameters.values(), *more])


def translated(known: Mapping[str, Any], options: Mapping[str, Any], what: str) -> dict[str, Any]:
    """The keywords of a call in the words of a function that takes `known`.

    Raises: FrontendError for a keyword that the function does not take, or takes twice.
    """
    result: dict[str, Any] = {}
    for name, value in options.items():
        word = near_word(name, known)
        if word is None and what in IDLE.get(name, ()) and _is_idle(name, value):
            continue
        if word is None and name in UNASKED and (value is None or value is False):
            continue
        if word is None:
            fail(f"{what}: takes {', '.join(known) or 'no arguments'}, got {name}=")
        if word in result or (word != name and word in options):
            fail(f"{what}: {word} may be given once, got it also as {name}=")
        result[word] = value
    return result


def accepting(
    function: Callable[..., Any], module: str, name: str, takes_complex: bool = False
) -> Callable[..., Any]:
    """The function, which also takes the keywords of other libraries, and complex numbers.

    With those it is what the table `on_complex` has by its name, unless it takes them itself. Its
    home is the module, as a name of which it is found again when it is pickled.

    Raises: FrontendError for complex numbers that the function does not take.
    """
    if not inspect.isfunction(function):
        return function
    if inspect.unwrap(function).__code__.co_flags & inspect.CO_VARKEYWORDS:
        return naming(function, name, module)
    takes_complex = takes_complex or function.__name__ in OF_NESTS
    # Other packages have other functions by these names.
    is_of_table = function.__module__.startswith(("ted.frontend.", "ted.spectral."))

    @functools.cache  # when it is called first: a signature takes a tenth of a millisecond
    def form() -> tuple[Mapping[str, inspect.Parameter], slice]:
        parameters = inspect.signature(function).parameters
        known = {p.name: p for p in parameters.values() if p.kind is not p.VAR_POSITIONAL}
        return known, _places_of_types(function.__name__, parameters)

    def accepted(*args: Any, **options: Any) -> Any:
        known, types = form()
        if options and not known.keys() >= options.keys():
            options = translated(known, options, function.__name__)
        if not takes_complex and (
            is_complex((*args, *options.values()))
            or names_complex((*args[types], options.get("dtype")))
        ):
            if not is_of_table:
                refuse(name)
            bound = inspect.signature(function).bind(*args, **options)
            return applied(function.__name__, *bound.args, **bound.kwargs)
        return function(*args, **options)

    call = naming(functools.wraps(function)(accepted), name, module)
    if idle := [word for word, names in IDLE.items() if function.__name__ in names]:
        vars(call)["__signature__"] = _signature(inspect.signature(function), idle)
    return call


# Modules whose calls are those of the user: methods and operators.
_OF_USERS = ("ted.frontend.methods", "ted.frontend.tensors", "ted.frontend.numpy_names")


def naming(
    function: Callable[..., Any], name: str, module: str | None = None
) -> Callable[..., Any]:
    """The function, whose errors say which function the user called; its home is the module.

    Errors of passes and of schedules say what they are of by themselves.
    As a name of that it is found again when it is pickled.
    """

    @functools.wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        try:
            return function(*args, **options)
        except TedError as error:
            module = str(sys._getframe(1).f_globals.get("__name__"))  # pyright: ignore[reportPrivateUsage]
            is_of_user = not module.startswith("ted.") or module in _OF_USERS
            names = "|".join(map(re.escape, (name, function.__name__)))
            is_said = re.search(rf"\b(?:{names})\b", error.message)
            is_of_pass = isinstance(error, (PassFailed, ScheduleError))
            if is_of_user and not (is_said or is_of_pass or _is_of_given(error)):
                error.prefix(name)
            raise

    if module is not None:
        call.__module__, call.__qualname__ = module, name
    return call


def _is_of_given(error: TedError) -> bool:
    """Whether an error is of a function that the user gave: it passed a line of theirs inside."""
    if error.location is None or error.__traceback__ is None:
        return False
    inner = traceback.walk_tb(error.__traceback__.tb_next)
    return any(frame.f_code.co_filename == error.location.file for frame, _ in inner)


def public_names(namespace: Mapping[str, Any]) -> list[str]:
    """What a package imports or defines, but modules and names with an underscore."""
    found = (n for n, value in namespace.items() if not inspect.ismodule(value))
    return sorted(name for name in found if not name.startswith("_"))


def named(namespace: dict[str, Any], module: str) -> list[str]:
    """The public names of a package, whose functions are made `naming` at once, of this module."""
    names = public_names(namespace)
    for name in names:
        if inspect.isfunction(namespace[name]):
            namespace[name] = naming(namespace[name], name, module)
    return names


def published(namespace: dict[str, Any], module: str) -> list[str]:
    """The public names of a package, whose functions are made `accepting` at once."""
    names = public_names(namespace)
    for name in names:
        namespace[name] = accepting(namespace[name], module, name)
    return names


def _places_of_types(name: str, parameters: Mapping[str, inspect.Parameter]) -> slice:
    """Where positional arguments may be types: strings elsewhere are names, modes and formulas."""
    if name in OF_TYPES:
        return slice(None)
    before = itertools.takewhile(lambda p: p.name != "dtype", parameters.values())
    kinds = [p.kind for p in before]
    if len(kinds) == len(parameters) or inspect.Parameter.VAR_POSITIONAL in kinds:
        return slice(0)
    return slice(len(kinds), len(kinds) + 1)
