"""Reference arms: the fusion of other arms without their steps, so that its gain is not taken for theirs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeAlias

from dragoman.evaluate.arms import FUSED, Spec, is_run
from dragoman.search import ByLength

# Without steps there is one search, on which the weights of sources and the reserved place have no bearing.
_Fusion: TypeAlias = tuple[str, frozenset[tuple[str, float | ByLength]]]


def with_references(specs: Sequence[Spec]) -> tuple[Spec, ...]:
    """The arms, `raw` first, each of steps naming its reference: the arm of the same fusion without steps.

    One that was not asked for is put after `raw`: `fused` for the profile's own fusion, for another
    `fused as NAME`, NAME being the first arm that fuses so. Where arms fuse as `raw` does, it is theirs.
    """
    names = {spec.name for spec in specs}
    known = {_fusion(spec): spec.name for spec in reversed(specs) if not spec.steps}
    added: list[Spec] = []
    found: list[Spec] = []
    for spec in specs:
        if not spec.steps or is_run(spec):
            found.append(spec)
            continue
        fusion = _fusion(spec)
        if fusion not in known:
            plain = fusion == _fusion(Spec(FUSED, ())) and FUSED not in names
            known[fusion] = FUSED if plain else f"{FUSED} as {spec.name}"
            added.append(replace(spec, name=known[fusion], steps=(), asked=False))
        found.append(replace(spec, reference=known[fusion]))
    return (*found[:1], *added, *found[1:])


def _fusion(spec: Spec) -> _Fusion:
    return spec.fusion, frozenset(spec.weights.get("retrievers", {}).items())
