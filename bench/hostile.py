"""The hostile table: every fault of `hostile_rows`, asked of Dragoman and of its peers' own components.

    python -m bench.hostile [--only COLUMN,...] [--rows WORD] [--out FILE]

The peers are installed, each in an environment of its own, under `.peers/`; every system is driven by
the python of its environment over the same stub retrievers, and asks one scripted model server on
loopback through its own client. What does not answer within `CUT` seconds is ended and written down
so. The table goes between the marks in docs/reliability.md; the answers are kept in
`.peers/hostile.json`, so that a part of the table can be asked again.
"""

from __future__ import annotations

import argparse
import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from bench.hostile_rows import GOOD, ROWS, Form, Row, rendered
from bench.hostile_systems import ENVIRONMENTS, SYSTEMS, System
from bench.hostile_table import table
from bench.marked import write_between
from dragoman.testing import ScriptedServer
from dragoman.testing.faults import bomb

HERE = Path(__file__).resolve().parent.parent
KEPT = HERE / ".peers"
CUT = 8.0  # seconds a system is given for one question
START = 180.0  # seconds a driver is given to import its libraries
Answers = dict[str, dict[str, Any]]  # column -> row's name -> what came back


class Driver:
    """A driver's process: started when it is first asked, ended and started anew when it does not answer."""

    def __init__(self, python: Path, script: Path, log: Path) -> None:
        self._command = [str(python), str(script)]
        self._log = log
        self._process: subprocess.Popen[bytes] | None = None
        self.versions: dict[str, str] = {}

    def ask(self, order: Mapping[str, Any], seconds: float) -> dict[str, Any] | None:
        """Its answer; None when there was none in time."""
        process = self._process or self._start()
        assert process.stdin is not None  # noqa: S101  # a pipe, as asked for
        process.stdin.write(json.dumps(order).encode() + b"\n")
        process.stdin.flush()
        answer = self._line(process, seconds)
        if answer is None:
            self.end()
        return answer

    def _start(self) -> subprocess.Popen[bytes]:
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(  # noqa: S603  # this project's own scripts
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env={**os.environ, "OMP_NUM_THREADS": "1", "NO_PROXY": "127.0.0.1"},
            )
        hello = self._line(self._process, START)
        if hello is None:
            self.end()
            raise RuntimeError(f"{self._command[1]} did not start; see {self._log}")
        self.versions = hello["versions"]
        return self._process

    @staticmethod
    def _line(process: subprocess.Popen[bytes], seconds: float) -> dict[str, Any] | None:
        assert process.stdout is not None  # noqa: S101  # a pipe, as asked for
        until, line = time.monotonic() + seconds, b""
        while not line.endswith(b"\n"):
            left = until - time.monotonic()
            if left <= 0 or not select.select([process.stdout], [], [], left)[0]:
                return None
            piece = os.read(process.stdout.fileno(), 65_536)
            if not piece:
                return None
            line += piece
        found: dict[str, Any] = json.loads(line)
        return found

    def end(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


def install(environment: str, say: Callable[[str], None]) -> Path:
    """The python of an environment, made where it is missing.

    Raises:
        RuntimeError: its packages cannot be installed.
    """
    if not environment:
        return Path(sys.executable)
    folder, wanted = KEPT / environment, ENVIRONMENTS[environment]
    stamp, python = folder / "installed.txt", folder / "bin" / "python"
    if not stamp.is_file() or stamp.read_text("utf-8").split() != list(wanted):
        say(f"installing {', '.join(wanted)} into .peers/{environment}")
        pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *wanted]
        for command in ([sys.executable, "-m", "venv", str(folder)], pip):
            done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
            if done.returncode:
                last = (done.stderr.strip().splitlines() or ["no message"])[-1]
                raise RuntimeError(f"{', '.join(wanted)} cannot be installed: {last[:200]}")
        stamp.write_text("\n".join(wanted), "utf-8")
    return python


def order_of(row: Row, system: System, server: ScriptedServer) -> dict[str, Any]:
    """What a driver is told."""
    url = server.openai
    if row.address == "closed":
        url = "http://127.0.0.1:9/v1"  # the discard port, where nobody listens
    elif row.address == "unknown":
        url = "http://nobody.invalid/v1"
    elif row.address == "tls":
        url = url.replace("http://", "https://")
    return {
        "system": system.name,
        "question": row.question,
        "before": row.before,
        "url": url,
        "fault": row.fault,
        "depth": row.depth,
        "prompt": row.prompt,
    }


def form_of(row: Row, system: System) -> Form:
    """The form in which a model answers this system."""
    if system.column == "Dragoman" and row.prompt == "rewrite":
        return "rewritten"
    return system.form or "text"


def applies(row: Row, system: System) -> bool:
    """Whether a row means anything to a system."""
    return row.kind == "retriever" if system.form is None else system.both or row.kind != "retriever"


def ask_all(system: System, rows: Sequence[Row], say: Callable[[str], None]) -> tuple[Answers, dict[str, str]]:
    """Every row's answer from one system, and the versions of what it is made of."""
    driver = Driver(install(system.environment, say), HERE / "bench" / "peers" / system.driver, KEPT / "drivers.log")
    found: Answers = {}
    try:
        with ScriptedServer() as server:
            warm = Row("", "reply", lambda form: rendered(form, GOOD), ROWS[0].outcome)
            for row in (warm, *(row for row in rows if applies(row, system))):
                server.script([row.say(form_of(row, system))])
                server.requests.clear()
                given = driver.ask(order_of(row, system, server), CUT if row.name else START)
                found[row.name] = {"cut": True} if given is None else given
                found[row.name]["asked"] = len(server.requests)
                say(f"{system.column}: {row.name or 'a good reply'}")
    finally:
        driver.end()
    return found, driver.versions


def main(arguments: Sequence[str] | None = None) -> int:
    """Ask, keep what came back, write the table."""
    parser = argparse.ArgumentParser(prog="bench.hostile", description="The hostile table.")
    parser.add_argument("--only", default="", help="columns, with commas between")
    parser.add_argument("--rows", default="", help="only rows with this in their names")
    parser.add_argument("--kept", action="store_true", help="ask nothing: write the table from the answers kept")
    parser.add_argument("--out", type=Path, default=HERE / "docs" / "reliability.md")
    given = parser.parse_args(arguments)
    KEPT.mkdir(exist_ok=True)
    file = KEPT / "hostile.json"
    kept: dict[str, Any] = json.loads(file.read_text("utf-8")) if file.is_file() else {}
    say = partial(print, file=sys.stderr, flush=True)
    bomb()  # takes a second to pack, which no system is to be charged with
    rows = [row for row in ROWS if given.rows in row.name]
    for system in SYSTEMS:
        if given.kept or (given.only and system.column not in given.only.split(",")):
            continue
        try:
            answers, versions = ask_all(system, rows, say)
        except RuntimeError as error:
            kept[system.column] = {"absent": str(error)}
        else:
            before = kept.get(system.column, {}).get("answers", {})
            kept[system.column] = {"answers": before | answers, "versions": versions}
        file.write_text(json.dumps(kept, indent=1), "utf-8")
    written = table(ROWS, [(system, kept.get(system.column, {"absent": "not asked"})) for system in SYSTEMS])
    write_between(given.out, "hostile", written)
    print(f"the table is in {given.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
