"""The loop of a driver: one JSON line in, the question asked of one system, one JSON line out.

Standard library only, as `stubs`.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable
from typing import Any

from stubs import Stub, distinct

Ask = Callable[[dict[str, Any], list[str]], list[str]]  # the order, where searched texts go -> doc_ids, best first


def stubs(order: dict[str, Any], searched: list[str]) -> tuple[Stub, Stub]:
    """The two retrievers of an order."""
    return Stub("words", order["fault"], searched), Stub("meaning", order["fault"], searched)


MEMORY = 3 << 30  # bytes of address space: a body without end must not take the machine along


def drive(systems: dict[str, Ask], versions: dict[str, str]) -> None:
    """Say what is here, then answer orders until there are no more."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    out, sys.stdout = sys.stdout, sys.stderr  # a library that prints must not break the lines
    print(json.dumps({"systems": list(systems), "versions": versions}), file=out, flush=True)
    for line in sys.stdin:
        order = json.loads(line)
        searched: list[str] = []
        ids: list[str] = []
        error = ""
        extra: dict[str, Any] = {}
        began = time.perf_counter()
        try:
            given = systems[order["system"]](order, searched)
            ids, extra = given if isinstance(given, tuple) else (given, {})
        except Exception as exc:  # whatever a system raises, MemoryError too, is what the table reports
            error = f"{type(exc).__name__}: {exc}"
        took = time.perf_counter() - began
        texts = [str(text)[:400] for text in distinct(searched)]
        answer = {"searched": texts[:60], "searches": len(distinct(searched)), "ids": [str(i) for i in ids][:30]}
        print(json.dumps({**answer, "error": error[:300], "seconds": took, **extra}), file=out, flush=True)
