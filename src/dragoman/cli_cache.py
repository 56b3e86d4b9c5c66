"""`dragoman cache`: what the cache of accepted rewrites holds, and forgetting it."""

from __future__ import annotations

import json
from pathlib import Path

import click

from dragoman.errors import ProfileError


@click.command()
@click.argument("action", type=click.Choice(["stats", "clear"]))
@click.option("--profile", metavar="NAME|FILE", help="The profile that names the cache.")
@click.option("--path", type=click.Path(path_type=Path), help="The cache's file, instead of the profile's.")
@click.option("--json", "as_json", is_flag=True, help="Print figures as JSON.")
def cache(action: str, profile: str | None, path: Path | None, as_json: bool) -> None:
    """Say what the cache of accepted rewrites holds (`stats`), or forget it all (`clear`)."""
    from dragoman.rewriters.cache import RewriteCache

    kept = RewriteCache(_existing(profile, path))
    try:
        if action == "clear":
            count = kept.clear()
            click.echo(json.dumps({"cleared": count}) if as_json else f"{kept.path}: {count:,} rewrites forgotten")
            return
        held = kept.stats()
        figures = {"path": str(kept.path), "entries": held.entries, "size_bytes": held.size_bytes}
        text = f"{kept.path}: {held.entries:,} rewrites, {held.size_bytes / 1e6:.1f} MB"
        click.echo(json.dumps(figures) if as_json else text)
    finally:
        kept.close()


def _existing(profile: str | None, path: Path | None) -> Path:
    if path is None:
        if profile is None:
            raise click.UsageError("say which cache: --path FILE, or --profile NAME|FILE that names one")
        from dragoman.profile import load_profile

        read = load_profile(profile)
        if read.cache is None:
            raise ProfileError("this profile keeps no cache; name one with [cache] path", read.path)
        path = read.cache
    if not path.is_file():
        raise ProfileError("there is no cache yet; it is begun with the first accepted rewrite", path)
    return path
