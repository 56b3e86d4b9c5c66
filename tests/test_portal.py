"""The way from a synchronous call into the async core: nothing that happens there stops it for others."""

from __future__ import annotations

import threading

import pytest

from dragoman import portal
from dragoman.dragoman import Dragoman
from dragoman.types import Metadata, Ranking, Search


class Leaves:
    """A retriever that raises what ends a process."""

    name = "leaves"
    inline = True

    def __init__(self, error: BaseException) -> None:
        self.error = error

    def __call__(self, search: Search, depth: int, filters: Metadata) -> Ranking:
        raise self.error


async def one() -> int:
    return 1


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt()], ids=["exit", "interrupt"])
def test_a_part_that_exits_ends_its_own_call_and_no_other(error: BaseException) -> None:
    told: list[BaseException | int] = []

    def ask() -> None:
        try:
            Dragoman([Leaves(error)]).search("x")
        except BaseException as raised:  # what is asked here
            told.append(raised)
        told.append(portal.run(one()))

    asking = threading.Thread(target=ask, daemon=True)  # a call that never returns must not hold the tests
    asking.start()
    asking.join(10)
    assert [type(told[0]), told[1]] == [type(error), 1]
