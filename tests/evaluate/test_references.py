"""Reference arms: the same fusion without steps, beside every arm that has some."""

from __future__ import annotations

from pathlib import Path

from toy_corpus import HELPFUL, arm, toy

from dragoman.evaluate.arms import read_specs
from dragoman.evaluate.data import alone, as_data
from dragoman.evaluate.evaluation import evaluate
from dragoman.evaluate.references import with_references
from dragoman.evaluate.run import Arm


def named(*entries: str) -> list[tuple[str, str, bool]]:
    """Name, reference and whether it was asked for, of each arm."""
    return [(spec.name, spec.reference, spec.asked) for spec in with_references(read_specs(entries))]


def test_arms_of_steps_get_the_profiles_fusion_beside_them() -> None:
    assert named("rules,lexicon") == [
        ("raw", "", True),
        ("fused", "", False),
        ("rules", "fused", True),
        ("lexicon", "fused", True),
    ]


def test_a_reference_that_was_asked_for_is_not_made_twice() -> None:
    assert named("rules,plain=fused") == [("raw", "", True), ("rules", "plain", True), ("plain", "", True)]


def test_nothing_is_added_where_no_arm_has_steps() -> None:
    assert named("raw,fused,run:a.run") == [("raw", "", True), ("fused", "", True), ("run:a.run", "", True)]


def test_an_arm_of_its_own_fusion_has_a_reference_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "arms.toml"
    path.write_text(
        '[[arm]]\nname = "raw"\nfusion = "rrf"\n'
        '[[arm]]\nname = "as raw"\nsteps = ["rules"]\nfusion = "rrf"\nreserve = 3\nweights = {asked = 0.5}\n'
        '[[arm]]\nname = "wordy"\nsteps = ["rules"]\nweights = {retrievers = {words = 2.0}}\n'
        '[[arm]]\nname = "wordy too"\nsteps = ["lexicon"]\nweights = {retrievers = {words = 2.0}}\n',
        "utf-8",
    )
    assert named(str(path)) == [
        ("raw", "", True),
        ("fused as wordy", "", False),
        ("as raw", "raw", True),
        ("wordy", "fused as wordy", True),
        ("wordy too", "fused as wordy", True),
    ]


async def test_an_arm_is_compared_with_its_reference_too() -> None:
    base = arm("helpful", [HELPFUL])
    helpful = Arm("helpful", base.ask, reference="fused", missing=("lexicon",))
    found = await evaluate(toy(), [helpful, arm(), Arm("fused", arm().ask, asked=False)])
    assert alone(found)["helpful"]["reference"] == "fused"
    steps = found.arms["helpful"].alone
    assert steps is not None
    assert (steps.comparison, steps.missing) == (found.arms["helpful"].comparison, ("lexicon",))
    assert [each.name for each in found.asked] == ["helpful"]
    assert set(as_data(found)["arms"]) == {"raw", "helpful", "fused"}
