"""What the fuzzer found once is asked again every time; and the same claims by hypothesis."""

from __future__ import annotations

from pathlib import Path

import pytest
from bench.fuzz_targets import SEEDS, TARGETS
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

FOUND = Path(__file__).parent / "found"
KEPT = [(path.parent.name, path) for path in sorted(FOUND.glob("*/*"))]


@pytest.mark.parametrize(("target", "path"), KEPT, ids=lambda value: getattr(value, "name", value))
def test_what_was_found_once_holds_now(target: str, path: Path) -> None:
    TARGETS[target](path.read_bytes())


@pytest.mark.parametrize("target", TARGETS)
def test_what_the_fuzzer_starts_from_holds(target: str) -> None:
    for data in SEEDS[target]:
        TARGETS[target](data)


REPLY = (
    '{"about_corpus": true, "searches": ["',
    '"]}',
    "<think>",
    "</think>",
    "```json",
    '"',
    "{",
    "[",
    "\ud800",
    "\x00",
)
FILES = ("\n", "=>", ",", "|0.5", "\\", "#", "[guards]", "steps = ", "'", "x")
WORDS = ("a b", "é", "hey ", "please ", "16", "46.2-870")
PIECES = st.sampled_from((*REPLY, *FILES, *WORDS))
ANY = st.one_of(
    st.binary(max_size=200),
    st.lists(PIECES, max_size=20).map(lambda parts: "".join(parts).encode("utf-8", "surrogatepass")),
)


@pytest.mark.parametrize("target", TARGETS)
@given(data=ANY)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_is_read_the_claims_hold(target: str, data: bytes) -> None:
    TARGETS[target](data)
