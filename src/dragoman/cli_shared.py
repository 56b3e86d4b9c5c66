"""What the commands' files share: options, and how a command ends that failed."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NoReturn

import click

if TYPE_CHECKING:
    from dragoman.profile import Profile

model = click.option("--model", metavar="SPEC", help="The rewriting model, as in openai:NAME or replay:FILE.")

embedder = click.option(
    "--embedder", metavar="NAME", help="Who made an engine's vectors; without it, it is searched by words."
)

learning_profile = click.option("--profile", metavar="NAME|FILE", help="Whose language, masking and memory hold.")


def profile_of(name: str | None) -> Profile:
    """The profile named; the default where none is.

    Raises:
        ProfileError: there is none of that name, or it cannot be used.
    """
    from dragoman.profile import load_profile

    return load_profile(name or "default")


def fail(message: str, status: int) -> NoReturn:
    """Say why, and end with this status."""
    click.echo(f"dragoman: {message}", err=True)
    sys.exit(status)
