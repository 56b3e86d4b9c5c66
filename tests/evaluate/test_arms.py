"""Arms by name: what the command line and the file say is what runs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from toy_corpus import QUESTIONS, Words, toy

from dragoman.errors import CollectionError, ProfileError
from dragoman.evaluate.arms import ArmError, Bench, Spec, make, read_specs
from dragoman.evaluate.recorded import Ids
from dragoman.fusion import rrf, standardised
from dragoman.profile import load_profile
from dragoman.profile_steps import Parts
from dragoman.protocols import Prompt, Reply
from dragoman.search import ByLength


class Model:
    """Says the same for every question."""

    name = "scripted"

    async def __call__(self, prompt: Prompt, /) -> Reply:
        return Reply({"about_corpus": True, "searches": ["electronic message"]})


@pytest.fixture
def bench() -> Bench:
    return Bench(load_profile("default"), Parts(), Ids(toy()), engine=lambda: [Words()])


def names(specs: tuple[Spec, ...]) -> list[tuple[str, tuple[str, ...]]]:
    return [(spec.name, spec.steps) for spec in specs]


def test_raw_always_runs_and_runs_first() -> None:
    assert names(read_specs(["rules, rules+lexicon", "mine=lexicon+guards"])) == [
        ("raw", ()),
        ("rules", ("rules",)),
        ("rules+lexicon", ("rules", "lexicon")),
        ("mine", ("lexicon", "guards")),
    ]
    assert names(read_specs(["rules,raw"]))[0] == ("raw", ())


def test_a_files_name_may_hold_any_sign() -> None:
    assert names(read_specs(["replay:a=b.jsonl"]))[1] == ("replay:a=b.jsonl", ("replay:a=b.jsonl",))
    assert names(read_specs(["r=replay:a.jsonl"]))[1] == ("r", ("replay:a.jsonl",))


@pytest.mark.parametrize(
    ("given", "said"), [("", "empty name"), ("a,,b", "empty name"), ("rules+", "is no arm"), ("=rules", "is no arm")]
)
def test_what_is_no_arm_is_named(given: str, said: str) -> None:
    with pytest.raises(ArmError, match=said):
        read_specs([given])


def test_two_arms_of_one_name_are_refused() -> None:
    with pytest.raises(ArmError, match="two arms are called 'rules'"):
        read_specs(["rules,rules"])


def test_a_file_of_arms_sets_weights_and_fusion(tmp_path: Path, bench: Bench) -> None:
    path = tmp_path / "arms.toml"
    path.write_text(
        '[[arm]]\nname = "cautious"\nsteps = ["rules", "lexicon"]\nfusion = "rrf"\nreserve = 3\n'
        "[arm.weights]\nasked = 0.0\norigins = {feedback = 0.5}\nretrievers = {words = 2.0}\n"
        '[[arm]]\nname = "plain"\nsteps = ["rules"]\n',
        "utf-8",
    )
    raw, cautious, plain = read_specs([str(path)])
    hall = make(cautious, bench, 10).hall
    assert hall is not None
    settings = hall.settings
    assert (settings.fuse, settings.reserve) == (rrf, 3)
    assert (settings.weights.asked, settings.weights.question) == (0.0, 1.0)
    assert settings.weights.origins == {"feedback": 0.5}
    assert settings.weights.retrievers["words"] == 2.0
    assert "meaning" in settings.weights.retrievers
    other = make(plain, bench, 10).hall
    assert other is not None
    assert (other.settings.fuse, other.settings.weights) == (standardised, bench.profile.weights)
    assert raw.name == "raw"


def test_a_file_of_arms_takes_weights_by_length_as_a_profile_does(tmp_path: Path, bench: Bench) -> None:
    path = tmp_path / "arms.toml"
    path.write_text(
        '[[arm]]\nname = "long"\nsteps = ["rules"]\n'
        "[arm.weights.retrievers]\nwords = 2.0\nmeaning = {per_word = 0.1, least = 0.2, written = true}\n",
        "utf-8",
    )
    hall = make(read_specs([str(path)])[1], bench, 10).hall
    assert hall is not None
    retrievers = hall.settings.weights.retrievers
    assert (retrievers["words"], retrievers["meaning"]) == (2.0, ByLength(0.1, 0.2, 1.5, written=True))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            '[[arm]]\nname = "a"\n[[arm]]\nname = "b"\n[arm.weights.retrievers]\nwords = 1.0\n'
            "meaning = {least = 2.0}\n",
            r"arms.toml:7: 'arm.1.weights.retrievers.meaning.least' is above 'most'; make it 1.5 or less",
        ),
        (
            '[[arm]]\nname = "a"\n[arm.weights.retrievers]\nmeaning = {longest = 2.0}\n',
            r"arms.toml:4: unknown key 'arm.weights.retrievers.meaning.longest'",
        ),
        ('[[arm]]\nname = "a"\nstep = ["rules"]\n', r"arms.toml:3: unknown key 'arm.step'"),
        ('[[arm]]\nname = "a"\nfusion = "magic"\n', "expected one of"),
        ("", "no arm in this file"),
    ],
)
def test_a_bad_file_of_arms_is_an_error_with_its_line(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "arms.toml"
    path.write_text(text, "utf-8")
    with pytest.raises(ProfileError, match=said):
        read_specs([str(path)])


def test_an_unknown_step_is_named_with_those_that_are_known(bench: Bench) -> None:
    with pytest.raises(ArmError, match=r"arm 'magic': no step 'magic'; known: raw, .*lexicon.*replay:FILE"):
        make(Spec("magic", ("magic",)), bench, 10)


def test_a_step_that_the_profile_lacks_the_means_for_is_reported(bench: Bench) -> None:
    made = make(Spec("both", ("rules", "lexicon")), bench, 10)
    assert made.missing == ("lexicon",)
    assert made.hall is not None
    assert [step.name for step in made.hall.chain.steps] == ["rules"]


async def test_local_runs_the_profiles_steps_and_cascade_its_model_too(bench: Bench) -> None:
    bench = replace(bench, profile=load_profile("road-law"), parts=Parts(llm=Model()))
    local, cascade = (make(Spec(name, (name,)), bench, 10) for name in ("local", "cascade"))
    assert local.hall is not None
    assert cascade.hall is not None
    assert "rephrase" not in [step.name for step in local.hall.chain.steps]
    assert "rephrase" in [step.name for step in cascade.hall.chain.steps]
    assert (local.arm.concurrency, cascade.arm.concurrency) == (1, 8)
    texts = [search.text for search in (await cascade.arm.ask(toy().questions[2].question)).searches]
    assert texts[0] == QUESTIONS["q3"]
    assert any("electronic message" in text for text in texts[1:])


def test_every_arm_has_an_engine_of_its_own(bench: Bench) -> None:
    """What an engine keeps of a question must not make the next arm look quicker."""
    opened: list[Words] = []

    def open_engine() -> list[Words]:
        opened.append(Words())
        return [opened[-1]]

    bench = replace(bench, engine=open_engine)
    for spec in read_specs(["rules"]):
        make(spec, bench, 10)
    assert len(opened) == 2


async def test_another_systems_run_stands_in_place_of_everything(tmp_path: Path, bench: Bench) -> None:
    path = tmp_path / "a.run"
    path.write_text("q1 Q0 d1 1 0.5 t\n", "utf-8")
    made = make(read_specs([f"raw=run:{path}"])[0], bench, 10)
    assert made.hall is None
    assert [hit.doc_id for hit in (await made.arm.ask(toy().questions[0].question)).hits] == ["d1"]
    with pytest.raises(ArmError, match="a run stands alone"):
        make(Spec("x", (f"run:{path}", "rules")), bench, 10)
    with pytest.raises(ArmError, match="'raw' rewrites nothing"):
        make(Spec("raw", ("rules",)), bench, 10)
    with pytest.raises(CollectionError, match="cannot be read"):
        make(Spec("x", ("run:absent",)), bench, 10)
