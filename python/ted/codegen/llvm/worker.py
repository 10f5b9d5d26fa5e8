"""The child process: LLVM IR text in, assembly or an object file out, until its input ends.

Run as a script with the folder that holds llvmlite and LLVM's command-line options as arguments.
It knows nothing of ted, so that it starts fast. Requests and replies are JSON after an 8-byte
length; LLVM's own messages go to standard error, which the parent keeps in a file. An error that
LLVM can recover from is a reply; any other ends this process.
"""

from __future__ import annotations

import base64
import json
import os
import queue
import signal
import sys
import threading
from typing import Any, BinaryIO

LENGTH = 8


def write_message(stream: BinaryIO, message: Any) -> None:
    """Send one message."""
    data = json.dumps(message).encode()
    stream.write(len(data).to_bytes(LENGTH, "big") + data)
    stream.flush()


def read_message(stream: BinaryIO) -> Any:
    """Receive one message; None at the end of the stream."""
    head = stream.read(LENGTH)
    size = int.from_bytes(head, "big")
    data = stream.read(size) if len(head) == LENGTH else b""
    return json.loads(data) if data and len(data) == size else None


def compile_text(request: dict[str, Any]) -> dict[str, Any]:
    """One request: parse, link, optimise at O3, emit.

    `text`, `triple`, `chip`, `features`; `keep`: the functions that stay visible; `library`: path
    of bitcode to link, or None; `output`: "assembly", or "object" for that and an object file.
    """
    from llvmlite import binding as llvm

    target = llvm.Target.from_triple(request["triple"])
    machine = target.create_target_machine(request["chip"], request["features"], opt=3)
    head = f'target triple = "{request["triple"]}"\ntarget datalayout = "{machine.target_data}"\n'
    module = llvm.parse_assembly(head + request["text"])
    if request["library"] is not None:
        _link(llvm, module, request["library"])
    for function in module.functions:
        if not function.is_declaration and function.name not in request["keep"]:
            function.linkage = "internal"
    module.verify()
    options = llvm.create_pipeline_tuning_options(speed_level=3)
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    reply = {"assembly": machine.emit_assembly(module)}
    if request["output"] == "object":
        reply["object"] = base64.b64encode(machine.emit_object(module)).decode()
    return reply


def _link(llvm: Any, module: Any, path: str) -> None:
    with open(path, "rb") as file:
        library = llvm.parse_bitcode(file.read())
    library.triple, library.data_layout = module.triple, module.data_layout
    module.link_in(library)


def _read_requests(stream: BinaryIO, requests: queue.SimpleQueue[Any]) -> None:
    """Read ahead while LLVM works: the end of the input is the end of the parent."""
    while (request := read_message(stream)) is not None:
        requests.put(request)
    os._exit(0)


def main() -> None:
    """Serve requests."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides what Ctrl-C means
    folder, *options = sys.argv[1:]
    sys.path.append(folder)
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints must not mix with the replies
    requests: queue.SimpleQueue[Any] = queue.SimpleQueue()
    reader = threading.Thread(target=_read_requests, args=(sys.stdin.buffer, requests), daemon=True)
    reader.start()

    from llvmlite import binding as llvm

    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    for option in options:
        llvm.set_option("ted", option)
    while True:
        request = requests.get()
        try:
            reply = compile_text(request)
        except Exception as error:
            reply = {"error": str(error)}
        write_message(replies, reply)


if __name__ == "__main__":
    main()
