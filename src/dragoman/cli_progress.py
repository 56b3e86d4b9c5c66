"""How far a long command is, on stderr."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click


@contextmanager
def progress(label: str, unit: str, tenths: bool = False) -> Iterator[Callable[[int, int | None], None]]:
    """A bar on a terminal; elsewhere nothing, or a line every tenth where `tenths` asks for them."""
    shown = sys.stderr.isatty()
    tenth = 0

    def moved(done: int, total: int | None) -> None:
        nonlocal tenth
        share = done / total if total else 0.0
        if shown:
            bar = f"{share:4.0%} {'█' * int(30 * share):<30}" if total else f"{'':<30}"
            click.echo(f"\r{label} {bar} {done:,} {unit}", nl=False, err=True)
        elif tenths and int(10 * share) > tenth:
            tenth = int(10 * share)
            click.echo(f"{share:.0%}: {done:,} {unit}", err=True)

    try:
        yield moved
    finally:
        if shown:
            click.echo("\r" + " " * 79 + "\r", nl=False, err=True)
