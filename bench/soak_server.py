"""A scripted model server in a process of its own: says its port, then answers at random until it is ended.

python -m bench.soak_server SEED
"""

from __future__ import annotations

import asyncio
import json
import random
import sys

from bench.hostile_rows import GOOD, QUESTION, REPLIES, rendered
from dragoman.testing import Fault, Says, ScriptedServer, Status
from dragoman.testing.server import Request, Turn

GOOD_SHARE = 0.6
# Faults that hang are drawn less often: each holds a question for its whole leash.
HANGS = (Fault.HANG_BEFORE_HEADERS, Fault.HANG_AFTER_HEADERS, Fault.DRIP_BODY, Fault.TRICKLE_HEADERS)
QUICK = tuple(fault for fault in Fault if fault not in HANGS)
STATUSES = (400, 401, 403, 404, 408, 413, 429, 500, 502, 503, 529)
AFTER = (0.2, 2.1)  # seconds until an answer begins; a few are later than the soak's leash of 2
LARGE = 100_000  # characters; larger replies are drawn once in a while only


class Random(ScriptedServer):
    """Each answer drawn by chance: most are good, some late, the rest is every fault there is."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self._chance = random.Random(seed)
        replies = [row.say("searches") for row in REPLIES if row.prompt == "rephrase" and row.question == QUESTION]
        self._replies = [turn for turn in replies if len(str(turn)) < LARGE]
        self._large = [turn for turn in replies if len(str(turn)) >= LARGE]

    def next_turn(self) -> Turn:
        """What the next request is answered with."""
        chance, at = self._chance, self._chance.random()
        if at < GOOD_SHARE:
            return Says(rendered("searches", GOOD))
        if at < GOOD_SHARE + 0.06:
            return chance.choice(HANGS)
        if at < GOOD_SHARE + 0.16:
            return chance.choice(QUICK)
        if at < GOOD_SHARE + 0.24:
            return chance.choice((*STATUSES, Status(429, {"retry-after": "20"})))
        if at < GOOD_SHARE + 0.245:
            return chance.choice(self._large)
        return chance.choice(self._replies)

    async def _take(self, turn: Turn, request: Request, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(self._chance.uniform(*AFTER))
        await super()._take(turn, request, writer)


def main() -> None:
    """Serve until standard input ends."""
    with Random(int(sys.argv[1])) as server:
        print(json.dumps({"port": server.port}), flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
