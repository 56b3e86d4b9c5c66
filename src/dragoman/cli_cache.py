"""`dragoman cache`: what the cache of accepted rewrites holds, and forgetting it."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dragoman.errors import ProfileError

if TYPE_CHECKING:
    from dragoman.rewriters.cache import RewriteCache


@click.command()
@click.argument("action", type=click.Choice(["stats", "clear"]))
@click.option("--profile", metavar="NAME|FILE", help="The profile that names the cache.")
@click.option("--path", type=click.Path(path_type=Path), help="The cache's file, instead of the profile's.")
@click.option("--json", "as_json", is_flag=True, help="Print figures as JSON.")
def cache(action: str, profile: str | None, path: Path | None, as_json: bool) -> None:
    """Say what the cache of accepted rewrites holds (`stats`), or forget it all (`clear`)."""
    from dragoman.rewriters.cache import RewriteCache

    path = _named(profile, path)
    try:
        with closing(RewriteCache(path, begin=False)) as kept:
            click.echo(_done(action, kept, as_json))
    except sqlite3.Error as error:
        raise ProfileError(f"the cache cannot be used: {error}", path) from error


def _done(action: str, kept: RewriteCache, as_json: bool) -> str:
    if action == "clear":
        count = kept.clear()
        return json.dumps({"cleared": count}) if as_json else f"{kept.path}: {count:,} rewrites forgotten"
    held = kept.stats()
    figures = {"path": str(kept.path), "entries": held.entries, "size_bytes": held.size_bytes}
    return json.dumps(figures) if as_json else f"{kept.path}: {held.entries:,} rewrites, {held.size_bytes / 1e6:.1f} MB"


def _named(profile: str | None, path: Path | None) -> Path:
    if path is not None:
        return path
    if profile is None:
        raise click.UsageError("say which cache: --path FILE, or --profile NAME|FILE that names one")
    from dragoman.profile import load_profile

    read = load_profile(profile)
    if read.cache is None:
        raise ProfileError("this profile keeps no cache; name one with [cache] path", read.path)
    return read.cache
