"""Parts of a program -> objects, by a worker and forks of it, a process for each core.

A fork begins with all that the worker has loaded, in a hundredth of a second; another worker would
need half a second, and 200 MB. What a fork does not deliver, since a pass refuses it or LLVM ends
it, the worker makes itself: errors are told as without forks.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection
from typing import Any

from ted.codegen.watching import Doing, ignored

LEAST = 40_000  # weight of a share that is worth a fork: its objects take 60 ms
Answer = Callable[[Mapping[str, Any], Doing], list[str]]


def made_by(processes: int, answer: Answer, message: Mapping[str, Any], doing: Doing) -> list[str]:
    """What `answer` makes of the parts of a message, by so many processes at most.

    Raises: TedError of a pass that refuses one.
    """
    source = message["source"]
    shares = split([weight for *_, weight in source], processes if _can_fork() else 1)
    mine, *others = [dict(message) | {"source": [source[k] for k in share]} for share in shares]
    with contextlib.ExitStack() as ends:
        replies = [_forked(answer, one, ends) for one in others]
        made = [answer(mine, doing)]
        for one, reply in zip(others, replies, strict=True):
            doing("forks")
            found = _received(reply)
            made.append(answer(one, doing) if found is None else found)
    found = {
        k: code
        for share, codes in zip(shares, made, strict=True)
        for k, code in zip(share, codes, strict=True)
    }
    return [found[k] for k in range(len(source))]


def split(weights: Sequence[int], most: int) -> list[list[int]]:
    """The numbers of weights in groups that weigh about the same, and `LEAST` if they are many.

    The first of all is the last of the first group: when a program is made, its kernels are.
    """
    count = max(1, min(most, len(weights), sum(weights) // LEAST))
    shares: list[list[int]] = [[] for _ in range(count)]
    totals = [0] * count
    for number in [0, *sorted(range(1, len(weights)), key=lambda k: -weights[k])]:
        least = totals.index(min(totals))
        shares[least].append(number)
        totals[least] += weights[number]
    return [share[::-1] for share in shares]


def _can_fork() -> bool:
    # Where frameworks of the system have threads of their own, a fork is not safe.
    return sys.platform == "linux"


def _forked(answer: Answer, message: Mapping[str, Any], ends: contextlib.ExitStack) -> Connection:
    """Where a fork, which ends with this process and with the stack, sends what it makes."""
    fork = get_context("fork")
    reply, sent = fork.Pipe(duplex=False)
    ends.callback(reply.close)
    process = fork.Process(target=_send, args=(answer, message, sent), daemon=True)
    with sent, contextlib.suppress(OSError):  # none may be started: nothing is sent
        process.start()
        ends.callback(process.join)
        ends.callback(process.kill)
    return reply


def _send(answer: Answer, message: Mapping[str, Any], sent: Connection) -> None:
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with contextlib.suppress(Exception):  # the worker meets it again
        sent.send(answer(message, ignored))
    os._exit(0)


def _end_with_parent() -> None:
    parent = parent_process()
    assert parent is not None, "this is a fork"
    parent.join()
    os._exit(1)


def _received(reply: Connection) -> list[str] | None:
    """What a fork made; None if it ended before."""
    try:
        return reply.recv()
    except (EOFError, OSError):  # the latter in the middle of it
        return None
