"""The child process: LLVM IR text in, assembly or an object file out, until its input ends.

Run as a script with the folder that holds llvmlite and LLVM's command-line options as arguments.
It knows nothing of ted, so that it starts fast. Requests and replies are JSON after an 8-byte
length, over unbuffered pipes (a process that forks must not send a buffer twice), after a message
that says that this is ready. LLVM's own
messages go to standard error, which the parent keeps in a file. An error that LLVM can recover from
is a reply; any other ends this process.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import queue
import re
import signal
import sys
import threading
from collections.abc import Callable, Collection, Sequence
from io import RawIOBase
from typing import Any

LENGTH = 8
LONGEST = 1 << 48  # bytes of a message; eight letters are a longer one
READY = {"ready": True}  # the first message of a child
_VARIANT = re.compile(r"_ZGV\w+\((\w+)\)")  # the name of a function on vectors
_HEADER = re.compile(r"^target (triple|datalayout) = .*$", re.MULTILINE)  # of another LLVM


def write_message(stream: RawIOBase, message: Any) -> None:
    """Send one message."""
    data = json.dumps(message).encode()
    left = memoryview(len(data).to_bytes(LENGTH, "big") + data)
    while left:
        left = left[stream.write(left) or 0 :]


def read_message(stream: RawIOBase) -> Any:
    """Receive one message; None at the end of the stream, and of what is no message."""
    length = int.from_bytes(_read(stream, LENGTH), "big")
    data = _read(stream, length) if length < LONGEST else b""
    return json.loads(data) if data else None


def _read(stream: RawIOBase, size: int) -> bytes:
    """As many bytes; none if the stream ends before."""
    data = bytearray()
    while len(data) < size:
        part = stream.read(size - len(data))
        if not part:
            return b""
        data += part
    return bytes(data)


def compile_text(request: dict[str, Any]) -> dict[str, Any]:
    """One request: parse, link, optimise at O3, emit.

    `texts`, `triple`, `chip`, `features`; `linked`: for each function that they call its name
    there, its name in texts that call each other, and these; `keep`: the functions that stay
    visible, None for all; `library`: path of bitcode to link, or None; `output`: "assembly", or
    "object" for that and an object file; `anywhere`: whether others link it.
    """
    from llvmlite import binding as llvm

    target = llvm.Target.from_triple(request["triple"])
    reloc, model = ("pic", "small") if request["anywhere"] else ("default", "jitdefault")
    machine = target.create_target_machine(
        request["chip"], request["features"], opt=3, reloc=reloc, codemodel=model
    )
    head = f'target triple = "{request["triple"]}"\ntarget datalayout = "{machine.target_data}"\n'

    def parsed(texts: list[str]) -> Any:
        whole, *others = (llvm.parse_assembly(head + _HEADER.sub("", text)) for text in texts)
        for one in others:
            whole.link_in(one)
        return whole

    module = parsed(request["texts"])
    variants = set(_VARIANT.findall(str(request["texts"]) + str(request["linked"])))
    for name, symbol, texts in request["linked"]:
        called = parsed(texts)
        _hide(called, (symbol,), variants)  # names that are not seen differ when linked
        called.get_function(symbol).name = name
        module.link_in(called)
    module.verify()
    if request["library"] is not None:
        _link(llvm, module, request["library"])
    if request["keep"] is not None:
        _hide(module, request["keep"], variants)
    options = llvm.create_pipeline_tuning_options(speed_level=3)
    builder = llvm.create_pass_builder(machine, options)
    needed = llvm.create_new_module_pass_manager()  # of a library, little: O3 would do all of it
    needed.add_global_dead_code_eliminate_pass()
    needed.run(module, builder)
    builder.getModulePassManager().run(module, builder)
    if request["keep"] is not None:
        _hide(module, request["keep"])
        needed.run(module, builder)
    reply = {}
    if request["output"] == "object":  # from a copy: selection of instructions changes a module
        reply["object"] = base64.b64encode(machine.emit_object(module.clone())).decode()
    return reply | {"assembly": machine.emit_assembly(module)}


def _hide(module: Any, keep: Sequence[str], variants: Collection[str] = ()) -> None:
    """Let others see no function but these.

    Variants on vectors stay while loops are vectorised, although nobody calls them before.
    """
    for function in module.functions:
        if not function.is_declaration and function.name not in keep:
            function.linkage = "weak_odr" if function.name in variants else "internal"


def _link(llvm: Any, module: Any, path: str) -> None:
    with open(path, "rb") as file:
        library = llvm.parse_bitcode(file.read())
    library.triple, library.data_layout = module.triple, module.data_layout
    module.link_in(library)


def _read_requests(stream: RawIOBase, requests: queue.SimpleQueue[Any]) -> None:
    """Read ahead while LLVM works: the end of the input is the end of the parent."""
    while (request := read_message(stream)) is not None:
        requests.put(request)
    os._exit(0)


Say = Callable[[str], None]


def serve(
    answer: Callable[[dict[str, Any], Say], dict[str, Any]], load: Callable[[], None]
) -> None:
    """Answer requests until the input ends; `load` runs once the input is watched.

    While it works on a request, `answer` may say what it is doing.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides what Ctrl-C means
    with contextlib.suppress(ImportError):  # an abort is no reason for a core file
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    replies = os.fdopen(os.dup(1), "wb", buffering=0)
    if hasattr(os, "register_at_fork"):  # the parent waits for the end of all who have it
        os.register_at_fork(after_in_child=replies.close)
    os.dup2(2, 1)  # what a library prints must not mix with the replies
    requests: queue.SimpleQueue[Any] = queue.SimpleQueue()
    source = os.fdopen(0, "rb", buffering=0, closefd=False)
    threading.Thread(target=_read_requests, args=(source, requests), daemon=True).start()

    def say(doing: str) -> None:
        write_message(replies, {"doing": doing})

    load()
    write_message(replies, READY)
    while True:
        request = requests.get()
        try:
            reply = answer(request, say)
        except Exception as error:
            reply = {"error": str(error)}
        write_message(replies, reply)


def main() -> None:
    """Serve requests for code by LLVM."""
    folder, *options = sys.argv[1:]
    sys.path.append(folder)

    def load() -> None:
        from llvmlite import binding as llvm

        llvm.initialize_all_targets()
        llvm.initialize_all_asmprinters()
        for option in options:
            llvm.set_option("ted", option)

    serve(lambda request, _: compile_text(request), load)


if __name__ == "__main__":
    main()
