"""What the commands' files share: an option, and how a command ends that failed."""

from __future__ import annotations

import sys
from typing import NoReturn

import click

model = click.option("--model", metavar="SPEC", help="The rewriting model, as in openai:NAME or replay:FILE.")


def fail(message: str, status: int) -> NoReturn:
    """Say why, and end with this status."""
    click.echo(f"dragoman: {message}", err=True)
    sys.exit(status)
