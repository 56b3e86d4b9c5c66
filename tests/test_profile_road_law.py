"""The shipped profile for road law is the rephraser's rules, whole."""

from __future__ import annotations

import pytest

from dragoman.profile import load_profile
from dragoman.profile_steps import Parts, rewriters
from dragoman.rewriters.prompted import Prompted
from dragoman.testing import ScriptedModel
from dragoman.types import Rewriting


def test_road_law_holds_the_rephrasers_rules() -> None:
    profile = load_profile("road-law")
    rules = " ".join(profile.setting.register)
    for words in (
        "maximum speed limit",
        "instruction permit",
        "learner's permit",
        "financial responsibility",
        "liability insurance",
        "implied consent",
        "electronic message",
        "text message",
        "wireless communication device",
        "handheld telephone",
        "feet, miles per hour, days, years, dollars",
        "never a figure",
        "what happens if",
        "do I have to",
        "how much",
        "two searches",
    ):
        assert words in rules
    assert (profile.limits.searches, profile.limits.words, profile.limits.characters) == (2, 8, 80)
    assert profile.limits.max_tokens == 1024
    assert [rule.id for rule in profile.rules] == ["electronic-message"]


@pytest.mark.parametrize("word", ["text", "texts", "texting", "texted", "Texting"])
def test_road_law_says_texting_in_the_laws_words_and_once(word: str) -> None:
    rule = load_profile("road-law").rules[0]
    once = rule.apply(f"{word} while driving")[0]
    assert once == "electronic message text message while driving"
    assert rule.apply(once) == (once, "")
    assert rule.apply("text messaging")[0] == "text messaging"


def test_road_law_shows_the_model_its_examples() -> None:
    model = ScriptedModel({"about_corpus": False, "searches": []})
    (step,) = (s for s in rewriters(load_profile("road-law"), Parts(llm=model)) if isinstance(s, Prompted))
    prompt, _ = step.asks(Rewriting.of("can i text"))
    assert "a learner driver" in prompt.rules
    assert prompt.rules.count("<question>") >= 4
    assert "texting at a stoplight" not in prompt.rules
